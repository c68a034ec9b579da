"""One daemon at a time owns a store."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from milkd.errors import AlreadyRunning, StorageFailed
from milkd.store.lock import StoreLock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOLDER = """
import sys
from milkd.store.lock import StoreLock
lock = StoreLock(sys.argv[1], {"version": "9.9", "socket": "/run/x.sock"})
lock.acquire(0)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock on `tmp_path`."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def never(seconds: float) -> None:
    raise AssertionError("waited")


def test_a_second_process_is_refused_and_told_who_holds_the_store(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(AlreadyRunning) as caught:
        StoreLock(str(tmp_path)).acquire(0, sleep=never)

    host = os.uname().nodename
    assert str(caught.value) == (
        f"milkd 9.9 with pid {holder.pid} on {host} holds the store {tmp_path} "
        "and listens on /run/x.sock"
    )


def test_the_lock_of_a_killed_process_is_free(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    holder.kill()
    holder.wait()

    with StoreLock(str(tmp_path)):
        assert json.loads((tmp_path / ".milkd" / "lock").read_text())["pid"] == os.getpid()


def test_a_newcomer_waits_for_one_that_is_shutting_down(tmp_path: Path) -> None:
    old, new = StoreLock(str(tmp_path)), StoreLock(str(tmp_path))
    old.acquire()
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            old.release()

    new.acquire(10.0, sleep=wait)

    assert waits == [0.05] * 3
    new.release()


def test_a_newcomer_gives_up_after_the_time_it_was_given(tmp_path: Path) -> None:
    waits: list[float] = []
    with StoreLock(str(tmp_path)), pytest.raises(AlreadyRunning, match=f"pid {os.getpid()}"):
        StoreLock(str(tmp_path)).acquire(1.0, sleep=waits.append)

    assert sum(waits) == pytest.approx(1.0)


def test_the_file_is_private_stays_and_is_not_inherited(tmp_path: Path) -> None:
    path = tmp_path / "new" / ".milkd" / "lock"
    lock = StoreLock(str(tmp_path / "new"), {"socket": "/run/x.sock"})

    lock.acquire()
    told = json.loads(path.read_text())
    child = subprocess.run(
        ["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False, check=True
    )
    lock.release()

    assert told["socket"] == "/run/x.sock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert str(path) not in child.stdout


def test_what_the_file_says_does_not_decide(tmp_path: Path) -> None:
    (tmp_path / ".milkd").mkdir()
    (tmp_path / ".milkd" / "lock").write_text('{"pid": 1, "host": "elsewhere"}')

    with StoreLock(str(tmp_path)):
        pass


@pytest.mark.parametrize("text", ["", "junk", "[]", '{"pid": 1}', "[" * 100_000])
def test_a_holder_that_does_not_say_who_it_is_is_another_process(tmp_path: Path, text: str) -> None:
    with StoreLock(str(tmp_path)):
        (tmp_path / ".milkd" / "lock").write_text(text)
        with pytest.raises(AlreadyRunning, match=r"^another process holds the store"):
            StoreLock(str(tmp_path)).acquire(0)


def test_a_symlink_in_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".milkd").mkdir()
    (tmp_path / ".milkd" / "lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StorageFailed, match="cannot lock the store"):
        StoreLock(str(tmp_path)).acquire(0)


def test_a_lock_is_taken_once(tmp_path: Path) -> None:
    with StoreLock(str(tmp_path)) as lock, pytest.raises(ValueError, match="already held"):
        lock.acquire()


def test_a_store_that_cannot_be_written_to_is_locked_by_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, mode: int = 0o777) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "mkdir", refuse)

    with StoreLock(str(tmp_path)), pytest.raises(AlreadyRunning):
        StoreLock(str(tmp_path)).acquire(0)
    assert os.listdir(tmp_path) == []
