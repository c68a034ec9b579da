"""MessagePack-RPC over a byte stream, without any I/O.

A `Connection` turns bytes from the peer into messages and messages into bytes for
the peer; daemon and client use the same one.  Whoever owns the socket calls
`receive_data()` with what it read, and writes what the encoders return.
"""

from __future__ import annotations

import msgpack

from milkd.errors import Internal, InvalidParams, InvalidRequest, ParseError, TooLarge
from milkd.rpc.frames import MAX_METHOD, message
from milkd.rpc.messages import NOTIFICATION, REQUEST, RESPONSE, Notification, Request, Response
from milkd.rpc.values import (
    MAX_DEPTH,
    MAX_ITEMS,
    alone,
    error_from_wire,
    error_to_wire,
    plain,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.errors import WireError

__all__ = [
    "MAX_DEPTH",
    "MAX_ITEMS",
    "MAX_MESSAGE",
    "MAX_METHOD",
    "MAX_RESPONSE",
    "READ_SIZE",
    "Connection",
    "error_from_wire",
    "error_to_wire",
]

MAX_MESSAGE = 1 << 20  # bytes of a message to the daemon
MAX_RESPONSE = 8 << 20  # bytes of a message from the daemon
READ_SIZE = 64 << 10  # bytes to ask of a socket at once

# ValueError covers every limit and format error of msgpack, TypeError a list or map as the key
# of a map; the pure-Python codec meets deep nesting with RecursionError.
UNREADABLE = (ValueError, TypeError, RecursionError, msgpack.UnpackException)

_idle: list[msgpack.Packer] = []


class Connection:
    """One side of a connection.

    Args:
        max_message: Bytes of the longest message accepted; MAX_RESPONSE on the client's side.
    """

    __slots__ = ("_fault", "_fed", "_max_message", "_start", "_unpacker")

    def __init__(self, *, max_message: int = MAX_MESSAGE) -> None:
        self._max_message = max_message
        self._fault: ParseError | InvalidRequest | None = None
        self._fed = 0
        self._start = 0  # where the message that is being received begins in the stream
        self._unpacker = msgpack.Unpacker(
            raw=False,
            # Invalid UTF-8 must not cost the connection: the schema refuses it by name.
            unicode_errors="surrogateescape",
            strict_map_key=False,
            max_buffer_size=max_message + READ_SIZE,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
        )

    @property
    def broken(self) -> bool:
        """Whether the stream cannot be read any further: the next `receive_data` raises."""
        return self._fault is not None

    def has_partial(self) -> bool:
        """Whether a message has begun that is not complete yet."""
        return self._fed > self._start

    def receive_data(self, data: bytes) -> list[Request | Response | Notification]:
        """The messages that `data` completes.

        A fault behind complete messages is kept until they are returned: `broken` is true
        then, and the next call (`receive_data(b"")` will do) raises it.

        Raises:
            ParseError: The bytes are not MessagePack, or exceed a limit.
            InvalidRequest: A value that is no message, so that there is no msgid to answer.
                After either, every call raises: where the next message begins is unknown.
        """
        messages: list[Request | Response | Notification] = []
        if self._fault is None:
            try:
                if len(data) <= READ_SIZE:
                    self._read(data, messages)
                else:
                    for start in range(0, len(data), READ_SIZE):
                        self._read(data[start : start + READ_SIZE], messages)
            except (ParseError, InvalidRequest) as error:
                self._fault = alone(error)
        if self._fault is not None and not messages:
            raise type(self._fault)(*self._fault.args) from self._fault.__cause__
        return messages

    def _read(self, data: bytes, messages: list[Request | Response | Notification]) -> None:
        unpacker, start = self._unpacker, self._start
        try:
            unpacker.feed(data)
            fed = self._fed = self._fed + len(data)
            while start < fed:  # to find that out from the unpacker costs more
                value = unpacker.unpack()
                end = unpacker.tell()
                if end - start > self._max_message:
                    raise self._too_long()
                messages.append(message(value))
                self._start = start = end
        except msgpack.OutOfData:
            # The unpacker counts only what it has not looked at yet, which is little.
            if self._fed - start > self._max_message:
                raise self._too_long() from None
        except UNREADABLE as error:
            raise ParseError("not MessagePack, or an array or map beyond the limits") from error

    def _too_long(self) -> ParseError:
        return ParseError(f"a message of more than {self._max_message:,} bytes")

    @staticmethod
    def request(msgid: int, method: str, arguments: Mapping[str, object]) -> bytes:
        """Encode a call.

        Raises:
            InvalidParams: An argument has no MessagePack form, such as text with lone surrogates.
            TooLarge: The request exceeds MAX_MESSAGE.
        """
        try:
            data = _pack([REQUEST, msgid, method, [arguments] if arguments else []])
        except (ValueError, OverflowError) as error:
            raise InvalidParams(
                _culprit(arguments),
                "found a value with no UTF-8 or 64-bit form, expected valid text and numbers",
            ) from error
        if len(data) > MAX_MESSAGE:
            raise TooLarge(f"request of {len(data):,} bytes, at most {MAX_MESSAGE:,} are accepted")
        return data

    @staticmethod
    def response(msgid: int, result: object, *, as_string: bool = False) -> bytes:
        """Encode a result; whatever it holds, something that the client can read is returned.

        Args:
            msgid: Of the request.
            result: See `plain()` for what becomes of odd values.
            as_string: How to write the error if the result cannot be sent.
        """
        try:
            data = _pack([RESPONSE, msgid, None, plain(result)])
            if len(data) <= MAX_RESPONSE:
                return data
            error: WireError = TooLarge(
                f"an answer of {len(data):,} bytes, at most {MAX_RESPONSE:,} are sent at once; "
                "ask for less, such as by a lower limit"
            )
        except TooLarge as too_large:
            error = too_large
        except (TypeError, ValueError, OverflowError):
            error = Internal("the answer has no MessagePack form")
        return Connection.error(msgid, error, as_string=as_string)

    @staticmethod
    def error(msgid: int, error: WireError, *, as_string: bool = False) -> bytes:
        """Encode a refusal or failure."""
        return _pack([RESPONSE, msgid, error_to_wire(error, as_string=as_string), None])

    @staticmethod
    def notification(method: str, *params: object) -> bytes:
        """Encode a message that wants no answer; `params` is usually one map of arguments."""
        return _pack([NOTIFICATION, method, plain(params)])


def _pack(value: object) -> bytes:
    """Encode; a packer costs twice what it does for a small message, and serves one at a time."""
    try:
        packer = _idle.pop()
    except IndexError:
        packer = msgpack.Packer(use_bin_type=True)
    data: bytes = packer.pack(value)
    if len(data) <= READ_SIZE:  # else it has grown
        _idle.append(packer)
    return data


def _culprit(arguments: Mapping[str, object]) -> str:
    for name, value in arguments.items():
        try:
            _pack(value)
        except (ValueError, OverflowError):
            return name
    return "params"
