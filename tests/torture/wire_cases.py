"""Bytes that no good client sends, and what becomes of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from torture.raw import notification, pack, request

MSGID = 7  # of every request below
PING = b"\x94\x00\x07\xa4ping\x90"


class Fate(Enum):
    """What becomes of a connection, and of who sent it."""

    ANSWERED = auto()
    """The request is refused by its msgid, and the connection goes on."""
    ACCEPTED = auto()
    """It is odd, but good enough: a result."""
    REFUSED = auto()
    """One notification `error`, and the end."""
    IGNORED = auto()
    """Nothing comes back, and the connection goes on."""
    HELD = auto()
    """It may become a message yet; after a while one notification `error`, and the end."""


@dataclass(frozen=True)
class Case:
    """Bytes, their fate, and the code of the error."""

    data: bytes
    fate: Fate
    code: str | None = None


def arrays(depth: int) -> bytes:
    """So many arrays within each other."""
    return b"\x91" * (depth - 1) + b"\x90"


def record(content: bytes) -> bytes:
    """A request whose content is MessagePack already, four levels within the message."""
    return b"\x94\x00\x07\xa6record\x91\x81\xa7content" + content


def _asked(method: object, *params: object) -> bytes:
    return pack([0, MSGID, method, list(params)])


def _answered(data: bytes, code: str = "invalid_params") -> Case:
    return Case(data, Fate.ANSWERED, code)


def _refused(data: bytes, code: str = "invalid_request") -> Case:
    return Case(data, Fate.REFUSED, code)


def _held(data: bytes) -> Case:
    return Case(data, Fate.HELD, "timeout")


BIG = 2 << 20
CASES = {
    # No MessagePack, or beyond the limits.
    "the reserved byte": _refused(b"\xc1", "parse_error"),
    "a list as a key": _refused(b"\x94\x00\x07\xa4ping\x91\x81\x90\xc0", "parse_error"),
    "a map as a key": _refused(b"\x94\x00\x07\xa4ping\x91\x81\x80\xc0", "parse_error"),
    "nesting of 1,025": _refused(record(arrays(1_025)), "parse_error"),
    "nesting of 100,000": _refused(record(arrays(100_000)), "parse_error"),
    "a list of 2^31-1": _refused(b"\xdd\x7f\xff\xff\xff", "parse_error"),
    "a map of 2^32-1": _refused(b"\xdf\xff\xff\xff\xff", "parse_error"),
    "64 lists of 100 Mi in each other": _refused(b"\xdd\x06\x40\x00\x00" * 64, "parse_error"),
    "a timestamp of no time": _refused(record(b"\xd7\xff" + b"\xff" * 8), "parse_error"),
    "an extension of 2^32-1": _refused(record(b"\xc9\xff\xff\xff\xff\x05aaa"), "parse_error"),
    "2 MiB of text": _refused(record(b"\xdb" + BIG.to_bytes(4) + b"a" * BIG), "parse_error"),
    "2 MiB of binary": _refused(record(b"\xc6" + BIG.to_bytes(4) + bytes(BIG)), "parse_error"),
    "2 MiB of small lists": _refused(
        record(b"\xdc\xff\xff" + (b"\x9f" + b"\xc0" * 15) * 131_000), "parse_error"
    ),
    # MessagePack, but no message.
    "JSON": _refused(b'{"jsonrpc": "2.0", "method": "ping", "id": 7}'),
    "HTTP": _refused(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "TLS": _refused(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "a line of text": _refused(b"ping\n"),
    "nil": _refused(b"\xc0"),
    "a float": _refused(pack(0.5)),
    "a map": _refused(pack({0: 7, "method": "ping"})),
    "an empty list": _refused(b"\x90"),
    "3 elements": _refused(b"\x93\x00\x07\xa4ping"),
    "5 elements": _refused(b"\x95\x00\x07\xa4ping\x90\xc0"),
    "type false": _refused(b"\x94\xc2\x07\xa4ping\x90"),
    "type 0.0": _refused(pack([0.0, MSGID, "ping", []])),
    "type -1": _refused(b"\x94\xff\x07\xa4ping\x90"),
    "type 3": _refused(b"\x94\x03\x07\xa4ping\x90"),
    "msgid -1": _refused(b"\x94\x00\xff\xa4ping\x90"),
    "msgid 2^32": _refused(pack([0, 1 << 32, "ping", []])),
    "msgid 7.0": _refused(pack([0, 7.0, "ping", []])),
    "msgid true": _refused(b"\x94\x00\xc3\xa4ping\x90"),
    "a notification nested 25 deep": _refused(b"\x93\x02\xa1x" + arrays(24)),
    # A message, but no request that can be granted.
    "method 7": _answered(b"\x94\x00\x07\x07\x90", "invalid_request"),
    "a method without a name": _answered(b"\x94\x00\x07\xa0\x90", "invalid_request"),
    "a method of 65 bytes": _answered(_asked("x" * 65), "invalid_request"),
    "a method in bad UTF-8": _answered(b"\x94\x00\x07\xa2a\xff\x90", "invalid_request"),
    "an unknown method": _answered(_asked("png"), "method_not_found"),
    "params nil": _answered(b"\x94\x00\x07\xa4ping\xc0", "invalid_request"),
    "params text": _answered(b"\x94\x00\x07\xa4ping\xa1a", "invalid_request"),
    "two params": _answered(_asked("ping", {}, {}), "invalid_request"),
    "an unknown argument": _answered(_asked("query", {"txt": "tabs"})),
    "an argument named 5": _answered(_asked("query", {5: "tabs"})),
    "content in bad UTF-8": _answered(record(b"\xa2a\xff")),
    "content with a lone surrogate": _answered(record(b"\xa3\xed\xa0\x80")),
    "content with NUL": _answered(record(b"\xa3a\x00b")),
    "content of an extension": _answered(record(b"\xd4\x05\x00")),
    "content of a timestamp": _answered(record(b"\xd6\xff" + bytes(4))),
    "content of 64 KiB and one": _answered(_asked("record", {"content": "a" * 65_537})),
    "nesting of 25": _answered(record(arrays(22))),
    "nesting of 33": _answered(record(arrays(30))),
    "nesting of 1,000": _answered(record(arrays(997))),
    "a limit of true": _answered(_asked("list", {"limit": True})),
    "a limit of 2^64-1": _answered(_asked("list", {"limit": (1 << 64) - 1})),
    "a strength of NaN": _answered(_asked("list", {"min_w": float("nan")})),
    "a session that leads elsewhere": _answered(_asked("list", {"session": "../../etc"})),
    # Odd, but what some client sends.
    "no params but a map": Case(b"\x94\x00\x07\xa4ping\x80", Fate.ACCEPTED),
    "Lua's empty table": Case(b"\x94\x00\x07\xa4ping\x91\x90", Fate.ACCEPTED),
    "names in binary": Case(_asked(b"list", {b"limit": 5}), Fate.ACCEPTED),
    "a whole number for a strength": Case(_asked("list", {"min_w": 1}), Fate.ACCEPTED),
    "nil for what may be absent": Case(_asked("list", {"session": None}), Fate.ACCEPTED),
    "a length in more bytes than it takes": Case(
        b"\xdd\x00\x00\x00\x04\x00\xce\x00\x00\x00\x07\xdb\x00\x00\x00\x04ping\xdc\x00\x00",
        Fate.ACCEPTED,
    ),
    # What wants no answer.
    "nothing": Case(b"", Fate.IGNORED),
    "an unknown notification": Case(notification("nvim_error_event", 0, "?"), Fate.IGNORED),
    "a notification of a request": Case(notification("shutdown", {}), Fate.IGNORED),
    "a cancel of nothing": Case(notification("cancel", 99), Fate.IGNORED),
    "a cancel of something else": Case(notification("cancel", {"x": []}, "y"), Fate.IGNORED),
    "a response to nobody": Case(b"\x94\x01\x07\xc0\x80", Fate.IGNORED),
    # What is not over yet.
    "the first two bytes": _held(b"\x94\x00"),
    "all but the last byte": _held(request(MSGID, "query", {"text": "tabs"})[:-1]),
    "text of 2^32-1": _held(record(b"\xdb\xff\xff\xff\xff" + b"a" * 100)),
    "binary of 2^32-1": _held(record(b"\xc6\xff\xff\xff\xff" + b"a" * 100)),
    "lists that are not filled": _held(record(b"\xdc\xff\xff" * 20)),
}
