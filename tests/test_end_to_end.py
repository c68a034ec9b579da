"""The real daemon in a process of its own, and real clients on its socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack
import pytest

from milkd.errors import InvalidParams, MilkdError, NotFound, ReadOnly, ShuttingDown
from milkd.rpc.messages import Response
from milkd.rpc.protocol import MAX_RESPONSE
from milkd.rpc.protocol import Connection as Protocol
from milkd.rpc.schema import METHODS
from places import START, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from milkd.rpc.arguments import Argument

WINDOW = 32  # requests that a client has under way


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        yield made


class Reply(NamedTuple):
    """A response as it came."""

    msgid: int
    error: Any
    result: Any


class Wire:
    """A client that keeps many requests under way."""

    def __init__(self, place: Place) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60)
        self.sock.connect(str(place.socket))
        self._protocol = Protocol(max_message=MAX_RESPONSE)
        self._next = 1

    def close(self) -> None:
        self.sock.close()

    def send(self, method: str, **arguments: object) -> int:
        msgid, self._next = self._next, self._next + 1
        self.sock.sendall(Protocol.request(msgid, method, arguments))
        return msgid

    def receive(self) -> list[Reply]:
        """What has come; nothing at the end."""
        replies: list[Reply] = []
        while not replies:
            try:
                data = self.sock.recv(65_536)
            except ConnectionResetError:
                return []
            if not data:
                return []
            replies += [
                Reply(message.msgid, message.error, message.result)
                for message in self._protocol.receive_data(data)
                if isinstance(message, Response)
            ]
        return replies

    def call(self, method: str, **arguments: object) -> Any:
        self.send(method, **arguments)
        (response,) = self.receive()
        assert response.error is None, response.error
        return response.result

    def fire(self, method: str, many: Iterable[dict[str, str]]) -> list[Reply]:
        """Call a method with each of many arguments; the responses in order."""
        waiting, under_way, responses = iter(many), 0, list[Reply]()
        while True:
            for arguments in islice(waiting, WINDOW - under_way):
                self.send(method, **arguments)
                under_way += 1
            if not under_way:
                return responses
            got = self.receive()
            assert got, "the connection ended"
            responses += got
            under_way -= len(got)


@contextmanager
def wire(place: Place) -> Iterator[Wire]:
    with closing(Wire(place)) as made:
        yield made


def at_once(*tasks: Callable[[], None]) -> None:
    """Run tasks in threads of their own; the first failure is raised."""
    failures: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:  # to be raised where the test sees it
            failures.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def all_facts(place: Place) -> list[dict[str, Any]]:
    """Every percept that the running daemon has, of whatever scope."""
    with place.client() as client:
        return [record for record in client.export() if record["kind"] == "percept"]


def contents(place: Place) -> set[str]:
    return {fact["content"] for fact in all_facts(place)}


# Many at once


def test_two_clients_firing_a_thousand_facts_each_lose_none(place: Place) -> None:
    place.start()

    def fire(who: str) -> None:
        many = ({"content": f"{who}{n} keeps item{who}{n} in box{who}{n}"} for n in range(1_000))
        with wire(place) as client:
            responses = client.fire("record", many)
        assert [response.error for response in responses] == [None] * 1_000
        assert {response.result["status"] for response in responses} == {"inserted"}

    at_once(lambda: fire("ada"), lambda: fire("bob"))
    with place.client() as client:
        assert client.stats()["global"] == 2_000
        assert client.call("snapshot")["files"] == ["global.json", "archive.json"]
    stored = json.loads((place.store / "global.json").read_text())["percepts"]
    assert len({percept["id"] for percept in stored}) == 2_000


def test_the_same_sentence_from_both_at_once_is_one_fact_reinforced_once(place: Place) -> None:
    place.start()
    sentences = [f"ship{n} sails for port{n} with cargo{n}" for n in range(50)]
    barrier = threading.Barrier(2)
    statuses: dict[str, list[str]] = {sentence: [] for sentence in sentences}

    def state() -> None:
        with wire(place) as client:
            for sentence in sentences:
                barrier.wait(60)
                statuses[sentence].append(client.call("record", content=sentence)["status"])

    at_once(state, state)
    assert all(sorted(pair) == ["inserted", "reinforced"] for pair in statuses.values())
    facts = all_facts(place)
    assert sorted(fact["content"] for fact in facts) == sorted(sentences)
    assert {fact["evidence"] for fact in facts} == {1}
    # Between the two statements some running time may have passed.
    assert [fact["w"] for fact in facts] == pytest.approx([0.75] * len(facts), abs=1e-6)


# How it ends, and what is left


def test_what_was_acknowledged_survives_a_kill(place: Place) -> None:
    place.start()
    acknowledged: list[set[str]] = [set(), set()]

    def state(who: int) -> None:
        with wire(place) as client:
            for number in range(1_000_000):
                content = f"note{who}x{number} about matter{who}x{number}"
                client.send("record", content=content, session=f"s{who}")
                if not client.receive():
                    return
                acknowledged[who].add(content)

    def kill() -> None:
        while min(map(len, acknowledged)) < 20:
            time.sleep(0.001)
        place.stop(signal.SIGKILL)

    at_once(lambda: state(0), lambda: state(1), kill)
    place.start()
    assert acknowledged[0] | acknowledged[1] <= contents(place)


def test_a_term_signal_ends_it_in_good_order(place: Place) -> None:
    daemon = place.start()
    with wire(place) as client:
        client.call("record", content="Ada is the user", producer="user", session="s1")
        sent = [client.send("record", content=f"note{n} on matter{n}") for n in range(30)]
        got = client.receive()
        daemon.send_signal(signal.SIGTERM)
        while more := client.receive():
            got += more
    assert daemon.wait(START) == 0
    place.daemon = None
    answered = {response.msgid: response for response in got}
    granted = [answered[msgid] for msgid in sent if msgid in answered]
    refusals = [response.error for response in granted if response.error is not None]
    assert all(error[1].startswith("shutting_down") for error in refusals)
    assert not place.socket.exists()
    place.start()
    known = {fact["id"] for fact in all_facts(place)}
    assert {r.result["id"] for r in granted if r.error is None} <= known
    with place.client() as client:
        (fact,) = client.query("Ada")["percepts"]
        assert fact["scope"] == "global"  # its session was closed with a pass


def test_signals_in_plenty_do_not_spoil_the_end(place: Place) -> None:
    daemon = place.start()
    with place.client(session="s1") as client:
        client.record("it rains today")
    while daemon.poll() is None:
        daemon.send_signal(signal.SIGTERM)
        time.sleep(0.001)
    assert daemon.returncode == 0
    place.daemon = None
    place.start()
    assert contents(place) == {"it rains today"}


def test_a_new_run_counts_as_another_corroboration(place: Place) -> None:
    for expected in (0.75, 0.8):
        place.start()
        with place.client(session="s1") as client:
            for _ in range(1 if expected == 0.8 else 2):
                outcome = client.record("the build needs make")
            assert outcome["w"] == pytest.approx(expected, abs=1e-3)
        place.stop()
    place.start()
    (fact,) = all_facts(place)
    assert fact["evidence"] == 2


def test_a_fault_that_leaves_memory_in_doubt_ends_it(place: Place) -> None:
    clumsy = (
        "import sys; from milkd.daemon import main\n"
        "class Clumsy(main.Engine):\n"
        "    def apply(self, change):\n"
        "        if getattr(getattr(change, 'percept', None), 'content', '') == 'step here':\n"
        "            raise RuntimeError('step here')\n"
        "        super().apply(change)\n"
        "main.Engine = Clumsy\n"
        "sys.exit(main.main(sys.argv[1:]))"
    )
    daemon = subprocess.Popen(
        [sys.executable, "-c", clumsy, "--socket", str(place.socket)],
        env=place.env,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + START
    while not place.socket.exists() and time.monotonic() < until:
        time.sleep(0.01)
    with wire(place) as client:
        client.call("record", content="safe ground")
        client.send("record", content="step here")
        assert client.receive() == []
    _, log = daemon.communicate(timeout=START)
    assert daemon.returncode == 70
    assert "RuntimeError" in log
    assert "step here" not in log
    place.start()
    assert contents(place) == {"safe ground"}


# Who may run


def started(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "milkd", *arguments],
        env=place.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_second_daemon_on_the_same_store_is_refused(place: Place) -> None:
    daemon = place.start()
    elsewhere = str(place.home / "other")
    second = started(place, "--store", str(place.store), "--socket", elsewhere, "--lock-wait", "0")
    assert second.returncode == 75
    assert f"pid {daemon.pid}" in second.stderr
    with place.client() as client:
        assert client.hello()["pid"] == daemon.pid


def test_a_second_daemon_on_the_same_socket_is_refused(place: Place) -> None:
    place.start()
    second = started(place, "--store", str(place.home / "other"), "--socket", str(place.socket))
    assert second.returncode == 75
    assert str(place.socket) in second.stderr


def test_a_daemon_that_waits_for_the_store_gets_it(place: Place) -> None:
    place.start()
    arguments = ["--store", str(place.store), "--socket", str(place.socket)]
    second = subprocess.Popen([sys.executable, "-m", "milkd", *arguments], env=place.env)
    try:
        place.stop()
        until = time.monotonic() + START
        while not place.socket.exists() and time.monotonic() < until:
            time.sleep(0.01)
        with place.client() as client:
            assert client.hello()["pid"] == second.pid
    finally:
        second.terminate()
        assert second.wait(START) == 0


@pytest.mark.parametrize("name", ["global", "archive"])
def test_a_damaged_file_is_named_and_left_alone_and_the_rest_is_served(
    place: Place, name: str
) -> None:
    place.store.mkdir(parents=True)
    damaged = b'{"percepts": [{"id": "a", "content": "precious'
    path = place.store / f"{name}.json"
    path.write_bytes(damaged)
    place.start()
    with place.client(session="s1") as client:
        (reason,) = client.health()["reasons"]
        assert f"{name}.json" in reason
        assert f"milkctl repair --accept-backup {name}" in reason
        assert "precious" not in reason
        assert client.record("the rest is served")["status"] == "inserted"
        assert client.list()["total"] == 1
        if name == "global":
            with pytest.raises(ReadOnly, match=r"global\.json"):
                client.learn("something for good")
    place.stop()
    assert path.read_bytes() == damaged
    place.start()
    with place.client(session="s1") as client:
        assert client.list()["total"] == 1


def test_a_fact_forgotten_after_a_move_that_was_cut_off_stays_forgotten(place: Place) -> None:
    place.store.mkdir(parents=True)
    fact = "the staging password is hunter2"
    times = dict.fromkeys(("created_at", "updated_at"), "2026-05-24T10:11:12Z")
    moved = {"id": "0b54c1de-8f0a-4c86-9a52-6a1f0e1d7c33", "content": fact, "producer": "user"}
    stays = {"id": "7d3f2a90-55e1-4b7e-8c1d-2f9b6a4e0d18", "content": "tabs", "producer": "user"}
    percepts = [each | times | {"w": 0.9} for each in (moved, stays)]
    for name, held in (("global", percepts[:1]), ("s1", percepts), ("archive", percepts[:1])):
        text = json.dumps({"percepts": held, "engrams": [], "edges": []})
        (place.store / f"{name}.json").write_text(text)
    place.start()
    with place.client() as client:
        told = client.health()
        expected = {"status": "ok", "reasons": [], "indexed": 1, "total": 1}
        assert told.items() >= expected.items()
        client.forget(fact)
    place.stop()
    place.start()
    with place.client(session="s1") as client:
        assert [each["content"] for each in client.list()["percepts"]] == ["tabs"]
        assert client.archive_list()["total"] == 0
    place.stop()
    live = "".join(path.read_text() for path in place.store.glob("*.json"))
    assert "hunter2" not in live
    assert not (place.store / ".milkd" / "quarantine").exists()


def test_a_damaged_session_does_not_keep_it_from_starting(place: Place) -> None:
    place.store.mkdir(parents=True)
    (place.store / "s1.json").write_text("{")
    place.start()
    with place.client() as client:
        assert client.health()["status"] == "degraded"
        client.record("all is well elsewhere")
        with pytest.raises(MilkdError, match=r"s1\.json"):
            client.query("anything", session="s1")
    assert (place.store / "s1.json").read_text() == "{"


def test_a_wrong_command_line_is_a_matter_of_usage(place: Place) -> None:
    assert started(place, "--stoer", "x").returncode == 64
    (place.home / "file").write_text("precious")
    ran = started(place, "--socket", str(place.home / "file"))
    assert (ran.returncode, (place.home / "file").read_text()) == (64, "precious")


def test_nobody_need_read_the_ready_line(place: Place) -> None:
    unread, tell = os.pipe()
    os.close(unread)
    place.daemon = subprocess.Popen(
        [sys.executable, "-m", "milkd", "--ready-fd", str(tell), "--socket", str(place.socket)],
        env=place.env,
        pass_fds=[tell],
    )
    os.close(tell)
    until = time.monotonic() + START
    while not place.socket.exists() and time.monotonic() < until:
        time.sleep(0.01)
    with wire(place) as client:
        assert client.call("ping") == {}


def test_a_socket_may_be_handed_over(place: Place) -> None:
    handing_over = (
        "import os, sys; os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True);"
        "os.environ |= {'LISTEN_PID': str(os.getpid()), 'LISTEN_FDS': '1'};"
        "os.execv(sys.executable, [sys.executable, '-m', 'milkd', '--idle-exit', '0.2'])"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(place.socket))
        listening.listen()
        for _ in range(2):
            number = str(listening.fileno())
            daemon = subprocess.Popen(
                [sys.executable, "-c", handing_over, number],
                env=place.env,
                pass_fds=[listening.fileno()],
            )
            with wire(place) as client:
                assert client.call("hello")["socket"] == str(place.socket)
            assert daemon.wait(START) == 0
            assert place.socket.exists()


# What it takes


def test_the_config_file_is_read_again_on_request(place: Place) -> None:
    config = place.home / ".milk" / "config.json"
    daemon = place.start()

    def boost() -> Any:
        with place.client() as client:
            return client.config()["values"]["reconfirm_boost"]["value"]

    def become(text: str, seen: Callable[[], bool]) -> None:
        config.write_text(text)
        daemon.send_signal(signal.SIGHUP)
        until = time.monotonic() + START
        while not seen() and time.monotonic() < until:
            time.sleep(0.01)
        assert seen()

    def degraded() -> bool:
        with place.client() as client:
            return client.health()["status"] == "degraded"

    become('{"memory": {"reconfirm_boost": 0.125}}', lambda: boost() == 0.125)
    become('{"memory": {"reconfirm_boost": 0.25, "prune_threshold": "x"}}', degraded)
    assert boost() == 0.125
    become('{"memory": {"reconfirm_boost": 0.25}}', lambda: boost() == 0.25)
    assert not degraded()


def test_clients_that_misbehave_disturb_nobody(place: Place) -> None:
    place.start()
    with wire(place) as good:
        good.call("record", content="a fact that stays")
        slowest = 0.0

        def ping() -> None:
            nonlocal slowest
            began = time.monotonic()
            assert good.call("ping") == {}
            slowest = max(slowest, time.monotonic() - began)

        bad = [Wire(place) for _ in range(8)]
        whole = Protocol.request(1, "list", {"limit": 500})
        for client, data in zip(
            bad,
            [
                b"\xc1" * 1_000,
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                os.urandom(65_536),
                whole[:7],
                b"",
                b"\x91" * 100_000,
                b"\xdd\xff\xff\xff\xff" + bytes(100),
                b"".join(Protocol.request(n, "query", {"text": "fact"}) for n in range(2_000)),
            ],
            strict=True,
        ):
            client.sock.setblocking(False)
            with suppress(BlockingIOError, BrokenPipeError):
                client.sock.send(data)
            ping()
        for client in bad:
            ping()
            client.close()
            ping()
        for _ in range(20):
            with wire(place) as dying:
                dying.send("record", content="said and gone")
                dying.sock.sendall(whole[:-1])
            ping()
        assert slowest < 1.0
        assert good.call("query", text="fact stays")["percepts"][0]["w"] == 0.7


def wrong_values(argument: Argument) -> list[object]:
    """Values that an argument of this kind must refuse."""
    wrong: dict[str, list[object]] = {
        "Text": [7, True, 1.5, [], {}, ["x"], b"\xff\xfe", "x" * 300_000],
        "Session": [
            "",
            "global",
            "Archive",
            "../x",
            ".x",
            "x" * 65,
            "a b",
            7,
            True,
            [],
            {},
            b"\xff",
        ],
        "Choice": ["", "nonsense", 7, True, [], {}, b"\xff"],
        "Choices": ["", [], {}, 7, ["nonsense"], [7], "percepts"],
        "Number": ["1", True, [], {}, float("nan"), float("inf"), -1, 2**63, -0.001, 1e300],
        "Whole": ["1", True, [], {}, float("nan"), float("inf"), -1, 1.0, 2**63, 1.5],
        "Flag": ["true", 1, 0, [], {}, 1.5],
        "Texts": [
            "x",
            7,
            True,
            ["x"],
            {"mood": "x"},
            {"theme": 7},
            {"theme": "x" * 2_000},
            {7: "x"},
        ],
        "Record": ["x", 7, True, [1], b"\xff", {"w": float("nan")}, {7: 1}],
        "Records": ["x", 7, {}, [7], [[1]], [{"w": float("nan")}], [{7: 1}]],
    }
    values = wrong[type(argument).__name__]
    if type(argument).__name__ == "Text":
        values += [] if getattr(argument, "empty", False) else [""]
        values += [] if getattr(argument, "blank", False) else ["  \n\t "]
        values += [] if getattr(argument, "nul", True) else ["a\0b"]
    return values


def test_bad_input_is_refused_by_name_and_changes_nothing(place: Place) -> None:
    place.start()
    with wire(place) as client:
        ids = [
            client.call("record", content=content, session="s1")["id"]
            for content in ("the first of two facts", "quite another thing")
        ]
        before = all_facts(place)
        tried = 0
        for method in METHODS.values():
            good = {a.name: method.example.arguments.get(a.name) for a in method.arguments}
            good = {name: value for name, value in good.items() if value is not None}
            good |= {name: ids[0] for name in ("ref", "from", "to") if name in method.by_name}
            cases = [(name, {**good, name: 1}) for name in ("contnet", "bogus_name")]
            for argument in method.arguments:
                cases += [
                    (argument.name, {**good, argument.name: v}) for v in wrong_values(argument)
                ]
                if argument.required:
                    rest = {name: value for name, value in good.items() if name != argument.name}
                    cases.append((argument.name, rest))
            for name, arguments in cases:
                refusal(client, method.name, name, arguments)
            tried += len(cases)
        assert tried > 500
        assert all_facts(place) == before
        assert client.call("health")["status"] == "ok"


def refusal(client: Wire, method: str, argument: str, arguments: dict[str, object]) -> None:
    """Make a call that must be refused, and name its argument."""
    client.sock.sendall(raw_request(method, arguments))
    (response,) = client.receive()
    shown = f"{method}({argument}={ascii(arguments.get(argument))[:60]}): {response.error}"
    assert response.error is not None, shown
    kind, text = response.error
    assert kind == 1, shown
    assert text.startswith((f"invalid_params: {argument}", "invalid_params: params")), shown


def raw_request(method: str, arguments: dict[str, object]) -> bytes:
    data: bytes = msgpack.packb([0, 4_000_000, method, [arguments]])
    return data


def test_refusals_of_the_engine_change_nothing_either(place: Place) -> None:
    place.start()
    with place.client(session="s1") as client:
        first = client.record("the first of two facts")["id"]
        client.record("quite another thing")
        before = all_facts(place)
        for content in (" ", "x" * 8_193, "a\0b"):
            with pytest.raises(InvalidParams, match="content"):
                client.edit(first, content)
        with pytest.raises(InvalidParams):
            client.relate(first, "extends", first)
        with pytest.raises(InvalidParams, match=r"related_to|relation"):
            client.call("record", content="half an edge", relation="extends")
        for method in ("show", "forget", "restore", "explain"):
            with pytest.raises(NotFound):
                client.call(method, ref="ffffffff")
        assert all_facts(place) == before


def test_the_log_holds_nothing_of_what_is_remembered(place: Place) -> None:
    log = place.home / "log"
    with log.open("wb") as file:
        place.daemon = subprocess.Popen(
            [sys.executable, "-m", "milkd", "--log-level", "debug", "--socket", str(place.socket)],
            env=place.env,
            stderr=file,
        )
    until = time.monotonic() + START
    while not place.socket.exists() and time.monotonic() < until:
        time.sleep(0.01)
    with place.client(session="s1") as client:
        client.record("a secret that nobody knows")
        client.query("secret")
        client.inject("what secret from Zanzibar?")
        assert client.record("a secret that nobody knows")["status"] == "echoed"
        client.consolidate()
        with pytest.raises(NotFound):
            client.show("no such secret")
        client.call("snapshot")
        (stored,) = json.loads((place.store / "s1.json").read_text())["_milkd"]["shown"]
        assert stored == client.list()["percepts"][0]["id"]
        client.session_close("s1")
        client.shutdown()
    assert place.daemon.wait(START) == 0
    place.daemon = None
    assert "secret" not in log.read_text()
    assert not [path for path in place.home.rglob("*.json") if "Zanzibar" in path.read_text()]
    assert "serves" in log.read_text()


def test_nothing_is_started_any_more_while_it_stops(place: Place) -> None:
    place.start()
    with place.client() as client:
        client.shutdown()
        with pytest.raises((MilkdError, OSError)) as refused:
            client.record("too late for this")
        assert not isinstance(refused.value, ShuttingDown) or refused.value.code == "shutting_down"
    assert place.daemon is not None
    assert place.daemon.wait(START) == 0
    place.daemon = None
