"""Superseded, diverse, not again: in which order percepts come back by default."""

from __future__ import annotations

from typing import Any, cast

from milkd.engine import commands as ask
from milkd.engine import results
from milkd.engine.params import DEFAULT
from milkd.engine.percept import Edge, Percept, ScopeImage, Wording
from sitting import NOON, Sitting, percept


def edge(source: int, target: int) -> Edge:
    return Edge(percept("", source).id, percept("", target).id, "updates")


def holding(*percepts: Percept, edges: tuple[Edge, ...] = (), **knobs: Any) -> Sitting:
    sitting = Sitting("mine", base=DEFAULT, **knobs)
    sitting.engine.load(ScopeImage(name="global", percepts=percepts, edges=edges))
    return sitting


def lines(sitting: Sitting, prompt: str, **more: Any) -> list[str]:
    return sitting.inject(prompt, "mine", **more).text.splitlines()[1:-1]


def recalled(sitting: Sitting, text: str, **more: Any) -> list[tuple[str, str | None]]:
    result = cast("results.Recalled", sitting.do(ask.Query(text=text, **more)))
    return [(hit.view.percept.content, hit.superseded_by) for hit in result.hits]


def test_what_is_superseded_follows_what_updates_it_and_says_by_what() -> None:
    old, new = percept("port is 22", 1, w=0.875), percept("the gate moved", 2)
    sitting = holding(old, new, edges=(edge(2, 1),))
    assert recalled(sitting, "port") == [("the gate moved", None), ("port is 22", new.id)]


def test_a_chain_of_updates_comes_latest_first() -> None:
    facts = [percept(f"port was {n}", n, w=0.875 - n / 32) for n in (1, 2, 3)]
    sitting = holding(*facts, edges=(edge(2, 1), edge(3, 2)))
    assert [content for content, _ in recalled(sitting, "port")] == [
        "port was 3",
        "port was 2",
        "port was 1",
    ]


def test_a_circle_of_updates_in_a_file_ends() -> None:
    sitting = holding(percept("port a", 1), percept("port b", 2), edges=(edge(2, 1), edge(1, 2)))
    assert len(recalled(sitting, "port")) == 2


def test_what_updates_must_pass_the_gate_itself() -> None:
    sitting = holding(
        percept("port is 22", 1), percept("port is 49222", 2, w=0.25), edges=(edge(2, 1),)
    )
    assert recalled(sitting, "port") == [("port is 22", None)]


def test_what_updates_must_be_visible() -> None:
    sitting = holding(percept("port is 22", 1))
    sitting.engine.load(
        ScopeImage(name="mine", percepts=(percept("port is 49222", 2),), edges=(edge(2, 1),))
    )
    assert recalled(sitting, "port") == [("port is 22", None)]
    assert recalled(sitting, "port", session="mine")[0] == ("port is 49222", None)


def test_what_is_superseded_is_not_injected() -> None:
    sitting = holding(percept("port is 22", 1), percept("the gate moved", 2), edges=(edge(2, 1),))
    assert lines(sitting, "port") == ["- the gate moved"]


def test_a_fact_comes_again_after_eight_turns_or_when_asked_or_when_it_changed() -> None:
    sitting = holding(percept("port is open", 1))
    assert lines(sitting, "port") == ["- port is open"]
    assert lines(sitting, "port", repeat=True) == ["- port is open"]
    for _ in range(7):
        assert lines(sitting, "port") == []
    sitting.do(ask.Edit(ref="port", content="port is shut"))
    assert lines(sitting, "port") == ["- port is shut"]
    for _ in range(8):
        assert lines(sitting, "port") == []
    assert lines(sitting, "port") == ["- port is shut"]


def test_what_was_shown_to_one_session_is_news_to_another() -> None:
    sitting = holding(percept("port is open", 1))
    assert lines(sitting, "port") == ["- port is open"]
    assert sitting.inject("port", caller="somebody").ids == (percept("", 1).id,)


