"""What becomes of the facts of a scope when another version takes its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.store.sameness import PERCEPT, differing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkd.engine.percept import Percept, ScopeImage


@dataclass(frozen=True, slots=True)
class Changed:
    """A fact that is in both versions, and not the same.

    Attributes:
        before: As it is now.
        after: As it will be.
        fields: The names of what differs.
    """

    before: Percept
    after: Percept
    fields: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """It as plain values."""
        was = {} if self.before.content == self.after.content else {"was": self.before.content}
        return _named(self.after) | was | {"fields": list(self.fields)}


@dataclass(slots=True)
class Differences:
    """Facts that come, go and change; relations and groups that do.

    Attributes:
        edges: How many relations come, and how many go.
        engrams: How many groups come, go or change.
    """

    added: list[Percept] = field(default_factory=list)
    removed: list[Percept] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    edges: tuple[int, int] = (0, 0)
    engrams: int = 0

    def to_json(self) -> dict[str, object]:
        """All of it as plain values."""
        return {
            "added": [_named(percept) for percept in self.added],
            "removed": [_named(percept) for percept in self.removed],
            "changed": [each.to_json() for each in self.changed],
            "edges_added": self.edges[0],
            "edges_removed": self.edges[1],
            "engrams_changed": self.engrams,
        }


def differences(before: ScopeImage, after: ScopeImage) -> Differences:
    """What changes from one version of a scope to another."""
    old, new = _by_id(before.percepts), _by_id(after.percepts)
    changed = [
        Changed(old[each], new[each], tuple(names))
        for each in new
        if each in old and (names := differing(PERCEPT, old[each], new[each]))
    ]
    edges, later = set(before.edges), set(after.edges)
    groups = {each.id: each for each in before.engrams}
    others = {each.id: each for each in after.engrams}
    return Differences(
        [new[each] for each in new if each not in old],
        [old[each] for each in old if each not in new],
        changed,
        (len(later - edges), len(edges - later)),
        sum(groups.get(each) != others.get(each) for each in groups.keys() | others.keys()),
    )


def _by_id(percepts: Iterable[Percept]) -> dict[str, Percept]:
    return {percept.id: percept for percept in percepts}


def _named(percept: Percept) -> dict[str, object]:
    return {"id": percept.id, "content": percept.content}
