"""The room that is kept for a full disk."""

from __future__ import annotations

import errno
import stat
from typing import TYPE_CHECKING

import pytest

from faulty import FaultyFiles
from milkd.store.files import Files
from milkd.store.reserve import SIZE, Reserve

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_real_room_for_the_user_alone(tmp_path: Path) -> None:
    Reserve(Files(), str(tmp_path)).keep()
    found = (tmp_path / "reserve").stat()
    assert found.st_size == SIZE == 256 << 10
    assert found.st_blocks * 512 >= SIZE
    assert stat.S_IMODE(found.st_mode) == 0o600


def test_one_that_is_there_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "reserve"
    path.write_bytes(b"r" * SIZE)
    files = FaultyFiles()
    reserve = Reserve(files, str(tmp_path))
    reserve.keep()
    reserve.keep()
    assert files.calls == ["stat"]
    assert path.read_bytes() == b"r" * SIZE


def test_one_that_is_too_small_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "reserve").write_bytes(b"r" * 100)
    Reserve(Files(), str(tmp_path)).keep()
    assert (tmp_path / "reserve").stat().st_size == SIZE


def test_it_is_given_up_once_and_made_again(tmp_path: Path) -> None:
    reserve = Reserve(Files(), str(tmp_path))
    assert not reserve.give_up()
    reserve.keep()
    assert reserve.give_up()
    assert list(tmp_path.iterdir()) == []
    assert not reserve.give_up()
    reserve.keep()
    assert (tmp_path / "reserve").stat().st_size == SIZE


@pytest.mark.parametrize("name", ["open", "write"])
def test_without_room_for_it_there_is_none_and_nobody_minds(tmp_path: Path, name: str) -> None:
    files = FaultyFiles()
    reserve = Reserve(files, str(tmp_path))
    files.arm({"open": 2, "write": 3}[name], errno.ENOSPC)
    reserve.keep()
    assert files.calls[int(name == "write") + 1] == name
    assert list(tmp_path.iterdir()) == []
    files.arm(0)
    reserve.keep()
    assert (tmp_path / "reserve").stat().st_size == SIZE
    assert files.open_fds == set()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "reserve").symlink_to(tmp_path / "elsewhere")
    Reserve(Files(), str(tmp_path)).keep()
    assert not (tmp_path / "elsewhere").exists()


def test_where_it_cannot_be_looked_at_it_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "reserve").write_bytes(b"r" * SIZE)
    files = FaultyFiles()
    reserve = Reserve(files, str(tmp_path))
    files.arm(1, errno.EIO)
    reserve.keep()
    files.arm(0)
    reserve.keep()
    assert files.calls == ["stat"]