def test_twenty_turns_on_one_topic_stay_bounded() -> None:
    sitting = holding(*(percept(f"port {n} is {n * 7} wide", n) for n in range(20)))
    size = sum(sitting.inject("how wide is a port?", "mine").bytes for _ in range(20))
    one_block = sitting.inject("how wide is a port?", "mine", repeat=True).bytes
    assert size <= 3 * one_block


def test_a_prompt_of_stop_words_or_signs_injects_nothing() -> None:
    sitting = holding(percept("port is open", 1))
    assert lines(sitting, "and then there is this") == []
    assert lines(sitting, "?!") == []
    assert lines(sitting, "") == []


def test_the_newest_wording_is_rendered_behind_the_content() -> None:
    words = (Wording("port is open, says Ann", NOON), Wording("the port is open\nat noon", NOON))
    sitting = holding(percept("port is open", 1, wordings=words))
    assert lines(sitting, "port") == ["- port is open (later stated: the port is open at noon)"]


def test_explain_names_what_superseded_and_what_was_shown() -> None:
    old, new = percept("port is 22", 1), percept("port is 49222", 2)
    sitting = holding(old, new, edges=(edge(2, 1),))
    sitting.inject("port", "mine")
    candidates = sitting.inject("port", "mine", explain=True).candidates
    assert candidates is not None
    assert {c.id: c.reason for c in candidates} == {
        old.id: f"superseded by {new.id}",
        new.id: "shown within the last 8 turns",
    }


def test_with_diversity_what_is_much_like_one_before_has_to_wait() -> None:
    facts = (
        percept("port one is open today", 1, w=0.875),
        percept("port two is open today", 2, w=0.8125),
        percept("the port has cranes", 3),
    )
    for diversity, order in (("off", "123"), ("both", "132"), ("query", "132"), ("inject", "123")):
        sitting = holding(*facts, diversity=diversity)
        found = [content for content, _ in recalled(sitting, "port")]
        assert found == [facts[int(n) - 1].content for n in order]
    sitting = holding(*facts, diversity="inject")
    assert lines(sitting, "port")[1] == "- the port has cranes"


def test_what_the_explicit_words_replaced_is_kept_and_not_rendered() -> None:
    sitting = holding(percept("deploys go through the blue cluster", 1))
    sitting.wall += 60
    sitting.learn("deploys go through the red cluster", "mine")
    assert sitting.recall("blue") == ["deploys go through the red cluster"]
    assert lines(sitting, "deploys") == ["- deploys go through the red cluster"]
    sitting.wall += 60
    sitting.record("deploys go through the red cluster at noon", producer="user")
    assert lines(sitting, "deploys") == [
        "- deploys go through the red cluster "
        "(later stated: deploys go through the red cluster at noon)"
    ]


def test_an_edit_leaves_older_wordings_unrendered() -> None:
    words = (Wording("the port is open at noon", NOON),)
    sitting = holding(percept("port is open", 1, wordings=words))
    sitting.wall += 60
    sitting.do(ask.Edit(ref="port", content="the port is shut"))
    assert lines(sitting, "port") == ["- the port is shut"]


def test_a_chain_of_a_thousand_updates_is_no_error() -> None:
    facts = [percept(f"port was {n}", n) for n in range(1, 1_501)]
    sitting = holding(*facts, edges=tuple(edge(n + 1, n) for n in range(1, 1_500)))
    assert sitting.recall("port", max_results=2) == ["port was 1500", "port was 1499"]
    assert lines(sitting, "port") == ["- port was 1500"]


def test_of_a_circle_of_updates_one_is_still_injected() -> None:
    facts = [percept(f"port {n}", n) for n in (1, 2, 3)]
    sitting = holding(*facts, edges=(edge(1, 2), edge(2, 3), edge(3, 1)))
    assert len(lines(sitting, "port")) == 1
    assert len(recalled(sitting, "port")) == 3
