"""One connection to the daemon: a request goes out, its answer comes in.

A `Link` owns a connected socket and the protocol's state over it.  Once it fails
it is closed for good; whether to make another one is the client's to decide.
"""

from __future__ import annotations

import struct  # msgpack has imported it
from time import monotonic

from milkd.errors import ConnectionLost, Internal, Unanswered
from milkd.rpc.messages import Notification, Response
from milkd.rpc.protocol import MAX_RESPONSE, READ_SIZE, Connection
from milkd.rpc.values import error_from_wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import _socket as net
    from collections.abc import Mapping
    from typing import Any

    from milkd.rpc.messages import Request
else:
    from milkd.dial import net

__all__ = ["Link"]

SLACK = 0.1  # part of its time by which a call may take longer than it should


class Link:
    """A connected socket that speaks the protocol.

    Attributes:
        silent: Whether the daemon has sent nothing since the latest request, so that the
            request may be sent again elsewhere.
        delivered: Whether the latest request went out whole, so that it may have been granted.
        closed: Whether the link can be used no more.
    """

    __slots__ = (
        "_connection",
        "_inbox",
        "_limit",
        "_msgid",
        "_socket",
        "closed",
        "delivered",
        "silent",
    )

    def __init__(self, sock: _socket.socket) -> None:
        sock.settimeout(None)  # the kernel keeps the time: that saves two calls a request
        self._socket = sock
        self._limit = 0.0  # seconds that a call may take
        self._connection = Connection(max_message=MAX_RESPONSE)
        self._inbox: list[Request | Response | Notification] = []
        self._msgid = 0
        self.silent = True
        self.delivered = False
        self.closed = False

    def close(self) -> None:
        """Close the socket; safe to call again."""
        self.closed = True
        self._socket.close()

    def ask(
        self, method: str, arguments: Mapping[str, object], *, timeout: float | None
    ) -> dict[str, Any]:
        """Send a request and wait at most `timeout` seconds for its result.

        Raises:
            WireError: The daemon's refusal or failure.
            Unanswered: No answer in time; the link is closed.
            ConnectionLost: The daemon went away; the link is closed.
        """
        self._msgid = (self._msgid + 1) & 0xFFFF_FFFF
        data = self._connection.request(self._msgid, method, arguments)
        deadline = None if timeout is None else monotonic() + timeout
        self.silent = True
        self.delivered = False
        try:
            self._send(data, deadline)
            answer = self._answer(deadline)
        except (TimeoutError, BlockingIOError) as error:
            self.close()
            raise Unanswered(
                f"no answer within {timeout:g} s (is the daemon stopped, or overloaded?)"
            ) from error
        except BaseException:
            self.close()
            raise
        if answer.error is not None:
            raise error_from_wire(answer.error)
        if not isinstance(answer.result, dict):
            raise Internal(f"the answer to {method} is not a map")
        return answer.result

    def notice(self) -> Notification:
        """Wait, for however long, for the next message that is no answer."""
        try:
            while True:
                message = self._next(None)
                if isinstance(message, Notification):
                    return message
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """The descriptor of the socket."""
        return self._socket.fileno()

    def has_news(self) -> bool:
        """Whether a message was received with an earlier one, or anything is to be read."""
        from select import select

        return bool(self._inbox) or bool(select([self._socket], [], [], 0)[0])

    def _send(self, data: bytes, deadline: float | None) -> None:
        """Send it all; if the peer is gone, what it said before it went is still to be read."""
        try:
            self._limit_to(deadline)
            self._socket.sendall(data)
            self.delivered = True
        except (BrokenPipeError, ConnectionResetError):
            pass

    def _answer(self, deadline: float | None) -> Response:
        """The response to the latest request; notifications that come before it are kept."""
        if not self._inbox:  # nearly always the answer comes alone
            messages = self._connection.receive_data(self._receive(deadline))
            if len(messages) == 1:
                message = messages[0]
                if type(message) is Response and message.msgid == self._msgid:
                    return message
            self._inbox = messages
        kept: list[Request | Response | Notification] = []
        while True:
            message = self._next(deadline)
            if isinstance(message, Response) and message.msgid == self._msgid:
                self._inbox = kept + self._inbox
                return message
            if isinstance(message, Notification):
                kept.append(message)

    def _next(self, deadline: float | None) -> Request | Response | Notification:
        """The next message of whatever kind; an `error` notification is raised."""
        while not self._inbox:
            self._inbox = self._connection.receive_data(self._receive(deadline))
        message = self._inbox.pop(0)
        if isinstance(message, Notification) and message.method == "error":
            raise error_from_wire(message.params[0] if message.params else None)
        return message

    def _receive(self, deadline: float | None) -> bytes:
        try:
            self._limit_to(deadline)
            data = self._socket.recv(READ_SIZE)
        except ConnectionResetError as error:
            raise ConnectionLost("the daemon closed the connection before it answered") from error
        if not data:
            raise ConnectionLost("the daemon closed the connection before it answered")
        self.silent = False
        return data

    def _limit_to(self, deadline: float | None) -> None:
        """Let the next socket call take until `deadline` on the monotonic clock."""
        left = 0.0 if deadline is None else deadline - monotonic()
        if deadline is not None and left <= 0:
            raise TimeoutError
        # Nearly always the limit that is set serves again.
        if not left <= self._limit <= left * (1 + SLACK):
            self._limit = left * (1 + SLACK / 2)
            limit = _timeval(self._limit)
            self._socket.setsockopt(net.SOL_SOCKET, net.SO_RCVTIMEO, limit)
            self._socket.setsockopt(net.SOL_SOCKET, net.SO_SNDTIMEO, limit)


def _timeval(seconds: float) -> bytes:
    """A C struct timeval; 0 stands for no limit."""
    whole = int(seconds)
    return struct.pack("ll", whole, int((seconds - whole) * 1e6))
