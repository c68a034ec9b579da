"""Engrams: the percepts of one scope that share a subject label (milk.md, Files)."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine.percept import Engram, Percept

if TYPE_CHECKING:
    from milkd.engine.draft import Draft


def join(draft: Draft, scope: str, percept: Percept, label: str) -> Percept:
    """Put a percept into the engram of a label, made on first use; gives the percept with it."""
    engram = find(draft, scope, label) or _new(draft, scope, label)
    members = (*(i for i in engram.percept_ids if i != percept.id), percept.id)
    engram = replace(engram, percept_ids=members, updated_at=draft.now.wall)
    draft.put_engram(scope, engram)
    return replace(percept, engram_id=engram.id)


def leave(draft: Draft, scope: str, percept: Percept) -> str | None:
    """Take a percept out of its engram; gives the label, if it was in one here."""
    engram = draft.scope(scope).engrams.get(percept.engram_id or "")
    if engram is None:
        return None
    members = tuple(i for i in engram.percept_ids if i != percept.id)
    draft.put_engram(scope, replace(engram, percept_ids=members, updated_at=draft.now.wall))
    return engram.subject_label


def find(draft: Draft, scope: str, label: str) -> Engram | None:
    """The scope's engram of a label, whatever its case."""
    wanted = label.strip().casefold()
    for engram in draft.scope(scope).engrams.values():
        if engram.subject_label.strip().casefold() == wanted:
            return engram
    return None


def weigh(draft: Draft, scope: str) -> None:
    """Bring every composite weight of a scope up to the mean of its percepts."""
    here = draft.scope(scope)
    for engram in list(here.engrams.values()):
        weights = [p.w for i in engram.percept_ids if (p := here.get(i)) is not None]
        mean = sum(weights) / len(weights) if weights else engram.composite_w
        if mean != engram.composite_w or not engram.percept_ids:
            draft.put_engram(scope, replace(engram, composite_w=mean, updated_at=draft.now.wall))


def _new(draft: Draft, scope: str, label: str) -> Engram:
    """An engram without percepts, whose id follows from scope and label: no dice are rolled."""
    digest = hashlib.sha256(f"{scope}\0{label.strip().casefold()}".encode()).hexdigest()
    groups = (digest[:8], digest[8:12], "5" + digest[13:16], "8" + digest[17:20], digest[20:32])
    return Engram(
        id="-".join(groups),
        subject_label=label.strip(),
        composite_w=0.0,
        percept_ids=(),
        created_at=draft.now.wall,
        updated_at=draft.now.wall,
    )
