"""Sets of rows as integers: the same rows come out, and are counted as by hand."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine._bitmaps_py import levels, mask_of, planes_of, slots_of, union

sets = st.lists(st.sets(st.integers(0, 300)), max_size=9)


@pytest.mark.parametrize("rows", [0, 1, 16, 17, 500, 5_000, 20_000])
def test_what_goes_into_a_set_comes_out_of_it_in_order(rows: int) -> None:
    slots = random.Random(rows).sample(range(20_000), rows)
    mask = mask_of(slots)
    assert mask.bit_count() == rows
    assert slots_of(mask) == sorted(slots)


@pytest.mark.parametrize("more", [0, 40])
def test_a_row_listed_twice_is_as_if_it_was_not(more: int) -> None:
    others = list(range(100, 100 + more))
    assert slots_of(mask_of([7, 3, 7, 5, *others, 7, 3])) == [5, 7, *others]


@given(sets, st.integers(0, 9))
def test_rows_are_counted_in_all_sets_at_once(of: list[set[int]], least: int) -> None:
    masks = [mask_of(sorted(each)) for each in of]
    found = list(levels(planes_of(masks), union(masks), least))
    assert [count for count, _ in found] == sorted({count for count, _ in found}, reverse=True)
    expected = Counter(slot for each in of for slot in each)
    counted = {slot: count for count, mask in found for slot in slots_of(mask)}
    assert counted == {slot: count for slot, count in expected.items() if count >= least}
