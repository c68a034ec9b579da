"""Starts on a store that cannot be read, or not be written: what is told, and nothing touched."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
import trio

from daemon.homes import HomeFiles, contents, journals, open_home, percept
from milkd.daemon.limits import Limits
from milkd.daemon.session_calls import watch_leases
from milkd.engine.changes import PerceptPut
from milkd.errors import Failure, ReadOnly
from milkd.store.lock import StoreLock
from milkd.store.store import JournalStore
from places import START, Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEFT = ".global.json.milkd-1-0badcafe.tmp"


class Unreadable(HomeFiles):
    """A disk that does not give one of its files: not to be opened, or not to be read."""

    def __init__(self, name: str, error: int, *, at_read: bool = False) -> None:
        super().__init__()
        self.name, self.error, self.at_read = name, error, at_read
        self.bad: set[int] = set()

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        meant = os.path.basename(path).startswith(self.name)
        if meant and not self.at_read:
            raise OSError(self.error, os.strerror(self.error), path)
        fd = super().open(path, flags, mode)
        (self.bad.add if meant else self.bad.discard)(fd)
        return fd

    def read(self, fd: int, size: int) -> bytes:
        if fd in self.bad:
            raise OSError(self.error, os.strerror(self.error))
        return super().read(fd, size)


async def crashed(directory: Path) -> dict[str, bytes]:
    """A store with files, a journal, and what a save left that was cut off."""
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")))
        await home.put(PerceptPut("archive", percept("z")))
        assert await home.save()
        await home.put(PerceptPut("global", percept("b")))
    (directory / LEFT).write_bytes(b"{")
    return contents(directory)


@pytest.mark.parametrize("name", ["journal.", "store.json", "global.json", "archive.json"])
@pytest.mark.parametrize("error", [errno.EACCES, errno.EIO, errno.EMFILE])
@pytest.mark.parametrize("at_read", [False, True])
async def test_a_file_that_the_disk_does_not_give_stops_the_start(
    tmp_path: Path, name: str, error: int, at_read: bool
) -> None:
    before = await crashed(tmp_path)

    with pytest.raises(Failure) as caught:
        async with open_home(tmp_path, files=Unreadable(name, error, at_read=at_read)):
            pass

    assert str(caught.value).startswith("cannot read ")
    assert name in str(caught.value)
    assert os.strerror(error).lower() in str(caught.value).lower()
    after = contents(tmp_path)
    if name in ("global.json", "archive.json"):
        after[LEFT] = before[LEFT]  # by then it is known that the store may be written to
    assert after == before
    async with open_home(tmp_path) as home:
        assert home.ids() == ["a", "b"]


async def test_an_own_directory_that_cannot_be_listed_stops_the_start(tmp_path: Path) -> None:
    before = await crashed(tmp_path)

    class Closed(HomeFiles):
        def listdir(self, path: str) -> list[str]:
            if path.endswith(".milkd"):
                raise OSError(errno.EACCES, "Permission denied", path)
            return super().listdir(path)

    with pytest.raises(Failure, match=r"^cannot read .*\.milkd: Permission denied"):
        async with open_home(tmp_path, files=Closed()):
            pass
    assert contents(tmp_path) == before


async def test_a_session_of_a_store_that_is_only_read_is_not_closed_again_and_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = Limits(lease_check_s=0.001, lease_s=0.0)
    async with open_home(tmp_path, refusal="not now", limits=limits) as home:
        caller = home.core.new_caller()
        await home.core.sessions.enter("s1", caller)
        home.core.sessions.leave_all(caller)
        home.start_task(watch_leases, home.core)
        await trio.sleep(0.05)
    assert caplog.text == ""


class ReadOnlyDisk(HomeFiles):
    """A file system that is mounted read-only."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: list[str] = []

    def _refuse(self, *what: object) -> None:
        self.tried.append(str(what))
        raise OSError(errno.EROFS, "Read-only file system")

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            self._refuse("open", path)
        return super().open(path, flags, mode)

    def rename(self, old: str, new: str) -> None:
        self._refuse("rename", new)

    def link(self, old: str, new: str) -> None:
        self._refuse("link", new)

    def unlink(self, path: str) -> None:
        self._refuse("unlink", path)

    def mkdir(self, path: str, mode: int = 0o700) -> None:
        self._refuse("mkdir", path)


