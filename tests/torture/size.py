"""How much of a test is run: the short column, or one round of the long one."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
LONG = os.environ.get("MILKD_TORTURE") == "1"
ROUND = int(os.environ.get("MILKD_ROUND", "0"))
"""Which round of the long column this is: each draws something else."""
SECONDS = float(os.environ.get("MILKD_SECONDS", "inf"))
"""How long `make torture` may still take, for what is as good as it is long."""


def size(short: T, long: T) -> T:
    """One of two numbers."""
    return long if LONG else short


def portion(things: list[T], short: int, rounds: int) -> list[T]:
    """Some of the things, spread over all of them: a few, or this round's share of a long run."""
    if LONG:
        return things[ROUND % rounds :: rounds]
    step = max(1, len(things) // short)
    return things[step // 2 :: step][:short]
