"""A scope frozen at one moment, cheaply, to be made a value of elsewhere.

Freezing copies columns and references: a few milliseconds for 100,000 percepts.  Making
the percepts of them takes a hundred times as long, and may be done in another thread
while the scope itself goes on changing: percepts are immutable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.engine.columns import live_at
from milkd.engine.percept import GLOBAL, NO_TOUCHES, Percept, ScopeImage, living

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Mapping

    from milkd.engine.percept import Edge, Engram


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What a scope held.

    Attributes:
        slots: The live rows, in the order in which percepts came in.
        texts: A percept a row; the numbers of the stale ones are in the columns.
        touched: Running seconds by slot, of rows that changed since the last pass.
        layout: Tells whether the scope's slots are still the same ones.
    """

    name: str
    slots: list[int]
    texts: list[Percept | None]
    stale: array[int]
    w: array[float]
    idle_s: array[float]
    last_used_at: array[float]
    used: array[int]
    touched: dict[int, float]
    engrams: tuple[Engram, ...]
    edges: tuple[Edge, ...]
    running_seconds: float
    shown: tuple[str, ...]
    extra: Mapping[str, object]
    unreadable: tuple[tuple[str, int, object], ...]
    layout: object

    def image(self) -> ScopeImage:
        """The scope as a value."""
        percepts = tuple(self._percepts())
        return ScopeImage(
            name=self.name,
            percepts=percepts,
            engrams=self.engrams,
            edges=self.edges,
            running_seconds=self.running_seconds,
            touched={self._id(slot): at for slot, at in self.touched.items()} or NO_TOUCHES,
            used=self._used(percepts),
            shown=self.shown,
            extra=self.extra,
            unreadable=self.unreadable,
        )

    def _percepts(self) -> Iterator[Percept]:
        for slot in self.slots:
            percept = self.texts[slot]
            assert percept is not None
            if self.stale[slot]:
                numbers = live_at(slot, self.w, self.idle_s, self.last_used_at)
                percept = living(percept, numbers)
            yield percept

    def _id(self, slot: int) -> str:
        percept = self.texts[slot]
        assert percept is not None
        return percept.id

    def _used(self, percepts: tuple[Percept, ...]) -> tuple[str, ...]:
        """Idle time accrues in global alone."""
        if self.name != GLOBAL or 1 not in self.used:
            return ()
        rows = zip(self.slots, percepts, strict=True)
        return tuple(percept.id for slot, percept in rows if self.used[slot])
