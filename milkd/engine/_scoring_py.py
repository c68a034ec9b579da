"""The best of some rows by score, for those that may come back at all."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING

from milkd.engine._columns_py import check_column
from milkd.engine.ranking import EVIDENCE_CAP, EVIDENCE_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.engine.ranking import Ranking

# 1 + e by the number of corroborations; more than the cap count as the cap.
_EVIDENCE = [1.0 + EVIDENCE_WEIGHT * count for count in range(EVIDENCE_CAP + 1)]

# Of more rows than this it pays to leave out those that can't win.  What it takes is shown by
# so many rows for each place that is asked for, and at least by one row in so many.
_MANY = 500
_SAMPLE = 16
_ONE_IN = 24
# Bounds allow for rounding, which knows no bounds near nothing.
_TINY = 1e-300
_SLACK = 1e-9

_COLUMNS = {"w": "d", "evidence": "I", "u": "d", "updated_at": "d", "importance": "d"}
_COLUMNS["consumer"] = "I"


def check(ranking: Ranking, rows: int, words: int) -> None:
    """Refuse columns that don't reach the last row, or weights that are not one for each word."""
    for name, typecode in _COLUMNS.items():
        column = getattr(ranking, name)
        check_column(name, column, typecode)
        if len(column) < rows:
            raise ValueError(f"{name}: column of {len(column)} rows, the index has {rows}")
    if ranking.weights is not None:
        check_column("weights", ranking.weights, "d")
        if len(ranking.weights) != words:
            raise ValueError(f"weights: {len(ranking.weights)} of them, for {words} words")


def best(slots: Sequence[int], k: int, ranking: Ranking) -> list[tuple[float, int]]:
    """(score, slot) of the k best of the rows that pass, the best first; then the lower slot."""
    passing = passes(slots, ranking)
    if len(passing) > _MANY + 4 * _SAMPLE * k:
        passing = _hopeful(passing, k, ranking)
    found = scores(passing, ranking)
    if len(found) > k:
        least = nlargest(k, found)[-1]
        pairs = [
            (-score, slot) for score, slot in zip(found, passing, strict=True) if score >= least
        ]
    else:
        pairs = [(-score, slot) for score, slot in zip(found, passing, strict=True)]
    pairs.sort()
    return [(-negative, slot) for negative, slot in pairs[:k]]


def _hopeful(slots: list[int], k: int, ranking: Ranking) -> list[int]:
    """Those of many rows that may be among the k best for all that their weight tells."""
    sample = slots[:: min(_ONE_IN, len(slots) // (_SAMPLE * k))]
    # The k best score at least as much as the k best of some.
    bar = nlargest(k, scores(sample, ranking))[-1] * (1.0 - _SLACK)
    if bar < _TINY:
        return slots
    u = ranking.u
    # To go through a column costs a quarter of looking its rows up.
    freshest = max(u) if 4 * len(slots) > len(u) else max(map(u.__getitem__, slots))
    fresh = 1.0 + max(0.0, ranking.c * max(ranking.u_now, freshest))
    least = bar / fresh / (1.0 + abs(ranking.importance_weight) / 2)
    w, evidence, boosts, most = ranking.w, ranking.evidence, _EVIDENCE, _EVIDENCE[EVIDENCE_CAP]
    strong = [slot for slot in slots if w[slot] * most >= least]
    return [
        slot
        for slot in strong
        if w[slot] * (boosts[count] if (count := evidence[slot]) < EVIDENCE_CAP else most) >= least
    ]


def passes(slots: Sequence[int], ranking: Ranking) -> list[int]:
    """The rows that are strong enough and meant for the asker."""
    w, min_w, consumer, asked_by = ranking.w, ranking.min_w, ranking.consumer, ranking.asked_by
    strong = [slot for slot in slots if w[slot] >= min_w]
    if asked_by == -1:
        return strong
    return [slot for slot in strong if consumer[slot] in (0, asked_by)]


def scores(slots: Sequence[int], ranking: Ranking) -> list[float]:
    """The `order_score` of each row; this order of operations is the definition."""
    w, evidence, u, updated_at, importance, *_ = ranking
    c, wall, u_now, importance_weight = (
        ranking.c,
        ranking.wall,
        ranking.u_now,
        ranking.importance_weight,
    )
    boosts, most = _EVIDENCE, _EVIDENCE[EVIDENCE_CAP]
    return [
        w[slot]
        * (boosts[count] if (count := evidence[slot]) < EVIDENCE_CAP else most)
        * (1.0 + c * (u_now if updated_at[slot] > wall else u[slot]))
        * (1.0 + importance_weight * (importance[slot] - 0.5))
        for slot in slots
    ]
