"""The rank score: strength, freshness and corroboration in one number (ADR-90, "Weighing").

    rank_score = w · (1 + e) · (1 + c·u)
    e = 0.05 · min(evidence, 4)
    c·u = recency_boost · 0.5^(age / half_life)

All ages grow alike, so the age is split at a fixed epoch: u belongs to the row
and changes only when the row is touched, c belongs to the moment.  This order
of operations is the definition; the kernels follow it to the last bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from milkd.engine.params import DAY_S, Params

if TYPE_CHECKING:
    from array import array

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z; any fixed instant serves
EVIDENCE_WEIGHT = 0.05
EVIDENCE_CAP = 4
# 2^±1000 is finite, and 1,000 half-lives leave nothing of a boost either way.
_MAX_EXPONENT = 1000.0


class Ranking(NamedTuple):
    """What an index needs to know to put the rows of a scope in order.

    The columns are the scope's, one value a slot; none is changed.
    """

    w: array[float]
    """Weights in [0, 1], typecode "d"."""
    evidence: array[int]
    """Corroborations, typecode "I"."""
    u: array[float]
    """Freshness of the rows, typecode "d"."""
    updated_at: array[float]
    """Wall times in seconds, typecode "d"; a row with a later one than `wall` is as fresh as
    `u_now`."""
    importance: array[float]
    """Usefulness in [0, 1], neutral at 0.5, typecode "d"."""
    consumer: array[int]
    """For whom a row is meant, by number; 0 for everybody, typecode "I"."""
    min_w: float
    """Rows of less weight don't come back."""
    asked_by: int
    """The asker's number; -1: nobody in particular, to whom every row may come back."""
    c: float
    """`recency_scale` of the moment."""
    wall: float
    """The moment, in seconds."""
    u_now: float
    """`freshness` of the moment."""
    importance_weight: float
    """How much usefulness moves a score (`order_score`)."""
    weights: array[float] | None = None
    """What each word looked for weighs, in the order of the words, typecode "d"; None: alike."""
    by_hits: bool = True
    """Whether the words that a row shares come before its score."""
    rest: bool = False
    """Whether rows come back that share none."""


def freshness(updated_at: float, params: Params) -> float:
    """u of a row: doubles with each half-life that `updated_at` is later."""
    since_epoch = _whole_units(updated_at, params) - EPOCH
    return _exp2(since_epoch / (params.recency_half_life_days * DAY_S))


def recency_scale(wall: float, params: Params) -> float:
    """c of a moment: what turns a row's u into its recency boost."""
    since_epoch = _whole_units(wall, params) - EPOCH
    return params.recency_boost * _exp2(-since_epoch / (params.recency_half_life_days * DAY_S))


def rank_score(w: float, evidence: int, u: float, c: float) -> float:
    """The score of one row, as the kernels compute it for a column."""
    e = EVIDENCE_WEIGHT * min(evidence, EVIDENCE_CAP)
    return w * (1.0 + e) * (1.0 + c * u)


def order_score(score: float, importance: float, params: Params) -> float:
    """What orders results: the rank score, moved by usefulness; neutral at 0.5."""
    return score * (1.0 + params.importance_weight * (importance - 0.5))


def _whole_units(time: float, params: Params) -> float:
    """The time cut to the unit in which ages count, so that facts of one day are of one age."""
    unit_s = params.recency_unit_days * DAY_S
    return math.floor(time / unit_s) * unit_s if unit_s else time


def _exp2(exponent: float) -> float:
    return math.exp2(max(-_MAX_EXPONENT, min(_MAX_EXPONENT, exponent)))
