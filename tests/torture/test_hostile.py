"""T14: clients that are slow, rude or gone; another one is served all the while.

That one is a process that pings two hundred times a second.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from places import ROOT
from torture.household import Household, until
from torture.raw import PATIENCE, Raw, code_in, code_of, request
from torture.size import size
from torture.watching import Body, body, bystander, configure

if TYPE_CHECKING:
    from collections.abc import Iterator

P99 = size(0.2, 0.1)  # seconds that a ping of the bystander may take; a CI machine is busy
SHORT = 0.5  # seconds, for what is ten by default
PATIENT = 10.0  # seconds until a daemon drops who does not read, if it is told nothing else
GROWTH = 16 << 20  # bytes of the daemon
FEW = 40  # descriptors
EVENTS = 10_000
PIPELINED = 500
LIST_AND_HEALTH = request(1, "list") + request(2, "health")
LISTENER = Path(__file__).with_name("listener.py")
TESTS = Path(__file__).parents[1]

pytestmark = [pytest.mark.lasting, pytest.mark.timed]


@pytest.fixture(scope="module")
def shared() -> Iterator[Household]:
    """A daemon that has some patience, but not ten seconds."""
    with Household() as household:
        configure(household, partial_s=SHORT, send_s=SHORT, spare_s=SHORT)
        furnish(household)
        yield household
        assert household.end() == 0


def furnish(household: Household) -> None:
    """Start the daemon, and let it do once what grows its memory once."""
    household.start()
    with household.client() as client:
        client.record("the user indents with tabs", session="s1")
        client.query("tabs", session="s1")


@contextmanager
def unnoticed(household: Household) -> Iterator[Body]:
    """A running daemon is none the worse afterwards, and somebody has noticed nothing."""
    daemon = body(household)
    with bystander(household) as waits:
        descriptors, memory = daemon.descriptors(), daemon.memory()
        yield daemon
        until(lambda: daemon.descriptors() <= descriptors)
        assert daemon.memory() - memory < GROWTH
    print(f"\n{waits}")
    assert waits.p99() < P99, str(waits)


def crowd(household: Household, count: int, stack: ExitStack) -> list[Raw]:
    """So many connections."""
    return [stack.enter_context(Raw(household.socket)) for _ in range(count)]


def test_they_are_slow_in_every_way(shared: Household) -> None:
    """They sit there, hold half a message, and say one byte by byte."""
    with unnoticed(shared), ExitStack() as stack:
        sitting, holding = crowd(shared, 20, stack), crowd(shared, 20, stack)
        (stammering,) = crowd(shared, 1, stack)
        began = time.monotonic()
        for raw in holding:
            raw.send(b"\x94\x00")
        stammer(stammering, request(1, "query", {"text": "tabs " * 20}))
        for raw in (*holding, stammering):
            ((_, _, (error,)),) = raw.rest()
            assert code_in(error) == "timeout"
        assert time.monotonic() - began >= SHORT
        for raw in sitting:
            raw.ping()


def stammer(raw: Raw, message: bytes) -> None:
    """Send a message byte by byte, until nobody wants to hear the rest."""
    for byte in message:
        if not raw.send(bytes([byte])):
            return
        time.sleep(SHORT / 5)
    pytest.fail("it was waited for to the end")


def test_answers_are_never_read(shared: Household) -> None:
    with unnoticed(shared) as daemon:
        with Raw(shared.socket) as raw:
            make_large(raw)
        peak = daemon.peak()
        with Raw(shared.socket) as raw:
            asked = ask_on(raw, b"".join(request(n, "list") for n in range(20)))
            assert asked < 200 * 20, "it was read from without end"
        assert daemon.peak() - peak < GROWTH


def ask_on(raw: Raw, requests: bytes) -> int:
    """Ask without reading until the daemon hangs up; how many times it took the requests."""
    raw.socket.settimeout(PATIENCE)
    number = 0
    while raw.send(requests):
        number += 1
    return number


def test_they_hold_all_that_may_be_in_flight(household: Household) -> None:
    """Who reads is not kept waiting for those who do not, until these are dropped."""
    furnish(household)
    with unnoticed(household), ExitStack() as stack:
        (other,) = crowd(household, 1, stack)
        make_large(other)
        for raw in crowd(household, 12, stack):
            raw.send(b"".join(request(number, "list") for number in range(64)))
        for number in range(20):
            began = time.monotonic()
            fact = {"content": f"said in passing: q{number}"}
            other.send(request(1, "record", fact) + request(2, "list", {"limit": 1}))
            assert [other.next()[1], other.next()[1]] == [1, 2]
            assert time.monotonic() - began < PATIENT / 2
        stack.close()


def make_large(raw: Raw) -> None:
    """State so much that a list of it all is 200 kB."""
    for number in range(25):
        raw.call("record", content=f"q{number} " + f"w{number} " * 1_900)
    raw.send(request(1, "list"))
    assert len(json.dumps(raw.response(1))) > 150_000


def test_they_are_a_hundred(shared: Household) -> None:
    """Some are served, a few for what helps in need, all others are told or turned away."""
    with unnoticed(shared):
        with ExitStack() as stack:
            raws = crowd(shared, 100, stack)
            for raw in raws:
                raw.send(LIST_AND_HEALTH)
            fates = [fate(raw) for raw in raws]
        assert fates[:63] == ["served"] * 63  # the bystander is one of them
        assert fates.count("served") == 63
        assert fates.count("spare") == 4
        assert fates.count("told") >= 1
        until(lambda: fate_of_one(shared) == "served")


def fate_of_one(household: Household) -> str:
    """What becomes of one more connection."""
    with Raw(household.socket) as raw:
        raw.send(LIST_AND_HEALTH)
        return fate(raw)


def fate(raw: Raw) -> str:
    """What became of a connection that asked for a list, and for the daemon's health."""
    first = raw.next()
    if first is None:
        return "closed"
    if first[0] == 2:
        assert code_in(first[2][0]) == "overloaded"
        assert raw.rest() == []
        return "told"
    assert raw.next()[:3] == [1, 2, None]
    if first[2] is None:
        return "served"
    assert code_of(first[2]) == "overloaded"
    return "spare"


