"""From words to rows: the reference for the compiled index.

Rows are slots of a scope's columns.  Every answer is exact, and every order is total.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine._alike_py import Search, best_first, nearest
from milkd.engine._order_py import by_hits, by_weight, counted, together, with_rest
from milkd.engine._postings_py import Postings
from milkd.engine._scoring_py import best, check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from milkd.engine._order_py import Level
    from milkd.engine._words_py import Vocabulary, Words
    from milkd.engine.ranking import Ranking


class TokenIndex:
    """The rows of one scope by the words of a vocabulary.

    Raises:
        ValueError: In all methods, words that another vocabulary read.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._postings = Postings()

    def __len__(self) -> int:
        return self._postings.count

    def __contains__(self, slot: object) -> bool:
        return self._postings.row(slot) is not None

    def add(self, slot: int, words: Words) -> None:
        """File a row under its words, instead of what it was filed under before."""
        strings = words.read_by(self._vocabulary)
        before = self._postings.row(slot)
        if before is not None:
            if strings == frozenset(before):
                return
            self._postings.remove(slot)
        self._postings.add(slot, strings)

    def remove(self, slot: int) -> None:
        """Take a row out; one that is not there is no error."""
        self._postings.remove(slot)

    def strings(self, slot: int) -> frozenset[str]:
        """The words under which a row is filed.

        Raises:
            KeyError: There is no such row.
        """
        row = self._postings.row(slot)
        if row is None:
            raise KeyError(slot)
        return frozenset(row)

    def shared(self, slot: int, words: Words) -> int:
        """How many of the words a row has; 0 for one that is not there."""
        return len(words.read_by(self._vocabulary).intersection(self._postings.row(slot) or ()))

    def hits(self, words: Words) -> dict[int, int]:
        """How many of the words each row has, for rows that have any."""
        return dict(counted(self._postings.of(words.read_by(self._vocabulary))))

    def frequencies(self, words: Words) -> list[int]:
        """How many rows have each word, in the order of the words."""
        known = self._postings.by_word
        return [
            len(known[word].slots) if word in known else 0
            for word in sorted(words.read_by(self._vocabulary))
        ]

    def alike(self, words: Words, threshold: float) -> list[tuple[float, int]]:
        """(similarity, slot) of every row at least that similar, the most similar first.

        Of equals the lower slot comes first; `threshold` is in (0, 1].
        """
        wanted = words.read_by(self._vocabulary)
        return best_first(Search(self._postings, wanted, threshold).all()) if wanted else []

    def most_alike(self, words: Words, threshold: float) -> tuple[float, int] | None:
        """The first of `alike`, if there is one."""
        wanted = words.read_by(self._vocabulary)
        return Search(self._postings, wanted, threshold).best() if wanted else None

    def nearest(self, words: Words, k: int) -> list[tuple[float, int]]:
        """(similarity, slot) of the k most similar rows that share a word; in that order."""
        return nearest(self._postings, words.read_by(self._vocabulary), k)

    def top(self, words: Words, k: int, ranking: Ranking) -> list[tuple[int, float, int]]:
        """(hits, score, slot) of the k best rows, the best first.

        By what their hits weigh if `by_hits`, then by score, then the lower slot.

        Raises:
            TypeError: A column is not an array of its typecode.
            ValueError: A column is too short.
        """
        wanted = words.read_by(self._vocabulary)
        check(ranking, len(self._postings.rows), len(wanted))
        rows = self._postings.rows
        found: list[tuple[int, float, int]] = []
        if k <= 0:
            return found
        for _, slots in self._levels(wanted, ranking):
            for score, slot in best(slots, k - len(found), ranking):
                found.append((len(wanted.intersection(rows[slot] or ())), score, slot))
            # Before the next level is worked out, which may be long.
            if len(found) == k:
                break
        return found

    def _levels(self, wanted: frozenset[str], ranking: Ranking) -> Iterable[Level]:
        """Rows of equal rank but for their score, the best first."""
        postings = self._postings
        lists = postings.of(wanted)
        if not ranking.by_hits:
            every = postings.slots() if ranking.rest else together(postings, lists)
            return [(0.0, every)]
        levels: Iterator[Level]
        if ranking.weights is None:
            levels = by_hits(postings, lists)
        else:
            levels = by_weight(postings, sorted(wanted), ranking.weights)
        return with_rest(levels, lambda: self._without(wanted)) if ranking.rest else levels

    def _without(self, wanted: frozenset[str]) -> Sequence[int]:
        """The rows that have none of the words."""
        postings = self._postings
        having = set(together(postings, postings.of(wanted)))
        return [slot for slot in postings.slots() if slot not in having]
