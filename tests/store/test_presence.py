"""The files as they were left, and what others did to them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from daemon.homes import holding, lay, take_away
from faulty import FaultyFiles
from milkd.engine.percept import ScopeImage
from milkd.errors import StorageFailed, StoreDamaged
from milkd.store.copies import Copies
from milkd.store.directory import Directory
from milkd.store.files import Files, current_stamp
from milkd.store.presence import Presence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOON = 1_780_000_000.0
SCOPES = ("global", "s1", "s2")


def presence_of(store: Path, files: Files | None = None) -> Presence:
    files = files or Files()
    directory = Directory(files, str(store))
    presence = Presence(files, directory, Copies(files, str(store), lambda: NOON))
    for scope in SCOPES:
        presence.read(scope)
    return presence


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = tmp_path / "memory"
    lay(store, holding("global", "a"), holding("s1", "b"))
    return store


@pytest.fixture
def presence(store: Path) -> Presence:
    return presence_of(store)


def test_what_was_read_is_known_and_unchanged(presence: Presence, store: Path) -> None:
    assert presence.stamp("global") == current_stamp(Files(), str(store / "global.json"))
    assert presence.stamp("s2") is None
    assert presence.changed(SCOPES) == {}


def write(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


def replace_it(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.rename(path)


def write_and_set_the_time_back(path: Path) -> None:
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"{")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("edit", [write, replace_it, write_and_set_the_time_back])
def test_an_edit_is_noticed_however_it_was_made(
    presence: Presence, store: Path, edit: Callable[[Path], None]
) -> None:
    edit(store / "s1.json")
    changed = presence.changed(SCOPES)
    assert changed == {"s1": current_stamp(Files(), str(store / "s1.json"))}
    assert presence.changed([]) == changed  # sessions are looked at unasked


def test_a_session_that_nobody_asked_for_is_noticed(presence: Presence, store: Path) -> None:
    lay(store, holding("s9", "new"))
    write(store / "global.json")
    assert list(presence.changed(["archive"]) or ()) == ["s9"]


def test_a_file_that_comes_or_goes_is_noticed(presence: Presence, store: Path) -> None:
    (store / "global.json").unlink()
    (store / "s2.json").write_bytes(b"{}")
    assert presence.changed(SCOPES) == {
        "global": None,
        "s2": current_stamp(Files(), str(store / "s2.json")),
    }


def test_what_is_left_there_by_us_is_known(presence: Presence, store: Path) -> None:
    write(store / "global.json")
    presence.know("global", current_stamp(Files(), str(store / "global.json")))
    (store / "s1.json").unlink()
    presence.know("s1", None)
    assert presence.changed(SCOPES) == {}


def test_while_files_are_replaced_nothing_is_told(presence: Presence, store: Path) -> None:
    write(store / "s1.json")
    with presence.busy:
        assert presence.changed(SCOPES) is None
    assert presence.changed(SCOPES) != {}


def test_what_others_wrote_is_read_without_counting_as_known(
    presence: Presence, store: Path
) -> None:
    lay(store, holding("s1", "theirs"))
    theirs = presence.theirs("s1")
    assert theirs.loaded is not None
    assert theirs.loaded.image == holding("s1", "theirs")
    assert theirs.stamp == current_stamp(Files(), str(store / "s1.json"))
    assert list(presence.changed(SCOPES) or ()) == ["s1"]


def test_what_others_removed_is_nothing(presence: Presence, store: Path) -> None:
    (store / "s1.json").unlink()
    theirs = presence.theirs("s1")
    assert (theirs.stamp, theirs.loaded, theirs.problem) == (None, None, "")


def test_what_others_wrote_may_be_beyond_understanding(presence: Presence, store: Path) -> None:
    (store / "s1.json").write_bytes(b'{"percepts": [')
    theirs = presence.theirs("s1")
    assert theirs.loaded is None
    assert theirs.problem.startswith("s1.json")
    assert theirs.stamp == current_stamp(Files(), str(store / "s1.json"))


def test_to_adopt_makes_known_and_keeps_a_copy_if_wanted(presence: Presence, store: Path) -> None:
    lay(store, holding("s1", "theirs"))
    assert presence.adopt("s1", presence.theirs("s1"), None) is None
    assert presence.changed(SCOPES) == {}
    write(store / "s1.json")

    kept = presence.adopt("s1", presence.theirs("s1"), "conflict")

    assert kept is not None
    assert kept.endswith(".conflict.json")
    with open(kept, "rb") as file:
        assert file.read() == (store / "s1.json").read_bytes()
    assert presence.changed(SCOPES) == {}  # though the copy is a link, which sets its ctime


def test_to_adopt_what_is_gone_keeps_nothing(presence: Presence, store: Path) -> None:
    (store / "s1.json").unlink()
    assert presence.adopt("s1", presence.theirs("s1"), "damaged") is None
    assert presence.changed(SCOPES) == {}
    assert not (store / ".milkd").exists()


def test_what_is_written_between_reading_and_adopting_is_not_known(
    presence: Presence, store: Path
) -> None:
    lay(store, holding("s1", "theirs"))
    theirs = presence.theirs("s1")
    write(store / "s1.json")
    presence.adopt("s1", theirs, None)
    assert list(presence.changed(SCOPES) or ()) == ["s1"]


def test_a_copy_that_cannot_be_kept_leaves_the_version_unknown(store: Path) -> None:
    files = FaultyFiles()
    presence = presence_of(store, files)
    write(store / "s1.json")
    theirs = presence.theirs("s1")
    files.arm(1, errno.ENOSPC, for_ever=True)
    with pytest.raises(OSError, match="No space"):
        presence.adopt("s1", theirs, "conflict")
    files.arm(0)
    assert list(presence.changed(SCOPES) or ()) == ["s1"]


def test_a_store_that_is_gone_is_told(presence: Presence, store: Path) -> None:
    away = take_away(store)
    for _ in range(2):
        with pytest.raises(StorageFailed, match="is gone"):
            presence.changed(SCOPES)
        with pytest.raises(StorageFailed, match="is gone"):
            presence.check_there()
        with pytest.raises(StorageFailed, match="is gone"):
            presence.read("s1")
        assert presence.read("s2").image == ScopeImage(name="s2")
    store.mkdir()
    with pytest.raises(StorageFailed, match="is gone"):
        presence.check_there()
    store.rmdir()
    away.rename(store)
    assert presence.changed(SCOPES) == {}


def test_anything_of_ours_is_enough_for_a_store(presence: Presence, store: Path) -> None:
    (store / "global.json").unlink()
    presence.check_there()
    (store / ".milkd").mkdir()
    (store / "s1.json").unlink()
    presence.check_there()
    (store / ".milkd").rmdir()
    with pytest.raises(StorageFailed, match="is gone"):
        presence.check_there()


def test_a_store_that_never_was_cannot_be_gone(tmp_path: Path) -> None:
    presence = presence_of(tmp_path / "memory")
    presence.check_there()
    assert presence.changed(SCOPES) == {}
    presence.begun = True
    with pytest.raises(StorageFailed, match="is gone"):
        presence.check_there()


def test_a_disk_that_does_not_say_is_told(store: Path) -> None:
    files = FaultyFiles()
    presence = presence_of(store, files)
    files.arm(1, errno.EIO, for_ever=True)
    with pytest.raises(StorageFailed, match="cannot find the store"):
        presence.check_there()
    files.arm(2, errno.EIO)
    with pytest.raises(StorageFailed):
        presence.changed(SCOPES)
    files.arm(3, errno.EIO)
    with pytest.raises(StorageFailed, match="cannot list"):
        presence.changed(SCOPES)
    files.arm(4, errno.EIO)
    with pytest.raises(StorageFailed, match="cannot look at the store"):
        presence.changed(SCOPES)
    files.arm(0)
    assert presence.changed(SCOPES) == {}


def test_damage_makes_no_file_known(store: Path) -> None:
    presence = presence_of(store)
    (store / "s2.json").write_bytes(b"[")
    with pytest.raises(StoreDamaged):
        presence.read("s2")
    assert presence.stamp("s2") is None
    assert list(presence.changed(SCOPES) or ()) == ["s2"]