def test_a_crowd_keeps_nobody_from_seeing_to_the_daemon(shared: Household) -> None:
    with unnoticed(shared), ExitStack() as stack:
        for _ in range(3):  # a flood of them, each gone or refused before the next
            crowd(shared, 100, stack)
            with Raw(shared.socket) as raw:
                raw.send(request(1, "health"))
                answer = raw.next()
                assert answer is None or answer[0] == 2 or answer[2] is None
            stack.close()
        until(lambda: fate_of_one(shared) == "served")
        raws = crowd(shared, 63, stack)
        for raw in raws:
            raw.ping()
        with Raw(shared.socket) as raw:
            assert raw.call("health")["status"] == "ok"
            raw.send(request(1, "list"))
            assert code_of(raw.response(1)[2]) == "overloaded"


def test_there_are_no_descriptors_left(household: Household) -> None:
    furnish(household)
    with unnoticed(household) as daemon, ExitStack() as stack:
        assert household.daemon is not None
        limit(household.daemon.pid, FEW)
        raws = crowd(household, 100, stack)
        load = daemon.load(1.5)
        print(f"\n{daemon.descriptors()} descriptors, {load:.1%} of a processor")
        assert daemon.descriptors() <= FEW
        assert load < 0.2
        raws[0].ping()
        limit(household.daemon.pid, 1_024)
        stack.close()
        until(lambda: fate_of_one(household) == "served")


def test_there_were_few_descriptors_from_the_start(household: Household) -> None:
    household.program = ["sh", "-c", f'ulimit -n {FEW}; exec "$0" "$@"', *household.program]
    furnish(household)
    with unnoticed(household) as daemon, ExitStack() as stack:
        raws = crowd(household, 100, stack)
        for raw in raws:
            raw.send(LIST_AND_HEALTH)
        load = daemon.load(1.0)
        assert load < 0.2
        fates = [fate(raw) for raw in raws]
        assert fates.count("served") >= 4
        assert fates.count("spare") >= 1
        assert daemon.descriptors() <= FEW


