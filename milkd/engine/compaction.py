"""A scope's rows on their way to new places, where the empty ones among them are left out.

Slots are not used again, so that their order is the one in which percepts came in; a
scope that lives for long would be mostly gaps.  To read all texts again takes long:
so rows move a few at a time, and until the last one has, the scope works on as it is
and passes every change on to the rows that have moved already.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from milkd.engine.lookup import Lookup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.engine.analysis import Analyzer
    from milkd.engine.columns import Columns
    from milkd.engine.percept import Percept

FEWEST = 1_024  # gaps that nobody minds
SHARE = 4  # nor one gap for so many percepts


def is_gappy(rows: int, live: int) -> bool:
    """Whether so many rows are too many for the percepts that are left."""
    return rows - live > max(FEWEST, live // SHARE)


class Compaction:
    """The rows that have moved.

    Attributes:
        columns: What the scope's columns have of them.
        lookup: Finds them.
        rows: By new slot, the old one; of percepts that were dropped after moving, too.
        slots: By old slot, the new one.
    """

    def __init__(self, columns: Columns, analyzer: Analyzer) -> None:
        self.columns = columns.without_rows()
        self.lookup = Lookup(analyzer)
        self.rows = array("L")
        self.slots: dict[int, int] = {}
        self._next = 0

    def move(self, columns: Columns, texts: Sequence[Percept | None], count: int) -> bool:
        """Move the rows among the next few that are not empty; whether there are more after."""
        end = min(self._next + count, len(texts))
        moving = [row for row in range(self._next, end) if texts[row] is not None]
        self.columns.append_rows(columns, moving)
        for slot, row in enumerate(moving, len(self.rows)):
            percept = texts[row]
            assert percept is not None
            self.lookup.file(slot, percept)
            self.slots[row] = slot
        self.rows.extend(moving)
        self._next = end
        return end < len(texts)

    def change(self, columns: Columns, row: int, percept: Percept | None = None) -> None:
        """A row has other numbers, and if a percept is given other words."""
        slot = self.slots.get(row)
        if slot is not None:
            self.columns.copy_row(columns, row, slot)
            if percept is not None:
                self.lookup.file(slot, percept)

    def drop(self, row: int) -> None:
        """A row is empty now."""
        slot = self.slots.pop(row, None)
        if slot is not None:
            self.columns.clear(slot)
            self.lookup.remove(slot)

    def keep_marks(self, lookup: Lookup) -> None:
        """Have what another lookup has worked out of the rows' contents."""
        known = lookup.known_marks.items()
        self.lookup.known_marks = {
            self.slots[row]: marks for row, marks in known if row in self.slots
        }
