"""One daemon at a time owns a store."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from milkd.errors import AlreadyRunning, StorageFailed
from milkd.paths import endpoint_path, endpoint_text
from milkd.store.files import Files
from milkd.store.holder import FRESH, Machine
from milkd.store.lock import StoreLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def serve(store: Path, socket: Path, text: bytes | None = None) -> None:
    """Leave the note of a daemon that serves the store."""
    (store / ".milkd").mkdir(exist_ok=True)
    Path(endpoint_path(str(store))).write_bytes(text or endpoint_text(str(socket)))


def test_one_that_serves_is_not_waited_for(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    socket, waits = tmp_path / "s", list[float]()
    socket.touch()
    serve(tmp_path, socket)

    with pytest.raises(AlreadyRunning, match=f"pid {holder.pid} on .* and listens on /run/x.sock"):
        StoreLock(str(tmp_path)).acquire(10.0, sleep=waits.append)

    assert sum(waits) <= 0.55


@pytest.mark.parametrize("missing", ["note", "socket", "boot"])
def test_one_that_starts_or_stops_is(
    tmp_path: Path, holder: subprocess.Popen[str], missing: str
) -> None:
    socket, waits = tmp_path / "s", list[float]()
    if missing != "socket":
        socket.touch()
    if missing != "note":
        other = f"{socket}\nhost\nanother boot\n".encode() if missing == "boot" else None
        serve(tmp_path, socket, other)

    with pytest.raises(AlreadyRunning, match=f"pid {holder.pid}"):
        StoreLock(str(tmp_path)).acquire(2.0, sleep=waits.append)

    assert sum(waits) == pytest.approx(2.0)


def test_one_that_was_just_told_to_stop_still_looks_as_if_it_served(tmp_path: Path) -> None:
    old, new, waits = StoreLock(str(tmp_path)), StoreLock(str(tmp_path)), list[float]()
    old.acquire()
    serve(tmp_path, tmp_path)

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 8:
            Path(endpoint_path(str(tmp_path))).unlink()
        if len(waits) == 40:
            old.release()

    new.acquire(10.0, sleep=wait)
    assert len(waits) == 40
    new.release()


def lose(store: Path, how: str) -> None:
    """Take the lock file away from its holder."""
    own = store / ".milkd"
    if how == "directory":
        shutil.rmtree(own)
    elif how == "file":
        (own / "lock").unlink()
    elif how == "replaced":
        (own / "new").write_text("{}")
        (own / "new").rename(own / "lock")
    else:
        own.rename(store / "aside")


ways_to_lose = pytest.mark.parametrize("how", ["directory", "file", "replaced", "moved"])


@ways_to_lose
def test_a_lock_whose_file_was_taken_away_is_taken_anew(tmp_path: Path, how: str) -> None:
    (tmp_path / "global.json").touch()
    with StoreLock(str(tmp_path), {"version": "9.9"}) as lock:
        descriptors = len(os.listdir("/proc/self/fd"))
        assert lock.holds()
        lose(tmp_path, how)
        assert not lock.holds()
        assert lock.renew()
        assert lock.holds()
        assert json.loads((tmp_path / ".milkd" / "lock").read_text())["version"] == "9.9"
        with pytest.raises(AlreadyRunning, match=r"^milkd 9\.9 with pid"):
            StoreLock(str(tmp_path)).acquire(0)
        assert len(os.listdir("/proc/self/fd")) == descriptors
    with StoreLock(str(tmp_path)):
        pass


@ways_to_lose
def test_a_lock_that_another_one_has_by_then_is_left_alone(tmp_path: Path, how: str) -> None:
    (tmp_path / "global.json").touch()
    with StoreLock(str(tmp_path)) as lock:
        lose(tmp_path, how)
        with StoreLock(str(tmp_path), {"version": "1.1"}) as other:
            before = (tmp_path / ".milkd" / "lock").read_bytes()
            with pytest.raises(AlreadyRunning, match=r"^milkd 1\.1 with pid"):
                lock.renew()
            assert not lock.holds()
            assert other.holds()
            lock.release()
            assert (tmp_path / ".milkd" / "lock").read_bytes() == before
            assert other.holds()


@pytest.mark.parametrize("left", ["nothing", "mount point"])
def test_where_nothing_of_the_store_is_left_no_lock_is_made(tmp_path: Path, left: str) -> None:
    store, away = tmp_path / "store", tmp_path / "away"
    with StoreLock(str(store)) as lock:
        store.rename(away)
        if left == "mount point":
            store.mkdir()
        assert not lock.holds()
        assert not lock.renew()
        assert not (store / ".milkd").exists()
        shutil.rmtree(store, ignore_errors=True)
        away.rename(store)
        assert lock.holds()
        with pytest.raises(AlreadyRunning):
            StoreLock(str(store)).acquire(0)


def test_who_waits_for_a_file_that_is_deleted_meanwhile_does_not_get_that(tmp_path: Path) -> None:
    (tmp_path / "global.json").touch()
    old, new = StoreLock(str(tmp_path)), StoreLock(str(tmp_path))
    old.acquire()

    def lose_and_renew(_: float) -> None:
        if old.holds():
            lose(tmp_path, "directory")
            assert old.renew()

    with pytest.raises(AlreadyRunning):
        new.acquire(0.2, sleep=lose_and_renew)
    assert old.holds()
    old.release()


def test_a_lock_that_is_not_held_holds_nothing(tmp_path: Path) -> None:
    lock = StoreLock(str(tmp_path))
    assert not lock.holds()
    with lock:
        assert lock.holds()
    assert not lock.holds()


def test_who_reads_only_holds_the_directory(tmp_path: Path) -> None:
    with StoreLock(str(tmp_path), files=ReadOnlyDisk()) as lock:
        assert lock.holds()


def test_a_path_that_cannot_be_looked_at_is_not_called_lost(tmp_path: Path) -> None:
    class Closed(Files):
        def stat(self, path: str) -> os.stat_result:
            raise OSError(errno.EACCES, "Permission denied")

    with StoreLock(str(tmp_path), files=Closed()) as lock:
        assert lock.holds()


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


class ReadOnlyDisk(Files):
    """A file system that is mounted read-only."""

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, "Read-only file system")
        return super().open(path, flags, mode)

    def mkdir(self, path: str, mode: int = 0o700) -> None:
        raise OSError(errno.EROFS, "Read-only file system")


@pytest.mark.parametrize("network", [None, "nfs4"])
def test_who_cannot_write_the_lock_must_write_nothing(tmp_path: Path, network: str | None) -> None:
    lock = StoreLock(str(tmp_path), network=network, files=ReadOnlyDisk())
    assert lock.refusal is None
    with lock:
        assert lock.refusal == (
            f"{tmp_path}/.milkd/lock cannot be written (Read-only file system), so that nothing "
            "may be written to this store; make it writable and start milkd anew"
        )
        assert not lock.beats
        with pytest.raises(AlreadyRunning, match="another process holds the store"):
            StoreLock(str(tmp_path), network=network, files=ReadOnlyDisk()).acquire(0)
    assert os.listdir(tmp_path) == []


def no_locks(number: int, why: str) -> Callable[[int, int], None]:
    def flock(fd: int, how: int) -> None:
        raise OSError(number, why)

    return flock


@pytest.mark.parametrize(
    ("number", "why"),
    [(errno.ENOLCK, "No locks available"), (errno.EOPNOTSUPP, "Operation not supported")],
)
@pytest.mark.parametrize("network", [None, "nfs"])
def test_a_file_system_without_locks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: str | None, number: int, why: str
) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks(number, why))
    with pytest.raises(StorageFailed) as caught:
        StoreLock(str(tmp_path), network=network).acquire(0)
    kind = " (nfs)" if network else ""
    assert str(caught.value).startswith(
        f"the file system{kind} of {tmp_path} has no locks ({why}), and without one two milkd "
        "could write at once; nothing was changed.  Mount it with locks (nfs:"
    )


def test_who_only_reads_needs_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks(errno.ENOLCK, "No locks available"))
    with StoreLock(str(tmp_path), network="nfs", files=ReadOnlyDisk()) as lock:
        assert lock.refusal is not None


def test_another_failure_of_the_lock_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks(errno.EIO, "Input/output error"))
    with pytest.raises(StorageFailed, match=r"cannot lock the store .*Input/output error"):
        StoreLock(str(tmp_path)).acquire(0)


def test_a_lock_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr("milkd.store.lock.LIMIT", 0.05)
    monkeypatch.setattr(fcntl, "flock", lambda fd, how: go.wait())
    with pytest.raises(StorageFailed) as caught:
        StoreLock(str(tmp_path), network="nfs").acquire(0)
    go.set()
    assert str(caught.value) == (
        f"{tmp_path}/.milkd/lock could not be locked within 0.05 s; is the server of this file "
        "system (nfs) there, and its lock service?"
    )


def test_without_descriptors_the_lock_says_so(tmp_path: Path) -> None:
    class Crowded(Files):
        def open(self, path: str, flags: int, mode: int = 0o600) -> int:
            raise OSError(errno.EMFILE, "Too many open files")

    (tmp_path / ".milkd").mkdir()
    with pytest.raises(StorageFailed, match=r"cannot lock the store .*: Too many open files"):
        StoreLock(str(tmp_path), files=Crowded()).acquire(0)


@dataclass
class Wall:
    """A clock that stands still until it is turned, near that of the disk."""

    at: float

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def wall() -> Wall:
    return Wall(time.time())


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks that reach nobody, as those of two machines on one network file system."""
    monkeypatch.setattr(fcntl, "flock", lambda fd, how: None)


