"""The numbers of a scope, one array a field: what kernels run over.

Row = slot; slots count up and are not used again, so slot order is the order in
which percepts came into the scope.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any

from milkd.engine.percept import Live

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        self.last_used_at = array("d")
        """Wall times in seconds; NaN where a row was never used."""
        self.importance = array("d")
        self.evidence = array("I")
        self.exempt = array("B")
        """1 where decay, pruning, archiving and eviction pass by: core, and rows that are gone."""
        self.used = array("B")
        """1 where idle time does not accrue at the next pass."""
        self.stale = array("B")
        """1 where w, idle_s or last_used_at may differ from the percept's own."""
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
        self.last_used_at.append(math.nan)
        self.importance.append(NEUTRAL_IMPORTANCE)
        for counts in (self.evidence, self.exempt, self.used, self.stale, self.consumer):
            counts.append(0)
        return slot

    def extend(self, percepts: Sequence[Percept], u: Sequence[float]) -> None:
        """Append a row for each percept; `u` has their freshness."""
        used_at = [percept.last_used_at for percept in percepts]
        importance = [percept.importance for percept in percepts]
        numbers = self._consumers
        self.w.extend([percept.w for percept in percepts])
        self.updated_at.extend([percept.updated_at for percept in percepts])
        self.u.extend(u)
        self.idle_s.extend([percept.idle_seconds for percept in percepts])
        self.last_used_at.extend([math.nan if at is None else at for at in used_at])
        self.importance.extend([NEUTRAL_IMPORTANCE if i is None else i for i in importance])
        self.evidence.extend([percept.evidence for percept in percepts])
        self.exempt.extend([percept.core for percept in percepts])
        self.used.frombytes(bytes(len(percepts)))
        self.stale.frombytes(bytes(len(percepts)))
        self.consumer.extend([numbers.setdefault(p.consumer, len(numbers)) for p in percepts])

    def without_rows(self) -> Columns:
        """Columns without rows, in which consumers have the same numbers."""
        other = Columns()
        other._consumers = self._consumers
        return other

    def append_rows(self, source: Columns, rows: Sequence[int]) -> None:
        """Append copies of other columns' rows."""
        for mine, theirs in zip(self._all(), source._all(), strict=True):
            mine.extend([theirs[row] for row in rows])

    def copy_row(self, source: Columns, row: int, slot: int) -> None:
        """Give a row the numbers of one of other columns."""
        for mine, theirs in zip(self._all(), source._all(), strict=True):
            mine[slot] = theirs[row]

    def _all(self) -> tuple[array[Any], ...]:
        reals = (self.w, self.updated_at, self.u, self.idle_s, self.last_used_at, self.importance)
        return (*reals, self.evidence, self.exempt, self.used, self.stale, self.consumer)

    def write(self, slot: int, percept: Percept, u: float) -> None:
        """Set a row to a percept's numbers."""
        self.w[slot] = percept.w
        self.updated_at[slot] = percept.updated_at
        self.u[slot] = u
        self.idle_s[slot] = percept.idle_seconds
        used_at = percept.last_used_at
        self.last_used_at[slot] = math.nan if used_at is None else used_at
        self.stale[slot] = 0
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

    def use(self, slot: int, at: float) -> None:
        """Note that a row was handed out at a wall time: idle time starts anew."""
        self.idle_s[slot] = 0.0
        self.last_used_at[slot] = at
        self.used[slot] = self.stale[slot] = 1

    def live(self, slot: int) -> Live:
        """The numbers of a row that change without its percept."""
        return live_at(slot, self.w, self.idle_s, self.last_used_at)

    def clear(self, slot: int) -> None:
        """Leave a row that no pass touches."""
        self.w[slot] = self.idle_s[slot] = 0.0
        self.evidence[slot] = 0
        self.exempt[slot] = 1


def live_at(slot: int, w: array[float], idle_s: array[float], last_used_at: array[float]) -> Live:
    """The numbers of a row in columns, or in copies of them."""
    used_at = last_used_at[slot]
    return Live(w[slot], idle_s[slot], None if used_at != used_at else used_at)  # NaN: never
