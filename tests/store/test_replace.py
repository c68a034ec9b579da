"""Replacing a file: the old one or the new one, complete."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from milkd.store.files import (
    Files,
    Poisoned,
    SyncFailed,
    current_stamp,
    ensure_directory,
    read_file,
    storage_error,
    sync,
    write_all,
)
from milkd.store.replace import ANY, Replacement, save

if TYPE_CHECKING:
    from collections.abc import Iterator


class Trace(Files):
    """Notes the calls that matter for what survives a power cut."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._paths: dict[int, str] = {}

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        fd = super().open(path, flags, mode)
        self._paths[fd] = path
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return super().write(fd, data[:3])

    def fsync(self, fd: int) -> None:
        path = Path(self._paths[fd])
        self.calls.append("sync directory" if path.is_dir() else "sync file")
        super().fsync(fd)

    def rename(self, old: str, new: str) -> None:
        self.calls.append("rename")
        super().rename(old, new)


class OddDirectory(Files):
    """A file system whose directories cannot be synced, or whose disk is broken."""

    def __init__(self, error: OSError) -> None:
        self._error = error

    def fsync(self, fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise self._error
        super().fsync(fd)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    """A file that is there already; nothing is left beside it afterwards."""
    path = tmp_path / "global.json"
    path.write_bytes(b"old")
    yield path
    assert [name for name in os.listdir(tmp_path) if name.endswith(".tmp")] == []


def test_the_new_file_is_synced_then_renamed_then_its_directory_is_synced(target: Path) -> None:
    files = Trace()

    save(files, str(target), b"new text, written three bytes at a time")

    assert target.read_bytes() == b"new text, written three bytes at a time"
    assert files.calls == ["sync file", "rename", "sync directory"]


def test_the_new_file_is_for_the_user_alone(target: Path) -> None:
    target.chmod(0o644)

    save(Files(), str(target), b"new")

    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_what_is_written_and_not_published_is_removed(target: Path) -> None:
    replacement = Replacement(Files(), str(target))

    replacement.write([b"new"])
    replacement.discard()

    assert target.read_bytes() == b"old"


def test_the_stamp_is_that_of_the_published_file(target: Path) -> None:
    replacement = Replacement(Files(), str(target))

    replacement.write([b"new"])
    replacement.publish(ANY)

    assert replacement.stamp == current_stamp(Files(), str(target))


def test_a_symlink_stays_a_symlink(target: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles"
    elsewhere.mkdir()
    real = target.rename(elsewhere / "memory.json")
    target.symlink_to(real)

    save(Files(), str(target), b"new")

    assert target.is_symlink()
    assert real.read_bytes() == b"new"
    assert os.listdir(elsewhere) == ["memory.json"]


def test_a_directory_that_cannot_be_synced_is_accepted(target: Path) -> None:
    save(OddDirectory(OSError(22, "Invalid argument")), str(target), b"new")

    assert target.read_bytes() == b"new"


def test_a_failed_sync_of_the_directory_is_told_by_its_own_name(target: Path) -> None:
    with pytest.raises(SyncFailed, match="broken") as caught:
        save(OddDirectory(OSError(5, "broken")), str(target), b"new")

    assert caught.value.errno == 5
    assert caught.value.filename == str(target.parent)
    assert target.read_bytes() == b"new"


def test_a_failed_sync_of_what_cannot_be_written_anew_poisons(target: Path) -> None:
    class Broken(Files):
        def fdatasync(self, fd: int) -> None:
            raise OSError(28, "No space left on device")

    with (
        target.open() as file,
        pytest.raises(Poisoned, match=r"cannot sync it: No space .*unknown"),
    ):
        sync(Broken().fdatasync, file.fileno(), "it")


def test_a_disk_that_takes_nothing_is_an_error() -> None:
    class Stuck(Files):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            return 0

    with pytest.raises(OSError, match="took nothing"):
        write_all(Stuck(), 1, b"text")


def test_directories_are_made_for_the_user_alone(tmp_path: Path) -> None:
    ensure_directory(Files(), str(tmp_path / "a" / "b" / "c"))

    modes = [stat.S_IMODE((tmp_path / part).stat().st_mode) for part in ("a", "a/b", "a/b/c")]
    assert modes == [0o700] * 3


def test_a_directory_below_a_dangling_link_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")

    with pytest.raises(FileNotFoundError):
        ensure_directory(Files(), str(tmp_path / "link" / "b"))


def test_only_regular_files_of_a_sane_size_are_read(tmp_path: Path, target: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="not a regular file"):
        read_file(Files(), str(tmp_path / "pipe"), 100)
    with pytest.raises(OSError, match="larger than 2 bytes"):
        read_file(Files(), str(target), 2)


@pytest.mark.parametrize(
    ("number", "code"),
    [(28, "storage_full"), (27, "storage_full"), (30, "read_only"), (13, "read_only")],
)
def test_a_full_disk_and_a_read_only_one_are_told_apart(number: int, code: str) -> None:
    error = storage_error("cannot save", OSError(number, os.strerror(number)))

    assert error.code == code
    assert str(error) == f"cannot save: {os.strerror(number)}; nothing was changed"


def test_data_and_size_can_be_synced_and_cut_through_the_seam(tmp_path: Path) -> None:
    files = Files()
    fd = files.open(str(tmp_path / "journal"), os.O_RDWR | os.O_CREAT)
    write_all(files, fd, b"0123456789")
    files.ftruncate(fd, 4)
    files.fdatasync(fd)
    files.close(fd)

    assert (tmp_path / "journal").read_bytes() == b"0123"


def test_a_backup_of_a_file_that_others_may_read_is_for_the_owner_alone(tmp_path: Path) -> None:
    path, backup = tmp_path / "a.json", tmp_path / "backup" / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o644)
    replacement = Replacement(Files(), str(path))
    replacement.write([b"new"])
    replacement.publish(ANY, str(backup))
    assert (path.read_bytes(), backup.read_bytes()) == (b"new", b"old")
    assert backup.stat().st_mode & 0o777 == 0o600
