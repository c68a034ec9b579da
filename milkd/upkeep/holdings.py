"""What a scope holds by its ids, after the entries of the journal: enough to see what is loose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.engine.changes import (
    EdgeDropped,
    EdgePut,
    EngramDropped,
    EngramPut,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from milkd.engine.changes import Change
    from milkd.engine.percept import Edge, Engram, ScopeImage
    from milkd.store.interface import Numbered


@dataclass(slots=True)
class Holdings:
    """The ids in one scope.

    Attributes:
        percepts: By id, the engram that the percept names.
    """

    percepts: dict[str, str | None] = field(default_factory=dict)
    engrams: dict[str, Engram] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)

    @classmethod
    def after(cls, image: ScopeImage, replay: Iterable[Numbered]) -> Holdings:
        """What is in a scope after some entries."""
        held = cls(
            {percept.id: percept.engram_id for percept in image.percepts},
            {engram.id: engram for engram in image.engrams},
            dict.fromkeys(image.edges),
        )
        for _, change in replay:
            held.apply(change)
        return held

    def apply(self, change: Change) -> None:
        """Take a change over."""
        match change:
            case PerceptPut():
                self.percepts[change.percept.id] = change.percept.engram_id
            case PerceptDropped():
                self.percepts.pop(change.id, None)
            case EngramPut():
                self.engrams[change.engram.id] = change.engram
            case EngramDropped():
                self.engrams.pop(change.id, None)
            case EdgePut():
                self.edges[change.edge] = None
            case EdgeDropped():
                self.edges.pop(change.edge, None)
            case ScopeDropped():
                self.percepts, self.engrams, self.edges = {}, {}, {}

    def loose_edges(self, known: Collection[str]) -> Iterator[str]:
        """A sentence for each edge one end of which is nowhere.

        Args:
            known: The percepts of all scopes.
        """
        for edge in self.edges:
            for key, end in (("from", edge.source), ("to", edge.target)):
                if end not in known:
                    what = f"the edge {edge.source} {edge.relation} {edge.target}"
                    yield f"{what}: no percept has the id in `{key}`"

    def loose_members(self) -> Iterator[str]:
        """A sentence for each percept and engram that says what the other does not know."""
        for engram in self.engrams.values():
            absent = [each for each in engram.percept_ids if each not in self.percepts]
            if absent:
                yield f"the engram {engram.id} lists {len(absent)} percepts that are not here"
        for percept_id, engram_id in self.percepts.items():
            if engram_id is not None and engram_id not in self.engrams:
                yield f"percept {percept_id} names the engram {engram_id}, which is not here"
