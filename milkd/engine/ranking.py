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

from milkd.engine.params import DAY_S, Params

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z; any fixed instant serves
EVIDENCE_WEIGHT = 0.05
EVIDENCE_CAP = 4
# 2^±1000 is finite, and 1,000 half-lives leave nothing of a boost either way.
_MAX_EXPONENT = 1000.0


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
