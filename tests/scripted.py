"""A server that does what a daemon cannot be made to do: die in the middle, lie, be silent.

It speaks through the daemon's own `Connection`; each of its handlers plays one connection.
"""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Self

from milkd.rpc.messages import Request
from milkd.rpc.protocol import Connection

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from milkd.errors import WireError


class Peer:
    """One accepted connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._connection = Connection()
        self._inbox: list[Request] = []

    def request(self) -> Request:
        """The next request."""
        while not self._inbox:
            data = self.sock.recv(65536)
            assert data, "the client went away"
            messages = self._connection.receive_data(data)
            self._inbox = [message for message in messages if isinstance(message, Request)]
        return self._inbox.pop(0)

    def answer(self, request: Request, result: object) -> None:
        """Grant a request."""
        self.sock.sendall(Connection.response(request.msgid, result))

    def refuse(self, request: Request, error: WireError) -> None:
        """Refuse a request."""
        self.sock.sendall(Connection.error(request.msgid, error))

    def notify(self, method: str, *params: object) -> None:
        """Say something unasked."""
        self.sock.sendall(Connection.notification(method, *params))


class Scripted:
    """Listens on a path; every handler in turn gets one connection, which it then closes."""

    def __init__(self, path: Path, *handlers: Callable[[Peer], None]) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._handlers = handlers
        self._failures: list[BaseException] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._thread.join(10)
        self._listener.close()
        assert not self._thread.is_alive(), "the client has not made all its connections"
        if error is None and self._failures:
            raise self._failures[0]

    def _run(self) -> None:
        for handler in self._handlers:
            self._listener.settimeout(5)
            try:
                sock, _ = self._listener.accept()
                with sock:
                    sock.settimeout(5)
                    handler(Peer(sock))
            except BaseException as failure:
                self._failures.append(failure)
                return
