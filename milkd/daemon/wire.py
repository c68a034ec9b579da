"""One client's socket, as its connection sees it: bytes, and when there is room for more.

Nothing here queues or waits by itself.  Going to the socket directly costs one trip
through the scheduler for each read; a Trio stream takes two and a lock.
"""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Protocol

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable


class Wire(Protocol):
    """A connected byte stream.

    Every method but `close` raises `OSError` when the peer is gone for good.
    """

    def receive_now(self, size: int) -> bytes | None:
        """What has come, up to `size` bytes; empty at the end, None if nothing is there yet."""

    def send_now(self, data: bytes | memoryview) -> int:
        """Send; how many bytes were taken, 0 when there is no room at present."""

    def readable(self) -> Awaitable[None]:
        """Wait until there may be something to receive."""

    def writable(self) -> Awaitable[None]:
        """Wait until there may be room to send."""

    def end(self) -> None:
        """Send no more; the peer may go on."""

    def close(self) -> None:
        """Have done with it; safe to call again, and when the peer is gone."""


class SocketWire:
    """A connected stream socket, which it owns and makes non-blocking."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock

    def receive_now(self, size: int) -> bytes | None:
        try:
            return self._socket.recv(size)
        except BlockingIOError:
            return None

    def send_now(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def readable(self) -> Awaitable[None]:
        return trio.lowlevel.wait_readable(self._socket)  # noqa: ASYNC105  # the caller awaits it

    def writable(self) -> Awaitable[None]:
        return trio.lowlevel.wait_writable(self._socket)  # noqa: ASYNC105

    def end(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self._socket)
            with contextlib.suppress(OSError):
                self._socket.close()


async def drain(wire: Wire, size: int, limit_s: float) -> None:
    """Take what a refused client still sends, for a moment.

    Closing a socket with unread bytes in it may cost the client the error it was just sent.
    """
    with trio.move_on_after(limit_s):
        while (data := wire.receive_now(size)) != b"":
            if data is None:
                await wire.readable()
