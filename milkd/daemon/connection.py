"""One client's connection: a task that reads, serves and answers.

Requests are served in the order in which they came, and so are their replies.  What
can be answered is sent at once, from whichever task brought it about, and so are
events; only a client that does not take what it is sent, and one that says half of
something, cost a task more.  A client that does not take its replies is not read from
any further.  Whatever goes wrong here ends this connection at most.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import trio

from milkd.daemon.batches import Answer
from milkd.daemon.fatal import trace
from milkd.daemon.outbox import Outbox
from milkd.daemon.outgoing import Reply, event, refusal
from milkd.daemon.patience import Patience, Turn
from milkd.daemon.wire import drain
from milkd.errors import (
    Internal,
    InvalidRequest,
    ParseError,
    ShuttingDown,
    WireError,
)
from milkd.rpc.messages import Notification, Request, Response
from milkd.rpc.protocol import Connection as Protocol
from milkd.rpc.schema import cancelled
from milkd.rpc.values import alone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from milkd.daemon.core import Core
    from milkd.daemon.events import Event
    from milkd.daemon.service import Service
    from milkd.daemon.wire import Wire

_log = logging.getLogger(__name__)

Message = Request | Response | Notification


class Stalled(Exception):
    """The client takes nothing of what it is sent."""


class Connection:
    """Serves one client until it leaves, misbehaves, or the daemon stops."""

    def __init__(self, wire: Wire, core: Core, service: Service, *, spare: bool = False) -> None:
        self._wire = wire
        self._core = core
        self._service = service
        self._limits = core.limits
        self._protocol = Protocol()
        self._caller = core.new_caller()
        self._caller.spare = spare
        self._caller.wake = self._flush
        self._outbox = Outbox(wire, core.flights, self._limits.chunk_bytes, self._settled)
        self._patience = Patience(
            self._limits, self._caller, self._outbox, dismiss=self._dismiss, flush=self._flush
        )
        self._in_flight: dict[int, Reply] = {}
        self._sent = self._in_flight.pop
        self._nursery: trio.Nursery | None = None
        self._reading = trio.CancelScope()
        self._idle = False  # waiting for bytes, and for nothing else
        self._ended = False
        self._gone = False
        self._fault: WireError | None = None
        self._pushing = False

    async def serve(self) -> None:
        """Serve the client; any fault is logged and ends the connection, nothing else."""
        self._core.callers.add(self._caller)
        try:
            async with trio.open_nursery() as self._nursery:
                self._patience.begin(self._nursery)
                try:
                    await self._run()
                finally:
                    self._outbox.close()  # what happens from now on begins no task any more
                self._nursery.cancel_scope.cancel(reason="the connection has ended")
        except* OSError:
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
        if self._idle:
            self._reading.cancel(reason="the connection ends")

    async def _run(self) -> None:
        try:
            with self._reading:
                await self._read_all()
        except (ParseError, InvalidRequest) as error:
            self._fault = alone(error)
        if self._fault is not None:
            _log.info("a connection is closed: %s", self._fault.code)
            self._outbox.add(refusal(self._fault))
        await self._part()

    async def _part(self) -> None:
        """Send what is owed, for a moment after the disk has decided.

        When the daemon stops, it is the server that sets an end.
        """
        self._ended = True
        self._patience.end_reading()
        if not self._gone:
            self._flush()
        while self._outbox.owes:
            with trio.move_on_after(self._limits.farewell_s):
                await self._outbox.emptied()
            if not self._service.stopping and self._outbox.waiting_since is None:
                break
        if self._gone:
            return
        self._wire.end()
        if self._fault is not None:
            await drain(self._wire, self._limits.read_bytes, self._limits.farewell_s)

    def _leave(self) -> None:
        self._wire.close()
        del self._protocol  # what it has of a message need not wait to be found as garbage
        self._core.callers.discard(self._caller)
        self._core.engine.leave(self._caller.name)
        self._core.sessions.leave_all(self._caller)
        if self._caller.subscription is not None:
            self._core.hub.end(self._caller.subscription)
        self._core.active_at = trio.current_time()

    # Reading

    async def _read_all(self) -> None:
        """Read and answer until one side ends it.

        Raises:
            OSError: The client is gone.
            ParseError, InvalidRequest: What it sends makes no sense.
        """
        while not self._ended:
            self._idle = True
            await self._wire.readable()
            self._idle = False
            if self._ended:
                return
            data = self._wire.receive_now(self._limits.read_bytes)
            if data is None:
                continue
            if not data:
                return
            await self._take(data)

    async def _take(self, data: bytes) -> None:
        """Serve the messages that the bytes complete; the others get a turn in between."""
        protocol, outbox, flights = self._protocol, self._outbox, self._core.flights
        messages = protocol.receive_data(data)
        turn = Turn(self._limits) if len(messages) > 1 else None
        for message in messages:
            if turn is not None:
                if turn.left <= 0 or turn.time() >= turn.ends:
                    turn.begin()  # others' time counts: the more there are, the shorter it is
                    self._flush()
                    await trio.lowlevel.checkpoint()
                turn.left -= 1
            if isinstance(message, Request):
                if outbox.items and (flights.count >= flights.limit or not self._has_room()):
                    await self._wait_for_room()
                if (unfinished := self._serve_request(message)) is not None:
                    await unfinished
            elif isinstance(message, Notification) and message.method == "cancel":
                self._cancel(cancelled(message.params))
        self._patience.heard(complete=bool(messages), partial=protocol.has_partial())
        if outbox.items or outbox.unsent:
            self._flush()
        if protocol.broken:
            protocol.receive_data(b"")  # raises what is wrong

    def _serve_request(self, request: Request) -> Awaitable[None] | None:
        """Queue the reply, or give what does so if something has to be waited for."""
        msgid, in_flight = request.msgid, self._in_flight
        if msgid in in_flight:
            reply = Reply(msgid, self._caller)
            reply.error = InvalidRequest(f"msgid {msgid} is in flight already")
        else:
            reply = in_flight[msgid] = Reply(msgid, self._caller, self._sent)
            try:
                if self._service.stopping:
                    raise ShuttingDown("milkd is stopping; nothing was changed")
                begun = self._service.begin(self._caller, request)
                if not isinstance(begun, Answer):
                    return self._finish(request, reply, begun)
                reply.answer = begun
            except Exception as error:
                reply.error = _refusal(request, error)
        self._outbox.add(reply)
        return None

    async def _finish(self, request: Request, reply: Reply, begun: Awaitable[Answer]) -> None:
        try:
            reply.answer = await begun
        except Exception as error:
            reply.error = _refusal(request, error)
        self._outbox.add(reply)

    def _has_room(self) -> bool:
        return len(self._outbox.items) < self._limits.in_flight and not self._outbox.unsent

    async def _wait_for_room(self) -> None:
        """Serve no more until the client has some of its replies; all, while others have many."""
        self._flush()
        await self._outbox.room(1 if self._core.flights.full else self._limits.in_flight)

    def _cancel(self, msgid: int | None) -> None:
        reply = None if msgid is None else self._in_flight.get(msgid)
        if reply is not None:
            reply.cancel()

    # Sending

    def _flush(self) -> None:
        """Send what can be sent now, and see to the rest; called from any task."""
        outbox = self._outbox
        try:
            outbox.flush()
            if self._caller.subscription is not None:
                while (value := self._next_event()) is not None:
                    outbox.add(event(value))
                    outbox.flush()
        except OSError:
            self._lose()
            return
        if outbox.unsent and not self._pushing:
            self._pushing = True
            self._begin(self._push)
        if outbox.waiting_since is not None:
            self._patience.sent()

    def _settled(self, _: WireError | None) -> None:
        """The disk has decided about a reply."""
        self._flush()

    async def _push(self) -> None:
        """Send on whenever the client takes something.

        Raises:
            Stalled: It takes less than a piece in a time in which anybody takes it.
        """
        while self._outbox.stuck:
            goal = self._outbox.sent + self._limits.chunk_bytes
            with trio.move_on_after(self._limits.send_s) as patience:
                while self._outbox.stuck and self._outbox.sent < goal:
                    await self._wire.writable()
                    self._flush()
            if patience.cancelled_caught:
                raise Stalled
        self._pushing = False

    def _lose(self) -> None:
        """The client is gone: nothing can be sent, and nothing will come."""
        self._gone = True
        self._outbox.close()
        self.stop()

    def _next_event(self) -> Event | None:
        """What the client subscribed to and has yet to be told; it waits while there is no room."""
        subscription = self._caller.subscription
        if subscription is None or self._ended or not self._has_room():
            return None
        return subscription.take()

    def _begin(self, task: Callable[[], Awaitable[None]]) -> None:
        assert self._nursery is not None
        self._nursery.start_soon(task)

    def _dismiss(self, error: WireError) -> None:
        """End the connection, and say why."""
        self._fault = error
        self.stop()


def _refusal(request: Request, error: Exception) -> WireError:
    """What a request gets for an answer that could not be had: a fault of the daemon's is one."""
    if isinstance(error, WireError):
        return alone(error)
    _log.error("%s failed\n%s", ascii(request.method), trace(error))
    return Internal("a fault in milkd, now in its log; nothing was changed")
