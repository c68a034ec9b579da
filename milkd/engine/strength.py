"""The forces on w: decay over running time, and restatement (ADR-90, ADR-53)."""

from __future__ import annotations

import math

from milkd.engine.params import DAY_S, Params
from milkd.engine.percept import GLOBAL

MAX_ELAPSED_S = DAY_S
"""Running time that may lie between two passes; more than a day is a broken clock."""


def elapsed(since: float, until: float) -> float:
    """Running seconds from one reading to another, within [0, a day]."""
    return min(max(until - since, 0.0), MAX_ELAPSED_S)


def half_life_s(scope: str, params: Params) -> float:
    """Running seconds in which strength in the scope decays by half."""
    days = params.global_half_life_days if scope == GLOBAL else params.session_half_life_days
    return days * DAY_S


def floor(scope: str, params: Params) -> float:
    """Strength below which decay takes nothing in the scope."""
    return params.prune_threshold if scope == GLOBAL else 0.0


def decay_factor(elapsed_s: float, half_life: float) -> float:
    """2^(−Δt/half-life), in (0, 1]."""
    return math.exp2(-elapsed_s / half_life)


def decayed(w: float, factor: float, floor_w: float) -> float:
    """One weight after decay; one at or below the floor stays where it is.

    So does every weight when no time has passed: the sum could round to less.
    """
    return floor_w + (w - floor_w) * factor if w > floor_w and factor < 1.0 else w


def reinforced(w: float, params: Params) -> float:
    """One weight after a restatement, which never lowers it (ADR-53, 2)."""
    return max(w, min(params.reconfirm_cap, w + params.reconfirm_boost))


def touched_at(previous: float, wall: float) -> float:
    """The new `updated_at`: never earlier than before, unless that lay over a day ahead."""
    return wall if previous > wall + DAY_S else max(previous, wall)
