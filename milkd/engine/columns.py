"""The numbers of a scope, one array a field: what kernels run over.

Row = slot; slots count up and are not used again, so slot order is the order in
which percepts came into the scope.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milkd.engine.percept import Percept

NEUTRAL_IMPORTANCE = 0.5


class Columns:
    """Struct of arrays over the percepts of one scope."""

    def __init__(self) -> None:
        self.w = array("d")
        self.updated_at = array("d")
        self.u = array("d")
        """Freshness of `updated_at` (ranking.py)."""
        self.idle_s = array("d")
        self.importance = array("d")
        self.evidence = array("I")
        self.exempt = array("B")
        """1 where decay, pruning, archiving and eviction pass by: core, and rows that are gone."""
        self.used = array("B")
        """1 where idle time does not accrue at the next pass."""
        self.consumer = array("I")
        """For whom the row is meant, by number; 0 for everybody."""
        self._consumers: dict[str | None, int] = {None: 0}

    def __len__(self) -> int:
        return len(self.w)

    def append(self) -> int:
        """Make room for one more row; gives its slot."""
        slot = len(self.w)
        for column in (self.w, self.updated_at, self.u, self.idle_s):
            column.append(0.0)
        self.importance.append(NEUTRAL_IMPORTANCE)
        for counts in (self.evidence, self.exempt, self.used, self.consumer):
            counts.append(0)
        return slot

    def write(self, slot: int, percept: Percept, u: float) -> None:
        """Set a row to a percept's numbers."""
        self.w[slot] = percept.w
        self.updated_at[slot] = percept.updated_at
        self.u[slot] = u
        self.idle_s[slot] = percept.idle_seconds
        given = percept.importance
        self.importance[slot] = NEUTRAL_IMPORTANCE if given is None else given
        self.evidence[slot] = percept.evidence
        self.exempt[slot] = percept.core
        self.consumer[slot] = self._consumers.setdefault(percept.consumer, len(self._consumers))

    def asked_by(self, consumer: str | None) -> int:
        """The number by which rows are told for whom they are; -1 for nobody in particular."""
        if consumer is None:
            return -1
        return self._consumers.get(consumer, len(self._consumers))  # of no row so far

    def clear(self, slot: int) -> None:
        """Leave a row that no pass touches."""
        self.w[slot] = self.idle_s[slot] = 0.0
        self.evidence[slot] = 0
        self.exempt[slot] = 1
