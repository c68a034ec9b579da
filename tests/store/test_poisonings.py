"""A disk that fails at its syncs again and again is written to no more."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from daemon.homes import contents, open_home, percept
from faulty import FaultyFiles
from milkd.engine.changes import PerceptPut
from milkd.engine.percept import ScopeImage
from milkd.errors import ReadOnly
from milkd.store.entries import Entry
from milkd.store.files import Files, Poisoned
from milkd.store.poisonings import FORGOTTEN, MANY, SPAN, Poisonings, forget
from milkd.store.store import JournalStore

if TYPE_CHECKING:
    from pathlib import Path

NOON = 1_780_000_000.0


class BadSync(Files):
    """A disk on which no append can be relied on."""

    def fdatasync(self, fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")


class Wall:
    """A clock on the wall."""

    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> float:
        return self.at


def opened(
    directory: Path, wall: Wall, files: Files | None = None
) -> tuple[JournalStore, str | None]:
    """A store as a process finds it, and why it must not be written to."""
    store = JournalStore(str(directory), files=files, now=wall)
    found = store.open()
    for scope in found.scopes:
        store.find(scope)
    return store, found.refusal


def write(store: JournalStore) -> None:
    entry = Entry(store.newest + 1, NOON, "test", (PerceptPut("global", percept("a")),))
    store.append([entry])


def poison(directory: Path, wall: Wall, seconds: float = 60.0) -> None:
    """A daemon starts, and some time later its disk fails."""
    store, refusal = opened(directory, wall, BadSync())
    assert refusal is None
    wall.at += seconds
    with pytest.raises(Poisoned):
        write(store)


def save(store: JournalStore) -> None:
    written = store.write([ScopeImage(name="global")], store.rotate(), [], lambda: None)
    assert store.publish(written).error is None


def told(directory: Path) -> list[str]:
    path = directory / ".milkd" / "poisoned"
    return path.read_text().splitlines() if path.exists() else []


def test_after_three_within_ten_minutes_the_store_is_read_only(tmp_path: Path) -> None:
    wall = Wall()
    for _ in range(MANY):
        poison(tmp_path, wall)
    assert told(tmp_path) == [
        "2026-05-28T20:27:40Z",
        "2026-05-28T20:28:40Z",
        "2026-05-28T20:29:40Z",
    ]

    store, refusal = opened(tmp_path, wall)

    assert refusal == (
        "the disk failed at a sync 3 times within 10 minutes, the last time at "
        "2026-05-28T20:29:40Z: it cannot be relied on.  Look at the disk; then let `milkctl "
        "repair` forget that, or start milkd anew after 2026-05-28T21:29:40Z"
    )
    before = contents(tmp_path)
    for act in (write, save, JournalStore.rotate):
        with pytest.raises(ReadOnly, match="the disk failed at a sync 3 times"):
            act(store)
    store.retire(keep=False)
    store.finish()
    assert contents(tmp_path) == before


async def test_the_daemon_tells_why_and_serves_what_it_has(tmp_path: Path) -> None:
    wall = Wall()
    async with open_home(tmp_path) as home:
        await home.put(PerceptPut("global", percept("a")))
        wall.at = home.clock.wall
    own = tmp_path / ".milkd"
    for _ in range(MANY):
        Poisonings(Files(), str(own), wall).add()
    before = contents(tmp_path)

    async with open_home(tmp_path) as home:
        assert home.ids() == ["a"]
        assert home.core.health.status == "read_only"
        assert "the disk failed at a sync 3 times" in home.core.health.reasons[0]
        with pytest.raises(ReadOnly):
            await home.put(PerceptPut("global", percept("b")))
        await home.stop()
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("gaps", "refused"),
    [
        ((60.0, 60.0), False),
        ((1.0, SPAN / 2, SPAN / 2), True),
        ((1.0, SPAN / 2, SPAN / 2 + 1), False),
        ((1.0, SPAN, SPAN, SPAN), False),
        ((1.0, SPAN, 1.0, 1.0), True),
        ((1.0, 1.0, 1.0, SPAN + 1), True),
    ],
)
def test_only_many_in_a_short_while_count(
    tmp_path: Path, gaps: tuple[float, ...], refused: bool
) -> None:
    wall = Wall()
    (tmp_path / ".milkd").mkdir()
    known = Poisonings(Files(), str(tmp_path / ".milkd"), wall)
    for gap in gaps:
        wall.at += gap
        known.add()
    assert (known.refusal() is not None) == refused


def test_old_ones_are_forgotten(tmp_path: Path) -> None:
    wall = Wall()
    for _ in range(MANY):
        poison(tmp_path, wall)
    wall.at += FORGOTTEN
    store, refusal = opened(tmp_path, wall)
    assert refusal is None
    write(store)


def test_a_start_that_was_sound_for_long_forgets_all(tmp_path: Path) -> None:
    wall = Wall()
    for _ in range(MANY - 1):
        poison(tmp_path, wall)
    store, _ = opened(tmp_path, wall)
    write(store)
    save(store)
    assert len(told(tmp_path)) == 2
    wall.at += SPAN + 1
    write(store)
    save(store)
    assert told(tmp_path) == []
    poison(tmp_path, wall)
    assert opened(tmp_path, wall)[1] is None


def test_who_has_looked_at_the_disk_can_have_them_forgotten(tmp_path: Path) -> None:
    wall = Wall()
    for _ in range(MANY):
        poison(tmp_path, wall)
    own = str(tmp_path / ".milkd")
    assert forget(Files(), own)
    assert not forget(Files(), own)
    assert opened(tmp_path, wall)[1] is None


@pytest.mark.parametrize("call", range(1, 4))
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_where_none_can_be_noted_nothing_comes_of_it(tmp_path: Path, call: int, error: int) -> None:
    files = FaultyFiles()
    (tmp_path / ".milkd").mkdir()
    files.arm(call, error)
    Poisonings(files, str(tmp_path / ".milkd"), Wall()).add()
    assert len(told(tmp_path)) <= 1


@pytest.mark.parametrize(
    "text", [b"", b"junk\n" * 9, b"\xff\n" * 9, b"9999-99-99\n" * 9, b"0001-01-01T00:00:00Z\n" * 9]
)
def test_what_says_no_time_does_not_count(tmp_path: Path, text: bytes) -> None:
    (tmp_path / ".milkd").mkdir()
    (tmp_path / ".milkd" / "poisoned").write_bytes(text)
    assert opened(tmp_path, Wall())[1] is None


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".milkd").mkdir()
    (tmp_path / ".milkd" / "poisoned").symlink_to(tmp_path / "elsewhere")
    Poisonings(Files(), str(tmp_path / ".milkd"), Wall()).add()
    assert not (tmp_path / "elsewhere").exists()
