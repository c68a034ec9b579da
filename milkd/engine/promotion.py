"""Whether a session percept becomes global: strength plus durability (ADR-90, "Promotion")."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from milkd.engine.percept import Percept, Producer, Relation

if TYPE_CHECKING:
    from milkd.engine.draft import Draft
    from milkd.engine.params import Params

RUNS_NEEDED = 2
"""Runs in which a fact must have been corroborated."""


class Verdict(Enum):
    """What becomes of a percept at the promotion step."""

    PROMOTED = auto()
    DEFERRED = auto()
    """Strong enough, but held back by the evidence gate or a live contradiction."""
    NOT_YET = auto()


def judge(percept: Percept, params: Params, *, blocked: bool) -> Verdict:
    """The verdict on one percept; `blocked` says that a live contradiction has it as an end."""
    if qualifies(percept, params):
        return Verdict.DEFERRED if blocked else Verdict.PROMOTED
    strong = percept.w >= params.promote_threshold
    begun = percept.evidence > 0 and percept.w >= params.promote_corroborated_threshold
    return Verdict.DEFERRED if strong or begun else Verdict.NOT_YET


def qualifies(percept: Percept, params: Params) -> bool:
    """Whether a percept may be promoted, contradictions aside."""
    if percept.core:
        return True
    if percept.producer == Producer.USER and percept.w >= params.promote_threshold:
        return True
    return percept.evidence >= RUNS_NEEDED and percept.w >= params.promote_corroborated_threshold


def contradicted(draft: Draft) -> set[str]:
    """The ends of every contradiction whose both ends are live."""
    return {
        end
        for scope in draft.live_scopes()
        for edge in scope.edges.values()
        if edge.relation == Relation.CONTRADICTS
        and draft.is_live(edge.source)
        and draft.is_live(edge.target)
        for end in (edge.source, edge.target)
    }
