"""A percept is put into an answer in a hurry just as it is put into a file."""

from __future__ import annotations

from hypothesis import given

from milkd.daemon.render import members, percept
from milkd.engine.percept import Percept
from milkd.engine.results import View
from milkd.store.records import percept_to_json
from store.test_percepttext import percepts


@given(percepts)
def test_an_answer_holds_the_members_of_the_file_in_their_order(each: Percept) -> None:
    assert list(members(each).items()) == list(percept_to_json(each).items())


def test_an_answer_is_nobody_elses() -> None:
    one = Percept(
        id="an id",
        content="words",
        producer="user",
        w=0.5,
        created_at=0.0,
        updated_at=0.0,
        roles={"agent": "ada"},
    )
    view = View(one, "s1", 0.25)
    wire = percept(view)
    wire["roles"]["agent"] = "bob"
    assert percept(view)["roles"] == {"agent": "ada"}
    assert percept(view)["scope"] == "session"
    assert percept(view)["session"] == "s1"
