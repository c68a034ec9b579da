"""The daemon on a real socket: who gets in, and how it ends."""

from __future__ import annotations

import errno
import json
import os
import resource
import socket
import threading
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest
import trio

from daemon.doubles import PATIENCE, Peer, Refused, eventually
from milkd.daemon.address import Address
from milkd.daemon.core import Core, Identity
from milkd.daemon.fatal import EXIT_IO
from milkd.daemon.limits import Limits
from milkd.daemon.server import Server
from milkd.engine.commands import Command, Consolidate, Now
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.rpc.protocol import Connection as Protocol
from milkd.store.files import Files
from milkd.store.store import JournalStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from milkd.engine.results import Decision


class Running:
    """A server under test."""

    def __init__(self, core: Core, server: Server, path: Path) -> None:
        self.core = core
        self.server = server
        self.path = path
        self.code: int | None = None
        self.ended = trio.Event()
        self.streams: list[trio.SocketStream] = []

    async def connect(self) -> Peer:
        stream = await trio.open_unix_socket(str(self.path))
        self.streams.append(stream)
        return Peer(stream)

    def connect_at_once(self) -> Peer:
        """Connect without giving the daemon a turn."""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(self.path))
        self.streams.append(trio.SocketStream(trio.socket.from_stdlib_socket(sock)))
        return Peer(self.streams[-1])

    async def end(self) -> int | None:
        """The exit code, once it has ended."""
        with trio.fail_after(PATIENCE):
            await self.ended.wait()
        return self.code

    async def run(self) -> None:
        self.code = await self.server.run()
        self.ended.set()


@asynccontextmanager
async def serving(
    directory: Path,
    *,
    limits: Limits | None = None,
    idle_exit_s: float | None = None,
    files: Files | None = None,
    engine: Engine | None = None,
) -> AsyncIterator[Running]:
    """A daemon on a store and a socket in the directory; stopped at the end."""
    path, store = directory / "s", str(directory / "store")
    os.makedirs(os.path.join(store, ".milkd"), exist_ok=True)
    identity = Identity(version="0", run_id="run", pid=os.getpid(), store=store, socket=str(path))
    core = Core(
        engine or Engine(DEFAULT),
        JournalStore(store, files=files),
        identity,
        config_path=str(directory / "config.json"),
        limits=limits or Limits(),
    )
    core.load_store()
    address = Address(str(path), store)
    listening = address.take()
    server = Server(core, listening, address=address, idle_exit_s=idle_exit_s)
    running = Running(core, server, path)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.run)
            yield running
            server.stop()
            await running.end()
    finally:
        for stream in running.streams:
            await trio.aclose_forcefully(stream)
        address.unlock()


async def test_it_serves_and_stops(short_path: Path) -> None:
    async with serving(short_path) as running:
        peer = await running.connect()
        await peer.call("record", content="the user is called Ada", producer="user", session="s1")
        running.server.stop()
        assert await running.end() == 0
        assert await peer.end() == []
        assert not running.path.exists()
    async with serving(short_path) as running:
        (percept,) = (await (await running.connect()).call("list"))["percepts"]
        assert percept["content"] == "the user is called Ada"


async def test_shutdown_answers_when_all_is_saved_and_the_name_is_gone(short_path: Path) -> None:
    async with serving(short_path) as running:
        peer = await running.connect()
        await peer.call("record", content="it rains today", session="s1")
        assert await peer.call("shutdown") == {}
        assert not running.path.exists()
        assert (short_path / "store" / "s1.json").exists()
        assert await running.end() == 0


async def test_what_was_read_before_the_stop_is_answered(short_path: Path) -> None:
    async with serving(short_path) as running:
        peer = await running.connect()
        requests = [Protocol.request(1, "record", {"content": "just in time"})]
        requests += [Protocol.request(2, "shutdown", {})]
        requests += [Protocol.request(n, "ping", {}) for n in range(3, 6)]
        await peer.send(b"".join(requests))
        assert (await peer.result(1))["status"] == "inserted"
        assert await peer.result(2) == {}
        assert await running.end() == 0