async def test_a_store_on_a_read_only_disk_is_served_and_not_even_tried_to_write(
    tmp_path: Path,
) -> None:
    await crashed(tmp_path)
    files = ReadOnlyDisk()
    with StoreLock(str(tmp_path), files=files) as lock:
        files.tried.clear()
        async with open_home(tmp_path, files=files, refusal=lock.refusal) as home:
            peer = await home.connect()
            hits = (await peer.call("query", text="fact", session="s1"))["percepts"]
            assert {hit["content"] for hit in hits} == {"fact a", "fact b"}
            refusal = await peer.refusal("record", content="it rains", session="s1")
            assert refusal.startswith(f"read_only: {tmp_path}/.milkd/lock cannot be written (Read")
            assert (await peer.refusal("snapshot")).startswith("read_only: ")
            health = await peer.call("health")
            assert (health["status"], len(health["reasons"])) == ("read_only", 1)
            assert (await peer.refusal("session_close", session="s1")).startswith("read_only: ")
            await home.stop()
    assert files.tried == []


@pytest.mark.parametrize("why", ["damaged", "refused"])
async def test_a_store_that_must_not_be_written_is_left_as_it_is(tmp_path: Path, why: str) -> None:
    await crashed(tmp_path)
    refusal = "somebody is looking at it" if why == "refused" else None
    if why == "damaged":
        (journal,) = journals(tmp_path)
        journal.write_bytes(journal.read_bytes().replace(b'"fact b"', b'"fact c"') * 2)
    file = tmp_path / "global.json"
    file.write_text(file.read_text().replace("fact a", "fact A"))  # an edit, too
    before = contents(tmp_path)

    async with open_home(tmp_path, refusal=refusal) as home:
        assert home.core.health.status == "read_only"
        with pytest.raises(ReadOnly):
            await home.put(PerceptPut("global", percept("c")))
        assert "fact A" in {percept.content for percept in home.image().percepts}
        await home.stop()
        home.store.retire(keep=False)
        home.store.finish()
    assert contents(tmp_path) == before


def test_what_is_not_to_be_written_is_known_from_the_start(tmp_path: Path) -> None:
    store = JournalStore(str(tmp_path / "none"), refusal="not now")
    assert store.open().refusal == "not now"
    with pytest.raises(ReadOnly, match="not now"):
        store.rotate()
    assert not (tmp_path / "none").exists()


WITHOUT_DESCRIPTORS = """
import resource, sys
import milkd.daemon.main as it
from milkd import wordlists
import trio._core._run
wordlists.load()
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
sys.exit(it.main(["--store", sys.argv[2], "--socket", sys.argv[3], "--idle-exit", "0.1"]))
"""


