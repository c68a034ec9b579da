"""The edges of a scope after another program had its file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine.changes import EdgeDropped, EdgePut
from milkd.engine.percept import NOTHING, Edge, Relation, ScopeImage
from milkd.store.sameness import same_value
from milkd.store.versions import Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from milkd.engine.changes import Change
    from milkd.store.leftovers import Key
    from milkd.store.regrouping import Moves


def merge_edges(
    sides: tuple[ScopeImage, ScopeImage, ScopeImage],
    moves: Moves,
    elsewhere: Callable[[str], bool],
    lost: Collection[Key],
) -> tuple[list[Change], list[str]]:
    """The changes to our edges, and the sources of those that could not be taken.

    Args:
        sides: Base, theirs and ours.
        moves: What becomes of the percepts: an edge goes with its ends.
        elsewhere: Whether another scope has a percept.
        lost: What cannot be read in theirs any more: it stays as it is.
    """
    base, theirs, ours = ({edge: edge for edge in side.edges} for side in sides)
    links = _Links(sides[2].name, ours)
    for edge in ours:
        ends = {edge.source, edge.target}
        gone = edge in base and edge not in theirs and ("edges", edge) not in lost
        if (gone and ends.isdisjoint(moves.kept)) or not ends.isdisjoint(moves.dropped):
            links.drop(edge)
    for edge in theirs:
        old, mine = base.get(edge), ours.get(edge)
        if mine is not None:
            links.annotate(old, edge, mine)
        elif old is None and _has_ends(edge, moves, elsewhere):
            links.add(edge, replaceable=base.keys())
    return links.changes, links.clashes


def _has_ends(edge: Edge, moves: Moves, elsewhere: Callable[[str], bool]) -> bool:
    """Whether the ends are still there: the source here, where its edges are kept."""
    gone = moves.missing | moves.dropped
    return edge.source not in gone and (edge.target not in gone or elsewhere(edge.target))


class _Links:
    """Our edges, as the merge leaves them."""

    def __init__(self, scope: str, edges: Collection[Edge]) -> None:
        self.changes: list[Change] = []
        self.clashes: list[str] = []
        self._scope = scope
        self._edges = set(edges)

    def drop(self, edge: Edge) -> None:
        """Take one out."""
        self._edges.discard(edge)
        self.changes.append(EdgeDropped(self._scope, edge))

    def add(self, edge: Edge, replaceable: Collection[Edge]) -> None:
        """Add one of theirs; what now is said to update takes the place of the opposite.

        That must be an old statement, known to them when they made theirs.
        """
        opposite = Edge(edge.target, edge.source, edge.relation)
        if edge.relation == Relation.UPDATES and opposite in self._edges and opposite != edge:
            if opposite not in replaceable:
                self.clashes.append(edge.source)
                return
            self.drop(opposite)
        self._edges.add(edge)
        self.changes.append(EdgePut(self._scope, edge))

    def annotate(self, old: Edge | None, theirs: Edge, mine: Edge) -> None:
        """Take the keys that they changed beside an edge's own."""
        if mine not in self._edges:
            return
        pick = Pick()
        extra = pick.maps(old.extra if old else NOTHING, theirs.extra, mine.extra)
        if pick.clashes:
            self.clashes.append(mine.source)
        if not same_value(extra, mine.extra):
            self.changes.append(EdgePut(self._scope, replace(mine, extra=extra)))
