"""What comes back for a query: most hits first, then the score (ADR-90, "Weighing")."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from milkd.engine.hits import Hits
from milkd.engine.ordering import (
    OPEN,
    Entry,
    Gate,
    diverse,
    ordered,
    passes_consumer,
    updates_first,
)
from milkd.engine.ranking import recency_scale
from milkd.engine.references import shown as shown_weight
from milkd.engine.results import Candidate, Decision, Hit, Recalled
from milkd.engine.usage import handed_out, turn_of, used

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.engine.commands import Now, Query
    from milkd.engine.memory import Memory

BEST = "among the best"


def query(memory: Memory, command: Query, now: Now) -> Decision:
    """Recall the percepts that share most words with a text."""
    hits = Hits.of(memory, command.text, command.session)
    entries = list(islice(_in_order(memory, command, hits, now), command.max_results))
    places = [(entry.scope, entry.slot) for entry in entries]
    seen = handed_out(memory, places, command.session, command.caller)
    c = recency_scale(now.wall, memory.params)
    result = Recalled(
        tuple(_hit(memory, entry, now.wall, c) for entry in entries),
        tuple(_candidates(memory, command, hits, entries, now)) if command.explain else None,
        turn_of(seen),
    )
    return Decision(used(places, now) + seen, result)


def _in_order(memory: Memory, command: Query, hits: Hits, now: Now) -> Iterator[Entry]:
    gate = Gate(command.min_confidence, command.consumer)
    entries = ordered(memory, hits, gate, now, by_hits=True, at_first=command.max_results)
    if memory.params.superseded:
        entries = updates_first(memory, hits, entries, gate, now)
    if memory.params.diversity in ("query", "both"):
        entries = diverse(memory, entries, command.max_results, superseded=True)
    return entries


def _hit(memory: Memory, entry: Entry, wall: float, c: float) -> Hit:
    view = memory.view(entry.scope, entry.slot, wall, c)
    return Hit(view, entry.hits, entry.score, entry.superseded_by)


def _candidates(
    memory: Memory, command: Query, hits: Hits, chosen: list[Entry], now: Now
) -> Iterator[Candidate]:
    """Every row with a hit, and why it is in or out."""
    included = {entry.id for entry in chosen}
    everything = ordered(memory, hits, OPEN, now, by_hits=True)
    rest = (entry for entry in everything if entry.id not in included)
    for entry in (*chosen, *rest):
        percept = entry.scope.percept(entry.slot)
        if percept.id in included:
            reason = BEST
        elif percept.w < command.min_confidence:
            least = f"min_confidence {command.min_confidence:g}"
            reason = f"w {shown_weight(percept.w)} is below {least}"
        elif not passes_consumer(entry.scope, entry.slot, command.consumer):
            reason = f"meant for {percept.consumer}, asked by {command.consumer}"
        else:
            reason = f"after the first {command.max_results}"
        yield Candidate(
            id=percept.id,
            included=reason == BEST,
            reason=reason,
            hits=entry.hits,
            score=entry.score,
            bytes=len(percept.content.encode()),
        )
