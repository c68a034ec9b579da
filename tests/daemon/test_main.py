"""What the process makes of signals."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, cast

import trio
import trio.testing

from milkd.daemon.main import _obey

if TYPE_CHECKING:
    from milkd.daemon.server import Server


class Stuck:
    """A server whose disk does not answer."""

    def __init__(self) -> None:
        self.reloads = 0
        self.stops = 0

    async def refresh(self) -> None:
        self.reloads += 1
        await trio.sleep_forever()

    def stop(self) -> None:
        self.stops += 1


async def test_a_reload_that_hangs_does_not_hold_up_the_end() -> None:
    server = Stuck()
    send, signals = trio.open_memory_channel[int](3)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_obey, signals, cast("Server", server))
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGTERM):
            send.send_nowait(number)
        await trio.testing.wait_all_tasks_blocked()
        assert (server.reloads, server.stops) == (1, 2)
        nursery.cancel_scope.cancel()
