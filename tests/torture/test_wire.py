"""T8: a daemon is sent every kind of rubbish, and nobody else notices.

After each case a ping on another connection is answered; in the end the daemon is no
larger than it was.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgpack
import pytest
from hypothesis import given, settings

from places import ROOT
from rpc.calls import Call, calls, mangled
from torture.household import Household
from torture.raw import Raw, code_in, code_of, request
from torture.size import LONG, ROUND, SECONDS, size
from torture.watching import body, configure
from torture.wire_cases import CASES, MSGID, PING, Case, Fate

if TYPE_CHECKING:
    from collections.abc import Iterator

GROWTH = 20 << 20  # bytes
PARTIAL = 1.0  # seconds that half a message may be held
FAREWELL = 0.9  # seconds; a little less than `farewell_s`
MEMORY = "/dev/shm"
TESTS = Path(__file__).parents[1]
FUZZER = Path(__file__).with_name("fuzz_wire.py")
FUZZ_S = min(600, SECONDS)  # of a round; six make an hour

pytestmark = pytest.mark.lasting


class Target:
    """A daemon, somebody who misbehaves, and another who only wants to be served."""

    def __init__(self, household: Household) -> None:
        self.household = household
        self.other = Raw(household.socket)
        self._mischief: Raw | None = None

    def connect(self) -> Raw:
        return Raw(self.household.socket)

    def mischief(self) -> Raw:
        """A connection that is kept for as long as the daemon does."""
        if self._mischief is None or self._mischief.ended:
            self.close()
            self._mischief = self.connect()
        return self._mischief

    def close(self) -> None:
        if self._mischief is not None:
            self._mischief.socket.close()


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    """One daemon for all of it; in the end it is no larger than it was.

    Its store is in memory, if there is such a place: the disk is not what this is about.
    """
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    with Household() as household, tempfile.TemporaryDirectory(dir=memory) as directory:
        household.store = Path(directory) / "memory"
        configure(household, partial_s=PARTIAL)
        household.start()
        made = Target(household)
        made.other.call("record", content="the user indents with tabs", session="s1")
        made.other.call("query", text="tabs", session="s1")
        before = body(household).memory()
        yield made
        grown = body(household).memory() - before
        assert made.other.call("health")["status"] == "ok"
        made.close()
        made.other.socket.close()
        assert household.end() == 0
        assert grown < GROWTH, f"the daemon has grown by {grown >> 20} MiB"


def check_fate(raw: Raw, case: Case) -> None:
    """See what becomes of who sent it."""
    if case.fate in (Fate.REFUSED, Fate.HELD):
        (message,) = raw.rest()
        assert message[:2] == [2, "error"]
        assert code_in(message[2][0]) == case.code
        return
    if case.fate is not Fate.IGNORED:
        _, msgid, error, _ = raw.next()
        assert msgid == MSGID
        assert (error and code_of(error)) == case.code
    raw.ping()
    assert raw.messages == []


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.fate is not Fate.HELD])
def test_rubbish_has_its_fate_and_nobody_else_notices(target: Target, name: str) -> None:
    with target.connect() as raw:
        raw.send(CASES[name].data)
        target.other.ping()
        check_fate(raw, CASES[name])
    target.other.ping()


def test_what_comes_before_rubbish_is_answered(target: Target) -> None:
    for case in CASES.values():
        if case.fate is Fate.REFUSED:
            with target.connect() as raw:
                raw.send(PING + case.data + PING)
                assert raw.next() == [1, 7, None, {}]
                check_fate(raw, case)
            target.other.ping()


def test_half_a_message_may_be_held_for_a_while_and_no_longer(target: Target) -> None:
    held = [case for case in CASES.values() if case.fate is Fate.HELD]
    raws = [target.connect() for _ in held]
    for raw, case in zip(raws, held, strict=True):
        raw.send(PING + case.data)
        assert raw.next() == [1, 7, None, {}]
        target.other.ping()
    for raw, case in zip(raws, held, strict=True):
        with raw:
            check_fate(raw, case)
        target.other.ping()


def test_half_a_message_may_be_left_behind(target: Target) -> None:
    for case in CASES.values():
        if case.fate is Fate.HELD:
            with target.connect() as raw:
                raw.send(PING + case.data)
                raw.finish()
                assert raw.rest() == [[1, 7, None, {}]]
            target.other.ping()


READING = (
    request(1, "ping")
    + request(2, "similar", {"text": "tabs – spaces", "session": "s1", "limit": 3})
    + b"\x93\x02\xa6cancel\x91\x63"
    + request(3, "resolve", {"ref": "the user indents with tabs", "session": "s1"})
    + request(4, "nonsense", {"a": [0.5, None, {"b": b"c"}]})
    + request(5, "list", {"session": "s1", "limit": 2})
    + request(6, "ping")
)


def answers(target: Target, pieces: list[bytes]) -> list[Any]:
    """What a session gets that is sent in these pieces."""
    with target.connect() as raw:
        for piece in pieces:
            raw.send(piece)
            target.other.ping()  # by then the daemon has taken the piece
        raw.finish()
        return raw.rest()


def test_pieces_make_no_difference(target: Target) -> None:
    whole = answers(target, [READING])
    assert [message[1] for message in whole] == [1, 2, 3, 4, 5, 6]
    for cut in range(1, len(READING)):
        assert answers(target, [READING[:cut], READING[cut:]]) == whole, f"cut at {cut}"
    assert answers(target, [READING[at : at + 1] for at in range(len(READING))]) == whole


@settings(max_examples=size(2_000, 20_000), derandomize=size(True, False))
@given(call=calls())
def test_any_arguments_are_answered(target: Target, call: Call) -> None:
    raw = target.mischief()
    raw.send(call.encoded(MSGID))
    response = raw.response(MSGID)
    assert response is not None, "the connection ended before the response"
    assert [message for message in raw.messages if message[1] != "event"] == []
    raw.messages.clear()
    target.other.ping()


WRITING = [
    request(1, "hello", {"client": "fuzz", "version": "1"}),
    request(2, "subscribe", {"topics": ["percepts", "sessions"]}),
    request(3, "record", {"content": "lunch is at noon", "session": "s1", "op_id": "a"}),
    request(4, "record", {"content": "the user's name is Ada", "roles": {"agent": "Ada"}}),
    b"\x93\x02\xa6cancel\x91\x04",
    request(5, "query", {"text": "lunch", "session": "s1", "min_confidence": 0.25}),
    request(6, "inject", {"prompt": "when is lunch?", "session": "s1", "explain": True}),
    request(7, "list", {"sort": "w", "limit": 3}),
    request(8, "forget", {"ref": "lunch is at noon", "session": "s1"}),
    request(9, "import", {"records": [{"kind": "edge", "scope": "global"}], "final": True}),
    request(10, "session_close", {"session": "s1"}),
]


@settings(max_examples=size(400, 20_000), derandomize=size(True, False))
@given(damage=mangled(WRITING))
def test_a_damaged_session_harms_nobody(target: Target, damage: tuple[bytes, int]) -> None:
    data, sound = damage
    asked = [message[1] for message in map(unpack, WRITING[:sound]) if message[0] == 0]
    began = time.monotonic()
    with target.connect() as raw:
        raw.send(data)
        raw.finish()
        messages = raw.rest()
    answered = [message[1] for message in messages if message[0] == 1][: len(asked)]
    # Who has stopped sending is not waited for longer than this, however slow the disk is.
    complete = time.monotonic() - began < FAREWELL
    assert answered == (asked if complete else asked[: len(answered)])
    check_farewell(messages)
    target.other.ping()


def check_farewell(messages: list[Any]) -> None:
    """At most one error ends it all; an event may still cross it."""
    kinds = ["error" if message[1] == "error" else message[0] for message in messages]
    if "error" in kinds:
        after = kinds[kinds.index("error") + 1 :]
        assert set(after) <= {2}


def unpack(message: bytes) -> Any:
    return msgpack.unpackb(message)


@pytest.mark.skipif(not LONG, reason="takes minutes; make torture T=T8")
def test_a_fuzzer_that_sees_which_lines_run_finds_nothing(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("needs atheris: pip install --group fuzz")
    kept = TESTS.parent / ".torture" / "wire"
    kept.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(FUZZER), str(kept), f"-max_total_time={FUZZ_S:.0f}"]
    command += [f"-seed={ROUND + 1}", f"-artifact_prefix={kept.parent}/wire-"]
    path = os.pathsep.join([str(TESTS), str(ROOT), os.environ.get("PYTHONPATH", "")])
    surroundings = os.environ | {"PYTHONPATH": path, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings)
    (tmp_path / "log").write_text(done.stderr)
    assert done.returncode == 0, done.stderr[-4_000:]
