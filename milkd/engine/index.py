"""From tokens to rows: which rows share words with a text, and how many.

Rows are slots of a scope's columns.  Postings are sorted arrays of slots, so a
row can be taken out of the middle; every answer is exact.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

from milkd.engine.text import jaccard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Guards ceil() against 0.6 * 5 = 3.0000000000000004: one token too few costs time, not truth.
_SLACK = 1e-9


class TokenIndex:
    """The rows of one scope by token."""

    def __init__(self) -> None:
        self._rows: dict[int, frozenset[str]] = {}
        self._postings: dict[str, array[int]] = {}

    def add(self, slot: int, features: frozenset[str]) -> None:
        """File a row under its tokens, instead of what it was filed under before."""
        if self._rows.get(slot) == features:
            return
        self.remove(slot)
        self._rows[slot] = features
        for token in features:
            posting = self._postings.setdefault(token, array("I"))
            posting.insert(bisect_left(posting, slot), slot)

    def remove(self, slot: int) -> None:
        """Take a row out; one that is not there is no error."""
        for token in self._rows.pop(slot, ()):
            posting = self._postings[token]
            del posting[bisect_left(posting, slot)]
            if not posting:
                del self._postings[token]

    def rows(self, token: str) -> Sequence[int]:
        """The rows that have a token, in order."""
        return self._postings.get(token, ())

    def features(self, slot: int) -> frozenset[str]:
        """The tokens under which the row is filed."""
        return self._rows[slot]

    def hits(self, tokens: frozenset[str]) -> Counter[int]:
        """How many of the tokens each row has, for rows that have any."""
        counts: Counter[int] = Counter()
        for token in tokens:
            if token in self._postings:
                counts.update(self._postings[token])
        return counts

    def alike(self, features: frozenset[str], threshold: float) -> Iterator[tuple[float, int]]:
        """(similarity, slot) of every row at least that similar, `threshold` > 0; in no order.

        A row as similar as that shares at least threshold * n of the n tokens, so it has one
        of the n - ceil(threshold * n) + 1 rarest: only their postings are read.
        """
        needed = max(1, math.ceil(threshold * len(features) - _SLACK))
        rarest = sorted(features, key=self._frequency)[: len(features) - needed + 1]
        seen = {slot for token in rarest for slot in self._postings.get(token, ())}
        for slot in seen:
            similarity = jaccard(features, self._rows[slot])
            if similarity >= threshold:
                yield similarity, slot

    def _frequency(self, token: str) -> int:
        return len(self._postings.get(token, ()))
