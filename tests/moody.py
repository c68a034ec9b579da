"""Simulations: a disk of unforeseeable speed, virtual time, and a schedule by the seed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import trio
import trio.testing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


class MoodyDisk:
    """Runs calls on the loop, each after an unforeseeable while; slow jobs run beside others."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._lock = trio.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        with trio.CancelScope(shield=True):
            async with self._lock:
                await trio.sleep(self._random.random() / 100)
                result = call()
        return result

    async def slow(self, call: Callable[[Callable[[], None]], T]) -> T:
        with trio.CancelScope(shield=True):
            await trio.sleep(self._random.random() / 10)
        return call(lambda: None)

    async def look(self, call: Callable[[], T]) -> T | None:
        await trio.sleep(self._random.random() / 1_000)
        return call()


def simulate(seed: int, scene: Callable[[Random], Awaitable[T]]) -> T:
    """Run a scene in virtual time; what it does is up to the seed alone.

    Trio chooses which task goes first, by a generator of its own.  No thread and no socket may
    be in the scene: while they work the virtual clock would jump ahead.
    """
    run: Any = trio._core._run
    before = run._ALLOW_DETERMINISTIC_SCHEDULING, run._r
    run._ALLOW_DETERMINISTIC_SCHEDULING, run._r = True, Random(seed)
    try:
        clock = trio.testing.MockClock(autojump_threshold=0)
        return trio.run(scene, Random(seed), clock=clock)
    finally:
        run._ALLOW_DETERMINISTIC_SCHEDULING, run._r = before
