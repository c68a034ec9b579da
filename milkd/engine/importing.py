"""Percepts, edges and engrams taken in as they are, from another store or a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from milkd.engine.draft import Draft
from milkd.engine.percept import Edge, Relation
from milkd.engine.results import Decision, Imported
from milkd.engine.text import check_content
from milkd.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from milkd.engine.commands import Import, Now
    from milkd.engine.memory import Memory
    from milkd.engine.percept import Engram, Percept
    from milkd.engine.results import Place

E = TypeVar("E")
EXISTS = "exists already"


def take_in(memory: Memory, command: Import, now: Now) -> Decision:
    """Add what the images hold; an entry that can't be taken is refused with the reason.

    The percepts come first: an edge may have an end in any scope.
    """
    intake = _Intake(memory, now)
    for image in command.images:
        intake.take_all(image.name, "percepts", image.percepts, intake.percept)
    for image in command.images:
        intake.take_all(image.name, "engrams", image.engrams, intake.engram)
        intake.take_all(image.name, "edges", image.edges, intake.edge)
    result = Imported(intake.accepted, tuple(intake.refused))
    return Decision(tuple(intake.draft.changes), result)


class _Intake:
    """Takes entries one by one; each way of taking gives the reason not to, or None."""

    def __init__(self, memory: Memory, now: Now) -> None:
        self.draft = Draft(memory, now)
        self.accepted = 0
        self.refused: list[tuple[Place, str]] = []
        self._memory = memory
        self._taken: set[str] = set()

    def take_all(
        self, scope: str, where: str, entries: Iterable[E], take: Callable[[str, E], str | None]
    ) -> None:
        """Take what can be taken of a list."""
        for position, entry in enumerate(entries):
            problem = take(scope, entry)
            if problem is None:
                self.accepted += 1
            else:
                self.refused.append(((scope, where, position), problem))

    def percept(self, scope: str, percept: Percept) -> str | None:
        """Take a percept of a new id."""
        if self._knows(percept.id):
            return f"id: a percept of this id {EXISTS}"
        try:
            check_content(percept.content, self._memory.params.percept_max_bytes)
        except InvalidParams as error:
            return str(error)
        self._taken.add(percept.id)
        self.draft.put(scope, percept, touched=True)
        return None

    def engram(self, scope: str, engram: Engram) -> str | None:
        """Take an engram of a new id."""
        if engram.id in self.draft.scope(scope).engrams:
            return f"id: an engram of this id {EXISTS}"
        if not engram.percept_ids:
            return "percept_ids: found none, expected at least one"
        self.draft.put_engram(scope, engram)
        return None

    def edge(self, scope: str, edge: Edge) -> str | None:
        """Take an edge between two percepts that are known by now."""
        if edge in self.draft.scope(scope).edges:
            return f"relation: an edge of these ends and this relation {EXISTS}"
        for key, end in (("from", edge.source), ("to", edge.target)):
            if not self._knows(end):
                return f"{key}: no percept has this id"
        if edge.source not in self.draft.scope(scope):
            return f"from: this percept is not in {scope}, and an edge is kept with its source"
        opposite = Edge(edge.target, edge.source, edge.relation)
        if edge.relation == Relation.UPDATES and self._holds(opposite):
            return "relation: an edge says the opposite, that `to` updates `from`"
        self.draft.put_edge(scope, edge)
        return None

    def _holds(self, edge: Edge) -> bool:
        return any(edge in self.draft.scope(name).edges for name in self._memory.scopes)

    def _knows(self, percept_id: str) -> bool:
        return percept_id in self._taken or self._memory.exists(percept_id)
