"""From words to rows: the reference for the compiled index.

Rows are slots of a scope's columns.  Every answer is exact.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

from milkd.engine.ranking import rank_score
from milkd.engine.text import jaccard

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from milkd.engine._words_py import Vocabulary, Words
    from milkd.engine.ranking import Ranking

# Guards ceil() against 0.6 * 5 = 3.0000000000000004: one word too few costs time, not truth.
_SLACK = 1e-9


class TokenIndex:
    """The rows of one scope by the words of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._rows: dict[int, frozenset[str]] = {}
        self._postings: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, slot: object) -> bool:
        return slot in self._rows

    def add(self, slot: int, words: Words) -> None:
        """File a row under its words, instead of what it was filed under before."""
        strings = words.strings()
        if self._rows.get(slot) == strings:
            return
        self.remove(slot)
        self._rows[slot] = strings
        for word in strings:
            posting = self._postings.setdefault(word, array("I"))
            posting.insert(bisect_left(posting, slot), slot)

    def remove(self, slot: int) -> None:
        """Take a row out; one that is not there is no error."""
        for word in self._rows.pop(slot, ()):
            posting = self._postings[word]
            del posting[bisect_left(posting, slot)]
            if not posting:
                del self._postings[word]

    def strings(self, slot: int) -> frozenset[str]:
        """The words under which a row is filed."""
        return self._rows[slot]

    def shared(self, slot: int, words: Words) -> int:
        """How many of the words a row has; 0 for one that is not there."""
        return len(words.strings() & self._rows.get(slot, frozenset()))

    def hits(self, words: Words) -> dict[int, int]:
        """How many of the words each row has, for rows that have any."""
        counts: Counter[int] = Counter()
        for word in words.strings():
            counts.update(self._rows_of(word))
        return dict(counts)

    def frequencies(self, words: Words) -> list[int]:
        """How many rows have each word, in the order of the words."""
        return [len(self._rows_of(word)) for word in sorted(words.strings())]

    def alike(self, words: Words, threshold: float) -> list[tuple[float, int]]:
        """(similarity, slot) of every row at least that similar, the most similar first.

        Of equals the lower slot comes first; `threshold` is in (0, 1].  A row as similar as
        that shares at least threshold * n of the n words, so it has one of the
        n - ceil(threshold * n) + 1 rarest: only their postings are read.
        """
        wanted = words.strings()
        needed = max(1, math.ceil(threshold * len(wanted) - _SLACK))
        rarest = sorted(wanted, key=lambda word: len(self._rows_of(word)))
        near = rarest[: len(wanted) - needed + 1]
        seen = {slot for word in near for slot in self._rows_of(word)}
        found = [(jaccard(wanted, self._rows[slot]), slot) for slot in seen]
        return _best_first(pair for pair in found if pair[0] >= threshold)

    def most_alike(self, words: Words, threshold: float) -> tuple[float, int] | None:
        """The first of `alike`, if there is one."""
        return next(iter(self.alike(words, threshold)), None)

    def nearest(self, words: Words, k: int) -> list[tuple[float, int]]:
        """(similarity, slot) of the k most similar rows that share a word; in that order."""
        wanted = words.strings()
        found = [(jaccard(wanted, self._rows[slot]), slot) for slot in self.hits(words)]
        return _best_first(found)[:k]

    def top(self, words: Words, k: int, ranking: Ranking) -> list[tuple[int, float, int]]:
        """(hits, score, slot) of the k best rows, the best first.

        By what their hits weigh if `by_hits`, then by score, then the lower slot.
        """
        order = sorted(words.strings())
        found = self.hits(words)
        rows = sorted(self._rows) if ranking.rest else sorted(found)
        entries = []
        for slot in rows:
            if not _passes(slot, ranking):
                continue
            count, score = found.get(slot, 0), _score(slot, ranking)
            level = self._level(slot, count, order, ranking) if ranking.by_hits else 0.0
            entries.append((-level, -score, slot, count))
        entries.sort()
        return [(count, -negative, slot) for _, negative, slot, count in entries[:k]]

    def _level(self, slot: int, count: int, order: list[str], ranking: Ranking) -> float:
        """What the hits of a row weigh together."""
        if ranking.weights is None:
            return count
        # Added one by one in the order of the words: this order is the definition.
        total = 0.0
        for word, weight in zip(order, ranking.weights, strict=True):
            if word in self._rows[slot]:
                total += weight
        return total

    def _rows_of(self, word: str) -> Sequence[int]:
        return self._postings.get(word, ())


def _best_first(found: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))


def _passes(slot: int, ranking: Ranking) -> bool:
    """Whether a row is strong enough and meant for the asker."""
    for_all = ranking.asked_by == -1 or ranking.consumer[slot] in (0, ranking.asked_by)
    return for_all and ranking.w[slot] >= ranking.min_w


def _score(slot: int, ranking: Ranking) -> float:
    """The `order_score` of a row; this order of operations is the definition."""
    late = ranking.updated_at[slot] > ranking.wall
    fresh = ranking.u_now if late else ranking.u[slot]
    score = rank_score(ranking.w[slot], ranking.evidence[slot], fresh, ranking.c)
    return score * (1.0 + ranking.importance_weight * (ranking.importance[slot] - 0.5))
