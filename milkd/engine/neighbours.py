"""What belongs to a result without being one: joined to it by an edge, or much like it.

RFC, proposal B.  Results stay as they are, in number and order; a neighbour comes beside
one of them, once, and being one is not use.
"""

from __future__ import annotations

import math
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from milkd.engine.hits import Hits
from milkd.engine.ordering import Entry, is_superseded, ordered
from milkd.engine.percept import Relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from milkd.engine.commands import Now
    from milkd.engine.memory import Memory
    from milkd.engine.ordering import Gate
    from milkd.engine.percept import Edge
    from milkd.engine.scope import Scope

OVERLAP = "overlap"
"""What joins a lexical neighbour to its result."""


class Neighbour(NamedTuple):
    """A percept beside a result."""

    scope: Scope
    slot: int
    of: str
    """Id of the result."""
    via: str
    """The relation that joins them, or `OVERLAP`."""
    overlap: float | None = None
    """Share of the weight of the result's words that it has; None for an edge."""

    @property
    def id(self) -> str:
        """The percept's id."""
        return self.scope.text(self.slot).id


def may_be_any(memory: Memory, scopes: Sequence[Scope]) -> bool:
    """Whether a percept of these scopes can have a neighbour at all; most stores have no edge."""
    return bool(memory.params.neighbour_overlap) or any(scope.edges for scope in scopes)


class Neighbourhood:
    """Finds the neighbours of one answer.

    Args:
        scopes: What the asker sees.
        gate: The one that the results passed.
        results: Ids of all of them.
    """

    def __init__(
        self, memory: Memory, scopes: Sequence[Scope], gate: Gate, results: Sequence[str], now: Now
    ) -> None:
        self._memory = memory
        self._scopes = tuple(scopes)
        self._gate = gate
        self._now = now
        self._results = results
        self._taken = set(results)

    def all(self) -> Iterator[Neighbour]:
        """The neighbours of one result after the other, each once, as many as the knobs allow."""
        params = self._memory.params
        groups = (islice(self._of(each), params.neighbours_per_result) for each in self._results)
        return islice(chain.from_iterable(groups), params.neighbours_max)

    def _of(self, percept_id: str) -> Iterator[Neighbour]:
        for neighbour in self._joined(percept_id):
            if self._admit(neighbour):
                yield neighbour
        for neighbour in self._alike(percept_id):
            if self._admit(neighbour):
                yield neighbour

    def _admit(self, neighbour: Neighbour) -> bool:
        """Whether it may come, and has not come yet."""
        scope, slot = neighbour.scope, neighbour.slot
        if neighbour.id in self._taken or not self._gate.passes(scope, slot):
            return False
        superseded = self._memory.params.superseded
        if superseded and is_superseded(self._scopes, neighbour.id, self._gate):
            return False
        self._taken.add(neighbour.id)
        return True

    def _joined(self, percept_id: str) -> Iterator[Neighbour]:
        """By an edge; what contradicts it first, since that must not be missed."""
        # Those of other sessions say what is none of this one's business.
        edges = [edge for scope in self._scopes for edge in scope.ends.of(percept_id)]
        edges.sort(key=lambda edge: edge.relation != Relation.CONTRADICTS)
        for edge in edges:
            other = _other_end(edge, percept_id)
            for scope in self._scopes:
                if other in scope:
                    yield Neighbour(scope, scope.slots[other], percept_id, edge.relation)
                    break

    def _alike(self, percept_id: str) -> Iterator[Neighbour]:
        """By their words, the most alike first: rare ones in common count for more."""
        least = self._memory.params.neighbour_overlap
        if not least:
            return
        hits = self._words_of(percept_id)
        total = math.fsum(hits.weights or ())
        if not total:
            return
        wanted = 2 * self._memory.params.neighbours_per_result + 1  # itself among them
        for entry in ordered(
            self._memory, hits, self._gate, self._now, by_hits=True, at_first=wanted
        ):
            overlap = self._level(hits, entry) / total
            if overlap < least:
                return
            yield Neighbour(entry.scope, entry.slot, percept_id, OVERLAP, overlap)

    def _words_of(self, percept_id: str) -> Hits:
        scope = next(scope for scope in self._scopes if percept_id in scope)
        texts = self._memory.analyzer.searched(scope.text(scope.slots[percept_id]))
        return Hits.by_rarity(self._memory, self._scopes, texts)

    def _level(self, hits: Hits, entry: Entry) -> float:
        return hits.level(self._scopes.index(entry.scope), entry.slot, entry.hits)


def _other_end(edge: Edge, percept_id: str) -> str:
    return edge.target if edge.source == percept_id else edge.source
