"""The rows of an index and, word by word, which of them have it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from milkd.engine._bitmaps_py import mask_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# A word of more rows than this, and of more than one row in so many, has a bitmap; the rarest
# of them pays 64 bytes for each of its rows.
_LEAST_FREQUENT = 64
_ONE_ROW_IN = 512
# Rows that wait to enter a bitmap: few enough that a question does not wait for them long.
_MAX_WAITING = 256

LONG = 255
"""The `sizes` of every row of so many words or more."""


class Posting:
    """The rows of one word.

    Attributes:
        word: The one string that stands for it in all rows.
        slots: The rows, ascending.
    """

    __slots__ = ("_mask", "_waiting", "slots", "word")

    def __init__(self, word: str) -> None:
        self.word = word
        # A list would hold numbers that lie all over the memory.
        self.slots = array("I")
        self._mask = 0
        self._waiting: list[int] | None = None  # rows to turn over in the mask; None: no mask

    def add(self, slot: int, frequent: int) -> None:
        """Enter a row; `frequent` is the number of rows from which on a bitmap is kept."""
        slots = self.slots
        if slots and slot < slots[-1]:
            insort(slots, slot)
        else:
            slots.append(slot)
        # Entering a row in the bitmap copies it: they wait until somebody asks, or are many.
        if self._waiting is not None:
            self._waiting.append(slot)
            if len(self._waiting) > _MAX_WAITING:
                self.mask()
        elif len(slots) > frequent:
            self._mask, self._waiting = mask_of(slots), []

    def remove(self, slot: int) -> None:
        """Take a row out that is there."""
        del self.slots[bisect_left(self.slots, slot)]
        if self._waiting is not None:
            self._waiting.append(slot)
            if len(self._waiting) > _MAX_WAITING:
                self.mask()

    def mask(self) -> int:
        """The rows as a bitmap."""
        if self._waiting is None:
            return mask_of(self.slots)
        if self._waiting:
            # Those that were filed lately lie close together, far from the first row.
            start = min(self._waiting)
            self._mask ^= mask_of([slot - start for slot in self._waiting]) << start
            self._waiting.clear()
        return self._mask

    def forget_mask(self, frequent: int) -> None:
        """Keep no bitmap any more, unless the word is frequent."""
        if len(self.slots) <= frequent:
            self._mask, self._waiting = 0, None


class Postings:
    """What a token index knows.

    Attributes:
        rows: By slot, the words of a row; None where there is none.
        sizes: By slot, the number of words, up to `LONG`; 0 where there is no row.
        by_word: The postings of every word that some row has.
        count: How many rows there are.
    """

    def __init__(self) -> None:
        # A set would take six times the memory of a tuple.
        self.rows: list[tuple[str, ...] | None] = []
        self.sizes = bytearray()
        self.by_word: dict[str, Posting] = {}
        self.count = 0
        self._frequent = _LEAST_FREQUENT
        self._next_sweep = 2 * _LEAST_FREQUENT * _ONE_ROW_IN

    def row(self, slot: object) -> tuple[str, ...] | None:
        """The words of a row; None if there is no such row."""
        if isinstance(slot, int) and 0 <= slot < len(self.rows):
            return self.rows[slot]
        return None

    def add(self, slot: int, strings: Iterable[str]) -> None:
        """File a row that is not there."""
        if slot >= len(self.rows):
            self._make_room(slot)
        by_word, frequent, words = self.by_word, self._frequent, []
        for string in strings:
            posting = by_word.get(string)
            if posting is None:
                posting = by_word[string] = Posting(string)
            posting.add(slot, frequent)
            words.append(posting.word)
        self.rows[slot] = tuple(words)
        self.sizes[slot] = min(len(words), LONG)
        self.count += 1

    def remove(self, slot: int) -> None:
        """Take a row out; one that is not there is no error."""
        words = self.row(slot)
        if words is None:
            return
        for word in words:
            posting = self.by_word[word]
            posting.remove(slot)
            if not posting.slots:
                del self.by_word[word]
        self.rows[slot], self.sizes[slot] = None, 0
        self.count -= 1
        while self.rows and self.rows[-1] is None:
            del self.rows[-1], self.sizes[-1]

    def of(self, strings: Iterable[str]) -> list[Posting]:
        """The postings of those of the words that some row has, the rarest first."""
        found = [self.by_word[word] for word in strings if word in self.by_word]
        found.sort(key=_length)
        return found

    def slots(self) -> list[int]:
        """All rows, ascending."""
        return [slot for slot, row in enumerate(self.rows) if row is not None]

    def _make_room(self, slot: int) -> None:
        missing = slot + 1 - len(self.rows)
        self.rows += [None] * missing
        self.sizes += bytes(missing)
        self._frequent = max(_LEAST_FREQUENT, len(self.rows) // _ONE_ROW_IN)
        if len(self.rows) >= self._next_sweep:
            self._next_sweep = 2 * len(self.rows)
            for posting in self.by_word.values():
                posting.forget_mask(self._frequent // 2)


def _length(posting: Posting) -> int:
    return len(posting.slots)
