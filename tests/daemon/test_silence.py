"""No log holds a fact, a prompt or anything else that a client or a file of the store said."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

import milkd
from milkd.dial import dial
from milkd.link import Link
from milkd.rpc.arguments import Session, Text
from milkd.rpc.compounds import Texts
from milkd.rpc.schema import METHODS
from places import START, Place
from torture.household import until

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "qzcanary"
FACT = f"the {CANARY} prefers tabs over spaces in every file of the project"
DAEMON = """
import sys
import milkd.daemon.main as it
from milkd.engine.engine import Engine
decide, apply = Engine.decide, Engine.apply
def decide_or_fail(self, command, now):
    if "please fail" in repr(command):
        raise RuntimeError(repr(command))
    return decide(self, command, now)
def apply_or_fail(self, change):
    if "please die" in repr(change):
        raise RuntimeError(repr(change))
    return apply(self, change)
Engine.decide, Engine.apply = decide_or_fail, apply_or_fail
sys.exit(it.main(sys.argv[1:]))
"""
STRANGE: tuple[object, ...] = (
    CANARY,
    [CANARY],
    {CANARY: CANARY},
    {"agent": 7, CANARY: {CANARY: [CANARY]}},
    [{"kind": CANARY, "scope": CANARY, "content": FACT}],
    CANARY.encode() + b"\xff",
    CANARY * 200_000,
    f"{CANARY}\0",
    f"../{CANARY}",
    -1,
)


class Talkative(Place):
    """A home whose daemon says all it can, and fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.said = self.home / "stderr"

    def begin(self) -> None:
        command = [sys.executable, "-c", DAEMON, "--log-level", "debug"]
        with self.said.open("ab") as log:
            self.daemon = subprocess.Popen(
                [*command, "--store", str(self.store), "--socket", str(self.socket)],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.wait_for_socket()

    def wait_for_socket(self) -> None:
        def is_there() -> bool:
            with suppress(milkd.MilkdError), self.client() as client:
                return bool(client.hello())
            return False

        until(is_there)

    def ask(self, method: str, arguments: Any) -> object:
        """Ask on a connection of its own, for whatever comes."""
        with closing(Link(dial(str(self.socket), timeout=START))) as link:
            try:
                return link.ask(method, arguments, timeout=START)
            except milkd.MilkdError as error:
                return error

    def check(self, *expected: str) -> None:
        """The canary is not heard; that the rest is shows that somebody spoke."""
        said = self.said.read_text()
        heard = [line for line in said.splitlines() if CANARY in line]
        assert heard == []
        for words in expected:
            assert words in said


@pytest.fixture
def place() -> Iterator[Talkative]:
    with Talkative() as made:
        made.begin()
        yield made


def sound(name: str) -> dict[str, object]:
    """Arguments that a method takes, which say the canary wherever they can."""
    found: dict[str, object] = dict(METHODS[name].example.arguments)
    for argument in METHODS[name].arguments:
        if argument.name in ("ref", "from", "to", "content", "related_to"):
            found[argument.name] = FACT
        elif argument.name == "relation":
            found[argument.name] = "extends"
        elif argument.name in ("cursor", "op_id"):
            found.pop(argument.name, None)
        elif isinstance(argument, Text):
            found[argument.name] = f"{CANARY} {argument.name}"
        elif isinstance(argument, Texts):
            found[argument.name] = {"agent": CANARY}
        elif isinstance(argument, Session):
            found[argument.name] = "s1"
    return found


def calls() -> Iterator[tuple[str, object]]:
    for name, method in METHODS.items():
        if name in ("shutdown", "session_drop", "forget"):
            continue
        yield "learn", {"content": FACT}  # the calls before may have changed or moved it
        yield name, sound(name)
        yield name, {CANARY: CANARY}
        yield name, [CANARY]
        for argument in method.arguments:
            for value in STRANGE:
                yield name, sound(name) | {argument.name: value}
    yield CANARY, {}
    yield "forget", {"ref": FACT}
    yield "forget", {"ref": "qzcanary nothing of that kind"}


def test_whatever_is_called_nothing_of_it_is_logged(place: Talkative) -> None:
    place.ask("learn", {"content": FACT})
    answers = [(name, place.ask(name, arguments)) for name, arguments in calls()]
    granted = {name for name, answer in answers if isinstance(answer, dict)}
    refused = {name for name, answer in answers if not isinstance(answer, dict)}
    assert len(granted) > 20
    assert len(refused) > 25
    for data in (b"\xc1" + CANARY.encode(), b"\x94\x00\x01\xa8" + CANARY.encode() + b"\x91\xc0"):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(place.socket))
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(4096):
                pass
    with place.client("s1") as client:
        assert CANARY in client.list()["percepts"][0]["content"]
    place.check(" serves ", "a connection is closed: parse_error")


