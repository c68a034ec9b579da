"""A store that other machines reach: what is told, and the signs of life."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import pytest

from daemon.homes import open_home, percept
from milkd.daemon.fatal import EXIT_RUNNING, Fatal
from milkd.daemon.network import DOUBT, Heartbeat, notes
from milkd.engine.changes import PerceptPut
from milkd.errors import AlreadyRunning, ReadOnly
from milkd.store.holder import BEAT, FRESH

if TYPE_CHECKING:
    from pathlib import Path

    from milkd.store.lock import StoreLock

MOUNTS = """\
1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:40 / /home rw - nfs4 files:/home rw
"""


def test_a_store_on_this_machine_needs_no_words() -> None:
    assert notes("/var/memory", "/run/user/1/milkd/milkd.sock", MOUNTS) == []
    assert notes("/home/ada/.milk/memory", "/home/ada/.milk/run/milkd.sock", "") == []


def test_a_store_of_a_network_is_told_of() -> None:
    (note,) = notes("/home/ada/.milk/memory", "/run/user/1/milkd/milkd.sock", MOUNTS)
    assert note == (
        "the store /home/ada/.milk/memory is on a network file system (nfs4), where locks and "
        "syncs may hold less than on a local disk; work on it from one machine at a time"
    )


def test_a_socket_there_is_told_of_with_the_way_out() -> None:
    _, note = notes("/home/ada/.milk/memory", "/home/ada/.milk/run/milkd.sock", MOUNTS)
    assert note == (
        "the socket /home/ada/.milk/run/milkd.sock is on a network file system (nfs4), where "
        "daemons of two machines meet; set $XDG_RUNTIME_DIR or $MILKD_SOCKET to a place on this "
        "machine"
    )


class Lock:
    """A lock whose file can be written, or not, or is another one's."""

    path = "/store/.milkd/lock"

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.hangs: threading.Event | None = None
        self.beaten = 0

    def beat(self) -> None:
        if self.hangs is not None:
            self.hangs.wait()
        if self.error is not None:
            raise self.error
        self.beaten += 1


def test_signs_of_life_come_often_enough() -> None:
    assert 2 * BEAT <= DOUBT < FRESH


async def test_as_long_as_they_are_given_nothing_is_told(tmp_path: Path) -> None:
    async with open_home(tmp_path) as home:
        lock = Lock()
        heart = Heartbeat(home.core, cast("StoreLock", lock))
        await heart.beat()
        assert lock.beaten == 1
        assert home.core.health.reasons == []


async def test_without_one_for_long_nothing_is_written_until_there_is_one(tmp_path: Path) -> None:
    async with open_home(tmp_path) as home:
        lock = Lock()
        heart = Heartbeat(home.core, cast("StoreLock", lock))
        lock.error = OSError(5, "Input/output error")

        home.clock.turn(BEAT)
        await heart.beat()
        assert home.core.health.status == "degraded"
        await home.put(PerceptPut("global", percept("a")))

        home.clock.sleep(DOUBT - BEAT)
        await heart.beat()
        assert home.core.health.status == "read_only"
        assert home.core.health.reasons == [
            "the lock file /store/.milkd/lock cannot be written (Input/output error), by which "
            "other machines see that this daemon lives; it was last written 60 s ago"
        ]
        with pytest.raises(ReadOnly, match="nothing is written until that works again"):
            await home.put(PerceptPut("global", percept("b")))

        lock.error = None
        await heart.beat()
        assert home.core.health.reasons == []
        await home.put(PerceptPut("global", percept("b")))
        assert home.ids() == ["a", "b"]


async def test_another_reason_not_to_write_stays(tmp_path: Path) -> None:
    async with open_home(tmp_path) as home:
        lock = Lock()
        heart = Heartbeat(home.core, cast("StoreLock", lock))
        home.core.commits.refusal = "it waits to be repaired"
        lock.error = OSError(5, "Input/output error")
        home.clock.turn(DOUBT)
        await heart.beat()
        lock.error = None
        await heart.beat()
        assert home.core.commits.refusal == "it waits to be repaired"


async def test_a_disk_that_hangs_gives_none(tmp_path: Path) -> None:
    async with open_home(tmp_path) as home:
        lock = Lock()
        lock.hangs = threading.Event()
        heart = Heartbeat(home.core, cast("StoreLock", lock))
        for _ in range(2):  # the second one waits for the first
            await heart.beat(limit=0.05)
            (reason,) = home.core.health.reasons
            assert "(no answer within 0.05 s)" in reason
        lock.hangs.set()
        await heart.beat()
        assert home.core.health.reasons == []


async def test_a_store_that_is_another_ones_by_now_is_the_end(tmp_path: Path) -> None:
    async with open_home(tmp_path) as home:
        lock = Lock()
        lock.error = AlreadyRunning("milkd with pid 7 on there has taken it over")
        with pytest.raises(Fatal) as caught:
            await Heartbeat(home.core, cast("StoreLock", lock)).beat()
    assert caught.value.code == EXIT_RUNNING
    assert caught.value.reason == (
        "milkd with pid 7 on there has taken it over; this daemon writes nothing any more"
    )