def limit(pid: int, descriptors: int) -> None:
    """Give a process so many descriptors."""
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors, hard))


def test_a_subscriber_is_stopped_while_much_happens(household: Household) -> None:
    furnish(household)
    with unnoticed(household) as daemon, subscriber(household) as process:
        with Raw(household.socket) as raw:
            tell(raw, 20)
            memory = daemon.memory()
            process.send_signal(signal.SIGSTOP)
            tell(raw, EVENTS)
            assert daemon.memory() - memory < GROWTH
            process.send_signal(signal.SIGCONT)
            raw.call("record", content="the last event", session="s1")
        heard, lost, ended = told(process)
        print(f"\n{heard} heard, {lost} lost, {'dropped' if ended else 'kept'}")
        assert ended or heard + lost == EVENTS + 21
        assert lost or ended


def test_a_subscriber_is_stopped_for_longer_than_anybody_waits(shared: Household) -> None:
    with unnoticed(shared), subscriber(shared) as process, Raw(shared.socket) as raw:
        process.send_signal(signal.SIGSTOP)
        while raw.call("stats")["connections"] > 2:  # the bystander and this one
            tell(raw, PIPELINED)
        process.send_signal(signal.SIGCONT)
        assert told(process)[2]


@contextmanager
def subscriber(household: Household) -> Iterator[subprocess.Popen[bytes]]:
    """A process that hears what happens to facts."""
    process = subprocess.Popen(
        [sys.executable, str(LISTENER), str(household.socket)],
        stdout=subprocess.PIPE,
        env=household.env | {"PYTHONPATH": f"{ROOT}{os.pathsep}{TESTS}"},
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


def told(process: subprocess.Popen[bytes]) -> tuple[int, int, bool]:
    """How many events it heard, how many it was told it had lost, and whether it was dropped."""
    assert process.stdout is not None
    heard, lost, ended = json.loads(process.stdout.readline())
    return heard, lost, ended


def tell(raw: Raw, count: int) -> None:
    """State a fact again and again; so many events."""
    fact = {"content": "the user indents with tabs", "session": "s1"}
    for start in range(0, count, PIPELINED):
        numbers = range(start, min(count, start + PIPELINED))
        raw.send(b"".join(request(number, "record", fact) for number in numbers))
        for number in numbers:
            assert raw.response(number)[2] is None


def test_they_stop_sending_and_read_on(shared: Household) -> None:
    requests = b"".join(
        request(number, "record", {"content": f"q{number} is a number", "session": "s2"})
        for number in range(20)
    )
    with unnoticed(shared), Raw(shared.socket) as raw:
        raw.send(requests + request(20, "list", {"session": "s2", "pattern": "is a number"}))
        raw.finish()
        answers = raw.rest()
        assert [answer[1] for answer in answers] == list(range(21))
        assert answers[20][3]["total"] == 20


def test_they_leave_in_the_middle_of_a_request(shared: Household) -> None:
    whole = request(1, "query", {"text": "tabs", "session": "s1"})
    with unnoticed(shared):
        for cut in range(1, len(whole)):
            with Raw(shared.socket) as raw:
                raw.send(whole + whole[:cut])


def test_three_hundred_come_and_go(shared: Household) -> None:
    asked = [
        b"",
        b"\x94",
        b"\xc1",
        request(1, "ping"),
        request(1, "list", {"session": "s1"}),
        request(1, "subscribe", {"topics": ["percepts"]}),
        request(1, "record", {"content": "lunch is at noon"}) * 20,
        b"".join(request(number, "query", {"text": "tabs"}) for number in range(100)),
    ]
    with unnoticed(shared):
        for number in range(size(300, 3_000)):
            with Raw(shared.socket) as raw:
                raw.send(asked[number % len(asked)])
                if number % 3 == 0:
                    raw.finish()
        with Raw(shared.socket) as raw:
            assert raw.call("list", pattern="noon")["total"] == 1


def test_one_client_has_every_connection_and_ends_at_once(shared: Household) -> None:
    """What it held is free as soon as it is gone."""
    with unnoticed(shared):
        for _ in range(3):
            with ExitStack() as stack:
                for raw in crowd(shared, 63, stack):
                    raw.ping()
