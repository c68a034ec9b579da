"""Which visible rows a text finds: by its terms in the indexes, or as it stands."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING

from milkd.engine.text import fold

if TYPE_CHECKING:
    from milkd.engine.kernels import Words
    from milkd.engine.memory import Memory
    from milkd.engine.scope import Scope


class Hits:
    """What was found; the numbers are worked out when somebody asks for them.

    Attributes:
        scopes: What the asker sees, in order.
        words: The terms looked for; None where the rows were told one by one.
        rest: Whether all other rows count as found too, without a hit.
        weights: What each term weighs, in the order of the terms; None: all alike.
    """

    def __init__(
        self,
        scopes: tuple[Scope, ...],
        words: Words | None,
        *,
        rest: bool = False,
        told: list[dict[int, int]] | None = None,
    ) -> None:
        self.scopes = scopes
        self.words = words
        self.rest = rest
        self.weights: array[float] | None = None
        self._counts: list[dict[int, int]] | None = told

    @classmethod
    def of(cls, memory: Memory, text: str, session: str | None, *, rest: bool = False) -> Hits:
        """Look a text up.

        An empty text fits every row without a hit; one of signs alone is looked for as it
        stands.  With `rest`, rows that share nothing with it come as well.
        """
        scopes = memory.visible(session)
        words = memory.analyzer.vocabulary.terms([text])
        if not len(words):
            plain = fold(text).strip()
            if plain:
                told = [_literally(memory, scope, plain) for scope in scopes]
                return cls(scopes, None, told=told)
            return cls(scopes, words, rest=True)
        hits = cls(scopes, words, rest=rest)
        if memory.params.hit_weight == "idf":
            hits.weights = _weights(scopes, words)
        return hits

    @classmethod
    def by_rarity(cls, memory: Memory, scopes: tuple[Scope, ...], texts: list[str]) -> Hits:
        """Look the words of some texts up, a rare one counting for more, whatever the knob."""
        words = memory.analyzer.vocabulary.terms(texts)
        hits = cls(scopes, words)
        hits.weights = _weights(scopes, words)
        return hits

    @classmethod
    def nothing(cls, memory: Memory, session: str | None) -> Hits:
        """No row at all."""
        scopes = memory.visible(session)
        return cls(scopes, None, told=[{} for _ in scopes])

    @property
    def counts(self) -> list[dict[int, int]]:
        """The number of hits by row, for each scope; of every row that was found."""
        if self._counts is None:
            self._counts = [self._count(scope) for scope in self.scopes]
        return self._counts

    def _count(self, scope: Scope) -> dict[int, int]:
        assert self.words is not None
        found = scope.lookup.terms.hits(self.words)
        return dict.fromkeys(scope.slots.values(), 0) | found if self.rest else found

    def of_row(self, rank: int, slot: int) -> int:
        """The hits of one row of the scope at a place."""
        if self.words is None:
            return self.counts[rank].get(slot, 0)
        return self.scopes[rank].lookup.terms.shared(slot, self.words)

    def level(self, rank: int, slot: int, hits: int) -> float:
        """What the hits of a row weigh together."""
        if self.weights is None or self.words is None:
            return hits
        here = self.scopes[rank].lookup.terms.strings(slot)
        terms = zip(sorted(self.words.strings()), self.weights, strict=True)
        # sum() would round less than adding one by one, as the index does.
        total = 0.0
        for term, weight in terms:
            if term in here:
                total += weight
        return total


def _weights(scopes: tuple[Scope, ...], words: Words) -> array[float]:
    """A rare term counts for more: log(1 + N/df) over what is visible."""
    total = sum(map(len, scopes))
    found = [scope.lookup.terms.frequencies(words) for scope in scopes]
    frequencies = map(sum, zip(*found, strict=True))
    return array("d", [math.log1p(total / df) if df else 0.0 for df in frequencies])


def _literally(memory: Memory, scope: Scope, plain: str) -> dict[int, int]:
    """The rows that have the text as it stands."""
    searched = memory.analyzer.searched
    return {
        slot: 1
        for slot in scope.slots.values()
        if any(plain in fold(text) for text in searched(scope.text(slot)))
    }
