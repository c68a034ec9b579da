"""Importance moves by use, and moves nothing but the order (model.md, Feedback)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from milkd.engine import commands as ask
from milkd.engine.audience import MOST_WAITING
from milkd.engine.changes import TurnEnded
from milkd.engine.params import DEFAULT
from milkd.errors import NotFound
from sitting import DAY, NOON, Sitting, percept

if TYPE_CHECKING:
    from milkd.engine.percept import Percept
    from milkd.engine.results import Judged, Judgement

USED = "I start it with make serve_local and look at the page."
UNUSED = "I had a look at the colours of the sky and found them pleasing."
FACT = percept("the site is served by make serve_local", 1)
PROMPT = "show me the site"


def sit(*facts: Percept, **knobs: Any) -> Sitting:
    sitting = Sitting("s1", "s2", base=DEFAULT, inject_repeat_turns=0, **knobs)
    sitting.hold("global", *(facts or (FACT,)))
    return sitting


def turn(sitting: Sitting, response: str, session: str = "s1", **more: Any) -> list[Judged]:
    assert sitting.inject(PROMPT, session).ids
    return list(end(sitting, response, session, **more).judged)


def end(sitting: Sitting, response: str, session: str | None = "s1", **more: Any) -> Judgement:
    command = ask.TurnEnd(response=response, session=session, **more)
    return cast("Judgement", sitting.do(command))


def steps(sitting: Sitting, *responses: str, runs: bool = True, **more: Any) -> list[float]:
    found = []
    for response in responses:
        found.append(round(turn(sitting, response, **more)[0].step, 9))
        if runs:
            sitting.engine.new_run()
    return found


def test_what_was_used_gains_once_a_run() -> None:
    assert steps(sit(), USED, USED) == [0.05, 0.05]
    assert steps(sit(), USED, USED, USED, runs=False) == [0.05, 0.0, 0.0]


def test_gains_add_up_and_end_at_one() -> None:
    sitting = sit(replace(FACT, importance=0.93))
    assert steps(sitting, USED, USED, USED) == [0.05, 0.02, 0.0]
    assert sitting.only("global").importance == 1.0


def test_what_is_shown_in_vain_loses_only_when_that_goes_on() -> None:
    assert steps(sit(), *[UNUSED] * 5) == [0.0, 0.0, -0.03, -0.03, -0.03]
    assert steps(sit(min_recall_count=0), *[UNUSED] * 3) == [0.0, -0.03, -0.03]
    assert steps(sit(), *[UNUSED] * 5, runs=False) == [0.0, 0.0, -0.03, 0.0, 0.0]


def test_a_use_ends_the_row() -> None:
    assert steps(sit(), UNUSED, UNUSED, USED, UNUSED, UNUSED) == [0.0, 0.0, 0.05, 0.0, -0.03]


def test_importance_is_a_number_that_people_can_read() -> None:
    sitting = sit(replace(FACT, importance=0.9))
    (judged,) = turn(sitting, USED)
    assert (judged.importance, judged.step) == (0.95, 0.05)
    assert sitting.only("global").importance == 0.95


def test_losses_end_at_a_floor_and_neglect_ends_before_the_users_no() -> None:
    ignored = replace(FACT, importance=0.31, recall_count=9, bad_recall_count=9)
    assert steps(sit(ignored), UNUSED, UNUSED) == [-0.01, 0.0]
    rejected = sit(replace(FACT, importance=0.25))
    assert steps(rejected, USED, USED, USED, user_reply="no") == [-0.1, -0.05, 0.0]
    below = sit(replace(FACT, importance=0.05, recall_count=9, bad_recall_count=9))
    assert steps(below, UNUSED) == [0.0]
    assert steps(below, USED, user_reply="no") == [0.0]


def test_core_never_loses() -> None:
    sitting = sit(replace(FACT, core=True, w=1.0, recall_count=9, bad_recall_count=9))
    assert steps(sitting, UNUSED) == [0.0]
    assert steps(sitting, USED, user_reply="no, wrong") == [0.0]
    assert steps(sitting, USED) == [0.05]


@pytest.mark.parametrize(
    ("reply", "verdict", "step"), [("exactly", "confirmed", 0.15), ("No.", "rejected", -0.1)]
)
def test_a_short_reply_is_about_what_was_used(reply: str, verdict: str, step: float) -> None:
    other = percept("the site of the fair is muddy", 2)
    used, unused = turn(sit(FACT, other), USED, user_reply=reply)
    assert (used.verdict, round(used.step, 9)) == (verdict, step)
    assert (unused.verdict, unused.step) == ("unused", 0.0)


def test_a_yes_to_a_turn_that_used_nothing_confirms_nothing() -> None:
    (judged,) = turn(sit(), UNUSED, user_reply="yes")
    assert judged.verdict == "unused"


def test_what_the_agent_did_counts_as_what_it_said() -> None:
    (judged,) = turn(sit(), "done", tool_text='{"command": "make serve_local"}')
    assert judged.verdict == "used"


def test_stock_phrases_change_nothing() -> None:
    for _ in range(3):
        (judged,) = turn(sit(), "As I remember, let me first run the tests")
        assert judged.step == 0.0


def test_the_counts_of_a_turn() -> None:
    sitting = sit()
    sitting.run(60)
    turn(sitting, UNUSED)
    known = sitting.only("global")
    assert (known.recall_count, known.bad_recall_count) == (1, 1)
    assert known.last_confirmed_use_at is None
    turn(sitting, "ok")
    known = sitting.only("global")
    assert (known.recall_count, known.bad_recall_count) == (2, 1)
    turn(sitting, USED)
    known = sitting.only("global")
    assert (known.recall_count, known.bad_recall_count) == (3, 0)
    assert known.last_confirmed_use_at == NOON + 60


def test_a_turn_is_judged_once() -> None:
    sitting = sit()
    sitting.inject(PROMPT, "s1")
    assert end(sitting, USED).turn == 1
    assert end(sitting, USED).turn is None
    with pytest.raises(NotFound, match="turn: found 1, expected one that waits to be judged: none"):
        end(sitting, USED, turn=1)
    assert sitting.only("global").recall_count == 1


def test_an_injection_does_not_overwrite_the_turn_before_it() -> None:
    other = percept("the forge hammers at midnight", 2)
    sitting = sit(FACT, other)
    first, second = sitting.inject(PROMPT, "s1"), sitting.inject("the forge", "s1")
    assert (first.turn, second.turn) == (1, 2)
    judged = end(sitting, "The hammering of the forge at midnight is heard.", turn=second.turn)
    assert [(each.id, each.verdict) for each in judged.judged] == [(other.id, "used")]
    judged = end(sitting, USED)
    assert judged.turn == 1
    assert [(each.id, each.verdict) for each in judged.judged] == [(FACT.id, "used")]


def test_what_a_query_found_belongs_to_the_turn() -> None:
    other = percept("the forge hammers at midnight", 2)
    sitting = sit(FACT, other)
    sitting.inject(PROMPT, "s1")
    recalled = cast("Any", sitting.do(ask.Query(text="forge", session="s1")))
    assert recalled.turn == 1
    assert [each.id for each in end(sitting, USED).judged] == [FACT.id, other.id]
    recalled = cast("Any", sitting.do(ask.Query(text="forge", session="s1")))
    assert recalled.turn == 2
    assert [each.id for each in end(sitting, USED).judged] == [other.id]


def test_a_query_that_finds_nothing_begins_no_turn() -> None:
    sitting = sit()
    assert cast("Any", sitting.do(ask.Query(text="zebra", session="s1"))).turn is None
    assert end(sitting, USED).turn is None


def test_old_turns_are_let_go() -> None:
    sitting = sit()
    for _ in range(MOST_WAITING + 3):
        sitting.inject(PROMPT, "s1")
    assert end(sitting, USED).turn == 4


def test_sessions_and_connections_have_turns_of_their_own() -> None:
    sitting = sit()
    sitting.inject(PROMPT, "s1")
    assert end(sitting, USED, "s2").turn is None
    assert end(sitting, USED, None, caller="connection 1").turn is None
    sitting.inject(PROMPT, None, caller="connection 1")
    assert end(sitting, USED, None, caller="connection 1").turn == 1
    assert end(sitting, USED, None).turn is None


def test_a_session_that_was_ended_has_no_turn_left() -> None:
    sitting = sit()
    sitting.inject(PROMPT, "s1")
    sitting.end("s1")
    assert end(sitting, USED).turn is None


def test_what_is_gone_is_not_judged() -> None:
    sitting = sit()
    sitting.inject(PROMPT, "s1")
    sitting.do(ask.Forget(ref=FACT.id))
    ended = end(sitting, USED)
    assert (ended.turn, ended.judged) == (1, ())


def test_a_pass_may_go_with_it() -> None:
    sitting = Sitting("s1", base=DEFAULT)
    sitting.hold("s1", replace(FACT, producer="user", w=0.9))
    sitting.inject(PROMPT, "s1")
    ended = end(sitting, USED, consolidate=True)
    assert ended.report is not None
    assert ended.report.promoted == 1
    known = sitting.only("global")
    assert (known.importance, known.recall_count) == (0.55, 1)


def test_without_a_turn_the_pass_is_still_done() -> None:
    sitting = Sitting("s1", base=DEFAULT)
    sitting.hold("s1", replace(FACT, producer="user", w=0.9))
    ended = end(sitting, USED, consolidate=True)
    assert (ended.turn, ended.report is not None) == (None, True)
    assert sitting.contents("global") == [FACT.content]


def test_a_pass_with_it_leaves_the_same_strengths_as_one_by_itself() -> None:
    with_it, without = (sit(replace(FACT, w=0.77)) for _ in range(2))
    for sitting in (with_it, without):
        sitting.inject(PROMPT, "s1")
        sitting.run(5 * DAY)
    end(with_it, USED, consolidate=True)
    without.consolidate("s1")
    assert with_it.only("global").w == without.only("global").w < 0.77
    assert with_it.only("global").updated_at == without.only("global").updated_at


def test_the_users_word_counts_once_a_run_each() -> None:
    sitting = sit()
    said = [
        cast("Judged", sitting.do(kind(ref=FACT.id)))
        for kind in (ask.Confirm, ask.Confirm, ask.Reject, ask.Reject)
    ]
    assert [round(each.step, 9) for each in said] == [0.15, 0.0, -0.1, 0.0]
    assert sitting.only("global").recall_count == 0
    sitting.engine.new_run()
    assert cast("Judged", sitting.do(ask.Confirm(ref=FACT.id))).step == pytest.approx(0.15)


def test_what_the_disk_refused_can_be_judged_again() -> None:
    sitting = sit()
    sitting.inject(PROMPT, "s1")
    sitting.inject(PROMPT, "s1")
    decision = sitting.decide(ask.TurnEnd(response=USED, session="s1"))
    sitting.engine.apply_all(decision.changes)
    for change in decision.changes:
        sitting.engine.revoke(change)
    sitting.hold("global", FACT)  # as the daemon loads it anew
    assert isinstance(decision.changes[-1], TurnEnded)
    again = end(sitting, USED)
    assert (again.turn, round(again.judged[0].step, 9)) == (1, 0.05)


def test_useful_facts_come_first_among_equals() -> None:
    one, other = percept("the site has a wiki", 2), percept("the site has a forum", 3)
    sitting = sit(one, other)
    assert sitting.recall("site") == [one.content, other.content]
    sitting.do(ask.Confirm(ref=other.id))
    assert sitting.recall("site") == [other.content, one.content]
    strict = sit(one, other, importance_weight=0.0)
    strict.do(ask.Confirm(ref=other.id))
    assert strict.recall("site") == [one.content, other.content]


def test_explain_tells_what_it_made_of_it() -> None:
    sitting = sit()
    turn(sitting, UNUSED)
    turn(sitting, UNUSED)
    sitting.do(ask.Confirm(ref=FACT.id))
    sitting.run(DAY)
    told = cast("Any", sitting.do(ask.Explain(ref=FACT.id))).holds
    assert "It was shown in 2 turns that were judged." in told
    assert "It was last made use of 1.0 days ago." in told
    assert any(line.startswith("Its importance is 0.65 (0.50 is neutral)") for line in told)
