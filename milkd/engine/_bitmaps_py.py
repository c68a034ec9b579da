"""Sets of rows as big integers: bit n is row n.

The interpreter combines two of them at the speed of memory, a hundred times faster than it
counts row by row.  Adding them up bit by bit gives, in a handful of integers, how many of the
sets each row is in: plane n holds bit n of every row's number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# So few rows are set, or taken out, quicker one by one, though each time the set is copied.
_FEW = 16
# With so many bytes to a row, going from one byte that has rows to the next is quicker.
_SPARSE = 10

_ANY_ROW = bytes([0] + [1] * 255)
_ROWS_OF_BYTE = [[n for n in range(8) if byte >> n & 1] for byte in range(256)]


def mask_of(slots: Sequence[int]) -> int:
    """The set of the rows that are listed an odd number of times."""
    if len(slots) <= _FEW:
        few = 0
        for slot in slots:
            few ^= 1 << slot
        return few
    data = bytearray((max(slots) >> 3) + 1)
    for slot in slots:
        data[slot >> 3] ^= 1 << (slot & 7)
    return int.from_bytes(data, "little")


def slots_of(mask: int) -> list[int]:
    """The rows of a set, ascending."""
    last: list[int] = []
    while mask and len(last) < _FEW:
        slot = mask.bit_length() - 1
        last.append(slot)
        mask ^= 1 << slot
    last.reverse()
    return _slots_of_many(mask) + last if mask else last


def _slots_of_many(mask: int) -> list[int]:
    data = mask.to_bytes((mask.bit_length() + 7) >> 3, "little")
    starts, of_byte = range(0, len(data) << 3, 8), _ROWS_OF_BYTE
    if mask.bit_count() * _SPARSE > len(data):
        bytes_ = zip(starts, data, strict=True)
        return [start + n for start, byte in bytes_ if byte for n in of_byte[byte]]
    found: list[int] = []
    taken = data.translate(_ANY_ROW)
    at = taken.find(1)
    while at >= 0:
        found.append(at)
        at = taken.find(1, at + 1)
    return [starts[at] + n for at in found for n in of_byte[data[at]]]


def union(masks: Iterable[int]) -> int:
    """The rows that are in any of the sets."""
    found = 0
    for mask in masks:
        found |= mask
    return found


def planes_of(masks: Iterable[int]) -> list[int]:
    """How many of the sets each row is in."""
    planes: list[int] = []
    for mask in masks:
        add(planes, mask, 0)
    return planes


def add(planes: list[int], mask: int, power: int) -> None:
    """Add 2 ** power to the number of each row of a set."""
    carry = mask
    while carry:
        if power >= len(planes):
            planes += [0] * (power + 1 - len(planes))
        plane = planes[power]
        planes[power] = plane ^ carry
        carry &= plane
        power += 1


def levels(planes: Sequence[int], mask: int, least: int = 0) -> Iterator[tuple[int, int]]:
    """(number, the rows of the set that have it), the highest number first, down to `least`."""
    within_reach = 1 << len(planes) > least
    return _levels(planes, len(planes) - 1, mask if within_reach else 0, 0, least)


def _levels(
    planes: Sequence[int], power: int, mask: int, number: int, least: int
) -> Iterator[tuple[int, int]]:
    if not mask:
        return
    if power < 0:
        yield number, mask
        return
    higher = mask & planes[power]
    if higher:
        yield from _levels(planes, power - 1, higher, number + (1 << power), least)
    if mask != higher and number + (1 << power) > least:
        yield from _levels(planes, power - 1, mask ^ higher, number, least)
