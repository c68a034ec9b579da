"""Two versions of one percept or engram made into one, field by field.

A field that one side changed since the version that both come from is that side's;
one that both changed is ours, and that is reported.  Where that version is not known
one is presumed, such that the newer side wins and absence says nothing: milk drops
the keys that it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from milkd.engine.percept import NO_STAMPS, NOTHING, Engram, Percept
from milkd.store.exact import ENGRAM_TIMES, PERCEPT_TIMES
from milkd.store.sameness import (
    ENGRAM,
    MOMENT,
    PERCEPT,
    UNKNOWN_TO_MILK,
    Same,
    differing,
    same_time,
    same_value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

DAY = 86_400.0  # seconds ahead from which a stamp is not believed
ABSENT = object()
V = TypeVar("V", Percept, Engram)
SAID_WITH_IT = frozenset({"producer", "consumer", "core"})
MAPS = frozenset({"roles", "extra"})
PASSIVE = frozenset({"w", "idle_seconds", "composite_w"})
"""Fields that time changes: where only time did so here, an edit of theirs meets none of ours."""


@dataclass(slots=True)
class Pick:
    """Chooses between two sides; `clashes` names what both had changed."""

    clashes: list[str] = field(default_factory=list)

    def either(self, name: str, base: Any, theirs: Any, ours: Any, same: Same) -> Any:
        """The side that changed it, and ours if both did."""
        if same(theirs, base) or same(theirs, ours):
            return ours
        if same(ours, base):
            return theirs
        self.clashes.append(name)
        return ours

    def maps(
        self, base: Mapping[str, object], theirs: Mapping[str, object], ours: Mapping[str, object]
    ) -> Mapping[str, object]:
        """A mapping, key by key; what theirs adds stands behind ours."""
        both = {}
        for key in (*ours, *(key for key in theirs if key not in ours)):
            old, new, mine = (side.get(key, ABSENT) for side in (base, theirs, ours))
            both[key] = self.either(key, old, new, mine, same_value)
        return {key: value for key, value in both.items() if value is not ABSENT} or NOTHING


def merge_percepts(
    base: Percept | None, theirs: Percept, ours: Percept, wall: float
) -> tuple[Percept, bool]:
    """The percept with what both sides made of it, and whether they changed the same thing.

    Args:
        base: What both come from, if that is known.
        theirs: As another program left it.
        ours: As it is here; given back itself if nothing of it changes.
        wall: When content that theirs replaced counts as replaced.
    """
    names = differing(PERCEPT, theirs, ours)
    unclear = base is None and _is_unclear(theirs, ours, names)
    base, pick = base or _presumed(theirs, ours), Pick()
    # A statement lifts a strength; one that is no higher has decayed, whatever was said of it.
    decayed = ours.w <= base.w or same_time(base.updated_at, ours.updated_at)
    values = {
        name: _picked(pick, name, (base, theirs, ours), passive=decayed or name != "w")
        for name in names
    }
    merged = _with(ours, values, PERCEPT)
    clash = unclear or bool(pick.clashes)
    if merged is ours:
        return ours, clash
    merged = _dated(merged, ours, wall)
    stamps = _stamps(PERCEPT_TIMES, merged, theirs, ours)
    side = ours if merged.wordings is ours.wordings else theirs
    stamps |= {key: text for key, text in side.stamps.items() if key.startswith("wordings[")}
    return replace(merged, stamps=stamps or NO_STAMPS), clash


def merge_engrams(base: Engram | None, theirs: Engram, ours: Engram) -> tuple[Engram, bool]:
    """The engram with what both sides made of it but for its members, which are ours."""
    names = differing(ENGRAM, theirs, ours)
    unclear = base is None and "subject_label" in names
    base, pick = base or _presumed_engram(theirs, ours), Pick()
    values = {name: _picked(pick, name, (base, theirs, ours), passive=True) for name in names}
    merged = _with(ours, values, ENGRAM)
    clash = unclear or bool(pick.clashes)
    if merged is ours:
        return ours, clash
    stamps = _stamps(ENGRAM_TIMES, merged, theirs, ours)
    return replace(merged, stamps=stamps or NO_STAMPS), clash


def _with(ours: V, values: Mapping[str, Any], fields: Mapping[str, Same]) -> V:
    """Ours with other values; ours itself if they are the same."""
    changed = {n: value for n, value in values.items() if not fields[n](value, getattr(ours, n))}
    return replace(ours, **changed) if changed else ours


def _picked(pick: Pick, name: str, sides: tuple[V, V, V], *, passive: bool) -> Any:
    """The value of a field in which theirs and ours differ.

    Args:
        pick: Takes note if both changed it.
        name: The field.
        sides: Base, theirs and ours.
        passive: Whether a change of ours in a passive field is the work of time alone.
    """
    base, theirs, ours = (getattr(side, name) for side in sides)
    if name in MAPS:
        return pick.maps(base, theirs, ours)
    if name == "updated_at":
        return max((at for at in (theirs, ours) if not same_time(at, base)), default=ours)
    if name in PASSIVE and passive:
        return ours if theirs == base else theirs
    return pick.either(name, base, theirs, ours, PERCEPT.get(name) or ENGRAM[name])


def _presumed(theirs: Percept, ours: Percept) -> Percept:
    """What both versions presumably come from, such that the newer one wins.

    A field in which this is as ours will be theirs, and the other way round.  Content never
    changes here without its `content_at`: content older than theirs that is not theirs was
    edited there, whatever else moved `updated_at` here since.
    """
    if _is_newer(theirs, ours):
        silent = {n: getattr(theirs, n) for n in UNKNOWN_TO_MILK if not getattr(theirs, n)}
        roles, extra = _shared(theirs.roles, ours.roles), _shared(theirs.extra, ours.extra)
        return replace(ours, roles=roles, extra=extra, **silent)
    edited = ours.content_at is None or ours.content_at < theirs.updated_at + MOMENT
    content = ours.content if edited else theirs.content
    return replace(theirs, content=content, roles=NOTHING, extra=NOTHING)


def _presumed_engram(theirs: Engram, ours: Engram) -> Engram:
    if _is_newer(theirs, ours):
        return replace(ours, extra=_shared(theirs.extra, ours.extra))
    return replace(theirs, extra=NOTHING)


def _is_newer(theirs: V, ours: V) -> bool:
    return theirs.updated_at >= ours.updated_at + MOMENT


def _shared(theirs: Mapping[str, object], ours: Mapping[str, object]) -> Mapping[str, object]:
    """What ours has of the keys that both have."""
    return {key: value for key, value in ours.items() if key in theirs}


def _is_unclear(theirs: Percept, ours: Percept, names: list[str]) -> bool:
    """Whether nobody can say that the version which loses had not been edited."""
    if "content" in names and ours.content_at is not None:
        return True
    return not _is_newer(theirs, ours) and not SAID_WITH_IT.isdisjoint(names)


def _dated(merged: Percept, ours: Percept, wall: float) -> Percept:
    """Date content that was replaced as an edit through the daemon is dated, unless theirs did."""
    if merged.content == ours.content:
        return merged
    if same_time(merged.content_at, ours.content_at):
        merged = replace(merged, content_at=wall)
    if same_time(merged.updated_at, ours.updated_at):
        at = wall if ours.updated_at > wall + DAY else max(ours.updated_at, wall)
        merged = replace(merged, updated_at=at)
    return merged


def _stamps(times: tuple[str, ...], merged: V, theirs: V, ours: V) -> dict[str, str]:
    """How the side that each time is from spelled it."""
    found = {}
    for side in (theirs, ours):
        for key in side.stamps.keys() & set(times):
            if getattr(side, key) == getattr(merged, key):
                found[key] = side.stamps[key]
    return found
