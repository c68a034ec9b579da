"""What a request costs in the serving loop, in terms of what Trio and the socket cost.

    python bench/serving.py

Three servers, each in a process of its own: a bare loop on Trio's lowest level and a
Trio stream that sends each reply by itself answer a small question with a fact, milkd
answers `ping`.  All of it runs on one processor: waking another one costs as much as the
rest.  Ratios are of figures from the same run, medians over rounds in turns.  Exit code 1
beyond a limit.
"""

from __future__ import annotations

import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgpack
import trio

import milkd
from milkd.rpc.protocol import Connection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    Handler = Callable[[trio.SocketStream], Awaitable[None]]

UNPACKER = msgpack.Unpacker()
ROUNDS = 7
CALLS = 2_000  # one by one, a round
CLIENTS, DEPTH = 8, 16
SECONDS = 0.5  # of pipelining, a round
PINGS = b"".join(Connection.request(number, "ping", {}) for number in range(DEPTH))
PONGS = b"".join(Connection.response(number, {}) for number in range(DEPTH))
QUESTION = {
    "text": "which way do deploys go when the west cluster is under maintenance on a friday",
    "session": "0f5b9c1e-7a52-4d0f-9b7e-3a3c2f1d8e11",
    "min_confidence": 0.4,
    "limit": 10,
}
FACT = {
    "id": "9d2f6a4c-3c1b-4f0e-8f57-1b2c3d4e5f60",
    "content": "deploys go through the east cluster while the west one is down",
    "w": 0.85,
    "hits": 4,
    "rank_score": 0.97,
    "producer": "user",
}
LIMITS = {
    "a ping by the client / a question to the bare loop": 1.3,
    "one send a reply / milkd, 8 × 16 pings a second": 0.25,
}


def main() -> int:
    """Measure and print; returns the exit code."""
    if sys.argv[1:2] == ["--serve"]:
        trio.run(_serve, {"bare": _bare, "each": _each}[sys.argv[2]], sys.argv[3])
        return 0
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(prefix="mk-") as directory:
        found = _measured(Path(directory))
    for what, value in found.items():
        limit = LIMITS.get(what)
        print(f"{value:10.3f}  {what}{'' if limit is None else f'   (at most {limit:g})'}")
    return int(any(found[what] > limit for what, limit in LIMITS.items()))


def _measured(directory: Path) -> dict[str, float]:
    bare, each, own = (str(directory / name) for name in ("bare", "each", "own"))
    store = str(directory / "store")
    times: dict[str, list[float]] = {"bare": [], "each": [], "client": []}
    rates: dict[str, list[float]] = {"bare": [], "each": [], "own": []}
    with ExitStack() as stack:
        here = [sys.executable, __file__, "--serve"]
        stack.enter_context(_running([*here, "bare", bare], bare))
        stack.enter_context(_running([*here, "each", each], each))
        daemon = [sys.executable, "-m", "milkd", "--store", store, "--socket", own]
        stack.enter_context(_running(daemon, own))
        client = stack.enter_context(milkd.Client(own, store=store))
        for _ in range(ROUNDS):
            for name, path in (("bare", bare), ("each", each)):
                with _connected(path) as sock:
                    times[name].append(_median(partial(_exchange, sock)))
                rates[name].append(_pipelined(path))
            rates["own"].append(_pipelined(own))
            times["client"].append(_median(partial(client.call, "ping")))
    micro = {name: statistics.median(values) * 1e6 for name, values in times.items()}
    rate = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "bare loop, one question, µs": micro["bare"],
        "one send a reply, one question, µs": micro["each"],
        "milkd, one ping by the client, µs": micro["client"],
        "bare loop, 8 × 16 pings a second": rate["bare"],
        "one send a reply, 8 × 16 pings a second": rate["each"],
        "milkd, 8 × 16 pings a second": rate["own"],
        "a ping by the client / a question to the bare loop": micro["client"] / micro["bare"],
        "one send a reply / milkd, 8 × 16 pings a second": rate["each"] / rate["own"],
    }


def _median(call: Callable[[], object]) -> float:
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _exchange(sock: socket.socket) -> None:
    """The least that a client can do: send, receive, decode."""
    sock.sendall(msgpack.packb([0, 1, "query", [QUESTION]]))
    UNPACKER.feed(sock.recv(65_536))
    assert UNPACKER.unpack()[2] is None


def _pipelined(path: str) -> float:
    """Requests a second of several clients that always have some under way."""
    with ExitStack() as stack:
        socks = [stack.enter_context(_connected(path)) for _ in range(CLIENTS)]
        for sock in socks:
            sock.sendall(PINGS)
        answered, began = 0, time.perf_counter()
        left = dict.fromkeys(socks, len(PONGS))
        while (took := time.perf_counter() - began) < SECONDS:
            for sock in select.select(socks, [], [])[0]:
                left[sock] -= len(sock.recv(65_536))
                if left[sock] == 0:
                    answered += DEPTH
                    left[sock] = len(PONGS)
                    sock.sendall(PINGS)
        return answered / took


@contextmanager
def _running(command: list[str], path: str) -> Iterator[None]:
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not _listens(path):
            assert process.poll() is None, f"{command} did not start"
            time.sleep(0.01)
        yield
    finally:
        process.terminate()
        process.wait()


def _listens(path: str) -> bool:
    try:
        with _connected(path):
            return True
    except OSError:
        return False


@contextmanager
def _connected(path: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        yield sock


async def _serve(handler: Handler, path: str) -> None:
    sock = trio.socket.socket(trio.socket.AF_UNIX)
    await sock.bind(path)
    sock.listen(128)

    async def guarded(stream: trio.SocketStream) -> None:
        with suppress(OSError, trio.BrokenResourceError):
            await handler(stream)

    await trio.serve_listeners(guarded, [trio.SocketListener(sock)])


def _answer(message: list[object]) -> bytes:
    """A fact to a question, nothing to a ping."""
    answer: bytes = msgpack.packb([1, message[1], None, FACT if message[3] else {}])
    return answer


async def _bare(stream: trio.SocketStream) -> None:
    """One trip through the scheduler a read, one send for all that it asks."""
    sock = socket.socket(fileno=os.dup(stream.socket.fileno()))
    sock.setblocking(False)
    unpacker = msgpack.Unpacker()
    with sock:
        while True:
            await trio.lowlevel.wait_readable(sock)
            if not (data := sock.recv(65_536)):
                return
            unpacker.feed(data)
            sock.sendall(b"".join([_answer(message) for message in unpacker]))


async def _each(stream: trio.SocketStream) -> None:
    """The obvious server: a stream, and a send for each reply."""
    unpacker = msgpack.Unpacker()
    while data := await stream.receive_some(65_536):
        unpacker.feed(data)
        for message in unpacker:
            await stream.send_all(_answer(message))


if __name__ == "__main__":
    sys.exit(main())
