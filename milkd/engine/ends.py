"""Which edges meet at a percept, so that nobody has to go through all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkd.engine.percept import Edge


class Ends:
    """The edges of one scope by the percepts at their ends."""

    def __init__(self) -> None:
        self._edges: dict[str, dict[Edge, None]] = {}

    def add(self, edge: Edge) -> None:
        """An edge is there."""
        for end in (edge.source, edge.target):
            self._edges.setdefault(end, {})[edge] = None

    def remove(self, edge: Edge) -> None:
        """It is there no more."""
        for end in {edge.source, edge.target}:
            del self._edges[end][edge]
            if not self._edges[end]:
                del self._edges[end]

    def of(self, percept_id: str) -> Iterable[Edge]:
        """The edges that start or end at a percept, in the order in which they came."""
        return self._edges.get(percept_id, ())