def machine(name: str, wall: Wall) -> Machine:
    return Machine(host=name, boot_id=f"boot of {name}", wall=wall, uptime=lambda: 9_999.0)


def lock_of(store: Path, name: str, wall: Wall) -> StoreLock:
    about = {"version": "9.9", "socket": f"/run/{name}.sock"}
    return StoreLock(str(store), about, network="nfs4", here=machine(name, wall))


def settle(store: Path, at: float) -> None:
    """Have the disk's clock show that the lock file was written then."""
    os.utime(store / ".milkd" / "lock", (at, at))


@pytest.mark.usefixtures("locks")
def test_another_machine_that_lives_keeps_the_store(tmp_path: Path, wall: Wall) -> None:
    waits: list[float] = []
    there, here = lock_of(tmp_path, "there", wall), lock_of(tmp_path, "here", wall)
    there.acquire()
    settle(tmp_path, wall.at)
    wall.at += 40

    with pytest.raises(AlreadyRunning) as caught:
        here.acquire(1.0, sleep=waits.append)

    assert str(caught.value) == (
        f"milkd 9.9 with pid {os.getpid()} on there gave a sign of life 40 s ago and listens on "
        f"/run/there.sock; it works on the same store {tmp_path}, whose file system (nfs4) does "
        "not keep two machines apart: stop it there; if it is dead already, start again in 90 s, "
        f"or delete {tmp_path}/.milkd/lock"
    )
    assert sum(waits) == pytest.approx(1.0)
    there.beat()
    there.release()