async def test_a_client_that_sits_there_does_not_hold_up_the_end(short_path: Path) -> None:
    async with serving(short_path) as running:
        peers = [await running.connect() for _ in range(5)]
        await peers[0].send(b"\x94\x00")
        await peers[1].call("session_open", session="s1")
        began = trio.current_time()
        running.server.stop()
        assert await running.end() == 0
        assert trio.current_time() - began < 3.0


async def test_a_second_request_to_stop_waits_for_nobody(short_path: Path) -> None:
    async with serving(short_path, limits=Limits(drain_s=3_600.0)) as running:
        peer = await running.connect()
        many = 40  # lists of some 100 KiB, more than the socket holds
        await peer.call("record", content="x" * 8_000)
        for number in range(12):
            await peer.call("record", content=f"{number} " + f"word{number} " * 1_000)
        for _ in range(many):
            await peer.ask("list")
        await trio.sleep(0.1)
        running.server.stop()
        with trio.move_on_after(0.1):
            await running.ended.wait()
        assert not running.ended.is_set()
        running.server.stop()
        assert await running.end() == 0


async def test_one_client_too_many_is_told_so(short_path: Path) -> None:
    limits = Limits(connections=2, spare=0, refusals=1)
    async with serving(short_path, limits=limits) as running:
        peers = [await running.connect() for _ in range(2)]
        for peer in peers:
            await peer.call("ping")
        third = await running.connect()
        (error,) = await third.end()
        assert error.startswith("overloaded: ")
        await third.stream.aclose()
        await peers[0].stream.aclose()
        await eventually(lambda: len(running.core.callers) == 1)
        assert await (await running.connect()).call("ping") == {}
        assert await peers[1].call("ping") == {}


async def test_the_place_of_a_client_that_has_just_left_is_free(short_path: Path) -> None:
    async with serving(short_path, limits=Limits(connections=8, slot_s=PATIENCE)) as running:
        for _ in range(3):
            peers = [running.connect_at_once() for _ in range(8)]
            for peer in peers:
                assert await peer.call("ping") == {}
            for stream in running.streams:
                stream.socket.close()  # without giving the daemon a turn


async def test_a_client_that_waits_for_a_place_does_not_hold_up_the_end(short_path: Path) -> None:
    async with serving(short_path, limits=Limits(connections=1, slot_s=3_600.0)) as running:
        assert await (await running.connect()).call("ping") == {}
        waiting = await running.connect()
        await trio.sleep(0.05)
        running.server.stop()
        assert await running.end() == 0
        assert await waiting.end() == []


async def test_far_too_many_clients_are_sent_away(short_path: Path) -> None:
    limits = Limits(connections=2, spare=1, refusals=1)
    async with serving(short_path, limits=limits) as running:
        peer = await running.connect()
        await peer.call("ping")
        crowd = [await running.connect() for _ in range(60)]
        assert await peer.call("ping") == {}
        for other in crowd:
            await other.stream.aclose()


async def test_a_daemon_whose_connections_are_all_taken_can_be_looked_after(
    short_path: Path,
) -> None:
    async with serving(short_path, limits=Limits(connections=2, spare=1, slot_s=0.0)) as running:
        idle = [await running.connect() for _ in range(2)]
        await eventually(lambda: len(running.core.callers) == 2)
        spare = await running.connect()
        assert (await spare.call("hello"))["version"] == "0"
        assert (await spare.call("health"))["status"] == "ok"
        for method, arguments in (("list", {}), ("record", {"content": "it rains today"})):
            refusal = await spare.refusal(method, **arguments)
            assert refusal.startswith("overloaded: 2 connections are open already; ")
            assert "health, hello, ping, shutdown" in refusal
        one_more = await running.connect()
        (why,) = await one_more.end()
        assert why.startswith("overloaded: ")
        assert await idle[0].call("ping") == {}
        assert await spare.call("shutdown") == {}
        assert await running.end() == 0


