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

from milkd.engine.ranking import EVIDENCE_CAP, EVIDENCE_WEIGHT

ABI = 1
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
    _check(w=(w, "d"), exempt=(exempt, "B"))
    smaller = 0
    for row, passed_by in enumerate(exempt):
        before = w[row]
        if not passed_by and before > floor:
            w[row] = after = floor + (before - floor) * factor
            smaller += after < before
    return smaller


def accrue(idle_s: array[float], used: array[int], elapsed_s: float) -> None:
    """Add `elapsed_s` to the idle seconds of every row that was not used.

    Args:
        idle_s: Running seconds without use, typecode "d"; updated in place.
        used: Non-zero where the row was used in the interval, typecode "B".
        elapsed_s: Running seconds of the interval.
    """
    _check(idle_s=(idle_s, "d"), used=(used, "B"))
    for row, in_use in enumerate(used):
        if not in_use:
            idle_s[row] += elapsed_s


def rank_scores(w: array[float], evidence: array[int], u: array[float], c: float) -> array[float]:
    """Score every row as `ranking.rank_score` does: w * (1 + e) * (1 + c * u).

    Args:
        w: Weights in [0, 1], typecode "d".
        evidence: Corroborations, typecode "I".
        u: Freshness of the row (`ranking.freshness`), typecode "d".
        c: Scale of the moment (`ranking.recency_scale`).
    """
    _check(w=(w, "d"), evidence=(evidence, "I"), u=(u, "d"))
    return array(
        "d",
        [
            weight * (1.0 + EVIDENCE_WEIGHT * min(count, EVIDENCE_CAP)) * (1.0 + c * fresh)
            for weight, count, fresh in zip(w, evidence, u, strict=True)
        ],
    )


def at_most(w: array[float], exempt: array[int], threshold: float) -> list[int]:
    """List the non-exempt rows with w <= `threshold`, ascending."""
    _check(w=(w, "d"), exempt=(exempt, "B"))
    return [
        row
        for row, (value, skip) in enumerate(zip(w, exempt, strict=True))
        if not skip and value <= threshold
    ]


def at_least(values: array[float], exempt: array[int], threshold: float) -> list[int]:
    """List the non-exempt rows with a value >= `threshold`, ascending."""
    _check(values=(values, "d"), exempt=(exempt, "B"))
    return [
        row
        for row, (value, skip) in enumerate(zip(values, exempt, strict=True))
        if not skip and value >= threshold
    ]


def _check(**columns: tuple[object, str]) -> None:
    lengths: list[int] = []
    for name, (column, typecode) in columns.items():
        if not isinstance(column, array) or column.typecode != typecode:
            raise TypeError(f"{name}: expected array({typecode!r}), found {_described(column)}")
        lengths.append(len(column))
    if len(set(lengths)) > 1:
        rows = " and ".join(map(str, lengths))
        raise ValueError(f"columns of {rows} rows, all must have the same length")


def _described(column: object) -> str:
    if isinstance(column, array):
        return f"array({column.typecode!r})"
    return type(column).__name__
