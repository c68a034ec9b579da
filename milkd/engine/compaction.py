"""A scope's rows on their way to new places, where the empty ones among them are left out.

Slots are not used again, so that their order is the one in which percepts came in; a
scope that lives for long would be mostly gaps.  To read all texts again takes long:
so rows move a few at a time, and until the last one has, the scope works on as it is
and passes every change on to the rows that have moved already.
"""

from __future__ import annotations

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
        texts: Their percepts.
        lookup: Finds them.
        ids: Their new slots by id.
        slots: Their new slots by the old ones.
    """

    def __init__(self, columns: Columns, analyzer: Analyzer) -> None:
        self.columns = columns.without_rows()
        self.lookup = Lookup(analyzer)
        self.texts: list[Percept | None] = []
        self.ids: dict[str, int] = {}
        self.slots: dict[int, int] = {}
        self._next = 0

    def move(self, columns: Columns, texts: Sequence[Percept | None], count: int) -> bool:
        """Move the rows among the next few that are not empty; whether there are more after."""
        end = min(self._next + count, len(texts))
        moving = [row for row in range(self._next, end) if texts[row] is not None]
        self.columns.append_rows(columns, moving)
        for slot, row in enumerate(moving, len(self.texts)):
            percept = texts[row]
            assert percept is not None
            self.lookup.file(slot, percept)
            self.slots[row] = self.ids[percept.id] = slot
            self.texts.append(percept)
        self._next = end
        return end < len(texts)

    def put(self, columns: Columns, row: int, percept: Percept, *, reads_alike: bool) -> None:
        """A row has another percept."""
        slot = self.slots.get(row)
        if slot is not None:
            self.columns.copy_row(columns, row, slot)
            self.texts[slot] = percept
            if not reads_alike:
                self.lookup.file(slot, percept)

    def use(self, columns: Columns, row: int) -> None:
        """A row was handed out."""
        slot = self.slots.get(row)
        if slot is not None:
            self.columns.copy_row(columns, row, slot)

    def drop(self, row: int, percept_id: str) -> None:
        """A row is empty now."""
        slot = self.slots.pop(row, None)
        if slot is not None:
            del self.ids[percept_id]
            self.texts[slot] = None
            self.columns.clear(slot)
            self.lookup.remove(slot)

    def keep_marks(self, lookup: Lookup) -> None:
        """Have what another lookup has worked out of the rows' contents."""
        known = lookup.known_marks.items()
        self.lookup.known_marks = {
            self.slots[row]: marks for row, marks in known if row in self.slots
        }
