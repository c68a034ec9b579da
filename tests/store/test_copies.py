"""What others wrote is kept before it is replaced, though not without end."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import pytest

from faulty import Death, FaultyFiles
from milkd.store.copies import MAX_ASIDE, Copies
from milkd.store.files import Files

if TYPE_CHECKING:
    from pathlib import Path

NOON = 1_780_000_000.0
WEEK = 7 * 86_400.0
ID = "7e1f0000-0000-4000-8000-000000000001"


class Clock:
    """A wall clock that is turned by hand."""

    def __init__(self) -> None:
        self.wall = NOON

    def __call__(self) -> float:
        return self.wall


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def copies(tmp_path: Path, clock: Clock) -> Copies:
    return Copies(Files(), str(tmp_path), clock)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "global.json"
    path.write_bytes(b"their version")
    return path


def aside(store: Path) -> list[str]:
    return sorted(os.listdir(store / ".milkd" / "quarantine"))


def test_a_version_is_kept_under_the_moment_and_the_reason(
    copies: Copies, theirs: Path, tmp_path: Path
) -> None:
    kept = [copies.set_aside(str(theirs), "global", kind) for kind in ("", "conflict", "damaged")]

    assert aside(tmp_path) == [
        "global.20260528T202640.000000Z.conflict.json",
        "global.20260528T202640.000000Z.damaged.json",
        "global.20260528T202640.000000Z.json",
    ]
    for path in kept:
        with open(path, "rb") as file:
            assert file.read() == b"their version"
    assert theirs.exists()


def test_versions_of_one_moment_are_numbered(copies: Copies, theirs: Path, tmp_path: Path) -> None:
    for _ in range(3):
        copies.set_aside(str(theirs), "global", "conflict")

    assert aside(tmp_path) == [
        "global.20260528T202640.000000Z-1.conflict.json",
        "global.20260528T202640.000000Z-2.conflict.json",
        "global.20260528T202640.000000Z.conflict.json",
    ]


def test_of_each_scope_twenty_old_versions_are_kept(
    copies: Copies, theirs: Path, tmp_path: Path, clock: Clock
) -> None:
    for _ in range(MAX_ASIDE + 3):
        copies.set_aside(str(theirs), "global", "conflict")
        copies.set_aside(str(theirs), "s.1")
        clock.wall += 1.0
    assert len(aside(tmp_path)) == 2 * (MAX_ASIDE + 3)

    clock.wall += WEEK
    newest = copies.set_aside(str(theirs), "global", "damaged")

    left = [name for name in aside(tmp_path) if name.startswith("global.")]
    assert len(left) == MAX_ASIDE
    assert left[0] == "global.20260528T202644.000000Z.conflict.json"
    assert left[-1] == os.path.basename(newest)
    assert len(aside(tmp_path)) == 2 * MAX_ASIDE


def test_of_many_in_one_moment_the_last_are_kept(
    copies: Copies, theirs: Path, tmp_path: Path, clock: Clock
) -> None:
    for _ in range(MAX_ASIDE + 2):
        copies.set_aside(str(theirs), "global")
    clock.wall += WEEK
    copies.set_aside(str(theirs), "global")

    gone = {f"global.20260528T202640.000000Z{part}.json" for part in ("", "-1", "-2")}
    assert len(aside(tmp_path)) == MAX_ASIDE
    assert gone.isdisjoint(aside(tmp_path))


def test_of_all_old_versions_64_mib_are_kept(
    copies: Copies, theirs: Path, tmp_path: Path, clock: Clock
) -> None:
    os.truncate(theirs, 20 << 20)
    for scope in ("s1", "s2", "s3", "s4", "s5"):
        os.rename(copies.set_aside(str(theirs), scope), tmp_path / "moment")
        # A link would change the time of nothing; a file of its own is as large.
        path = tmp_path / ".milkd" / "quarantine" / f"{scope}.20260528T20264{scope[1]}.000000Z.json"
        path.touch()
        os.truncate(path, 20 << 20)
    clock.wall += WEEK + 60
    os.truncate(theirs, 1)

    copies.set_aside(str(theirs), "s6")

    assert [name[:2] for name in aside(tmp_path)] == ["s3", "s4", "s5", "s6"]


def test_what_is_no_version_of_a_file_stays(
    copies: Copies, theirs: Path, tmp_path: Path, clock: Clock
) -> None:
    copies.set_aside(str(theirs), "global")
    quarantine = tmp_path / ".milkd" / "quarantine"
    others = ["journal.00000001-0a1b2c3d", "notes", "global.20269999T000000.000000Z.json"]
    for name in others:
        (quarantine / name).write_text("")
    clock.wall += 2 * WEEK

    for _ in range(MAX_ASIDE):
        copies.set_aside(str(theirs), "global")

    assert set(others) <= set(aside(tmp_path))
    assert len(aside(tmp_path)) == len(others) + MAX_ASIDE


def test_that_old_versions_cannot_be_seen_stops_nothing(theirs: Path, tmp_path: Path) -> None:
    class Blind(Files):
        def listdir(self, path: str) -> list[str]:
            raise OSError(errno.EIO, "Input/output error")

    kept = Copies(Blind(), str(tmp_path), Clock()).set_aside(str(theirs), "global")

    assert os.path.exists(kept)


def test_a_version_is_a_copy_where_links_do_not_work(theirs: Path, tmp_path: Path) -> None:
    class NoLinks(Files):
        def link(self, old: str, new: str) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

    kept = Copies(NoLinks(), str(tmp_path), Clock()).set_aside(str(theirs), "global")

    with open(kept, "rb") as file:
        assert file.read() == b"their version"
    assert os.stat(kept).st_ino != theirs.stat().st_ino


def test_what_others_may_read_is_copied_for_the_owner_alone(
    copies: Copies, theirs: Path, tmp_path: Path
) -> None:
    theirs.chmod(0o644)
    journal = tmp_path / "journal.00000001-0a1b2c3d"
    journal.write_bytes(b"damaged")
    journal.chmod(0o640)

    kept = copies.set_aside(str(theirs), "global", "replaced")
    copies.keep_journal(str(journal))
    copies.keep_journal(str(journal))

    for name in aside(tmp_path):
        path = tmp_path / ".milkd" / "quarantine" / name
        assert path.stat().st_mode & 0o777 == 0o600
    with open(kept, "rb") as file:
        assert file.read() == b"their version"
    (version,) = copies.aside()
    assert (version.kind, version.path) == ("replaced", kept)
    assert version.which == "20260528T202640.000000Z.replaced"
    assert theirs.stat().st_mode & 0o777 == 0o644


def test_what_a_restoration_replaced_is_kept_for_a_week_however_much_there_is(
    copies: Copies, theirs: Path, tmp_path: Path, clock: Clock
) -> None:
    for _ in range(MAX_ASIDE + 3):
        copies.set_aside(str(theirs), "global", "replaced")
        clock.wall += 60.0
    assert len(aside(tmp_path)) == MAX_ASIDE + 3
    clock.wall += WEEK
    copies.set_aside(str(theirs), "global", "replaced")
    assert len(aside(tmp_path)) == MAX_ASIDE


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS, Death])
def test_wherever_it_fails_their_version_is_still_there(
    theirs: Path, tmp_path: Path, error: int | type[Death]
) -> None:
    files = FaultyFiles()
    files.arm(0)
    Copies(files, str(tmp_path), Clock()).set_aside(str(theirs), "global")
    for number in range(1, len(files.calls) + 1):
        files.arm(number, error)

        try:
            kept = Copies(files, str(tmp_path), Clock()).set_aside(str(theirs), "global")
        except (OSError, Death):
            pass
        else:
            assert os.path.exists(kept)

        assert theirs.read_bytes() == b"their version"
        for name in aside(tmp_path):
            assert name.endswith(".tmp") or (
                (tmp_path / ".milkd" / "quarantine" / name).read_bytes() == b"their version"
            )


def test_the_whole_store_is_copied_before_milkd_writes_to_it(
    milk_store: Path, session: str, milk_global: bytes, milk_session: bytes, clock: Clock
) -> None:
    (milk_store / "directory.json").mkdir()
    (milk_store / "dangling.json").symlink_to(milk_store / "nowhere")
    copies = Copies(Files(), str(milk_store), clock)

    copies.back_up_once(ID)
    (milk_store / "global.json").write_text("{}")
    copies.back_up_once(ID)
    clock.wall += WEEK
    Copies(Files(), str(milk_store), clock).back_up_once("another id")

    backup = milk_store / ".milkd" / "backup"
    assert os.listdir(backup) == ["pre-milkd-2026-05-28"]
    kept = {path.name: path.read_bytes() for path in (backup / "pre-milkd-2026-05-28").iterdir()}
    assert kept == {"global.json": milk_global, f"{session}.json": milk_session}
    assert json.loads((milk_store / ".milkd" / "store.json").read_bytes()) == {
        "format": 1,
        "store": ID,
        "created": "2026-05-28",
    }


def test_a_new_store_needs_no_backup(tmp_path: Path, clock: Clock) -> None:
    Copies(Files(), str(tmp_path), clock).back_up_once(ID)

    assert os.listdir(tmp_path / ".milkd") == ["store.json"]


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS, Death])
def test_wherever_the_first_copy_fails_the_next_one_is_whole(
    milk_store: Path, milk_global: bytes, session: str, error: int | type[Death]
) -> None:
    files = FaultyFiles()
    number, done = 0, False
    while not done:
        number += 1
        files.arm(number, error)
        try:
            Copies(files, str(milk_store), Clock()).back_up_once(ID)
            done = len(files.calls) < number
        except (OSError, Death):
            pass
        files.arm(0)

        Copies(files, str(milk_store), Clock()).back_up_once(ID)

        own = milk_store / ".milkd"
        (backup,) = (own / "backup").iterdir()
        assert (backup / "global.json").read_bytes() == milk_global
        assert (backup / f"{session}.json").exists()
        own.rename(milk_store / f"own {number}")
    assert number > 20


def test_every_place_of_copies_is_named(milk_store: Path, clock: Clock) -> None:
    copies = Copies(Files(), str(milk_store), clock)
    own = str(milk_store / ".milkd")
    places = [own, f"{own}/quarantine", f"{own}/backup"]
    assert copies.directories() == places

    copies.back_up_once(ID)

    assert copies.directories() == [*places, f"{own}/backup/pre-milkd-2026-05-28"]
