"""milkd through its socket, beside loops that do nothing and search engines in this process.

A question goes out as bytes that were packed beforehand, and its answer is skipped over, not
decoded, so that what is told is the server's.  `client` is milkd's own: it packs, decodes,
and checks.  Server and client share one core, where waking each other costs least.
"""

from __future__ import annotations

import select
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.hot.contest import Entrant, Index, contest
from bench.hot.corpus import questions
from bench.hot.daemons import PLAIN, Daemon, connected, fill, loop
from bench.hot.recall import fts5, tantivy
from bench.hot.timing import quantile

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from bench.hot.corpus import Corpus

    Figures = dict[str, dict[str, float]]

CALLS = 600  # of each kind, a round
SECONDS = 0.5  # of pipelining, a round
CLIENTS, DEPTH = 8, 16
AS_IT_COMES = "default knobs"
TABLE, CLIENTS_TABLE = "socket", "client"
RATE = "8 × 16 a second"
CLIENT = "milkd's client, through the socket"
BARE, EACH, PINGS = "bare Trio loop", "Trio stream, a send a reply", "milkd, pings"
_LOOPS = {"bare": BARE, "each": EACH}


def measure(small: Corpus, large: Corpus, rounds: int) -> Figures:
    """Medians of round trips in microseconds, and requests a second, by server."""
    with tempfile.TemporaryDirectory(prefix="mk-") as directory, ExitStack() as stack:
        home = Path(directory)
        question = _packed("query", text="where do deploys go when the west cluster is down")
        asked = {
            name: (stack.enter_context(loop(kind, str(home / kind))), [question])
            for kind, name in _LOOPS.items()
        }
        pinged = {name: path for name, (path, _) in asked.items()}
        for number, (facts, kind, knobs) in enumerate(_daemons(small, large)):
            fill(home / str(number), facts)
            daemon = Daemon(home / str(number), knobs)
            stack.enter_context(daemon.running())
            asked[name_of(kind, len(facts))] = (daemon.socket, _requests(facts, kind))
            pinged[PINGS] = daemon.socket
        found = _in_turns(asked, rounds)
        for name, rate in _rates(pinged, rounds).items():
            found.setdefault(name, {})[RATE] = rate
        return found


def _daemons(small: Corpus, large: Corpus) -> list[tuple[Corpus, str, dict[str, object]]]:
    """What is asked of which store, under which knobs."""
    return [
        (small, "similar", PLAIN),
        (small, f"similar, {AS_IT_COMES}", {}),
        (large, "recall", PLAIN),
        (large, f"recall, {AS_IT_COMES}", {}),
    ]


def name_of(kind: str, facts: int) -> str:
    """What a method of milkd over so many facts is called."""
    return f"milkd, {kind}, {facts:,}"


def client(facts: Corpus, count: int) -> Figures:
    """A recall by the client over the socket beside search engines in process, in turns."""
    with tempfile.TemporaryDirectory(prefix="mk-") as directory:
        fill(Path(directory), facts)
        daemon = Daemon(Path(directory), PLAIN)
        with daemon.running():
            entrants = [_client(daemon), tantivy(same_order=True), fts5()]
            asked = {"mixed": questions(facts, count).mixed}
            measured = contest(entrants, facts, asked, seconds=4.0)
    return {name: one.figures() for name, one in measured.items()}


def _client(daemon: Daemon) -> Entrant:
    def build(facts: Corpus) -> Index:
        import milkd

        asker = milkd.Client(daemon.socket, store=daemon.store)

        def measure(text: str) -> tuple[float, Any]:
            began = time.perf_counter()  # the time of another process counts too
            answer = asker.query(text, max_results=10)
            return time.perf_counter() - began, len(answer["percepts"])

        return Index(lambda text: measure(text)[1], measure=measure)

    return Entrant(CLIENT, build)


def _requests(facts: Corpus, kind: str) -> list[bytes]:
    """A round's questions."""
    asked = questions(facts, CALLS)
    if kind == "similar":  # the one that counts; by default it tells of five
        return [_packed("similar", text=text, limit=1) for text in asked.match]
    if kind.startswith("similar"):
        return [_packed("similar", text=text) for text in asked.match]
    return [_packed("query", text=text, max_results=10) for text in asked.mixed]


def _packed(method: str, **arguments: object) -> bytes:
    from milkd.rpc.protocol import Connection

    return Connection.request(1, method, arguments)


def _in_turns(asked: dict[str, tuple[str, list[bytes]]], rounds: int) -> Figures:
    taken: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(rounds):
        for name, (path, requests) in asked.items():
            with connected(path) as sock:
                for request in requests[:20]:
                    _exchange(sock, request)
                times = [_exchange(sock, request) for request in _repeated(requests)]
            taken[name].append(quantile(times, 0.5) * 1e6)
    return {name: {"p50": quantile(medians, 0.5)} for name, medians in taken.items()}


def _repeated(requests: Sequence[bytes]) -> list[bytes]:
    return [requests[number % len(requests)] for number in range(CALLS)]


def _exchange(sock: socket.socket, request: bytes) -> float:
    """Seconds of one round trip."""
    import msgpack

    unpacker = msgpack.Unpacker()
    began = time.perf_counter()
    sock.sendall(request)
    while True:
        unpacker.feed(sock.recv(262_144))
        try:
            unpacker.skip()
        except msgpack.OutOfData:
            continue
        return time.perf_counter() - began


def _rates(paths: dict[str, str], rounds: int) -> dict[str, float]:
    """Pings a second, by server."""
    rates: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(rounds):
        for name, path in paths.items():
            rates[name].append(pipelined(path))
    return {name: quantile(found, 0.5) for name, found in rates.items()}


def pipelined(path: str) -> float:
    """Requests a second of several clients that always have some under way."""
    requests = _packed("ping") * DEPTH
    with ExitStack() as stack:
        socks = [stack.enter_context(connected(path)) for _ in range(CLIENTS)]
        size = _size_of_answers(socks[0], requests)
        left = dict.fromkeys(socks, size)
        for sock in socks:
            sock.sendall(requests)
        answered, began = 0, time.perf_counter()
        while (took := time.perf_counter() - began) < SECONDS:
            for sock in select.select(socks, [], [])[0]:
                left[sock] -= len(sock.recv(65_536))
                if left[sock] == 0:
                    answered += DEPTH
                    left[sock] = size
                    sock.sendall(requests)
        return answered / took


def _size_of_answers(sock: socket.socket, requests: bytes) -> int:
    """Bytes that answer some pings."""
    import msgpack

    unpacker, size, complete = msgpack.Unpacker(), 0, 0
    sock.sendall(requests)
    while complete < DEPTH:
        data = sock.recv(65_536)
        size += len(data)
        unpacker.feed(data)
        complete += sum(1 for _ in unpacker)
    return size
