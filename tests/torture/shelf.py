"""Memory as plain values: what the engine makes of changes, told once more and without speed.

A `Shelf` takes what the store hands out and the changes that the journal keeps, and
gives images.  It shares no code with the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from milkd.engine.changes import (
    Annotated,
    Change,
    EdgeDropped,
    EdgePut,
    EngramDropped,
    EngramPut,
    Passed,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
    Used,
)
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Engram, Percept, ScopeImage

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Held:
    """What one scope holds."""

    percepts: dict[str, Percept] = field(default_factory=dict)
    engrams: dict[str, Engram] = field(default_factory=dict)
    edges: dict[Edge, Edge] = field(default_factory=dict)
    running: float = 0.0
    extra: Mapping[str, object] = field(default_factory=dict)
    unreadable: tuple[tuple[str, int, object], ...] = ()

    @classmethod
    def of(cls, image: ScopeImage) -> Held:
        return cls(
            {percept.id: percept for percept in image.percepts},
            {engram.id: engram for engram in image.engrams},
            {edge: edge for edge in image.edges},
            image.running_seconds,
            image.extra,
            image.unreadable,
        )

    def apply(self, change: Change) -> None:
        match change:
            case PerceptPut():
                self.percepts[change.percept.id] = change.percept
            case PerceptDropped():
                del self.percepts[change.id]  # the engine takes it amiss, too, if it is not there
            case EdgePut():
                self.edges[change.edge] = change.edge
            case EdgeDropped():
                self.edges.pop(change.edge, None)
            case EngramPut():
                self.engrams[change.engram.id] = change.engram
            case EngramDropped():
                self.engrams.pop(change.id, None)
            case Passed():
                self._let_pass(change)
            case Used():
                self._use(change)
            case Annotated():
                self.extra, self.unreadable = change.extra, change.unreadable
            case _:
                """Who was shown what is no fact."""

    def _let_pass(self, passed: Passed) -> None:
        left = 2.0 ** (-passed.elapsed_s / passed.half_life_s)
        for each in self.percepts.values():
            w = each.w if each.core else passed.floor + (each.w - passed.floor) * left
            self.percepts[each.id] = replace(each, w=w)
        self.running = passed.running

    def _use(self, used: Used) -> None:
        for each in used.ids:
            if each in self.percepts:
                self.percepts[each] = replace(self.percepts[each], last_used_at=used.at)


class Shelf:
    """All scopes."""

    def __init__(self) -> None:
        self.held = {GLOBAL: Held(), ARCHIVE: Held()}

    def load(self, image: ScopeImage) -> None:
        """Take a scope in."""
        self.held[image.name] = Held.of(image)

    def leave_to_global(self, scope: str) -> None:
        """Take out of a scope what global has as well, since a move was cut off."""
        if scope not in (GLOBAL, ARCHIVE):
            held, shared = self.held[scope], self.held[GLOBAL]
            for percept_id in held.percepts.keys() & shared.percepts.keys():
                del held.percepts[percept_id]

    def apply(self, scope: str, change: Change) -> None:
        """Make a change so; a scope that was not there is empty before."""
        if isinstance(change, ScopeDropped):
            self.held[scope] = Held()
        else:
            self.held.setdefault(scope, Held()).apply(change)

    def image(self, scope: str) -> ScopeImage:
        """A scope as a value."""
        held = self.held[scope]
        return ScopeImage(
            name=scope,
            percepts=tuple(held.percepts.values()),
            engrams=tuple(held.engrams.values()),
            edges=tuple(held.edges),
            running_seconds=held.running,
            extra=held.extra,
            unreadable=held.unreadable,
        )

    def copy(self) -> Shelf:
        """The same, to go back to."""
        other = Shelf()
        for scope in self.held:
            other.held[scope] = Held.of(self.image(scope))
        return other
