"""Percepts, edges and engrams taken in as they are, from another store or a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import Annotated
from milkd.engine.draft import Draft
from milkd.engine.guarding import guarded_percept, secret_in
from milkd.engine.joining import Groups
from milkd.engine.percept import Edge, Relation
from milkd.engine.results import Decision, Imported
from milkd.engine.text import check_content
from milkd.errors import InvalidParams

if TYPE_CHECKING:
    from milkd.engine.commands import Import, Now
    from milkd.engine.memory import Memory
    from milkd.engine.percept import Percept, ScopeImage
    from milkd.engine.results import Place

EXISTS = "exists already"


def take_in(memory: Memory, command: Import, now: Now) -> Decision:
    """Add what the images hold; an entry that can't be taken is refused with the reason.

    What refers to another entry is taken if that is: all percepts and engrams are looked at
    before any is added, and the edges, which may have an end in any scope, come last.
    """
    intake = _Intake(memory, now)
    for image in command.images:
        for position, percept in enumerate(image.percepts):
            intake.sift_percept((image.name, "percepts", position), percept)
    intake.groups.sift(command.images)
    for image in command.images:
        intake.put(image)
    for image in command.images:
        for position, edge in enumerate(image.edges):
            intake.take_edge((image.name, "edges", position), edge)
    return Decision(tuple(intake.draft.changes), intake.result())


class _Intake:
    """What is taken, and what is refused and why."""

    def __init__(self, memory: Memory, now: Now) -> None:
        self.draft = Draft(memory, now)
        self.refused: dict[Place, str] = {}
        self.groups = Groups(self.draft, self.refused)
        self._memory = memory
        self._sifted: set[str] = set()
        self._edges = 0

    def sift_percept(self, place: Place, percept: Percept) -> None:
        """Look at a percept by itself: it must be new, and its texts must be texts."""
        self.groups.name(place[0], percept.id)
        try:
            percept = guarded_percept(percept, self._memory.params.secret_guard)
        except InvalidParams as error:
            self.refused[place] = str(error)
            return
        if percept.id in self._sifted or self._memory.exists(percept.id):
            self.refused[place] = f"id: a percept of this id {EXISTS}"
        elif problem := self._problem(percept):
            self.refused[place] = problem
        else:
            self._sifted.add(percept.id)
            self.groups.propose(place, percept)

    def put(self, image: ScopeImage) -> None:
        """Add the percepts and engrams of a scope that are taken, and the keys of its file."""
        scope = image.name
        for percept in self.groups.percepts_of(scope):
            self.draft.put(scope, percept, touched=True)
        for engram in self.groups.engrams_of(scope):
            self.draft.put_engram(scope, engram)
        if image.extra:
            self._annotate(image)

    def take_edge(self, place: Place, edge: Edge) -> None:
        """Take an edge between two percepts that are known by now."""
        problem = self._problem_of_edge(place[0], edge)
        if problem is not None:
            self.refused[place] = problem
            return
        self._edges += 1
        self.draft.put_edge(place[0], edge)

    def result(self) -> Imported:
        """How it went."""
        taken = self.groups.count() + self._edges
        return Imported(taken, tuple(self.refused.items()))

    def _problem(self, percept: Percept) -> str | None:
        """Why the texts of a percept cannot be those of one."""
        limit = self._memory.params.percept_max_bytes
        wordings = {f"wordings[{n}].": each.content for n, each in enumerate(percept.wordings)}
        for place, content in {"": percept.content, **wordings}.items():
            try:
                check_content(content, limit)
            except InvalidParams as error:
                return f"{place}{error}"
        return None

    def _problem_of_edge(self, scope: str, edge: Edge) -> str | None:
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
        return None

    def _annotate(self, image: ScopeImage) -> None:
        """Keep keys of another program, unless the scope has them with other values."""
        if problem := secret_in("extra", image.extra, self._memory.params):
            self.refused[image.name, "extra", 0] = problem
            return
        base = self._memory.scopes[image.name]
        for key in image.extra:
            if key in base.extra and base.extra[key] != image.extra[key]:
                problem = f"extra: the store has another value of {key[:64]!a}"
                self.refused[image.name, "extra", 0] = problem
                return
        extra = {**base.extra, **image.extra}
        if extra != base.extra:
            self.draft.changes.append(Annotated(image.name, extra, base.unreadable))

    def _holds(self, edge: Edge) -> bool:
        return any(edge in self.draft.scope(name).edges for name in self._memory.scopes)

    def _knows(self, percept_id: str) -> bool:
        return self.groups.takes(percept_id) or self._memory.exists(percept_id)
