"""One client's connection: a task that reads and answers, and one that sends.

Requests are served in the order in which they came, and so are their responses.
Between the two tasks is a bounded channel: a client that does not take its
responses is not read from any further.  Whatever goes wrong here ends this
connection at most.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import trio

from milkd.daemon.fatal import trace
from milkd.daemon.outgoing import Outgoing, Reply, Stalled, drain, event, refusal, send
from milkd.errors import (
    Internal,
    InvalidRequest,
    Overloaded,
    ParseError,
    ShuttingDown,
    Timeout,
    WireError,
)
from milkd.rpc.messages import Notification, Request, Response
from milkd.rpc.protocol import Connection as Protocol
from milkd.rpc.schema import cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio.abc import HalfCloseableStream

    from milkd.daemon.core import Core
    from milkd.daemon.service import Service

_log = logging.getLogger(__name__)

Message = Request | Response | Notification
Outbox = trio.MemorySendChannel[Outgoing]


class Connection:
    """Serves one client until it leaves, misbehaves, or the daemon stops."""

    def __init__(
        self, stream: HalfCloseableStream, core: Core, service: Service, *, spare: bool = False
    ) -> None:
        self._stream = stream
        self._core = core
        self._service = service
        self._limits = core.limits
        self._protocol = Protocol()
        self._caller = core.new_caller()
        self._caller.spare = spare
        self._in_flight: dict[int, Reply] = {}
        self._receiving = trio.CancelScope()
        self._sending = trio.CancelScope()
        self._watching = trio.CancelScope()
        self._ended = False
        self._refused = False
        self._partial_since: float | None = None

    async def serve(self) -> None:
        """Serve the client; any fault is logged and ends the connection, nothing else."""
        self._core.callers.add(self._caller)
        try:
            async with self._stream:
                await self._run()
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            _log.debug("a client went away")
        except* Stalled:
            _log.warning("a response was left unread for %g s; closed", self._limits.send_s)
        except* Exception as group:
            _log.error("a connection failed\n%s", trace(group))
        finally:
            self._leave()

    @property
    def spare(self) -> bool:
        """Whether it is one beyond the limit."""
        return self._caller.spare

    def promote(self) -> None:
        """A place has become free: be a connection like all others."""
        self._caller.spare = False

    def stop(self) -> None:
        """Read no more; what was read is answered, and what was answered is sent."""
        self._ended = True
        self._receiving.cancel(reason="the connection ends")

    async def _run(self) -> None:
        outbox, outgoing = trio.open_memory_channel[Outgoing](self._limits.in_flight)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._send_all, outgoing)
            async with outbox:
                nursery.start_soon(self._forward_events, outbox.clone())
                await self._read_all(outbox)
            self._watching.cancel(reason="the connection ends")
            if not self._service.stopping:
                self._sending.deadline = trio.current_time() + self._limits.farewell_s
            if self._refused:
                await drain(self._stream, self._limits)

    def _leave(self) -> None:
        self._core.callers.discard(self._caller)
        self._core.engine.leave(self._caller.name)
        self._core.sessions.leave_all(self._caller)
        if self._caller.subscription is not None:
            self._core.hub.end(self._caller.subscription)
        self._core.active_at = trio.current_time()

    # Reading

    async def _read_all(self, outbox: Outbox) -> None:
        """Read and answer until one side ends it."""
        try:
            while data := await self._receive():
                await self._take(data, outbox)
        except (ParseError, InvalidRequest, Overloaded, Timeout) as error:
            _log.info("a connection is closed: %s", error.code)
            self._refused = True
            await outbox.send(refusal(error))

    async def _receive(self) -> bytes:
        """Bytes from the client; none when it, or the daemon, has ended the connection.

        Raises:
            Timeout: The rest of a message did not come.
            Overloaded: A spare connection is kept for nothing.
        """
        while not self._ended:
            with trio.CancelScope(deadline=self._patience()) as self._receiving:
                return bytes(await self._stream.receive_some(self._limits.read_bytes))
            if not self._ended:
                self._check_patience()
        return b""

    def _check_patience(self) -> None:
        """The time to wait for bytes is over; refuse to wait on unless there is room again."""
        if self._protocol.has_partial():
            raise Timeout(f"half a message for {self._limits.partial_s:g} s; send messages whole")
        if self._caller.spare:
            raise Overloaded(f"nothing asked for {self._limits.spare_s:g} s on a spare connection")

    def _patience(self) -> float:
        """Until when to wait for bytes: the age of a message in parts is limited."""
        if not self._protocol.has_partial():
            self._partial_since = None
            spare = self._caller.spare
            return trio.current_time() + self._limits.spare_s if spare else float("inf")
        if self._partial_since is None:
            self._partial_since = trio.current_time()
        return self._partial_since + self._limits.partial_s

    async def _take(self, data: bytes, outbox: Outbox) -> None:
        """Serve the messages that the bytes complete; the others get a turn in between."""
        messages = self._protocol.receive_data(data)
        if messages:
            self._partial_since = None
        for number, message in enumerate(messages, 1):
            if isinstance(message, Request):
                await self._serve_request(message, outbox)
            elif isinstance(message, Notification) and message.method == "cancel":
                self._cancel(cancelled(message.params))
            if number % self._limits.turn_messages == 0:
                await trio.lowlevel.checkpoint()
        if self._protocol.broken:
            self._protocol.receive_data(b"")  # raises what is wrong

    async def _serve_request(self, request: Request, outbox: Outbox) -> None:
        reply = Reply(request.msgid, self._caller)
        if request.msgid in self._in_flight:
            reply.error = InvalidRequest(f"msgid {request.msgid} is in flight already")
        else:
            self._in_flight[request.msgid] = reply
            reply.on_sent = self._in_flight.pop
            await self._answer(request, reply)
        try:
            outbox.send_nowait(reply)
        except trio.WouldBlock:
            await outbox.send(reply)

    async def _answer(self, request: Request, reply: Reply) -> None:
        """Put the answer into the reply, or the error; a fault of the daemon's is one too."""
        try:
            if self._service.stopping:
                raise ShuttingDown("milkd is stopping; nothing was changed")
            reply.answer = await self._service.answer(self._caller, request)
        except WireError as error:
            reply.error = error
        except Exception as error:
            _log.error("%s failed\n%s", ascii(request.method), trace(error))
            reply.error = Internal("a fault in milkd, now in its log; nothing was changed")

    def _cancel(self, msgid: int | None) -> None:
        reply = None if msgid is None else self._in_flight.get(msgid)
        if reply is not None:
            reply.cancel()

    # Sending

    async def _send_all(self, outgoing: trio.MemoryReceiveChannel[Outgoing]) -> None:
        """Send what was queued, in order."""
        with self._sending:
            async with outgoing:
                async for first in outgoing:
                    await self._send(_gather(first, outgoing))
            await self._stream.send_eof()
        self.stop()

    async def _send(self, items: Sequence[Outgoing]) -> None:
        """Encode and send; those that are ready leave together."""
        data = bytearray()
        for item in items:
            waits = isinstance(item, Reply) and item.waits()
            if data and (waits or len(data) >= self._limits.chunk_bytes):
                await send(self._stream, data, self._limits)
                data = bytearray()
            if isinstance(item, Reply) and waits:
                await item.settled(self._limits.request_s)
            data += item.encode()
        await send(self._stream, data, self._limits)

    async def _forward_events(self, outbox: Outbox) -> None:
        """Send events, once the client has subscribed, until its end."""
        with self._watching:
            async with outbox:
                await self._caller.subscribed.wait()
                assert self._caller.subscription is not None
                while True:
                    await outbox.send(event(await self._caller.subscription.take()))


def _gather(first: Outgoing, outgoing: trio.MemoryReceiveChannel[Outgoing]) -> list[Outgoing]:
    """Everything that is queued by now."""
    items = [first]
    try:
        while True:
            items.append(outgoing.receive_nowait())
    except (trio.WouldBlock, trio.EndOfChannel):
        return items
