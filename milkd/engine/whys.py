"""Why one percept would come for a prompt, or would not; nothing is shown or used by asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.candidates import MOST, NO_WORD, candidate, kept_out
from milkd.engine.commands import Inject, Query
from milkd.engine.hits import Hits
from milkd.engine.injection import inject
from milkd.engine.ordering import Entry, Gate
from milkd.engine.ranking import recency_scale
from milkd.engine.recall import query
from milkd.engine.references import resolve
from milkd.engine.relevance import MIN_W
from milkd.engine.results import Decision, Injection, Recalled, View, Whys

if TYPE_CHECKING:
    from milkd.engine.commands import Now, Why
    from milkd.engine.memory import Memory
    from milkd.engine.references import Place
    from milkd.engine.results import Candidate


def why(memory: Memory, command: Why, now: Now) -> Decision:
    """What would become of a percept if the prompt were injected for, and if it were asked for."""
    place = resolve(memory, command.ref, command.session)
    scope, slot = place
    session, caller, consumer = command.session, command.caller, command.consumer
    injecting = Inject(
        prompt=command.prompt, session=session, consumer=consumer, explain=True, caller=caller
    )
    asking = Query(text=command.prompt, session=session, consumer=consumer, explain=True)
    injected, recalled = inject(memory, injecting, now).result, query(memory, asking, now).result
    assert isinstance(injected, Injection)
    assert isinstance(recalled, Recalled)
    percept = scope.percept(slot)
    view = View(percept, scope.name, memory.rank_score(percept, now.wall))
    reasons = [
        _of(percept.id, candidates or ()) or _beyond(memory, command, place, now)
        for candidates in (injected.candidates, recalled.candidates)
    ]
    return Decision((), Whys(view, reasons[0], reasons[1]))


def _of(percept_id: str, candidates: tuple[Candidate, ...]) -> Candidate | None:
    return next((each for each in candidates if each.id == percept_id), None)


def _beyond(memory: Memory, command: Why, place: Place, now: Now) -> Candidate:
    """Of a percept that is not among the candidates."""
    scope, slot = place
    hits = Hits.of(memory, command.prompt, command.session)
    score = memory.row_score(scope, slot, now.wall, recency_scale(now.wall, memory.params))
    if scope not in hits.scopes:
        return candidate(
            memory, Entry(scope, slot, 0, score), "archived; restore it first", included=False
        )
    count = hits.of_row(hits.scopes.index(scope), slot)
    gate = Gate(MIN_W, command.consumer)
    late = f"after the first {MOST:,} that bear on it"
    reason = (kept_out(scope, slot, gate) or late) if count else NO_WORD
    return candidate(memory, Entry(scope, slot, count, score), reason, included=False)
