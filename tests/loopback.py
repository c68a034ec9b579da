"""Sockets in memory, for a whole daemon in virtual time: no system call is made.

They behave like Unix stream sockets that do not block.  What `trio.lowlevel` does with
real ones it does with these inside `loopback()`; threads are left out there as well.
"""

from __future__ import annotations

import os
import socket
import struct
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random


class Flow:
    """One direction of a connection."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.data = bytearray()
        self.ended = False  # nothing more will come
        self.cut = False  # nobody reads any more
        self.reset = False  # what was on its way in the other direction got lost
        self.moved = trio.lowlevel.ParkingLot()


class Waitable:
    """Anything that can be waited for until it is closed."""

    def __init__(self) -> None:
        self.closed = False
        self._leaving = False

    def fileno(self) -> int:
        """No descriptor, but -1 once it is closed, as with real ones."""
        return -1 if self.closed else 0

    def setblocking(self, _: bool) -> None:
        """It never does."""

    def part(self) -> None:
        """It is about to be closed: nobody may wait for it any more."""
        self._leaving = True
        self.lot().unpark_all()

    async def readable(self) -> None:
        await self._until(self.has_news, self.lot())

    async def _until(self, condition: Callable[[], bool], lot: trio.lowlevel.ParkingLot) -> None:
        await trio.lowlevel.checkpoint()
        while not condition():
            if self._leaving or self.closed:
                raise trio.ClosedResourceError
            await lot.park()

    def has_news(self) -> bool:
        raise NotImplementedError

    def lot(self) -> trio.lowlevel.ParkingLot:
        raise NotImplementedError


class MemorySocket(Waitable):
    """One end of a connection."""

    def __init__(self, incoming: Flow, outgoing: Flow) -> None:
        super().__init__()
        self._in = incoming
        self._out = outgoing

    def getsockopt(self, *_: int) -> bytes:
        """Whose the other end is: ours."""
        return struct.pack("3i", 1, os.geteuid(), 1)

    def recv(self, size: int) -> bytes:
        if not self._in.data:
            if self._in.reset:
                raise ConnectionResetError
            if self._in.ended:
                return b""
            raise BlockingIOError
        taken = bytes(self._in.data[:size])
        del self._in.data[:size]
        self._in.moved.unpark_all()
        return taken

    def send(self, data: bytes | memoryview) -> int:
        if self._out.cut or self._out.ended:
            raise BrokenPipeError
        taken = bytes(data[: self._out.room - len(self._out.data)])
        if not taken:
            raise BlockingIOError
        self._out.data += taken
        self._out.moved.unpark_all()
        return len(taken)

    def shutdown(self, how: int) -> None:
        assert how == socket.SHUT_WR
        if self._out.cut:
            raise BrokenPipeError
        self._out.ended = True
        self._out.moved.unpark_all()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._out.reset = bool(self._in.data)
            self._out.ended = self._in.cut = True
            self._out.moved.unpark_all()
            self._in.moved.unpark_all()

    async def writable(self) -> None:
        await self._until(
            lambda: len(self._out.data) < self._out.room or self._out.cut, self._out.moved
        )

    def part(self) -> None:
        super().part()
        self._out.moved.unpark_all()

    def has_news(self) -> bool:
        return bool(self._in.data) or self._in.ended or self._in.reset

    def lot(self) -> trio.lowlevel.ParkingLot:
        return self._in.moved


class MemoryListening(Waitable):
    """A listening socket.

    Attributes:
        named: Whether clients can find it.
        accepted: The daemon's ends of all connections that it took.
    """

    def __init__(self) -> None:
        super().__init__()
        self.named = True
        self.accepted: list[MemorySocket] = []
        self._waiting: deque[MemorySocket] = deque()
        self._came = trio.lowlevel.ParkingLot()

    def connect(self, room: int) -> MemorySocket:
        """A client's end of a new connection, in which so many bytes fit in either direction."""
        if self.closed or not self.named:
            raise ConnectionRefusedError
        there, back = Flow(room), Flow(room)
        self._waiting.append(MemorySocket(there, back))
        self._came.unpark_all()
        return MemorySocket(back, there)

    def accept(self) -> tuple[MemorySocket, None]:
        if not self._waiting:
            raise BlockingIOError
        self.accepted.append(self._waiting.popleft())
        return self.accepted[-1], None

    def close(self) -> None:
        self.closed = True
        for waiting in self._waiting:
            waiting.close()

    def has_news(self) -> bool:
        return bool(self._waiting)

    def lot(self) -> trio.lowlevel.ParkingLot:
        return self._came


@contextmanager
def loopback(random: Random) -> Iterator[None]:
    """Nothing of the world outside meanwhile: no socket, no thread, no chance but the seed's."""

    async def inline(call: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
        await trio.sleep(random.random() / 1_000)
        return call(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC"):
            patch.delenv(name, raising=False)
        patch.setattr(trio.lowlevel, "wait_readable", lambda each: each.readable())
        patch.setattr(trio.lowlevel, "wait_writable", lambda each: each.writable())
        patch.setattr(trio.lowlevel, "notify_closing", lambda each: each.part())
        patch.setattr(trio.to_thread, "run_sync", inline)
        patch.setattr(os, "urandom", random.randbytes)
        patch.setattr(os, "getpid", lambda: 4_711)
        yield
