from __future__ import annotations

from dataclasses import replace
from typing import cast

from milkd.engine import commands as ask
from milkd.engine import results
from milkd.engine.params import STRICT
from sitting import DAY, NOON, Sitting, percept


def explain(sitting: Sitting, ref: str, session: str | None = None) -> results.Explanation:
    return cast("results.Explanation", sitting.do(ask.Explain(ref=ref, session=session)))


def said(sitting: Sitting, ref: str, session: str | None = None) -> str:
    explanation = explain(sitting, ref, session)
    return " ".join((*explanation.holds, *explanation.next))


def test_a_fact_restated_in_one_run_is_told_that_it_needs_two() -> None:
    sitting = Sitting("mine")
    for _ in range(10):
        sitting.record("linter runs", "mine")
    text = said(sitting, "linter", "mine")
    assert "it has 1 run, needs 2" in text
    assert "restating it again in this run adds no evidence" in text


def test_a_session_fact_is_told_when_it_goes() -> None:
    sitting = Sitting("mine")
    sitting.hold("mine", percept("linter runs", w=0.4), percept("old linter", 2, w=0.2))
    assert "removed after 3.00 more running days" in said(sitting, "linter runs", "mine")
    assert "At or below 0.2 it is removed at the next pass" in said(sitting, "old linter", "mine")


def test_the_strength_of_the_moment_is_shown_beside_the_stored_one() -> None:
    sitting = Sitting("mine")
    sitting.hold("mine", percept("linter runs", w=0.5))
    sitting.run(DAY * 0.75)
    sitting.engine.configure(replace(STRICT, session_half_life_days=0.75))
    explanation = explain(sitting, "linter", "mine")
    assert (explanation.view.percept.w, explanation.w_now) == (0.5, 0.25)
    assert "Below 0.4 it is neither injected nor recalled by default." in explanation.holds


def test_a_user_fact_is_told_how_it_becomes_global() -> None:
    sitting = Sitting("mine")
    sitting.record("linter runs", "mine", producer="user")
    assert "qualifies for global and is promoted at the next pass" in said(sitting, "lint", "mine")
    sitting.hold("mine", percept("weak linter", w=0.5, producer="user"))
    assert "becomes global at strength 0.8, being the user's word" in said(sitting, "weak", "mine")


def test_a_contradiction_names_the_other_side() -> None:
    sitting = Sitting("mine")
    one = sitting.record("linter runs", "mine", producer="user")
    two = sitting.record("no linting here", "mine", relation="contradicts", related_to=one.id)
    text = said(sitting, one.id, "mine")
    assert f"#{two.id[:8]} contradicts it." in text
    assert f"Until it or #{two.id[:8]} is forgotten, neither can become global" in text
    assert "held back by the contradiction" in text
    assert f"It contradicts #{one.id[:8]}." in said(sitting, two.id, "mine")


def test_global_facts_that_contradict_are_told_that_both_grow_weaker() -> None:
    sitting = Sitting()
    one = sitting.record("linter runs")
    two = sitting.record("no linting here", relation="contradicts", related_to=one.id)
    for this, other in ((one, two), (two, one)):
        text = said(sitting, this.id)
        assert f"It and #{other.id[:8]} contradict: each pass takes 0.1 from both" in text
        assert "can become global" not in text
    sitting.consolidate()
    assert [round(p.w, 2) for p in sitting.engine.image("global").percepts] == [0.6, 0.6]


def test_a_contradiction_across_scopes_keeps_the_session_s_side_in_its_session() -> None:
    sitting = Sitting("mine")
    one = sitting.record("linter runs")
    two = sitting.record("no linting here", "mine", relation="contradicts", related_to=one.id)
    near, far = f"#{two.id[:8]}", f"#{one.id[:8]}"
    text = said(sitting, one.id, "mine")
    assert f"It and {near} contradict: {near} can't become global until one of them is" in text
    text = said(sitting, two.id, "mine")
    assert f"Until it or {far} is forgotten, it can't become global: they contradict." in text
    assert "neither" not in text


def test_a_global_fact_is_told_how_far_it_sinks_and_when_it_is_archived() -> None:
    sitting = Sitting()
    sitting.hold("global", percept("linter runs", idle_seconds=3 * DAY))
    sitting.run(DAY)
    text = said(sitting, "linter")
    assert "sinks towards 0.2 with a half-life of 60 running days" in text
    assert "archived after 10.00 more running days" in text
    sitting.recall("linter")
    assert "archived after 14.00 more running days" in said(sitting, "linter")


def test_core_and_archived_facts_are_told_their_lot() -> None:
    sitting = Sitting()
    sitting.learn("tabs never spaces")
    assert "It stays until it is forgotten." in said(sitting, "tabs")
    sitting.hold("archive", percept("telnet", archived_at=NOON, archived_reason="stale"))
    text = said(sitting, "telnet")
    assert "It is in archive" in text
    assert "`restore` brings it back" in text


def test_a_strength_just_below_a_gate_is_not_shown_as_having_reached_it() -> None:
    sitting = Sitting("mine")
    sitting.hold("mine", percept("linter runs", w=0.8 - 1e-12))
    assert "Its strength is 0.799 now." in said(sitting, "linter", "mine")