def test_of_a_call_that_fails_only_the_place_is_logged(place: Talkative) -> None:
    error = place.ask("record", {"content": f"please fail {CANARY}"})
    assert isinstance(error, milkd.errors.Internal)
    place.check("'record' failed", "RuntimeError", "in decide_or_fail")
    place.ask("record", {"content": f"please die {CANARY}"})
    assert place.daemon is not None
    assert place.daemon.wait(START) == 70
    place.check("a decision could not be applied", "in apply_or_fail")


def as_file(*percepts: dict[str, Any], **more: object) -> str:
    return json.dumps({"percepts": list(percepts), "edges": [], "engrams": []} | more)


def fact(number: int, **more: object) -> dict[str, Any]:
    return {
        "id": f"3b1f0000-0000-4000-8000-{number:012}",
        "content": f"{FACT} {number}",
        "producer": "user",
        "w": 0.5,
        "created_at": "2026-03-02T09:15:00Z",
        "updated_at": "2026-03-02T09:15:00Z",
    } | more


DAMAGED = {
    "a value of another kind": as_file(fact(1), fact(2, w=FACT), fact(3, roles=FACT)),
    "a time that is none": as_file(fact(1, created_at=FACT), fact(2, updated_at=CANARY)),
    "a wording that is none": as_file(fact(1, wordings=[FACT, {"content": 5, "at": FACT}])),
    "a short text": as_file(fact(1, w=CANARY), fact(2, producer=CANARY), fact(3, id=CANARY)),
    "a key that comes twice": as_file(fact(1)).replace('"w"', f'"{CANARY}": 1, "{CANARY}"'),
    "edges that are none": as_file(fact(1), edges=[FACT, {"from": FACT, "to": CANARY}]),
    "unknown keys": as_file(fact(1, **{CANARY: FACT}), **{FACT: CANARY}),
    "our own block": as_file(fact(1), _milkd={"seq": FACT, "sum": CANARY, "touched": {FACT: FACT}}),
    "no JSON": as_file(fact(1))[:-40],
    "junk behind": as_file(fact(1)) + FACT,
    "no UTF-8": as_file(fact(1)).replace("tabs", "\udcff"),
    "a text": json.dumps(FACT),
    "nothing": "",
}


def test_whatever_a_person_makes_of_a_file_nothing_of_it_is_logged(place: Talkative) -> None:
    place.ask("learn", {"content": f"{FACT} for good"})
    place.ask("record", {"content": FACT, "session": "s1"})
    place.ask("snapshot", {})
    for number, text in enumerate(DAMAGED.values()):
        name = "global.json" if number % 2 else "s1.json"
        (place.store / name).write_bytes(text.encode(errors="surrogateescape"))
        place.ask("reload", {})
        place.ask("query", {"text": CANARY, "session": "s1"})
        place.ask("record", {"content": f"{FACT} {number}", "session": "s1"})
        place.ask("consolidate", {})
        place.ask("snapshot", {})
        place.ask("forget", {"ref": f"{FACT} {number}", "session": "s1"})
    until(lambda: "was changed by another program" in place.said.read_text())
    place.stop()
    place.check("global.json")


def test_whatever_is_damaged_at_the_start_nothing_of_it_is_logged(place: Talkative) -> None:
    place.stop()
    for number, text in enumerate(DAMAGED.values()):
        (place.store / f"s{number}.json").write_bytes(text.encode(errors="surrogateescape"))
    for whole in ("a short text", "a wording that is none", "a text"):
        for name in ("global.json", "archive.json"):
            (place.store / name).write_text(DAMAGED[whole])
        place.begin()
        for number in range(len(DAMAGED)):
            place.ask("query", {"text": CANARY, "session": f"s{number}"})
        place.ask("record", {"content": f"{FACT} again", "session": "s1"})
        place.stop()
    place.check("WARNING", ': found "…", expected an object')


def test_a_damaged_journal_and_a_config_that_is_wrong_are_not_quoted(place: Talkative) -> None:
    place.ask("learn", {"content": FACT})
    place.ask("record", {"content": FACT, "session": "s1"})
    place.stop(signal.SIGKILL)
    (journal,) = (place.store / ".milkd").glob("journal.*")
    whole = journal.read_bytes()
    config = place.home / ".milk" / "config.json"
    for damaged in (whole[:-9], whole.replace(b"tabs", b"taps"), whole.replace(b'"c"', b'"d"')):
        journal.write_bytes(damaged)
        config.write_text(json.dumps({"api_key": CANARY, "memory": {"no_knob": [CANARY]}}))
        place.begin()
        place.ask("health", {})
        place.stop(signal.SIGKILL)
    place.check("no_knob")
