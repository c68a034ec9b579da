"""Notice what other programs do to the files of loaded scopes.

Nothing is taken from them: a changed file is kept aside when milkd writes its own
version over it.  But who edits a file, or loses one, hears of it before that.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from milkd.engine.percept import ARCHIVE, GLOBAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.daemon.disk import Disk
    from milkd.daemon.health import Health
    from milkd.engine.engine import Engine
    from milkd.store.store import Store


class Watch:
    """Compares the files with what milkd left there."""

    def __init__(self, engine: Engine, store: Store, disk: Disk, health: Health) -> None:
        self._engine = engine
        self._store = store
        self._disk = disk
        self._health = health
        self._noted: set[str] = set()

    async def look(self) -> None:
        """Note what is not as it was left, and clear what is again.

        While a save is under way, or the disk does not answer, all stays as it was noted.
        """
        scopes = (GLOBAL, ARCHIVE, *self._engine.sessions())
        found = await self._disk.look(partial(self._store.foreign, scopes))
        if found is None:
            return
        for scope in self._noted - found.keys():
            self._health.clear(_key(scope))
        for scope, sentence in found.items():
            self._health.note(_key(scope), sentence)
        self._noted = set(found)

    async def watch(self, poll_s: float, wanted: Callable[[], object]) -> None:
        """Look again and again, while somebody wants to know."""
        while True:
            await trio.sleep(poll_s)
            if wanted():
                await self.look()


def _key(scope: str) -> str:
    return f"foreign {scope}"
