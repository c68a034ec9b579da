"""Blocking file work, off the Trio thread.

Everything that touches the store's files goes through one `Disk`, one call at a
time, so that a slow disk holds up nobody who does not need it.  What takes long has
a thread of its own, beside that.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import trio

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
LOOK = 1.0  # seconds that a look at the disk may take
PAUSE = 0.0002  # seconds in which a long job leaves the interpreter to the loop


class Disk(Protocol):
    """Runs blocking calls."""

    async def run(self, call: Callable[[], T]) -> T:
        """What the call returns.  Once begun, the call is awaited, whatever is cancelled."""

    async def slow(self, call: Callable[[Callable[[], None]], T]) -> T:
        """What a long job returns, which may run beside `run`, and is awaited like that.

        It is handed a function to call now and then, which gives others a turn.
        """

    async def look(self, call: Callable[[], T]) -> T | None:
        """What a quick call returns that changes nothing; None if the disk does not answer."""


class Worker:
    """A thread of its own for one call at a time, shared with no slow job of others."""

    def __init__(self) -> None:
        self._busy = False
        self._waiting = trio.lowlevel.ParkingLot()
        self._slow = trio.CapacityLimiter(1)
        self._look = trio.CapacityLimiter(1)

    async def run(self, call: Callable[[], T]) -> T:
        """Run the call in the thread."""
        while self._busy:
            with trio.CancelScope(shield=True):
                await self._waiting.park()
        self._busy = True
        try:
            return await _in_thread(call)
        finally:
            self._busy = False
            self._waiting.unpark()

    async def slow(self, call: Callable[[Callable[[], None]], T]) -> T:
        """Run the call in a thread that gives way to the loop."""
        job = partial(call, partial(time.sleep, PAUSE))
        with trio.CancelScope(shield=True):
            result = await trio.to_thread.run_sync(job, limiter=self._slow)
        return result

    async def look(self, call: Callable[[], T]) -> T | None:
        """Run the call in a thread beside that, and leave it there if it takes too long."""
        with trio.move_on_after(LOOK):
            return await trio.to_thread.run_sync(call, limiter=self._look, abandon_on_cancel=True)
        return None


async def _in_thread(call: Callable[[], T]) -> T:
    """What the call returns or raises, in a thread; it is awaited whatever is cancelled.

    `to_thread` does more (limits, context, names), and goes through the loop once more before
    it begins: every durable record would wait for that.
    """
    task, token = trio.lowlevel.current_task(), trio.lowlevel.current_trio_token()

    def deliver(outcome: Any) -> None:
        token.run_sync_soon(trio.lowlevel.reschedule, task, outcome)

    trio.lowlevel.start_thread_soon(call, deliver)  # a name of its own would cost two calls more
    result: T = await trio.lowlevel.wait_task_rescheduled(_go_on)
    return result


def _go_on(_: object) -> trio.lowlevel.Abort:
    """A call to the disk cannot be taken back."""
    return trio.lowlevel.Abort.FAILED
