"""What a request costs in the serving loop, in terms of what Trio and the socket cost.

    python bench/serving.py

Servers, each in a process of its own: the two of `loops.py` answer a small question with a
fact; milkd answers pings, looks for a near-duplicate among 10,000 facts, and recalls ten of
100,000.  The client packs and decodes what it says; where only the server is measured,
questions were packed beforehand, answers are skipped over, and the loops are asked so, too.
All of it runs on one processor: waking another one costs as much as the rest.  Ratios are of
figures from the same run, medians over rounds in turns.  Exit code 1 beyond a limit.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import msgpack

import milkd
from milkd.rpc.protocol import Connection

sys.path.append(str(Path(__file__).resolve().parents[1]))  # last: milkd is the installed one

from bench.hot.daemons import PLAIN, Daemon, connected, loop
from bench.hot.wire import pipelined
from bench.stored import asked, restated, stored

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    Figures = dict[str, list[float]]

UNPACKER = msgpack.Unpacker()
ROUNDS = 7
CALLS = 2_000  # one by one, a round
QUESTIONS = 500  # of a store, a round
FEW, MANY = 10_000, 100_000  # facts
QUESTION = {
    "text": "which way do deploys go when the west cluster is under maintenance on a friday",
    "session": "0f5b9c1e-7a52-4d0f-9b7e-3a3c2f1d8e11",
    "min_confidence": 0.4,
    "limit": 10,
}
LIMITS = {
    "bare loop / one send a reply, one question": 0.85,
    "a ping by the client / a question to the bare loop": 1.3,
    "one send a reply / milkd, 8 × 16 pings a second": 0.25,
    f"near-duplicate among {FEW:,} / bare loop": 1.3,
    f"recall of {MANY:,} / bare loop": 3.0,
}


def main() -> int:
    """Measure and print; returns the exit code."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(prefix="mk-") as directory:
        found = _measured(Path(directory))
    for what, value in found.items():
        limit = LIMITS.get(what)
        print(f"{value:10.3f}  {what}{'' if limit is None else f'   (at most {limit:g})'}")
    return int(any(found[what] > limit for what, limit in LIMITS.items()))


def _measured(directory: Path) -> dict[str, float]:
    paths = {name: str(directory / name) for name in ("bare", "each")}
    counts = {"few": FEW, "many": MANY}
    facts = {name: stored(directory / name / "store", some) for name, some in counts.items()}
    (directory / "own").mkdir()
    daemons = {name: Daemon(directory / name, PLAIN) for name in ("own", *facts)}
    times: Figures = {}
    rates: Figures = {}
    with ExitStack() as stack:
        for name in ("bare", "each"):
            stack.enter_context(loop(name, paths[name]))
        for name, daemon in daemons.items():
            stack.enter_context(daemon.running())
            paths[name] = daemon.socket
        client = milkd.Client(paths["own"], store=daemons["own"].store)
        stack.enter_context(client)
        packed = _packed(facts)
        for _ in range(ROUNDS):
            for name in ("bare", "each"):
                with connected(paths[name]) as sock:
                    _note(times, name, _median(partial(_exchange, sock), CALLS))
            for name in ("bare", "each", "own"):
                _note(rates, name, pipelined(paths[name]))
            _note(times, "client", _median(partial(client.call, "ping"), CALLS))
            for name, questions in packed.items():
                with connected(paths[name]) as sock:
                    ask = partial(_skip, sock, cycle(questions))
                    _note(times, f"packed, {name}", _median(ask, QUESTIONS))
    return _compared(
        {name: statistics.median(values) * 1e6 for name, values in times.items()},
        {name: statistics.median(values) for name, values in rates.items()},
    )


def _compared(micro: dict[str, float], rate: dict[str, float]) -> dict[str, float]:
    bare = micro["packed, bare"]
    return {
        "bare loop, one question, µs": micro["bare"],
        "one send a reply, one question, µs": micro["each"],
        "milkd, one ping by the client, µs": micro["client"],
        "bare loop, one question packed beforehand, µs": bare,
        f"milkd, near-duplicate among {FEW:,}, µs": micro["packed, few"],
        f"milkd, recall of {MANY:,}, µs": micro["packed, many"],
        "bare loop, 8 × 16 pings a second": rate["bare"],
        "one send a reply, 8 × 16 pings a second": rate["each"],
        "milkd, 8 × 16 pings a second": rate["own"],
        "bare loop / one send a reply, one question": bare / micro["packed, each"],
        "a ping by the client / a question to the bare loop": micro["client"] / micro["bare"],
        "one send a reply / milkd, 8 × 16 pings a second": rate["each"] / rate["own"],
        f"near-duplicate among {FEW:,} / bare loop": micro["packed, few"] / bare,
        f"recall of {MANY:,} / bare loop": micro["packed, many"] / bare,
    }


def _note(figures: Figures, name: str, value: float) -> None:
    figures.setdefault(name, []).append(value)


def _packed(facts: dict[str, list[str]]) -> dict[str, list[bytes]]:
    """The questions to each server."""
    near = [{"text": text, "limit": 1} for text in restated(facts["few"], QUESTIONS)]
    recalled = [{"text": text, "max_results": 10} for text in asked(facts["many"], QUESTIONS)]
    small = [Connection.request(1, "query", QUESTION)]
    return {
        "bare": small,
        "each": small,
        "few": [Connection.request(1, "similar", arguments) for arguments in near],
        "many": [Connection.request(1, "query", arguments) for arguments in recalled],
    }


def _median(call: Callable[[], object], calls: int) -> float:
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _exchange(sock: socket.socket) -> None:
    """The least that a client can do: send, receive, decode."""
    sock.sendall(msgpack.packb([0, 1, "query", [QUESTION]]))
    UNPACKER.feed(sock.recv(65_536))
    assert UNPACKER.unpack()[2] is None


def _skip(sock: socket.socket, requests: Iterator[bytes]) -> None:
    """Send what was packed beforehand, and wait for the end of the answer."""
    sock.sendall(next(requests))
    while True:
        UNPACKER.feed(sock.recv(65_536))
        try:
            UNPACKER.skip()
        except msgpack.OutOfData:
            continue
        return


if __name__ == "__main__":
    sys.exit(main())
