"""How long a connection may keep others waiting, or be kept waiting itself.

Nothing here costs a request anything: a task comes with the first thing that has to be
watched, and sleeps until that is due.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio

from milkd.errors import Overloaded, Timeout, WireError

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.daemon.caller import Caller
    from milkd.daemon.limits import Limits
    from milkd.daemon.outbox import Outbox


class Patience:
    """The deadlines of one connection.

    Args:
        caller: Whose it is; one on a spare connection has to ask for something.
        outbox: Holds the reply that may wait for the disk.
        dismiss: Called with the reason when the client has used up our patience.
        flush: Called when a reply has become an error that may be sent.
    """

    def __init__(
        self,
        limits: Limits,
        caller: Caller,
        outbox: Outbox,
        *,
        dismiss: Callable[[WireError], None],
        flush: Callable[[], None],
    ) -> None:
        self._limits = limits
        self._caller = caller
        self._outbox = outbox
        self._dismiss = dismiss
        self._flush = flush
        self._heard_at = trio.current_time()
        self._partial_since: float | None = None
        self._over = False
        self._nap: trio.CancelScope | None = None
        self._nursery: trio.Nursery | None = None

    def begin(self, nursery: trio.Nursery) -> None:
        """The connection is served from now on, by tasks of this nursery."""
        self._nursery = nursery
        if self._caller.spare:
            self._watch(self._heard_at + self._limits.spare_s)

    def heard(self, *, complete: bool, partial: bool) -> None:
        """Bytes have come: whether they completed a message, and whether one has begun since."""
        if complete or not partial:
            self._partial_since = None
        if self._caller.spare:
            self._heard_at = trio.current_time()
        if not partial:
            return
        if self._partial_since is None:
            self._partial_since = trio.current_time()
            self._watch(self._partial_since + self._limits.partial_s)

    def sent(self) -> None:
        """What could be sent was; the next reply may have begun to wait for the disk."""
        if self._outbox.waiting_since is not None:
            self._watch(self._outbox.waiting_since + self._limits.request_s)

    def end_reading(self) -> None:
        """Nothing more is expected of the client."""
        self._over = True

    def _watch(self, until: float) -> None:
        """Look at this Trio time, at the latest, whether anything takes too long."""
        if self._nap is None:
            assert self._nursery is not None
            self._nap = trio.CancelScope(deadline=until)
            self._nursery.start_soon(self._keep)
        elif until < self._nap.deadline:
            self._nap.deadline = until

    async def _keep(self) -> None:
        """Look whenever something is due."""
        while True:
            assert self._nap is not None
            with self._nap:
                await trio.sleep_forever()
            self._check(trio.current_time())
            self._nap = trio.CancelScope(deadline=self._due())

    def _due(self) -> float:
        """When something will have taken too long."""
        limits, due = self._limits, math.inf
        if self._outbox.waiting_since is not None:
            due = self._outbox.waiting_since + limits.request_s
        if self._partial_since is not None and not self._over:
            due = min(due, self._partial_since + limits.partial_s)
        if self._caller.spare and not self._over:
            due = min(due, self._heard_at + limits.spare_s)
        return due

    def _check(self, now: float) -> None:
        """Put an end to what takes too long."""
        limits, waiting, partial = self._limits, self._outbox.waiting_since, self._partial_since
        if waiting is not None and now >= waiting + limits.request_s:
            told = f"the disk took more than {limits.request_s:g} s; outcome unknown"
            self._outbox.give_up(Timeout(told))
            self._flush()
        if self._outbox.owes:
            self._heard_at = now  # it waits for us
        if self._over:
            return
        if partial is not None and now >= partial + limits.partial_s:
            told = f"half a message for {limits.partial_s:g} s; send messages whole"
            self._dismiss(Timeout(told))
        elif self._caller.spare and now >= self._heard_at + limits.spare_s:
            told = f"nothing asked for {limits.spare_s:g} s on a spare connection"
            self._dismiss(Overloaded(told))


class Turn:
    """How long the messages of one connection are served before the others get their turn.

    It is over when none is `left`, or at its `ends`.

    Attributes:
        left: Messages that may yet be served in it.
        ends: By its own `time()`, which is Trio's.
    """

    __slots__ = ("_limits", "ends", "left", "time")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.time = trio.lowlevel.current_clock().current_time
        self.begin()

    def begin(self) -> None:
        """The next turn begins."""
        self.left = self._limits.turn_messages
        self.ends = self.time() + self._limits.turn_s
