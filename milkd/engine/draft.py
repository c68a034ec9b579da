"""The state as a decision in the making would leave it.

A decision of several steps must see its own earlier ones, yet may touch nothing.
A `Draft` lies over the memory, answers as if its changes were made, and lists
them in the order in which they are to be applied.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from milkd.engine.changes import (
    Awarded,
    Change,
    EdgeDropped,
    EdgePut,
    EngramDropped,
    EngramPut,
    Passed,
    PerceptDropped,
    PerceptPut,
)
from milkd.engine.percept import ARCHIVE, Edge, Engram, Percept
from milkd.engine.strength import decay_factor, decayed, elapsed, floor, half_life_s

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Set

    from milkd.engine.commands import Now
    from milkd.engine.memory import Memory
    from milkd.engine.scope import Scope


class ScopeDraft:
    """One scope under the draft."""

    def __init__(self, base: Scope) -> None:
        self.base = base
        self.puts: dict[str, Percept] = {}
        self.dropped: set[str] = set()
        self.passed: tuple[array[float], array[float]] | None = None

    @cached_property
    def edges(self) -> dict[Edge, Edge]:
        """The edges that are here, in store order."""
        return dict(self.base.edges)

    @cached_property
    def engrams(self) -> dict[str, Engram]:
        """The engrams that are here, by id."""
        return dict(self.base.engrams)

    def get(self, percept_id: str) -> Percept | None:
        """The percept of an id, if it is here."""
        if percept_id in self.puts:
            return self.puts[percept_id]
        slot = self.base.slots.get(percept_id)
        return None if slot is None or percept_id in self.dropped else self._row(slot)

    def _row(self, slot: int) -> Percept:
        percept = self.base.percept(slot)
        if self.passed is None:
            return percept
        w, idle_s = self.passed
        return replace(percept, w=w[slot], idle_seconds=idle_s[slot])

    def ids(self) -> Iterator[str]:
        """The ids that are here, the oldest in the scope first."""
        for percept_id in self.base.slots:
            if percept_id not in self.dropped:
                yield percept_id
        for percept_id in self.puts:
            if percept_id not in self.base or percept_id in self.dropped:
                yield percept_id

    def among(self, ids: Set[str]) -> list[str]:
        """Those of some ids that are here, in the order of `ids()`, without going through all."""
        slots = self.base.slots
        old = [each for each in ids if each in slots and each not in self.dropped]
        old.sort(key=slots.__getitem__)
        new = (each for each in self.puts if each not in slots or each in self.dropped)
        return [*old, *(each for each in new if each in ids)]

    def __contains__(self, percept_id: object) -> bool:
        return percept_id in self.puts or (
            percept_id in self.base and percept_id not in self.dropped
        )

    def __len__(self) -> int:
        kept = len(self.base) - len(self.dropped)
        return kept + sum(i not in self.base or i in self.dropped for i in self.puts)


class Draft:
    """Changes to come, over a memory that stays as it is."""

    def __init__(self, memory: Memory, now: Now) -> None:
        self.memory = memory
        self.params = memory.params
        self.now = now
        self.changes: list[Change] = []
        self._scopes: dict[str, ScopeDraft] = {}
        self._awarded: set[str] = set()

    def scope(self, name: str) -> ScopeDraft:
        """One scope under the draft."""
        if name not in self._scopes:
            self._scopes[name] = ScopeDraft(self.memory.scopes[name])
        return self._scopes[name]

    def live_scopes(self) -> Iterator[ScopeDraft]:
        """Global and the open sessions under the draft."""
        return (self.scope(scope.name) for scope in self.memory.live())

    def is_live(self, percept_id: str) -> bool:
        """Whether the percept would be in global or in an open session."""
        return any(percept_id in scope for scope in self.live_scopes())

    def running(self, scope: str) -> float:
        """The scope's running seconds now; never before its last reading."""
        last = self.memory.scopes[scope].read_at
        return max(self.now.running.get(scope, last), last)

    def current(self, scope: str, percept: Percept) -> Percept:
        """The percept with the decay that its row has coming since it was last current."""
        base = self.memory.scopes[scope]
        slot = base.slots.get(percept.id)
        if percept.core or slot is None or scope == ARCHIVE:
            return percept
        since = elapsed(base.current_since(slot), self.running(scope))
        factor = decay_factor(since, half_life_s(scope, self.params))
        return replace(percept, w=decayed(percept.w, factor, floor(scope, self.params)))

    def put(self, scope: str, percept: Percept, *, touched: bool = False) -> None:
        """Insert or replace a percept; `touched` says that its strength is current as of now."""
        running = self.running(scope) if touched and scope != ARCHIVE else None
        self.scope(scope).puts[percept.id] = percept
        self.changes.append(PerceptPut(scope, percept, running))

    def drop(self, scope: str, percept_id: str) -> None:
        """Take a percept out; its edges and engram are the caller's to see to."""
        draft = self.scope(scope)
        draft.puts.pop(percept_id, None)
        if percept_id in draft.base:
            draft.dropped.add(percept_id)
        self.changes.append(PerceptDropped(scope, percept_id))

    def put_edge(self, scope: str, edge: Edge) -> None:
        """Add an edge to a scope."""
        self.scope(scope).edges[edge] = edge
        self.changes.append(EdgePut(scope, edge))

    def drop_edge(self, scope: str, edge: Edge) -> None:
        """Take an edge out of a scope."""
        del self.scope(scope).edges[edge]
        self.changes.append(EdgeDropped(scope, edge))

    def put_engram(self, scope: str, engram: Engram) -> None:
        """Add or replace an engram; one without percepts is taken out."""
        engrams = self.scope(scope).engrams
        if engram.percept_ids:
            engrams[engram.id] = engram
            self.changes.append(EngramPut(scope, engram))
        elif engrams.pop(engram.id, None) is not None:
            self.changes.append(EngramDropped(scope, engram.id))

    def award(self, percept: Percept) -> Percept:
        """The percept with one more evidence, unless it had its award of this run."""
        if self.is_awarded(percept.id):
            return percept
        self.mark_awarded(percept.id)
        return replace(percept, evidence=percept.evidence + 1)

    def is_awarded(self, percept_id: str) -> bool:
        """Whether a percept would have had its evidence of this run."""
        return percept_id in self.memory.awarded or percept_id in self._awarded

    def mark_awarded(self, percept_id: str) -> None:
        """Note that a percept had its award of this run, if that is not known yet."""
        if not self.is_awarded(percept_id):
            self._awarded.add(percept_id)
            self.changes.append(Awarded(percept_id))

    def let_pass(self, scope: str) -> tuple[int, float]:
        """Decay a scope up to now; gives how many weights fell, and the running seconds."""
        base = self.memory.scopes[scope]
        running = self.running(scope)
        passed = Passed(
            scope,
            running,
            elapsed(base.passed_at, running),
            half_life_s(scope, self.params),
            floor(scope, self.params),
        )
        w, idle_s, fell = base.after_pass(passed)
        self.scope(scope).passed = (w, idle_s)
        self.changes.append(passed)
        return fell, passed.elapsed_s
