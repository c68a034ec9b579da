"""What one client is owed, in order, on its way to the socket.

Replies and events are encoded when they leave, as many as are ready in one piece.
Sending never waits: what the socket does not take stays here, and a reply that waits
for the disk holds up those behind it.  Whoever changes that calls `flush()`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import trio

from milkd.daemon.outgoing import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.daemon.batches import Batch
    from milkd.daemon.flights import Flights
    from milkd.daemon.outgoing import Outgoing
    from milkd.daemon.wire import Wire
    from milkd.errors import WireError


class Outbox:
    """A queue before a wire.

    Args:
        wire: Takes the bytes.
        flights: Counts what is owed over all connections.
        piece: So many bytes are encoded before they are sent, or one item more.
        settled: Called when the disk has decided what the next reply says; it should flush.

    Attributes:
        waiting_since: Trio time since when the next reply waits for the disk; None: it does not.
        sent: Bytes that the socket has taken so far.
        items: What is queued; for others to look at only.
        unsent: What of the bytes that are ready the client has yet to take.
    """

    def __init__(
        self, wire: Wire, flights: Flights, piece: int, settled: Callable[[WireError | None], None]
    ) -> None:
        self.waiting_since: float | None = None
        self.sent = 0
        self.items: deque[Outgoing] = deque()
        self.unsent: bytes | memoryview = b""
        self._wire = wire
        self._flights = flights
        self._piece = piece
        self._settled = settled
        self._asked: Batch | None = None  # calls `settled`
        self._moved: trio.Event | None = None  # somebody waits for room
        self._closed = False

    @property
    def stuck(self) -> bool:
        """Whether the client has yet to take bytes that are ready."""
        return bool(self.unsent)

    @property
    def owes(self) -> bool:
        """Whether anything is left to be sent."""
        return bool(self.unsent or self.items)

    def add(self, item: Outgoing) -> None:
        """Queue an item; `flush()` sends it.  What nobody is there to get is let go."""
        if self._closed:
            return
        self.items.append(item)
        self._flights.count += 1

    def flush(self) -> None:
        """Send what is ready, as far as the client takes it.

        Raises:
            OSError: The client is gone.
        """
        while not self._closed:
            if self.unsent and not self._push():
                break
            if not self.items or not (data := self._encoded()):
                break
            taken = self._wire.send_now(data)
            self.sent += taken
            if taken < len(data):
                self.unsent = memoryview(data)[taken:]
                break
        if self._moved is not None:
            self._moved.set()

    def _push(self) -> bool:
        """Send the rest of the bytes; whether all were taken."""
        taken = self._wire.send_now(self.unsent)
        self.sent += taken
        self.unsent = self.unsent[taken:]
        return not self.unsent

    def _encoded(self) -> bytes:
        """The items that are ready, up to a piece."""
        items, pieces, size = self.items, [], 0
        while items and size < self._piece:
            data = items[0].encode()
            if data is None:
                self._wait_for(items[0])
                break
            del items[0]
            self._flights.count -= 1
            self.waiting_since = None
            pieces.append(data)
            size += len(data)
        return b"".join(pieces)

    def _wait_for(self, reply: Outgoing) -> None:
        """Hear of it when the disk has decided about the next reply."""
        if self.waiting_since is None:
            self.waiting_since = trio.current_time()
        assert isinstance(reply, Reply)
        assert reply.answer is not None
        if reply.answer.need is not self._asked:
            self._asked = reply.answer.need
            reply.answer.when_settled(self._settled)

    def give_up(self, error: WireError) -> None:
        """The next reply has waited for too long: this is the answer instead."""
        first = self.items[0]
        assert isinstance(first, Reply)
        first.error = error
        self.waiting_since = None

    async def emptied(self) -> None:
        """Wait until nothing is owed any more."""
        while self.owes and not self._closed:
            await self._movement()

    async def room(self, at_most: int) -> None:
        """Wait until the client takes what it gets, and fewer than so many items are queued."""
        while (self.stuck or len(self.items) >= at_most) and not self._closed:
            await self._movement()

    async def _movement(self) -> None:
        if self._moved is None or self._moved.is_set():
            self._moved = trio.Event()
        await self._moved.wait()

    def close(self) -> None:
        """Send nothing more; whoever waits goes on."""
        self._closed = True
        self.waiting_since = None
        self._flights.count -= len(self.items)
        self.items.clear()
        self.unsent = b""
        if self._moved is not None:
            self._moved.set()
