"""Large operations in several entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from daemon.homes import open_home, percept
from milkd.daemon.parting import MAX_PART, OTHER, parts
from milkd.engine.changes import Change, PerceptDropped, PerceptPut
from milkd.engine.percept import Wording
from milkd.store.entries import Entry, entry_to_payload

if TYPE_CHECKING:
    from pathlib import Path

DROPPED = PerceptDropped("global", "a")


def put(size: int, *wordings: int) -> PerceptPut:
    worded = tuple(Wording("ü" * each, 1.0) for each in wordings)
    return PerceptPut("global", percept("a", content="ü" * size, wordings=worded))


def test_a_small_operation_is_one_part() -> None:
    changes = (DROPPED, put(1), DROPPED)
    assert list(parts(changes)) == [changes]


def test_nothing_is_one_part_too() -> None:
    assert list(parts(())) == [()]


def test_a_large_one_is_parted_in_order() -> None:
    changes = [PerceptDropped("global", str(number)) for number in range(10)]
    found = list(parts(changes, 3 * OTHER))
    assert [len(part) for part in found] == [3, 3, 3, 1]
    assert [change for part in found for change in part] == changes


def test_what_is_too_large_by_itself_is_a_part_by_itself() -> None:
    large = put(1_000)
    assert list(parts([DROPPED, large, DROPPED], 1_000)) == [(DROPPED,), (large,), (DROPPED,)]
    assert list(parts([large], 10)) == [(large,)]


def test_wordings_count() -> None:
    assert len(list(parts([put(10, 500), put(10, 500)], 3_000))) == 2
    assert len(list(parts([put(10), put(10)], 3_000))) == 1


@given(
    st.lists(
        st.builds(put, st.integers(1, 3_000), st.integers(1, 2_000)) | st.just(DROPPED), max_size=30
    ),
    st.integers(1, 20_000),
)
def test_no_part_is_larger_than_it_may_unless_it_is_one_change(
    changes: list[Change], limit: int
) -> None:
    found = list(parts(changes, limit))
    assert [change for part in found for change in part] == changes
    for part in found:
        payload = entry_to_payload(Entry(1, 1.0, "test", part), 0)
        assert len(part) <= 1 or len(payload) <= limit + 200


async def test_parts_are_one_operation(tmp_path: Path) -> None:
    texts = [chr(97 + number) * (MAX_PART // 15) for number in range(5)]
    puts = [PerceptPut("global", percept(text[0], content=text, producer="user")) for text in texts]
    async with open_home(tmp_path / "m") as home:
        await home.put(*puts)
        assert home.core.commits.durable > 1
        assert home.core.commits.durable == home.store.newest
        image = home.image()
    async with open_home(tmp_path / "m") as home:
        assert home.image() == image