def test_without_descriptors_a_start_says_so_and_touches_nothing(short_path: Path) -> None:
    store = short_path / "store"
    with Place() as place:
        place.store = store
        place.start()
        with place.client() as client:
            client.learn("the user prefers tabs")
        place.stop()
    (store / LEFT).write_bytes(b"{")
    before = contents(store)
    codes = []
    for limit in range(3, 24):
        ran = subprocess.run(
            [sys.executable, "-c", WITHOUT_DESCRIPTORS, str(limit), str(store), f"{short_path}/s"],
            env=place.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        codes.append(ran.returncode)
        if ran.returncode == 0:
            break
        assert ran.returncode == 74, ran.stderr
        assert "Too many open files" in ran.stderr.splitlines()[-1]
        assert str(store) in ran.stderr or "cannot read" in ran.stderr
        after = contents(store)
        after[LEFT] = before[LEFT]
        after[".milkd/lock"] = before[".milkd/lock"]
        assert after == before
    assert codes[-1] == 0
    assert len(codes) > 3


ON_A_READ_ONLY_DISK = """
import os, subprocess, sys
from places import START, Place

def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)

with Place() as place:
    place.store.mkdir(parents=True)
    mount("-t", "tmpfs", "none", str(place.store))
    place.start()
    with place.client("s1") as client:
        client.learn("the user prefers tabs")
    place.stop()
    mount("-o", "remount,ro", str(place.store))
    before = sorted(os.listdir(place.store / ".milkd"))
    place.start()
    with place.client("s1") as client:
        print([hit["content"] for hit in client.query("tabs")["percepts"]])
        for act in (client.record, client.learn):
            try:
                act("the user prefers spaces")
            except Exception as error:
                print(type(error).__name__)
        print(client.health()["status"])
    other = ["--store", str(place.store), "--socket", str(place.home / "t"), "--lock-wait", "0"]
    second = subprocess.run(
        [sys.executable, "-m", "milkd", *other], env=place.env, capture_output=True, text=True
    )
    print(second.returncode, "holds the store" in second.stderr)
    place.daemon.terminate()
    print(place.daemon.wait())
    print(sorted(os.listdir(place.store / ".milkd")) == before)
    subprocess.run(["umount", str(place.store)], check=True)
"""


def may_mount() -> bool:
    """Whether a file system can be mounted where nobody else sees it."""
    try:
        tried = [
            "unshare",
            "-m",
            "--propagation",
            "private",
            "mount",
            "-t",
            "tmpfs",
            "none",
            "/mnt",
        ]
        return subprocess.run(tried, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not may_mount(), reason="only root can mount a file system")
def test_on_a_real_read_only_disk() -> None:
    ran = subprocess.run(
        ["unshare", "-m", "--propagation", "private", sys.executable, "-c", ON_A_READ_ONLY_DISK],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.stdout.splitlines() == [
        "['the user prefers tabs']",
        "ReadOnly",
        "ReadOnly",
        "read_only",
        "75 True",
        "0",
        "True",
    ], ran.stderr


ON_A_NETWORK = """
import sys
import milkd.daemon.main as it
from milkd.store import mounts
mounts.TABLE = sys.argv[1]
sys.exit(it.main(sys.argv[2:]))
"""


class FarPlace(Place):
    """A home whose file system is one of a network, by what the kernel seems to say."""

    def __init__(self) -> None:
        super().__init__()
        self.table = self.home / "mounts"
        self.table.write_text(
            f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:40 / {self.home} rw - nfs4 files:/home rw\n"
        )
        self.lock = self.store / ".milkd" / "lock"

    def begin(self) -> subprocess.Popen[str]:
        """A daemon; it may not get ready."""
        options = ["--store", str(self.store), "--socket", str(self.socket), "--lock-wait", "0"]
        return subprocess.Popen(
            [sys.executable, "-c", ON_A_NETWORK, str(self.table), *options],
            env=self.env,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_socket(self) -> None:
        until = time.monotonic() + START
        while not self.socket.exists() and time.monotonic() < until:
            time.sleep(0.01)

    def taken_by(self, host: str, beat: float) -> bytes:
        """Have another machine sign the lock file."""
        words = {"pid": 7, "host": host, "boot_id": "another", "beat": beat, "token": "another"}
        self.lock.parent.mkdir(parents=True, exist_ok=True)
        self.lock.write_text(json.dumps(words))
        os.utime(self.lock, (beat, beat))
        return self.lock.read_bytes()


@pytest.fixture
def far() -> Iterator[FarPlace]:
    with FarPlace() as place:
        yield place


def test_on_a_network_it_is_told_and_the_lock_file_says_who_lives(far: FarPlace) -> None:
    far.taken_by("there", time.time() - 3_600)
    daemon = far.begin()
    far.wait_for_socket()
    with far.client() as client:
        health = client.health()
        client.learn("the user prefers tabs")
    assert [reason.split(" is on ")[0] for reason in health["reasons"]] == [
        f"the store {far.store}",
        f"the socket {far.socket}",
    ]
    assert json.loads(far.lock.read_text())["beat"] > time.time() - 60
    daemon.terminate()
    _, said = daemon.communicate(timeout=START)
    assert daemon.returncode == 0, said
    assert "beat" not in json.loads(far.lock.read_text())
    assert f"WARNING: the store {far.store} is on a network file system (nfs4)" in said


def test_on_a_network_it_does_not_begin_where_another_machine_lives(far: FarPlace) -> None:
    signed = far.taken_by("there", time.time() - 5)
    daemon = far.begin()
    _, said = daemon.communicate(timeout=START)
    assert daemon.returncode == 75
    assert "milkd with pid 7 on there gave a sign of life " in said
    assert far.lock.read_bytes() == signed
    assert os.listdir(far.store) == [".milkd"]
    assert os.listdir(far.store / ".milkd") == ["lock"]


def test_on_a_network_it_ends_when_another_machine_has_taken_the_store(far: FarPlace) -> None:
    daemon = far.begin()
    far.wait_for_socket()
    with far.client() as client:
        client.learn("the user prefers tabs")
    signed = far.taken_by("there", time.time())
    _, said = daemon.communicate(timeout=START)
    assert daemon.returncode == 75, said
    assert f"on there has taken {far.lock} over; this daemon writes nothing any more" in said
    assert far.lock.read_bytes() == signed
    assert len(journals(far.store)) == 1
    assert not (far.store / "global.json").exists()
