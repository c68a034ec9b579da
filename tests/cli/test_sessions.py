"""Commands about sessions and passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]


@pytest.fixture(autouse=True)
def daemon(place: Place) -> None:
    """A daemon on an empty store."""
    place.start()


def test_a_session_is_opened_listed_closed_and_dropped(milkctl: Milkctl) -> None:
    assert milkctl("session", "list").out == "(no sessions)\n"
    assert milkctl("session", "open", "s1").out.startswith("open: s1, 0 percepts, ran ")
    milkctl("record", "only for this session", "--session", "s1")
    fields = milkctl("session", "list").out.split("\t")
    assert fields[:3] == ["s1", "open", "1"]
    assert milkctl("session", "close", "--session", "s1").code == 0
    assert milkctl("session", "list").out.split("\t")[1] == "closed"
    assert milkctl("session", "drop", "s1").out == "dropped, with 1 percept\n"
    assert milkctl("session", "list").out == "(no sessions)\n"


def test_a_session_needs_an_id_and_a_known_action(milkctl: Milkctl) -> None:
    ran = milkctl("session", "open")
    assert (ran.code, ran.err) == (
        1,
        "milkctl: session: missing; give its id, --session or $MILK_SESSION\n",
    )
    assert milkctl("session", "reopen", "s1").code == 2


def test_an_empty_id_is_not_the_session_of_the_environment(
    milkctl: Milkctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILK_SESSION", "s1")
    milkctl("record", "the user prefers tabs")
    ran = milkctl("session", "drop", "")
    assert (ran.code, ran.err) == (2, "milkctl: the id is empty (an unset variable?)\n")
    assert "the user prefers tabs" in milkctl("list").out


def test_what_is_not_there_is_looked_for_with_a_command(milkctl: Milkctl) -> None:
    assert "session_list" not in milkctl("session", "drop", "s1").err
    assert "`milkctl session list`" in milkctl("session", "drop", "s1").err


def test_one_relation_is_not_several(milkctl: Milkctl) -> None:
    one = milkctl("record", "the user prefers tabs", "--producer", "user").out.split()[1]
    other = milkctl("record", "indentation is checked by a linter").out.split()[1]
    third = milkctl("record", "lunch is at noon on every day").out.split()[1]
    milkctl("relate", other, "extends", one)
    assert "1 relation applied" in milkctl("consolidate").out
    milkctl("relate", third, "extends", one)
    assert "relation" in milkctl("consolidate").out


def test_a_pass_reports_what_it_did(milkctl: Milkctl) -> None:
    milkctl("record", "the user prefers tabs", "--producer", "user", "--session", "s1")
    report = milkctl("consolidate", "--session", "s1").out
    assert "1 promoted" in report
    assert "had run" in report.splitlines()[0]
    assert "prefers tabs" in milkctl("list").out
