"""A client that takes nothing for granted: bytes into a socket, and what comes back, strictly read.

It knows MessagePack and the shape of the protocol from its description alone, so that a
mistake of milkd's own codec shows.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import msgpack

if TYPE_CHECKING:
    from types import TracebackType

PATIENCE = 60.0  # seconds for anything that must happen, on a busy machine
CODES = {
    *("parse_error", "invalid_request", "method_not_found", "invalid_params", "not_found"),
    *("ambiguous", "too_large", "conflict", "read_only", "storage_full", "storage_failed"),
    *("store_damaged", "overloaded", "timeout", "cancelled", "shutting_down", "version_mismatch"),
}
"""All but `internal`, which no client ever deserves."""
DEEPEST = 24
PING_ID = 4_000_000_000
GONE = (BrokenPipeError, ConnectionResetError)


class Raw:
    """One connection."""

    def __init__(self, path: object) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(str(path))  # without a time limit: with one, a crowd is an error
        except OSError:
            self.socket.close()
            raise
        self.socket.settimeout(PATIENCE)
        self.messages: list[Any] = []
        """What came and was not asked for yet, in order."""
        self.ended = False
        self._unpacker = msgpack.Unpacker(raw=False, max_buffer_size=64 << 20, ext_hook=_no_ext)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """Send all of it; false when the daemon has hung up before that."""
        with suppress(*GONE):
            self.socket.sendall(data)
            return True
        return False

    def finish(self) -> None:
        """Send no more, as `nc -N` does at the end of its input."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def read(self) -> bool:
        """Wait for something; false at the end of the connection."""
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        self._unpacker.feed(data)
        for message in self._unpacker:
            check_message(message)
            self.messages.append(message)
        self.ended = self.ended or not data
        return bool(data)

    def rest(self) -> list[Any]:
        """All messages to the end of the connection."""
        until = time.monotonic() + PATIENCE
        while self.read():
            assert time.monotonic() < until, "the connection does not end"
        return self.messages

    def next(self) -> Any:
        """The next message; None at the end of the connection."""
        while not self.messages and self.read():
            pass
        return self.messages.pop(0) if self.messages else None

    def response(self, msgid: int) -> Any:
        """The response to a request: `[1, msgid, error, result]`; None if the connection ends."""
        while True:
            for message in self.messages:
                if message[:2] == [1, msgid]:
                    self.messages.remove(message)
                    return message
            if not self.read():
                return None

    def call(self, method: str, **arguments: object) -> Any:
        """The result of a call that goes well."""
        self.send(request(PING_ID - 1, method, arguments))
        response = self.response(PING_ID - 1)
        assert response is not None, "the connection ended before the response"
        assert response[2] is None, response[2]
        return response[3]

    def ping(self) -> None:
        """See that the connection is served."""
        assert self.send(request(PING_ID, "ping")), "the connection has ended"
        assert self.response(PING_ID) == [1, PING_ID, None, {}]


def request(msgid: int, method: str, arguments: object = None) -> bytes:
    """A request with one map of arguments."""
    return pack([0, msgid, method, [arguments or {}]])


def notification(method: str, *params: object) -> bytes:
    """A message that wants no answer."""
    return pack([2, method, list(params)])


def pack(value: object) -> bytes:
    """Any value as bytes; a lone surrogate goes out as some JavaScript clients send it."""
    data: bytes = msgpack.packb(value, use_bin_type=True, unicode_errors="surrogatepass")
    return data


def check_message(message: Any) -> None:
    """Hold a message of the daemon's to the protocol."""
    assert type(message) is list, message
    if message[0] == 1:
        _, msgid, error, result = message
        assert type(msgid) is int
        if error is not None:
            assert result is None
            code_of(error)
    else:
        kind, method, params = message
        assert kind == 2, message
        assert method in ("event", "error"), method
        if method == "error":
            (text,) = params
            code_in(text)
    _check_plain(message, DEEPEST)


def code_of(error: Any) -> str:
    """The code of `[0|1, "code: sentence"]`."""
    kind, text = error
    assert kind in (0, 1)
    return code_in(text)


def code_in(text: Any) -> str:
    """The code of `code: sentence`."""
    code, colon, sentence = text.partition(": ")
    assert code in CODES, text
    assert colon, text
    assert sentence, text
    return str(code)


def _check_plain(value: Any, room: int) -> None:
    """Only what every client can read: no bin, no ext, text keys, 64 bits, no deep nests."""
    if isinstance(value, (list, dict)):
        assert room > 0, "a message nests too deep"
        if isinstance(value, dict):
            assert all(type(key) is str and key for key in value), value
        for item in value.values() if isinstance(value, dict) else value:
            _check_plain(item, room - 1)
    else:
        assert value is None or type(value) in (bool, int, float, str), value
        assert type(value) is not int or -(2**63) <= value < 2**63, value


def _no_ext(code: int, data: bytes) -> None:
    raise AssertionError(f"an extension of type {code} with {len(data)} bytes")