async def test_a_place_that_becomes_free_goes_to_the_spare_connection(short_path: Path) -> None:
    limits = Limits(connections=1, spare=2, slot_s=0.0, spare_s=0.1)
    async with serving(short_path, limits=limits) as running:
        first = await running.connect()
        assert (await first.call("list"))["total"] == 0
        second, third = [await running.connect() for _ in range(2)]
        assert await second.call("ping") == {}
        assert await third.call("ping") == {}
        await first.stream.aclose()
        await eventually(lambda: len(running.core.callers) == 2)
        assert (await second.call("list"))["total"] == 0
        (why,) = await third.end()
        assert why == "overloaded: nothing asked for 0.1 s on a spare connection"
        await trio.sleep(0.15)
        assert (await second.call("list"))["total"] == 0


async def test_it_stops_when_nobody_wants_anything(short_path: Path) -> None:
    async with serving(short_path, idle_exit_s=0.05) as running:
        peer = await running.connect()
        await peer.call("ping")
        await trio.sleep(0.15)
        assert not running.ended.is_set()  # somebody is connected
        await peer.stream.aclose()
        assert await running.end() == 0
        assert not running.path.exists()


async def test_it_stops_when_its_path_is_taken_away(
    short_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(short_path, limits=Limits(socket_watch_s=0.05)) as running:
        await (await running.connect()).call("record", content="it rains today", session="s1")
        running.path.unlink()
        assert await running.end() == 0
        assert "removed or replaced" in caplog.text
        assert (short_path / "store" / "s1.json").exists()


async def test_another_socket_at_its_path_is_left_there(short_path: Path) -> None:
    async with serving(short_path) as running:
        running.path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(running.path))
            running.server.stop()
            await running.end()
            assert running.path.exists()


class NoSync(Files):
    """A disk whose syncs begin to fail."""

    broken = False

    def fdatasync(self, fd: int) -> None:
        if self.broken:
            raise OSError(5, "Input/output error")
        super().fdatasync(fd)


async def test_a_disk_that_fails_at_a_sync_ends_the_daemon(short_path: Path) -> None:
    files = NoSync()
    async with serving(short_path, files=files) as running:
        peer, other = await running.connect(), await running.connect()
        await peer.call("record", content="this one is safe")
        files.broken = True
        with pytest.raises(Refused, match=r"^storage_failed: "):
            await peer.call("record", content="what becomes of this?")
        assert await running.end() == EXIT_IO
        assert await other.end() == []
    async with serving(short_path) as running:
        contents = [
            p["content"] for p in (await (await running.connect()).call("list"))["percepts"]
        ]
        assert "this one is safe" in contents


class HalfSaved(Files):
    """A disk that is full when the session's file is to get its name."""

    full = False

    def rename(self, old: str, new: str) -> None:
        if self.full and new.endswith("s1.json"):
            raise OSError(errno.ENOSPC, "No space left on device", old, None, new)
        super().rename(old, new)


