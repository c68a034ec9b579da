"""Servers that only answer: what Trio and the socket cost by themselves.

    python bench/loops.py {bare,each} PATH

`bare` waits on Trio's lowest level and joins the answers of a read; `each` is the obvious
server, which sends every answer by itself through a Trio stream.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import msgpack
import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Handler = Callable[[trio.SocketStream], Awaitable[None]]

FACT = {
    "id": "9d2f6a4c-3c1b-4f0e-8f57-1b2c3d4e5f60",
    "content": "deploys go through the east cluster while the west one is down",
    "w": 0.85,
    "hits": 4,
    "rank_score": 0.97,
    "producer": "user",
}


async def serve(handler: Handler, path: str) -> None:
    """Serve at a path until the process is ended."""
    sock = trio.socket.socket(trio.socket.AF_UNIX)
    await sock.bind(path)
    sock.listen(128)

    async def guarded(stream: trio.SocketStream) -> None:
        with suppress(OSError, trio.BrokenResourceError):
            await handler(stream)

    await trio.serve_listeners(guarded, [trio.SocketListener(sock)])


def answer(message: list[object]) -> bytes:
    """A fact to a question, nothing to a ping."""
    packed: bytes = msgpack.packb([1, message[1], None, FACT if message[3] else {}])
    return packed


async def bare(stream: trio.SocketStream) -> None:
    """One trip through the scheduler a read, one send for all that it asks."""
    sock = socket.socket(fileno=os.dup(stream.socket.fileno()))
    sock.setblocking(False)
    unpacker = msgpack.Unpacker()
    with sock:
        while True:
            await trio.lowlevel.wait_readable(sock)
            if not (data := sock.recv(65_536)):
                return
            unpacker.feed(data)
            sock.sendall(b"".join([answer(message) for message in unpacker]))


async def each(stream: trio.SocketStream) -> None:
    """A stream, and a send for each reply."""
    unpacker = msgpack.Unpacker()
    while data := await stream.receive_some(65_536):
        unpacker.feed(data)
        for message in unpacker:
            await stream.send_all(answer(message))


if __name__ == "__main__":
    trio.run(serve, {"bare": bare, "each": each}[sys.argv[1]], sys.argv[2])