@pytest.mark.usefixtures("locks")
def test_one_that_stops_in_good_order_lets_others_begin_at_once(tmp_path: Path, wall: Wall) -> None:
    with lock_of(tmp_path, "there", wall):
        pass
    with lock_of(tmp_path, "here", wall) as here:
        assert here.beats
        told = json.loads((tmp_path / ".milkd" / "lock").read_text())
        assert (told["host"], told["beat"]) == ("here", round(wall.at, 3))


@pytest.mark.usefixtures("locks")
def test_one_that_died_is_waited_for_until_it_must_be_dead(tmp_path: Path, wall: Wall) -> None:
    there = lock_of(tmp_path, "there", wall)
    there.acquire()
    settle(tmp_path, wall.at)
    here = lock_of(tmp_path, "here", wall)

    wall.at += FRESH - 0.01
    with pytest.raises(AlreadyRunning):
        here.acquire(0, sleep=never)
    wall.at += 0.02
    here.acquire(0, sleep=never)

    # It was not dead.  What it finds is another one's, and it leaves that alone.
    before = (tmp_path / ".milkd" / "lock").read_bytes()
    with pytest.raises(AlreadyRunning, match=r"^milkd 9\.9 with pid \d+ on here has taken "):
        there.beat()
    there.release()
    assert (tmp_path / ".milkd" / "lock").read_bytes() == before
    here.beat()
    here.release()


@pytest.mark.usefixtures("locks")
def test_a_newcomer_waits_for_one_that_stops_elsewhere(tmp_path: Path, wall: Wall) -> None:
    there, here = lock_of(tmp_path, "there", wall), lock_of(tmp_path, "here", wall)
    there.acquire()
    here.acquire(10.0, sleep=lambda _: there.release())
    here.release()


def test_on_one_machine_the_lock_alone_decides(tmp_path: Path, wall: Wall) -> None:
    first, second = lock_of(tmp_path, "here", wall), lock_of(tmp_path, "here", wall)
    first.acquire()
    with pytest.raises(AlreadyRunning, match="on here holds the store"):
        second.acquire(0, sleep=never)
    os.close(first._fd or 0)  # it dies
    second.acquire(0, sleep=never)
    second.release()


def test_a_sign_of_life_is_renewed(tmp_path: Path, wall: Wall) -> None:
    path = tmp_path / ".milkd" / "lock"
    with lock_of(tmp_path, "here", wall) as lock:
        for _ in range(3):
            wall.at += 30
            lock.beat()
            told = json.loads(path.read_text())
            assert (told["beat"], told["pid"]) == (round(wall.at, 3), os.getpid())
    assert "beat" not in json.loads(path.read_text())


def test_a_lock_file_that_was_deleted_is_lost(tmp_path: Path, wall: Wall) -> None:
    with lock_of(tmp_path, "here", wall) as lock:
        (tmp_path / ".milkd" / "lock").unlink()
        with pytest.raises(AlreadyRunning, match="was deleted"):
            lock.beat()


def test_a_store_of_this_machine_alone_has_no_signs_of_life(tmp_path: Path) -> None:
    with StoreLock(str(tmp_path)) as lock:
        assert not lock.beats
        assert "beat" not in json.loads((tmp_path / ".milkd" / "lock").read_text())
    lock.beat()  # of a lock that is not held there is nothing to say