async def test_a_save_that_breaks_off_between_two_files_loses_nothing(
    short_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = HalfSaved()
    async with serving(short_path, files=files) as running:
        peer = await running.connect()
        await peer.call("record", content="deploys happen on Mondays")
        await peer.call("record", content="it rains today", session="s1")
        files.full = True
        assert (await peer.refusal("snapshot")).startswith("storage_full: cannot save to ")
        health = await peer.call("health")
        assert health["status"] == "degraded"
        assert "nothing is lost, the journal has it" in health["reasons"][0]
        assert (await peer.call("record", content="it snows", session="s1"))["status"] == "inserted"
    assert running.code == 0
    assert "the files could not be saved: storage_full" in caplog.text
    assert not (short_path / "store" / "s1.json").exists()
    async with serving(short_path) as running:
        assert (await (await running.connect()).call("list", session="s1"))["total"] == 3
        assert (short_path / "store" / "s1.json").exists()
    assert not list((short_path / "store" / ".milkd").glob("journal.*"))


def cut(path: Path) -> None:
    os.truncate(path, 10)


def replaced(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.rename(path)


def changed(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


def retouched(path: Path) -> None:
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


async def start(running: Running) -> Peer:
    """Two facts, in their files."""
    peer = await running.connect()
    await peer.call("record", content="deploys happen on Mondays")
    await peer.call("record", content="it rains today", session="s1")
    await peer.call("snapshot")
    assert (await peer.call("health"))["reasons"] == []
    return peer


@pytest.mark.parametrize("name", ["global.json", "s1.json"])
@pytest.mark.parametrize("tamper", [replaced, changed, retouched])
async def test_a_file_that_says_the_same_in_other_bytes_troubles_nobody(
    short_path: Path, name: str, tamper: Callable[[Path], None]
) -> None:
    async with serving(short_path, limits=Limits(files_poll_s=3_600.0)) as running:
        peer = await start(running)
        tamper(short_path / "store" / name)
        health = await peer.call("health")
        assert (health["status"], health["reasons"]) == ("ok", [])
        assert (await peer.call("list", session="s1"))["total"] == 2


@pytest.mark.parametrize("name", ["global.json", "s1.json"])
@pytest.mark.parametrize(
    ("tamper", "seen", "done"),
    [
        (os.unlink, "was removed by another program", "it was written again"),
        (cut, "not valid JSON", "It is kept as .milkd/quarantine/"),
    ],
)
async def test_what_another_program_destroys_is_told_at_once_and_then_mended(
    short_path: Path, name: str, tamper: Callable[[Path], None], seen: str, done: str
) -> None:
    path = short_path / "store" / name
    async with serving(short_path, limits=Limits(files_poll_s=3_600.0)) as running:
        peer = await start(running)
        before = path.read_bytes()
        tamper(path)
        health = await peer.call("health")
        assert health["status"] == "degraded"
        (reason,) = health["reasons"]
        assert seen in reason
        assert name in reason
        assert (await peer.call("list", session="s1"))["total"] == 2
        (reason,) = (await peer.call("health"))["reasons"]
        assert done in reason
        await peer.call("snapshot")
        assert json.loads(path.read_bytes())["percepts"] == json.loads(before)["percepts"]
    kept = list((short_path / "store" / ".milkd" / "quarantine").glob("*.damaged.json"))
    assert [file.read_bytes() for file in kept] == ([before[:10]] if tamper is cut else [])


async def test_what_another_program_does_is_noticed_unasked(short_path: Path) -> None:
    async with serving(short_path, limits=Limits(files_poll_s=0.02)) as running:
        peer = await start(running)
        await peer.call("subscribe", topics=["health"])
        (short_path / "store" / "global.json").unlink()
        event = await peer.event()
        assert (event["topic"], event["status"]) == ("health", "degraded")
        await eventually((short_path / "store" / "global.json").exists)


async def test_an_edit_by_hand_is_taken_in(short_path: Path) -> None:
    path = short_path / "store" / "global.json"
    async with serving(short_path, limits=Limits(files_poll_s=0.02)) as running:
        peer = await start(running)
        path.write_text(path.read_text().replace("Mondays", "Fridays"))
        await peer.call("record", content="lunch is at noon")
        await eventually(lambda: "lunch" in path.read_text())
        contents = {p["content"] for p in (await peer.call("list"))["percepts"]}
        assert contents == {"deploys happen on Fridays", "lunch is at noon"}
        assert (await peer.call("health"))["status"] == "ok"
    assert "Fridays" in path.read_text()


async def test_a_disk_that_does_not_answer_does_not_hold_up_health(short_path: Path) -> None:
    files = SlowSync()
    async with serving(short_path, files=files) as running:
        peer, other = await running.connect(), await running.connect()
        files.slow = True
        msgid = await peer.ask("record", content="it rains today")
        assert (await other.call("health"))["status"] == "ok"
        files.go.set()
        assert (await peer.result(msgid))["status"] == "inserted"


class SlowSync(Files):
    """A disk whose syncs begin to hang."""

    slow = False

    def __init__(self) -> None:
        self.go = threading.Event()

    def fdatasync(self, fd: int) -> None:
        if self.slow:
            self.go.wait(PATIENCE)
        super().fdatasync(fd)


class NoWriting(Files):
    """A disk that takes nothing, or nothing any more."""

    writable = False

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        if not self.writable and flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "Read-only file system")
        return super().open(path, flags, mode)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if not self.writable:
            raise OSError(errno.EROFS, "Read-only file system")
        return super().write(fd, data)


async def test_a_store_that_takes_nothing_can_be_read(short_path: Path) -> None:
    async with serving(short_path) as running:
        await (await running.connect()).call("learn", content="deploys happen on Mondays")
    async with serving(short_path, files=NoWriting()) as running:
        peer = await running.connect()
        assert (await peer.refusal("record", content="no way")).startswith("read_only: ")
        assert (await peer.call("health"))["status"] == "read_only"
        (hit,) = (await peer.call("query", text="deploys", session="s1"))["percepts"]
        assert hit["content"] == "deploys happen on Mondays"
        running.server.stop()
        assert await running.end() == 0


async def test_a_store_that_goes_away_and_comes_back_has_lost_nothing(short_path: Path) -> None:
    store, away = short_path / "store", short_path / "away"
    facts = {"it rains today", "deploys happen on Mondays", "the user is called Ada"}
    async with serving(short_path) as running:
        peer = await running.connect()
        await peer.call("record", content="deploys happen on Mondays")
        await peer.call("record", content="it rains today", session="s1")
        await peer.call("record", content="lunch is at noon", session="asleep")
        await peer.call("session_close", session="asleep")
        await peer.call("snapshot")
        store.rename(away)
        for _ in range(2):
            refusal = await peer.refusal("record", content="the user is called Ada", session="s1")
            assert refusal.startswith(f"storage_failed: the store {store} is gone (")
            assert "put it back and try again" in refusal
        assert (await peer.call("list", session="s1"))["total"] == 2
        assert (await peer.call("query", text="rain", session="new"))["percepts"] == []
        assert (await peer.refusal("list", session="asleep")).startswith("storage_failed: ")
        assert not store.exists()
        assert (await peer.call("health"))["status"] == "degraded"
        away.rename(store)
        await peer.call("record", content="the user is called Ada", session="s1")
        assert (await peer.call("list", session="asleep"))["total"] == 2
        health = await peer.call("health")
        assert (health["status"], health["reasons"]) == ("ok", [])
    async with serving(short_path) as running:
        listed = await (await running.connect()).call("list", session="s1")
        assert {percept["content"] for percept in listed["percepts"]} == facts
    assert not (store / ".milkd" / "quarantine").exists()


async def test_a_stop_that_could_not_save_says_so(
    short_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, away = short_path / "store", short_path / "away"
    async with serving(short_path) as running:
        peer = await running.connect()
        await peer.call("record", content="it rains today", session="s1")
        store.rename(away)
        refusal = await peer.refusal("shutdown")
        assert refusal.startswith("storage_failed: stopped, but not everything could be saved: ")
        assert await running.end() == EXIT_IO
        assert "stopped, but not everything could be saved" in caplog.text
        away.rename(store)


async def test_a_signal_ends_with_the_same_code_when_not_all_could_be_saved(
    short_path: Path,
) -> None:
    files = NoWriting()
    files.writable = True
    async with serving(short_path, files=files) as running:
        await (await running.connect()).call("record", content="it rains today", session="s1")
        files.writable = False
        running.server.stop()
        assert await running.end() == EXIT_IO


async def test_a_disk_that_hangs_at_the_end_is_told(short_path: Path) -> None:
    files = SlowSync()
    async with serving(short_path, files=files, limits=Limits(save_s=0.05)) as running:
        peer = await running.connect()
        await peer.call("record", content="it rains today", session="s1")
        files.slow = True
        refusal = await peer.refusal("shutdown")
        files.go.set()
        assert "could be saved: the disk was not done within 0.05 s" in refusal
        assert await running.end() == EXIT_IO


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_another_user_is_not_served(short_path: Path) -> None:
    ask = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(20);"
        "s.connect(sys.argv[1]); print(s.recv(100))"
    )
    async with serving(short_path) as running:
        os.chmod(short_path, 0o755)
        os.chmod(running.path, 0o666)
        ran = await trio.run_process(
            ["/usr/bin/env", "python3", "-c", ask, str(running.path)],
            user=65_534,
            capture_stdout=True,
        )
        assert ran.stdout == b"b''\n"
        assert await (await running.connect()).call("ping") == {}


def use_up(taken: list[int]) -> None:
    """Take descriptors until there are none."""
    while True:
        taken.append(os.dup(0))


async def test_a_lack_of_descriptors_is_outlasted(
    short_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(short_path) as running:
        good = await running.connect()
        await good.call("ping")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        late = trio.socket.socket(socket.AF_UNIX)
        taken: list[int] = []
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (late.fileno() + 16, hard))
            with pytest.raises(OSError, match="Too many open files"):
                use_up(taken)
            await late.connect(str(running.path))
            await eventually(lambda: "cannot accept connections" in caplog.text)
            assert await good.call("ping") == {}
        finally:
            for fd in taken:
                os.close(fd)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        running.streams.append(trio.SocketStream(late))
        assert await Peer(running.streams[-1]).call("ping") == {}
        assert caplog.text.count("cannot accept connections") == 1


class NoPass(Engine):
    """An engine whose passes fail."""

    def decide(self, command: Command, now: Now) -> Decision:
        if isinstance(command, Consolidate):
            raise RuntimeError("a fault")
        return super().decide(command, now)


async def test_a_fault_in_the_last_pass_does_not_keep_it_from_ending(short_path: Path) -> None:
    async with serving(short_path, engine=NoPass(DEFAULT)) as running:
        await (await running.connect()).call("record", content="it rains today", session="s1")
        running.server.stop()
        assert await running.end() == 0
    assert (short_path / "store" / "s1.json").exists()


async def test_two_hundred_clients_come_and_go(short_path: Path) -> None:
    async with serving(short_path) as running:

        async def visit(number: int) -> None:
            peer = await running.connect()
            async with peer.stream:
                await peer.call("record", content=f"visitor{number} left card{number}")

        for start in range(0, 200, 20):
            async with trio.open_nursery() as nursery:
                for number in range(start, start + 20):
                    nursery.start_soon(visit, number)
        peer = await running.connect()
        assert (await peer.call("list"))["total"] == 200


async def test_however_many_come_each_is_told_why_it_is_sent_away(short_path: Path) -> None:
    limits = Limits(connections=1, spare=1, refusals=1, slot_s=0.0)
    async with serving(short_path, limits=limits) as running:
        first = await running.connect()
        assert await first.call("ping") == {}
        crowd = [running.connect_at_once() for _ in range(20)]
        for peer in crowd:
            with suppress(trio.BrokenResourceError):
                await peer.ask("ping")
        told = 0
        for peer in crowd[1:]:
            (why,) = await peer.end()
            told += why.startswith("overloaded: 1 connections are open already")
        assert told == 19
        assert await first.call("ping") == {}
