"""One client's socket, as its connection sees it: bytes, and when there is room for more.

Nothing here queues or waits by itself.  Going to the socket directly costs one trip
through the scheduler for each read; a Trio stream takes two and a lock.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Protocol

import trio


class Wire(Protocol):
    """A connected byte stream.

    Every method but `close` raises `OSError` when the peer is gone for good.
    """

    def receive_now(self, size: int) -> bytes | None:
        """What has come, up to `size` bytes; empty at the end, None if nothing is there yet."""

    def send_now(self, data: bytes | memoryview) -> int:
        """Send; how many bytes were taken, 0 when there is no room at present."""

    async def readable(self) -> None:
        """Wait until there may be something to receive."""

    async def writable(self) -> None:
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

    async def readable(self) -> None:
        await trio.lowlevel.wait_readable(self._socket)

    async def writable(self) -> None:
        await trio.lowlevel.wait_writable(self._socket)

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
