"""How useful a percept proved: its importance, which orders what comes back and nothing else.

RFC, proposal A.  Strength says how sure a fact is, and use makes no fact truer (ADR-90): no
decay, gate, promotion, archiving or eviction reads what is written here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine.changes import Stepped, TurnEnded
from milkd.engine.columns import NEUTRAL_IMPORTANCE
from milkd.engine.consolidation import let_all_pass
from milkd.engine.draft import Draft
from milkd.engine.judging import Jury, Verdict
from milkd.engine.percept import GLOBAL
from milkd.engine.references import resolve
from milkd.engine.replies import consent
from milkd.engine.results import Decision, Judged, Judgement
from milkd.engine.strength import touched_at
from milkd.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from milkd.engine.audience import Turn
    from milkd.engine.commands import Confirm, Now, Reject, TurnEnd
    from milkd.engine.memory import Memory
    from milkd.engine.percept import Percept

DIGITS = 6
USEFUL = (Verdict.USED, Verdict.CONFIRMED)


def turn_end(memory: Memory, command: TurnEnd, now: Now) -> Decision:
    """Judge each percept of a turn once, and let a pass go with it if that is wanted.

    Raises:
        NotFound: The turn that is named does not wait.
    """
    turn = _waiting(memory, command)
    draft = Draft(memory, now)
    # The pass first: it reads nothing that a judgement writes.
    report = let_all_pass(draft, command.session) if command.consolidate else None
    if turn is None:
        return Decision(tuple(draft.changes), Judgement(None, report=report))
    places = dict(_places(draft, turn, command.session))
    verdicts = _verdicts(memory, command, turn, [percept for _, percept in places.values()])
    judged = []
    for percept_id, (scope, percept) in places.items():
        percept = _counted(percept, verdicts[percept_id])
        judged.append(_rate(draft, scope, percept, verdicts[percept_id]))
    who = command.session or command.caller
    assert who is not None
    draft.changes.append(TurnEnded(who, turn))
    return Decision(tuple(draft.changes), Judgement(turn.number, tuple(judged), report))


def confirm(memory: Memory, command: Confirm, now: Now) -> Decision:
    """The user says that a percept was right."""
    return _said_of(memory, command, now, Verdict.CONFIRMED)


def reject(memory: Memory, command: Reject, now: Now) -> Decision:
    """The user says that a percept was wrong; it stays, but comes later."""
    return _said_of(memory, command, now, Verdict.REJECTED)


def _said_of(memory: Memory, command: Confirm | Reject, now: Now, verdict: Verdict) -> Decision:
    scope, slot = resolve(memory, command.ref, command.session)
    draft = Draft(memory, now)
    judged = _rate(draft, scope.name, scope.percept(slot), verdict)
    return Decision(tuple(draft.changes), judged)


def _waiting(memory: Memory, command: TurnEnd) -> Turn | None:
    """The turn that is meant; None if none is named and none waits."""
    audience = memory.audiences.get(command.session or command.caller or "")
    waiting: Mapping[int, Turn] = audience.waiting if audience else {}
    if command.turn is None:
        return next(iter(waiting.values()), None)
    if command.turn not in waiting:
        there = ", ".join(map(str, waiting)) or "none"
        raise NotFound(
            f"turn: found {command.turn}, expected one that waits to be judged: {there}; each is "
            "judged once, and what was shown before a restart is not"
        )
    return waiting[command.turn]


def _places(
    draft: Draft, turn: Turn, session: str | None
) -> Iterator[tuple[str, tuple[str, Percept]]]:
    """By id, where the percepts of a turn are now; those that are gone are left out."""
    names = (GLOBAL,) if session is None else (GLOBAL, session)
    for percept_id in turn.ids:
        for name in names:
            percept = draft.scope(name).get(percept_id)
            if percept is not None:
                yield percept_id, (name, percept)
                break


def _verdicts(
    memory: Memory, command: TurnEnd, turn: Turn, percepts: list[Percept]
) -> dict[str, Verdict]:
    """By id, what a turn says of each percept."""
    done = f"{command.response}\n{command.tool_text}"
    jury = Jury(memory, percepts, turn.prompt or "", done, memory.visible(command.session))
    found = {percept.id: jury.verdict(percept) for percept in percepts}
    said = consent(command.user_reply, memory.params.feedback_reply_words)
    if said is None:
        return found
    # An answer is about what was made use of, not about all that had been shown.
    meant = Verdict.CONFIRMED if said else Verdict.REJECTED
    return {i: meant if verdict is Verdict.USED else verdict for i, verdict in found.items()}


def _counted(percept: Percept, verdict: Verdict) -> Percept:
    """The percept with one more recall, used or not."""
    streak = percept.bad_recall_count + 1 if verdict is Verdict.UNUSED else percept.bad_recall_count
    return replace(percept, recall_count=percept.recall_count + 1, bad_recall_count=streak)


def _rate(draft: Draft, scope: str, percept: Percept, verdict: Verdict) -> Judged:
    """Let a verdict be so, in the draft."""
    before = _importance(percept)
    after = round(_after(draft, percept, verdict), DIGITS)  # steps are decimal, and files are read
    if after != before:
        percept = replace(percept, importance=after)
        draft.changes.append(Stepped(percept.id, verdict.value))
    if verdict in USEFUL:
        at = touched_at(percept.last_confirmed_use_at or 0.0, draft.now.wall)
        percept = replace(percept, bad_recall_count=0, last_confirmed_use_at=at)
    draft.put(scope, percept)
    return Judged(
        id=percept.id,
        verdict=verdict.value,
        importance=after,
        recall_count=percept.recall_count,
        step=round(after - before, DIGITS),
    )


def _after(draft: Draft, percept: Percept, verdict: Verdict) -> float:
    """The importance after a verdict: one step of a kind in a run, and none beyond the ends."""
    params, before = draft.params, _importance(percept)
    if (percept.id, verdict.value) in draft.memory.stepped:
        return before
    if verdict is Verdict.USED:
        return max(before, min(1.0, before + params.feedback_used))
    if verdict is Verdict.CONFIRMED:
        return max(before, min(1.0, before + params.feedback_confirmed))
    if verdict is Verdict.REJECTED:
        down, floor = params.feedback_rejected, params.importance_floor
    elif verdict is Verdict.UNUSED and _is_ignored(draft, percept):
        down, floor = params.feedback_unused, params.feedback_unused_floor
    else:
        return before
    return before if percept.core else min(before, max(floor, before - down))


def _is_ignored(draft: Draft, percept: Percept) -> bool:
    """Whether it was of no use often enough in a row, and shown often enough to tell."""
    params = draft.params
    return (
        percept.bad_recall_count >= params.feedback_streak
        and percept.recall_count >= params.min_recall_count
    )


def _importance(percept: Percept) -> float:
    return NEUTRAL_IMPORTANCE if percept.importance is None else percept.importance
