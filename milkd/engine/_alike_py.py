"""The rows most like a set of words, without looking at the others.

A row as similar as `threshold` shares at least threshold * n of the n words.  Whatever it
lacks can be any of them, so of the postings, rarest first, it is in one of the first few, and
it is in two of one more.
"""

from __future__ import annotations

import math
from collections import Counter
from heapq import nsmallest
from itertools import chain
from typing import TYPE_CHECKING

from milkd.engine._bitmaps_py import levels, planes_of, slots_of, union
from milkd.engine._order_py import by_hits
from milkd.engine._postings_py import LONG

if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkd.engine._postings_py import Postings

# Up to here, rows are compared one by one: more cost more than counting.
_FEW = 24
# From here on, of so many rows one in 2 ** _SHARE, counting by bitmaps costs less.
_MANY = 400
_SHARE = 6
# Guards bounds on sizes against rounding: a row too many costs time, not truth.
_SLACK = 1e-9


class Search:
    """One search for rows at least so similar; collects (similarity, slot).

    Args:
        postings: What the index knows.
        wanted: The words, not none.
        threshold: In (0, 1].
    """

    def __init__(self, postings: Postings, wanted: frozenset[str], threshold: float) -> None:
        self._postings = postings
        self._wanted = wanted
        self._lists = postings.of(wanted)
        self._threshold = threshold
        self._seen: set[int] = set()
        self.found: list[tuple[float, int]] = []

    def all(self) -> list[tuple[float, int]]:
        """Every row, in no order."""
        self._search_from(0)
        return self.found

    def best(self) -> tuple[float, int] | None:
        """The most similar row; of equals the one of the lowest slot."""
        lists, n = self._lists, len(self._wanted)
        read = at = 0
        # The threshold rises to the best that was found.
        while at < len(lists) and (len(lists) - at) / n >= self._threshold:
            read += len(lists[at].slots)
            if read > _FEW:
                self._search_from(at, rising=True)
                break
            self._compare(lists[at].slots)
            self._rise()
            at += 1
        return min(self.found, key=_order, default=None)

    def _rise(self) -> None:
        if self.found:
            self._threshold = max(self.found)[0]

    def _search_from(self, at: int, *, rising: bool = False) -> None:
        """Find all rows that are in none of the first lists."""
        needed = self._needed()
        lists, last = self._lists, len(self._lists) - needed + 1
        if last <= at:
            return
        near = lists[at:last]
        size = sum([len(each.slots) for each in near])
        if size > _FEW and needed > 1:
            near = lists[at : last + 1]
            size += len(near[-1].slots)
            if size > max(_MANY, len(self._postings.rows) >> _SHARE):
                self._count_all(needed, rising=rising)
            else:
                counts = Counter(chain.from_iterable([each.slots for each in near]))
                self._compare([slot for slot, count in counts.items() if count > 1])
        else:
            self._compare(chain.from_iterable([each.slots for each in near]))

    def _needed(self) -> int:
        """How many of the words a row must share."""
        n, threshold = len(self._wanted), self._threshold
        needed = max(1, int(threshold * n))
        while needed / n < threshold:
            needed += 1
        return needed

    def _compare(self, slots: Iterable[int]) -> None:
        """Find those of the rows that are similar enough."""
        rows, sizes, seen, found = self._postings.rows, self._postings.sizes, self._seen, self.found
        n, threshold, intersection = len(self._wanted), self._threshold, self._wanted.intersection
        least = min(LONG, n * threshold - _SLACK)
        most = n / threshold + _SLACK
        for slot in slots:
            size = sizes[slot]
            if size < least or (size > most and size < LONG) or slot in seen:
                continue
            seen.add(slot)
            row = rows[slot]
            assert row is not None
            shared = len(intersection(row))
            similarity = shared / (n + len(row) - shared)
            if similarity >= threshold:
                found.append((similarity, slot))

    def _count_all(self, needed: int, *, rising: bool) -> None:
        """Count for all rows at once which words they share."""
        masks = [each.mask() for each in self._lists]
        n, sizes, rows = len(self._wanted), self._postings.sizes, self._postings.rows
        for shared, mask in levels(planes_of(masks), union(masks), needed):
            threshold = self._threshold
            if shared / n < threshold:
                return
            most = _most_words(n, shared, threshold)
            for slot in slots_of(mask):
                size = sizes[slot]
                if size > most and size < LONG:
                    continue
                if size == LONG:
                    size = len(rows[slot] or ())
                similarity = shared / (n + size - shared)
                if similarity >= threshold and slot not in self._seen:
                    self.found.append((similarity, slot))
            if rising:
                self._rise()


def nearest(postings: Postings, wanted: frozenset[str], k: int) -> list[tuple[float, int]]:
    """(similarity, slot) of the k most similar rows that share a word; the best first."""
    n, sizes, rows = len(wanted), postings.sizes, postings.rows
    best: list[tuple[float, int]] = []
    if k <= 0:
        return best
    for shared, slots in by_hits(postings, postings.of(wanted)):
        threshold = best[-1][0] if len(best) >= k else 0.0
        most = _most_words(n, shared, threshold)
        found = best
        for slot in slots:
            size = sizes[slot]
            if size <= most or size == LONG:
                if size == LONG:
                    size = len(rows[slot] or ())
                found.append((shared / (n + size - shared), slot))
        best = nsmallest(k, found, key=_order)
        # A row that shares fewer is not as similar, however short it is.
        if len(best) >= k and (shared - 1) / n < best[-1][0]:
            break
    return best


def _most_words(n: int, shared: int, threshold: float) -> float:
    """The length from which on a row that shares so many of n words is less similar."""
    return shared / threshold - n + shared + _SLACK if threshold > 0.0 else math.inf


def best_first(found: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """The most similar first; of equals the lower slot."""
    return sorted(found, key=_order)


def _order(pair: tuple[float, int]) -> tuple[float, int]:
    return -pair[0], pair[1]
