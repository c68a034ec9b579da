"""The reference for every pass over a column; what the compiled kernels must equal.

Each function takes `array.array` columns of one length and does what it says
row by row.  `milkd._fastcore` is the same in C: the same operations in the same
order, so that the results agree to the last bit and a journal written under
one replays under the other.

Raises, in all of them:
    TypeError: A column is not an array of the stated typecode.
    ValueError: The columns differ in length.
"""

from __future__ import annotations

from array import array
from operator import lt

from milkd.engine._columns_py import check_columns
from milkd.engine.ranking import EVIDENCE_CAP, EVIDENCE_WEIGHT

ABI = 2
"""Counts up with every change of a signature or a result; a stale build is not used."""


def decay(w: array[float], exempt: array[int], factor: float, floor: float) -> int:
    """Move every non-exempt weight above `floor` towards it: w <- floor + (w - floor) * factor.

    Args:
        w: Weights in [0, 1], typecode "d"; updated in place.
        exempt: Non-zero where the percept does not decay, typecode "B".
        factor: 2 ** (-elapsed / half_life), in (0, 1]; dimensionless.
        floor: Weight that decay approaches and never crosses.

    Returns:
        The number of weights that got smaller.
    """
    check_columns(w=(w, "d"), exempt=(exempt, "B"))
    after = array(
        "d",
        [
            floor + (before - floor) * factor if before > floor and not passed_by else before
            for before, passed_by in zip(w, exempt, strict=True)
        ],
    )
    smaller: int = sum(map(lt, after, w))
    w[:] = after
    return smaller


def accrue(idle_s: array[float], used: array[int], elapsed_s: float) -> None:
    """Add `elapsed_s` to the idle seconds of every row that was not used.

    Args:
        idle_s: Running seconds without use, typecode "d"; updated in place.
        used: Non-zero where the row was used in the interval, typecode "B".
        elapsed_s: Running seconds of the interval.
    """
    check_columns(idle_s=(idle_s, "d"), used=(used, "B"))
    idle_s[:] = array(
        "d",
        [
            before if in_use else before + elapsed_s
            for before, in_use in zip(idle_s, used, strict=True)
        ],
    )


def rank_scores(w: array[float], evidence: array[int], u: array[float], c: float) -> array[float]:
    """Score every row as `ranking.rank_score` does: w * (1 + e) * (1 + c * u).

    Args:
        w: Weights in [0, 1], typecode "d".
        evidence: Corroborations, typecode "I".
        u: Freshness of the row (`ranking.freshness`), typecode "d".
        c: Scale of the moment (`ranking.recency_scale`).
    """
    check_columns(w=(w, "d"), evidence=(evidence, "I"), u=(u, "d"))
    return array(
        "d",
        [
            weight * (1.0 + EVIDENCE_WEIGHT * min(count, EVIDENCE_CAP)) * (1.0 + c * fresh)
            for weight, count, fresh in zip(w, evidence, u, strict=True)
        ],
    )


def at_most(w: array[float], exempt: array[int], threshold: float) -> list[int]:
    """List the non-exempt rows with w <= `threshold`, ascending."""
    check_columns(w=(w, "d"), exempt=(exempt, "B"))
    return [
        row
        for row, (value, skip) in enumerate(zip(w, exempt, strict=True))
        if not skip and value <= threshold
    ]


def at_least(values: array[float], exempt: array[int], threshold: float) -> list[int]:
    """List the non-exempt rows with a value >= `threshold`, ascending."""
    check_columns(values=(values, "d"), exempt=(exempt, "B"))
    return [
        row
        for row, (value, skip) in enumerate(zip(values, exempt, strict=True))
        if not skip and value >= threshold
    ]


def lowest(scores: array[float], exempt: array[int], k: int) -> list[int]:
    """List the k non-exempt rows of the lowest scores, the lowest first; then the lower row.

    Args:
        scores: Numbers, typecode "d"; none of them NaN.
        exempt: Non-zero where a row is never listed, typecode "B".
        k: How many, 0 or more; where there are fewer, all of them.
    """
    check_columns(scores=(scores, "d"), exempt=(exempt, "B"))
    if k <= 0:
        return []
    rows = [row for row, skip in enumerate(exempt) if not skip]
    if k < len(rows):
        # Plain numbers are sorted quicker than rows by number.
        most = sorted(map(scores.__getitem__, rows))[k - 1]
        rows = [row for row in rows if scores[row] <= most]
    rows.sort(key=scores.__getitem__)
    return rows[:k]
