"""The engrams of a scope after another program had its file: labels, and who is in which.

An engram's members are merged as a set, and follow the percepts: one that changes
its engram leaves the old one, and an engram of which nothing is left goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from milkd.engine.changes import EngramDropped, EngramPut
from milkd.store.versions import merge_engrams

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from milkd.engine.changes import Change
    from milkd.engine.percept import Engram, Percept, ScopeImage
    from milkd.store.leftovers import Key


@dataclass(slots=True)
class Moves:
    """What becomes of the percepts of a scope.

    Attributes:
        dropped: Those that the merge takes out.
        kept: Those that it leaves, though theirs does not have them.
        missing: Those of base or theirs that are not in the scope after the merge.
        joined: By engram, those that come to name it.
        left: By engram, those that name it no longer, on neither side.
    """

    dropped: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    joined: dict[str, list[str]] = field(default_factory=dict)
    left: dict[str, set[str]] = field(default_factory=dict)

    def keep(self, percept: Percept) -> None:
        """A percept stays, though theirs does not have it."""
        self.kept.add(percept.id)
        self._join(percept)

    def settle(self, percept: Percept, *versions: Percept) -> None:
        """A percept of which there were these versions has these values now."""
        others = {each.engram_id for each in versions} - {percept.engram_id}
        for engram_id in filter(None, others):
            self.left.setdefault(engram_id, set()).add(percept.id)
        if others or not versions:
            self._join(percept)

    def _join(self, percept: Percept) -> None:
        if percept.engram_id is not None:
            self.joined.setdefault(percept.engram_id, []).append(percept.id)


def with_our_labels(base: ScopeImage, theirs: ScopeImage, ours: ScopeImage) -> ScopeImage:
    """Theirs, with an engram that is new there under our id for its label, if we have one."""
    known = {engram.id for image in (base, ours) for engram in image.engrams}
    new = [engram for engram in theirs.engrams if engram.id not in known]
    labelled = {_label(engram): engram for engram in reversed(ours.engrams)} if new else {}
    twins = {engram.id: labelled[_label(engram)] for engram in new if _label(engram) in labelled}
    if not twins:
        return theirs
    engrams = {engram.id: engram for engram in theirs.engrams if engram.id not in twins}
    for engram in theirs.engrams:
        if engram.id in twins:
            twin = twins[engram.id]
            so_far = engrams.get(twin.id) or replace(twin, percept_ids=())
            members = (*so_far.percept_ids, *engram.percept_ids)
            engrams[twin.id] = replace(so_far, percept_ids=members)
    percepts = (
        replace(percept, engram_id=twins[percept.engram_id].id)
        if percept.engram_id in twins
        else percept
        for percept in theirs.percepts
    )
    return replace(theirs, percepts=tuple(percepts), engrams=tuple(engrams.values()))


def merge_groups(
    sides: tuple[ScopeImage, ScopeImage, ScopeImage], moves: Moves, lost: Collection[Key]
) -> tuple[list[Change], list[str]]:
    """The changes to our engrams, and the ids of those in which both sides changed the same.

    Args:
        sides: Base, theirs with our labels, and ours.
        moves: What becomes of the percepts.
        lost: What cannot be read in theirs any more: it stays as it is.
    """
    scope = sides[2].name
    changes: list[Change] = []
    clashes: list[str] = []
    before, there, here = (_by_id(image) for image in sides)
    for engram_id in dict.fromkeys((*here, *there)):
        old, mine = before.get(engram_id), here.get(engram_id)
        new = there.get(engram_id, old if ("engrams", engram_id) in lost else None)
        merged, clash = merge_engrams(old, new, mine) if new and mine else (mine or new, False)
        if clash:
            clashes.append(engram_id)
        members = _members(engram_id, (old, new, mine), moves)
        if merged is not None and members:
            merged = replace(merged, percept_ids=members)
            changes += [EngramPut(scope, merged)] if merged != mine else []
        elif mine is not None and mine.percept_ids:
            changes.append(EngramDropped(scope, engram_id))
    return changes, clashes


def _members(
    engram_id: str, sides: tuple[Engram | None, Engram | None, Engram | None], moves: Moves
) -> tuple[str, ...]:
    """Who is in an engram: ours but for those that left it, then those that joined it."""
    before, there, here = (side.percept_ids if side else () for side in sides)
    joined = moves.joined.get(engram_id, ())
    left = set(before).difference(there) | moves.left.get(engram_id, set())
    gone = left.difference(joined) | moves.dropped
    come = set(there).difference(before).union(joined)
    new = come.difference(here, gone, moves.missing)
    arrived = (each for each in dict.fromkeys((*there, *joined)) if each in new)
    return (*(each for each in here if each not in gone), *arrived)


def _by_id(image: ScopeImage) -> Mapping[str, Engram]:
    return {engram.id: engram for engram in image.engrams}


def _label(engram: Engram) -> str:
    return engram.subject_label.strip().casefold()
