"""What a file holds that milkd keeps without using it, after another program had the file.

That is entries which cannot be read, and top-level keys that nobody here knows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from milkd.engine.changes import Annotated
from milkd.engine.percept import NOTHING, Edge
from milkd.store.fields import matched
from milkd.store.sameness import same_value
from milkd.store.versions import Pick

if TYPE_CHECKING:
    from collections.abc import Collection, Set

    from milkd.engine.changes import Change
    from milkd.engine.percept import ScopeImage

NAMING = frozenset({"id", "from", "to", "relation"})
Key = tuple[str, str | Edge]
"""The list that an entry is in, and by what it is the same in two files."""


def broken(base: ScopeImage, theirs: ScopeImage, ours: ScopeImage) -> dict[Key, None]:
    """What could be read before and cannot be read in theirs: nobody meant to delete it."""
    if not theirs.unreadable:
        return {}
    known, readable = _keys(base) | _keys(ours), _keys(theirs)
    found = (_key(where, raw) for where, _, raw in theirs.unreadable)
    return dict.fromkeys(key for key in found if key in known and key not in readable)


def merge_leftovers(
    sides: tuple[ScopeImage, ScopeImage, ScopeImage],
    lost: Collection[Key],
    refused: Collection[str],
) -> tuple[list[Change], list[str]]:
    """The change to what our file holds besides, and the keys that both sides changed.

    Args:
        sides: Base, theirs and ours.
        lost: What `broken` gave: there the last good version stays.
        refused: Percepts of theirs that were not taken.
    """
    base, theirs, ours = sides
    pick = Pick()
    extra = pick.maps(base.extra, theirs.extra, ours.extra)
    unreadable = ours.unreadable
    if theirs.unreadable or unreadable:
        mended = _keys(theirs) - _keys(ours) - {("percepts", each) for each in refused}
        unreadable = _merge_unreadable(sides, mended | set(lost))
    if same_value(extra, ours.extra) and unreadable == ours.unreadable:
        return [], pick.clashes
    return [Annotated(ours.name, extra or NOTHING, unreadable)], pick.clashes


def _merge_unreadable(
    sides: tuple[ScopeImage, ScopeImage, ScopeImage], settled: Set[Key]
) -> tuple[tuple[str, int, object], ...]:
    """Ours that they left alone, then those that are new in theirs.

    Args:
        sides: Base, theirs and ours.
        settled: What has a version that can be read, on whichever side: no other is kept.
    """
    before, there, here = (_by_text(image) for image in sides)
    gone = before.keys() - there.keys()
    come = there.keys() - before.keys() - here.keys()
    return tuple(
        entry
        for side, wanted in ((here, here.keys() - gone), (there, come))
        for text, entry in side.items()
        if text in wanted and _key(entry[0], entry[2]) not in settled
    )


def _by_text(image: ScopeImage) -> dict[tuple[str, str], tuple[str, int, object]]:
    """The entries by what they say; the order of keys says nothing, nor does the place."""
    return {(e[0], json.dumps(e[2], sort_keys=True)): e for e in image.unreadable}


def _keys(image: ScopeImage) -> set[Key]:
    return {
        *(("percepts", percept.id) for percept in image.percepts),
        *(("engrams", engram.id) for engram in image.engrams),
        *(("edges", edge) for edge in image.edges),
    }


def _key(where: str, raw: object) -> Key | None:
    """The key of an entry that cannot be read, if it has one."""
    fields, _ = matched(raw, NAMING) if isinstance(raw, Mapping) else ({}, {})
    if where != "edges":
        name = fields.get("id")
        return (where, name) if isinstance(name, str) else None
    ends = [fields.get(key) for key in ("from", "to", "relation")]
    source, target, relation = (end if isinstance(end, str) else None for end in ends)
    if source is None or target is None or relation is None:
        return None
    return where, Edge(source, target, relation)
