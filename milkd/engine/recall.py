"""What comes back for a query: most hits first, then the score (ADR-90, "Weighing")."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from milkd.engine.candidates import MOST, beside, candidate, kept_out
from milkd.engine.hits import Hits
from milkd.engine.neighbours import Neighbourhood, may_be_any
from milkd.engine.ordering import OPEN, Entry, Gate, diverse, ordered, updates_first
from milkd.engine.ranking import recency_scale
from milkd.engine.results import Decision, Hit, Near, Recalled
from milkd.engine.usage import handed_out, turn_of, used

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.engine.commands import Now, Query
    from milkd.engine.memory import Memory
    from milkd.engine.neighbours import Neighbour
    from milkd.engine.results import Candidate

BEST = "among the best"


def query(memory: Memory, command: Query, now: Now) -> Decision:
    """Recall the percepts that share most words with a text."""
    hits = Hits.of(memory, command.text, command.session)
    entries = list(islice(_in_order(memory, command, hits, now), command.max_results))
    near = _neighbours(memory, command, hits, entries, now)
    places = [(entry.scope, entry.slot) for entry in entries]
    shown = [*places, *((each.scope, each.slot) for each in near)] if near else places
    seen = handed_out(memory, shown, command.session, command.caller)
    c = recency_scale(now.wall, memory.params)
    result = Recalled(
        tuple(_hit(memory, entry, now.wall, c) for entry in entries),
        tuple(_near(memory, each, now.wall, c) for each in near),
        tuple(_candidates(memory, command, hits, entries, near, now)) if command.explain else None,
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


def _neighbours(
    memory: Memory, command: Query, hits: Hits, entries: list[Entry], now: Now
) -> list[Neighbour]:
    """What belongs to the results; none of them is used by that."""
    if memory.params.neighbours not in ("query", "both") or not may_be_any(memory, hits.scopes):
        return []
    gate = Gate(command.min_confidence, command.consumer)
    ids = [entry.id for entry in entries]
    return list(Neighbourhood(memory, hits.scopes, gate, ids, now).all())


def _hit(memory: Memory, entry: Entry, wall: float, c: float) -> Hit:
    view = memory.view(entry.scope, entry.slot, wall, c)
    return Hit(view, entry.hits, entry.score, entry.superseded_by)


def _near(memory: Memory, each: Neighbour, wall: float, c: float) -> Near:
    view = memory.view(each.scope, each.slot, wall, c)
    return Near(view, each.of, each.via, each.overlap)


def _candidates(
    memory: Memory,
    command: Query,
    hits: Hits,
    chosen: list[Entry],
    near: list[Neighbour],
    now: Now,
) -> Iterator[Candidate]:
    """Every row with a hit, and why it is in or out; then the neighbours that have none."""
    gate = Gate(command.min_confidence, command.consumer)
    included, there = {entry.id for entry in chosen}, {each.id for each in near}
    everything = islice(ordered(memory, hits, OPEN, now, by_hits=True), MOST)
    rest = (entry for entry in everything if entry.id not in included | there)
    for entry in chosen:
        yield candidate(memory, entry, BEST, included=True)
    for each in near:
        yield beside(memory, each, "beside the best", included=True)
    for entry in rest:
        late = f"after the first {command.max_results}"
        reason = kept_out(entry.scope, entry.slot, gate) or late
        yield candidate(memory, entry, reason, included=False)
