"""Rows by what they share with some words: the most first, and no further than asked.

Every function gives levels, the highest first: what the hits of the rows weigh together, and
the rows, in any order.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from milkd.engine._bitmaps_py import add, levels, planes_of, slots_of, union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from milkd.engine._postings_py import Posting, Postings

Level = tuple[float, "Sequence[int]"]
Count = tuple[int, "Sequence[int]"]
_Value = TypeVar("_Value", int, float)

# Up to so many postings, and one more for so many rows, counting costs less than bitmaps.
_FEW = 400
_ROWS_A_POSTING = 64

# The largest weight is so many steps: more of them bring fewer rows too near to tell apart.
_STEPS = 255
# Makes up for what is rounded in counting steps.
_SLACK = 1e-9


def counted(lists: Sequence[Posting]) -> dict[int, int]:
    """How many of the lists each row is in, for rows that are in any."""
    return Counter(chain.from_iterable([each.slots for each in lists]))


def by_hits(postings: Postings, lists: Sequence[Posting]) -> Iterator[Count]:
    """The rows in most of the lists first."""
    if are_few(postings, lists):
        yield from _grouped(counted(lists))
        return
    masks = [each.mask() for each in lists]
    for count, mask in levels(planes_of(masks), union(masks)):
        yield count, slots_of(mask)


def together(postings: Postings, lists: Sequence[Posting]) -> Sequence[int]:
    """The rows in any of the lists."""
    if are_few(postings, lists):
        return list(set(chain.from_iterable([each.slots for each in lists])))
    return slots_of(union([each.mask() for each in lists]))


def with_rest(found: Iterable[Level], rest: Callable[[], Sequence[int]]) -> Iterator[Level]:
    """The levels, and in its place the one of the rows that share nothing."""
    placed = False
    for level, slots in found:
        if level <= 0.0 and not placed:
            placed = True
            yield 0.0, [*slots, *rest()] if level == 0.0 else rest()
            if level == 0.0:
                continue
        yield level, slots
    if not placed:
        yield 0.0, rest()


def by_weight(
    postings: Postings, order: Sequence[str], weights: Sequence[float]
) -> Iterator[Level]:
    """The rows in which the words weigh most first.

    Args:
        postings: What the index knows.
        order: The words; added up in this order, the weights of a row give its level.
        weights: What each weighs.
    """
    found = [
        (posting, weight)
        for word, weight in zip(order, weights, strict=True)
        if (posting := postings.by_word.get(word)) is not None
    ]
    lists = [posting for posting, _ in found]
    # What is not zero or more, up to a largest number, can't be counted in whole steps.
    if are_few(postings, lists) or not all(0.0 <= weight < math.inf for _, weight in found):
        totals: dict[int, float] = {}
        for posting, weight in found:
            for slot in posting.slots:
                totals[slot] = totals.get(slot, 0.0) + weight
        return _grouped(totals)
    return _in_steps(postings, found, dict(zip(order, weights, strict=True)))


def _in_steps(
    postings: Postings, found: Sequence[tuple[Posting, float]], weights: dict[str, float]
) -> Iterator[Level]:
    """Count weights as whole numbers of steps, and put in order what comes near together."""
    step = max(weight for _, weight in found) / _STEPS or 1.0
    masks = [posting.mask() for posting, _ in found]
    planes: list[int] = []
    lost = 0.0
    for mask, (_, weight) in zip(masks, found, strict=True):
        steps = int(weight / step)
        lost += max(0.0, weight - steps * step)
        for power in range(steps.bit_length()):
            if steps >> power & 1:
                add(planes, mask, power)
    level_of = _Weigher(weights)
    waiting: dict[float, list[int]] = {}
    for steps, mask in levels(planes, union(masks)):
        # Nobody who comes now or later weighs more than this.
        most = (steps * step + lost) * (1.0 + _SLACK)
        for level in sorted([level for level in waiting if level > most], reverse=True):
            yield level, waiting.pop(level)
        for slot in slots_of(mask):
            waiting.setdefault(level_of(postings.rows[slot]), []).append(slot)
    yield from ((level, waiting[level]) for level in sorted(waiting, reverse=True))


class _Weigher:
    """Adds the weights up of the words that rows have, once for rows that have the same."""

    def __init__(self, weights: dict[str, float]) -> None:
        self._weights = weights
        self._wanted = frozenset(weights)
        self._known: dict[frozenset[str], float] = {}

    def __call__(self, row: tuple[str, ...] | None) -> float:
        shared = self._wanted.intersection(row or ())
        level = self._known.get(shared)
        if level is None:
            # sum() would round less than adding one by one.
            level = 0.0
            for word, weight in self._weights.items():
                if word in shared:
                    level += weight
            self._known[shared] = level
        return level


def are_few(postings: Postings, lists: Iterable[Posting]) -> bool:
    """Whether the rows of the lists are few enough to be counted one by one."""
    total = sum([len(each.slots) for each in lists])
    return total <= _FEW + len(postings.rows) // _ROWS_A_POSTING


def _grouped(values: Mapping[int, _Value]) -> Iterator[tuple[_Value, Sequence[int]]]:
    groups: dict[_Value, list[int]] = {}
    for slot, value in values.items():
        groups.setdefault(value, []).append(slot)
    for value in sorted(groups, reverse=True):
        yield value, groups[value]
