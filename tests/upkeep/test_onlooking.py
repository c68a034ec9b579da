"""Calls that change nothing."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from milkd.store.files import Files
from milkd.upkeep.onlooking import Onlooker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_reading_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    files = Onlooker(Files())
    fd = files.open(str(tmp_path / "a"), os.O_RDONLY)
    assert files.fstat(fd).st_size == files.stat(str(tmp_path / "a")).st_size == 5
    assert files.read(fd, 9) == b"hello"
    files.close(fd)
    assert files.listdir(str(tmp_path)) == ["a"]
    assert files.resolve(f"{tmp_path}/./a") == f"{tmp_path}/a"


@pytest.mark.parametrize(
    "call",
    [
        lambda files, path: files.open(path, os.O_WRONLY),
        lambda files, path: files.open(path + "b", os.O_RDWR | os.O_CREAT),
        lambda files, path: files.open(path, os.O_RDONLY | os.O_TRUNC),
        lambda files, _: files.write(0, b""),
        lambda files, _: files.fsync(0),
        lambda files, _: files.fdatasync(0),
        lambda files, _: files.fsync_directory(0),
        lambda files, _: files.ftruncate(0, 0),
        lambda files, path: files.rename(path, path + "b"),
        lambda files, path: files.link(path, path + "b"),
        lambda files, path: files.unlink(path),
        lambda files, path: files.mkdir(path + "b"),
    ],
)
def test_anything_else_is_refused(call: Callable[[Files, str], object], tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    with pytest.raises(OSError, match="Read-only") as refused:
        call(Onlooker(Files()), str(tmp_path / "a"))
    assert refused.value.errno == errno.EROFS
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "hello"


def test_every_call_is_one_of_these() -> None:
    own = {name for name in vars(Onlooker) if not name.startswith("_")}
    assert own >= {name for name in vars(Files) if not name.startswith("_")} - {"fsync_directory"}
