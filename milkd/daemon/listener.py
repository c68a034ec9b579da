"""Accepting connections: whose, and how many."""

from __future__ import annotations

import errno
import logging
import os
import socket
import struct
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING

import trio

from milkd.daemon.connection import Connection
from milkd.daemon.outgoing import refusal
from milkd.daemon.wire import SocketWire, drain
from milkd.errors import Overloaded

if TYPE_CHECKING:
    from milkd.daemon.core import Core
    from milkd.daemon.service import Service
    from milkd.daemon.wire import Wire

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
PAUSE = 0.1  # seconds before accepting again when the system has no descriptor left
QUIET = 60.0  # seconds between two complaints about that

_log = logging.getLogger(__name__)


class Listener:
    """The listening socket and the connections it brought."""

    def __init__(self, sock: socket.socket, core: Core, service: Service) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._core = core
        self._service = service
        self._connections: dict[Connection, None] = {}  # in order of coming
        self._refusing = 0
        self._complained_at = float("-inf")
        self._emptied = trio.Event()
        self._freed = trio.Event()
        self._refused_at = float("-inf")

    async def accept_all(self, nursery: trio.Nursery) -> None:
        """Accept until it is closed; each connection is a task of the nursery."""
        while self._socket.fileno() >= 0:
            try:
                await trio.lowlevel.wait_readable(self._socket)
                sock = self._accepted()
            except OSError as error:
                await self._pause(error)
            else:
                if sock is not None:
                    await self._admit(sock, nursery)

    async def accept_waiting(self, nursery: trio.Nursery) -> None:
        """Accept those who are already waiting; whom there is no descriptor for is not helped."""
        with suppress(OSError):
            while (sock := self._accepted()) is not None:
                await self._admit(sock, nursery)

    def close(self) -> None:
        """Accept no more; safe to call again."""
        if self._socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()

    def stop(self) -> None:
        """Let every connection send what it owes, and end."""
        for connection in self._connections:
            connection.stop()

    async def wait_empty(self) -> None:
        """Wait until no connection is left."""
        while self._connections:
            if self._emptied.is_set():  # else others wait for it already
                self._emptied = trio.Event()
            await self._emptied.wait()

    def _accepted(self) -> socket.socket | None:
        """Who has connected, if anybody still waits."""
        try:
            return self._socket.accept()[0]
        except (BlockingIOError, ConnectionAbortedError):
            return None

    async def _admit(self, sock: socket.socket, nursery: trio.Nursery) -> None:
        with ExitStack() as stack:
            wire = stack.enter_context(closing(SocketWire(sock)))
            if not _is_own_user(sock):
                _log.warning("a connection of another user was refused")
                return
            regular = await self._finds_slot()
            if regular or self._count(spare=True) < self._core.limits.spare:
                connection = Connection(wire, self._core, self._service, spare=not regular)
                self._connections[connection] = None
                nursery.start_soon(self._serve, connection)
            elif self._refusing < self._core.limits.refusals:
                self._refusing += 1
                nursery.start_soon(self._refuse, wire)
            else:
                self._turn_away(wire)
                return
            stack.pop_all()  # the socket is the task's from now on

    async def _finds_slot(self) -> bool:
        """Whether there is room for a connection, perhaps after a moment.

        Meanwhile others wait in the socket's backlog.  A crowd is not let wait one by one: soon
        after one has waited in vain, the next are refused at once.
        """
        limits = self._core.limits
        recent = trio.current_time() - self._refused_at < limits.slot_s
        with trio.move_on_after(0.0 if recent else limits.slot_s):
            while self._count(spare=False) >= limits.connections:
                if self._freed.is_set():
                    self._freed = trio.Event()
                await self._freed.wait()
            return True
        self._refused_at = trio.current_time()
        return False

    def _count(self, *, spare: bool) -> int:
        return sum(connection.spare is spare for connection in self._connections)

    async def _serve(self, connection: Connection) -> None:
        try:
            await connection.serve()
        finally:
            del self._connections[connection]
            if not connection.spare:
                self._promote()
            self._freed.set()
            if not self._connections:
                self._emptied.set()

    def _promote(self) -> None:
        """Give a free place to the spare connection that has waited longest."""
        for connection in self._connections:
            if connection.spare:
                connection.promote()
                return

    def _turn_away(self, wire: Wire) -> None:
        """Say why, and that there is nothing more to come."""
        limit = self._core.limits.connections
        error = Overloaded(f"{limit} connections are open already; try again later")
        with suppress(OSError):
            wire.send_now(refusal(error).encode())  # there is room: it is the first thing sent
            wire.end()
            # What is left unread would be an error at the other end, before it has read ours.
            wire.receive_now(self._core.limits.read_bytes)

    async def _refuse(self, wire: Wire) -> None:
        """Tell one client too many that it is."""
        limits = self._core.limits
        try:
            with closing(wire):
                self._turn_away(wire)
                await drain(wire, limits.read_bytes, limits.farewell_s)
        except OSError:
            _log.debug("a refused client went away")
        finally:
            self._refusing -= 1

    async def _pause(self, error: OSError) -> None:
        """Outlast a lack of descriptors or memory, without filling the log."""
        if error.errno not in EXHAUSTED:
            raise error
        now = trio.current_time()
        if now - self._complained_at > QUIET:
            self._complained_at = now
            _log.error("cannot accept connections: %s", os.strerror(error.errno or 0))
        await trio.sleep(PAUSE)


def _is_own_user(sock: socket.socket) -> bool:
    """Whether the peer runs under our user id."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the directory and the socket's mode are the wall then
    size = struct.calcsize("3i")
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, _ = struct.unpack("3i", credentials)
    return bool(uid == os.geteuid())
