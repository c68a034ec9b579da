"""What an acknowledged fact costs, in terms of what the disk and a thread cost.

    python bench/durable.py [DIR]

All files are made in DIR (the present directory unless named), which should be on the
disk that matters.  Ratios are of figures from the same run.  Exit code 1 beyond a limit.
"""

from __future__ import annotations

import os
import random
import re
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import trio

import milkd
from milkd.rpc.messages import Response
from milkd.rpc.protocol import MAX_RESPONSE, Connection

sys.path.append(str(Path(__file__).resolve().parents[1]))  # last: milkd is the installed one

from bench.pinging import p99, pings

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 10
RECORDS = 200  # a round
CLIENTS = 64
SLOW_SYNC = 0.010  # seconds that a sync takes on an ordinary disk
ENTRIES = 10_000  # in the journal at start
LARGE = 100_000  # facts in the store during a checkpoint
LIMITS = {
    "one client / bare append, sync and thread": 3.0,
    f"one client / {CLIENTS} clients, records a second": 0.1,
    "SQLite, WAL, full sync, same groups / milkd, records a second": 1.0,
    f"start with {ENTRIES:,} entries in the journal, seconds": 1.0,
    f"p99 of a ping while {LARGE:,} facts are saved, ms": 25.0,
}
STARTS = ("har", "mil", "ton", "ves", "qua", "bel", "cor", "dun", "fal", "gri", "hol", "jas")
ENDS = (
    "bor", "dock", "fen", "gate", "lim", "mast", "nook", "pier", "quay", "reef", "sand", "tide",
    "vale", "wick", "yard", "zone", "ash", "brook", "croft", "dale", "edge", "ford", "glen", "holm",
    "isle", "keep", "lock", "moor", "ness", "oak", "peak", "rock", "stow", "thorp", "well", "wood",
)  # fmt: skip
WORDS = [f"{start}{vowel}{end}" for start in STARTS for vowel in "aeiou" for end in ENDS]


def main() -> int:
    """Measure and print; returns the exit code."""
    if sys.argv[1:2] == ["--serve"]:
        return _serve(float(sys.argv[2]), sys.argv[3:])
    where = sys.argv[1] if len(sys.argv) > 1 else "."
    with tempfile.TemporaryDirectory(prefix="mk-", dir=where) as directory:
        found = dict(_measured(Path(directory)))
    for what, value in found.items():
        limit = LIMITS.get(what)
        told = "" if limit is None else f"   (at most {limit:g})"
        print(f"{value:10.3f}  {what}{told}")
    return int(any(found[what] > limit for what, limit in LIMITS.items()))


def _measured(directory: Path) -> Iterator[tuple[str, float]]:
    bare_times: list[float] = []
    one_times: list[float] = []
    with Daemon(directory / "one") as daemon, milkd.connect(socket=daemon.socket) as client:
        facts = _facts("one")
        for _ in range(ROUNDS):  # in turns, so that both meet the same disk
            bare_times += _bare(directory / "bare")
            one_times += _records(client, facts, RECORDS)
    bare, one = statistics.median(bare_times), statistics.median(one_times)
    yield "bare append, sync and thread, µs (median)", bare * 1e6
    yield "one client, µs (median)", one * 1e6
    yield "one client / bare append, sync and thread", one / bare
    with Daemon(directory / "slow", SLOW_SYNC) as daemon:
        with milkd.connect(socket=daemon.socket) as client:
            alone = 1 / statistics.median(_records(client, _facts("one"), RECORDS))
        together, group = _many_clients(daemon, directory / "slow")
    lite = _sqlite(directory / "lite", group)
    yield f"one client with a sync of {SLOW_SYNC * 1e3:g} ms, records a second", alone
    yield f"{CLIENTS} clients with that, records a second", together
    yield f"{CLIENTS} clients, records a sync", group
    yield f"one client / {CLIENTS} clients, records a second", alone / together
    yield "SQLite, WAL, full sync, same groups / milkd, records a second", lite / together
    yield f"start with {ENTRIES:,} entries in the journal, seconds", _start(directory / "start")
    yield from _checkpoint(directory / "large")


class Daemon:
    """A daemon of its own, whose syncs may be as slow as an ordinary disk's."""

    def __init__(self, home: Path, delay: float = 0.0, *options: str) -> None:
        home.mkdir(exist_ok=True)
        self.socket = str(home / "s")
        self.store = home / "store"
        self._command = [
            sys.executable, __file__, "--serve", str(delay), "--store", str(self.store),
            "--socket", self.socket, "--config", str(home / "config.json"), *options,
        ]  # fmt: skip
        self.started = 0.0

    def __enter__(self) -> Daemon:
        read, write = os.pipe()
        began = time.perf_counter()
        command = [*self._command, "--ready-fd", str(write)]
        self._process = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        assert os.read(read, 1), "the daemon did not start"
        os.close(read)
        self.started = time.perf_counter() - began
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def kill(self) -> None:
        """End it without any warning."""
        self._process.kill()


def _serve(delay: float, argv: list[str]) -> int:
    from milkd.daemon.main import main as serve
    from milkd.store.files import Files

    if delay:
        sync = Files.fdatasync

        def slow(self: Files, fd: int) -> None:
            sync(self, fd)
            time.sleep(delay)

        Files.fdatasync = slow  # type: ignore[method-assign]
    return serve(argv)


