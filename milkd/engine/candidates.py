"""Why a percept is in or out of an answer, for every one that could be in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.ordering import passes_consumer
from milkd.engine.references import short
from milkd.engine.references import shown as shown_weight
from milkd.engine.rendering import line_of
from milkd.engine.results import Candidate

if TYPE_CHECKING:
    from milkd.engine.memory import Memory
    from milkd.engine.neighbours import Neighbour
    from milkd.engine.ordering import Entry, Gate
    from milkd.engine.scope import Scope


NO_WORD = "shares no word with the prompt"
MOST = 1_000
"""Candidates of one explanation; more of them nobody reads, and others would have to wait."""


def candidate(memory: Memory, entry: Entry, reason: str, *, included: bool) -> Candidate:
    """A row that was considered."""
    return _candidate(memory, entry.scope, entry.slot, entry.hits, entry.score, reason, included)


def beside(memory: Memory, neighbour: Neighbour, reason: str, *, included: bool) -> Candidate:
    """A row that was considered as a neighbour; hits and score are no part of that."""
    overlap = "" if neighbour.overlap is None else f" {neighbour.overlap:.2f}"
    told = f"neighbour of {short(neighbour.of)} ({neighbour.via}{overlap}): {reason}"
    return _candidate(memory, neighbour.scope, neighbour.slot, 0, 0.0, told, included)


def kept_out(scope: Scope, slot: int, gate: Gate) -> str | None:
    """Why a row does not pass the gate; None if it does."""
    percept = scope.percept(slot)
    if percept.w < gate.min_w:
        return f"w {shown_weight(percept.w)} is below {gate.min_w:g}"
    if not passes_consumer(scope, slot, gate.consumer):
        return f"meant for {percept.consumer}, asked by {gate.consumer}"
    return None


def _candidate(
    memory: Memory, scope: Scope, slot: int, hits: int, score: float, reason: str, included: bool
) -> Candidate:
    percept = scope.percept(slot)
    return Candidate(
        id=percept.id,
        included=included,
        reason=reason,
        hits=hits,
        score=score,
        w=percept.w,
        importance=scope.columns.importance[slot],
        bytes=len(line_of(percept, memory.analyzer).encode()) + 1,
    )