def _bare(path: Path) -> list[float]:
    """Seconds of an append of a record's size, its sync, and one trip to a thread."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    record = b"x" * 640

    def append() -> None:
        os.write(fd, record)
        os.fdatasync(fd)

    async def run() -> list[float]:
        times = []
        for _ in range(RECORDS):
            began = time.perf_counter()
            await trio.to_thread.run_sync(append)
            times.append(time.perf_counter() - began)
        return times

    times = trio.run(run)
    os.close(fd)
    return times


def _facts(seed: str) -> Iterator[str]:
    chance = random.Random(seed)
    for number in range(10**9):
        words = [chance.choice(WORDS) for _ in range(9)]
        yield f"{' '.join(words)} {seed} {number}"


def _records(client: milkd.Client, facts: Iterator[str], count: int) -> list[float]:
    """Seconds of each record, from the call to its answer."""
    times = []
    for _ in range(count):
        content = next(facts)
        began = time.perf_counter()
        client.record(content)
        times.append(time.perf_counter() - began)
    return times


def _many_clients(daemon: Daemon, home: Path) -> tuple[float, float]:
    """Records a second of many clients that each wait for their answers; records a sync."""
    per_client = 40
    done = trio.run(_storm, daemon.socket, per_client)
    journal = b"".join(path.read_bytes() for path in home.glob("store/.milkd/**/journal.*"))
    # What was durable when a batch was written is the same in all its records.
    marks = set(re.findall(rb'"d":([0-9]+)', journal))
    records = journal.count(b'"t":"record"')
    return CLIENTS * per_client / done, records / len(marks)


async def _storm(path: str, per_client: int) -> float:
    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for number in range(CLIENTS):
            nursery.start_soon(_client, path, f"c{number}", per_client)
    return time.perf_counter() - began


async def _client(path: str, name: str, records: int) -> None:
    facts, protocol = _facts(name), Connection(max_message=MAX_RESPONSE)
    stream = await trio.open_unix_socket(path)
    async with stream:
        for msgid in range(1, records + 1):
            asked = {"content": next(facts), "op_id": f"{name}-{msgid}"}
            request = Connection.request(msgid, "record", asked)
            await stream.send_all(request)
            answered = False
            while not answered:
                data = await stream.receive_some(65_536)
                for message in protocol.receive_data(bytes(data)):
                    assert isinstance(message, Response), message
                    assert message.error is None, message.error
                    answered = True


def _sqlite(path: Path, group: float) -> float:
    """Records a second that SQLite takes, in groups of the same size and with the same sync."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE fact (id TEXT PRIMARY KEY, body TEXT)")
    facts, size, number = _facts("lite"), max(1, round(group)), 0
    began = time.perf_counter()
    for _ in range(50):
        connection.execute("BEGIN")
        for _ in range(size):
            number += 1
            connection.execute("INSERT INTO fact VALUES (?, ?)", (str(number), next(facts) * 4))
        connection.execute("COMMIT")
        time.sleep(SLOW_SYNC)
    took = time.perf_counter() - began
    connection.close()
    return number / took


def _start(home: Path) -> float:
    """Seconds from the start to the first answer, after a crash with a long journal."""
    config = home / "config.json"
    with Daemon(home) as daemon:
        facts = _facts("start")
        with milkd.connect(socket=daemon.socket) as client:
            for _ in range(ENTRIES // 100):
                _pipelined(daemon.socket, [next(facts) for _ in range(100)])
            client.close()
        daemon.kill()
    assert not config.exists()
    with Daemon(home) as daemon:
        return daemon.started


def _pipelined(path: str, contents: list[str]) -> None:
    """State facts without waiting for each answer."""
    protocol, open_ = Connection(max_message=MAX_RESPONSE), 0
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        for first in range(0, len(contents), 25):
            for number, content in enumerate(contents[first : first + 25], 1):
                peer.sendall(Connection.request(number, "record", {"content": content}))
                open_ += 1
            while open_:
                open_ -= len(protocol.receive_data(peer.recv(65_536)))


def _checkpoint(home: Path) -> Iterator[tuple[str, float]]:
    """What a ping waits while a large store is saved."""
    home.mkdir()
    _write_large(home / "store")
    with (
        Daemon(home) as daemon,
        milkd.connect(socket=daemon.socket) as writer,
        milkd.connect(socket=daemon.socket) as reader,
    ):
        writer.record("the first change makes all of it be written")
        quiet = pings(reader, lambda: time.sleep(1.0))
        writer.consolidate()
        busy = pings(reader, lambda: writer.call("snapshot"))
    yield "pings during the checkpoint", float(len(busy))
    yield "p99 of a ping before it, ms", p99(quiet) * 1e3
    yield f"p99 of a ping while {LARGE:,} facts are saved, ms", p99(busy) * 1e3
    yield "the longest, ms", max(busy) * 1e3


def _write_large(store: Path) -> None:
    """A store as milk would have left it."""
    from milkd.engine.percept import Percept, ScopeImage
    from milkd.store.encoder import image_to_bytes

    store.mkdir()
    facts, now = _facts("large"), time.time()
    percepts = tuple(
        Percept(id=f"{n:08x}-0000-4000-8000-000000000000", content=next(facts), producer="user",
                w=0.9, created_at=now, updated_at=now)
        for n in range(LARGE)
    )  # fmt: skip
    image = ScopeImage(name="global", percepts=percepts)
    (store / "global.json").write_bytes(image_to_bytes(image))


if __name__ == "__main__":
    sys.exit(main())
