"""Which sessions the engine has loaded: the open ones, and for a while some others.

A session that was closed stays loaded until all of it is on disk; one that is
closed may be loaded for a visit, which opens nothing.
"""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import trio

from milkd.errors import StoreDamaged, VersionMismatch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection

    from milkd.daemon.commits import Commits
    from milkd.daemon.disk import Disk
    from milkd.daemon.health import Health
    from milkd.engine.engine import Engine
    from milkd.engine.percept import ScopeImage
    from milkd.store.interface import Found, Store


class Loading:
    """Brings sessions into the engine and lets them go.

    Attributes:
        is_open: Whether a session is to stay.
        unloaded: Called with what a session held when it went.
    """

    def __init__(
        self, engine: Engine, store: Store, disk: Disk, commits: Commits, health: Health
    ) -> None:
        self._engine = engine
        self._store = store
        self._disk = disk
        self._commits = commits
        self._health = health
        self._visits: Counter[str] = Counter()
        # One load at a time: a second one of the same session would undo what came between.
        self._lock = trio.Lock()
        self._quiet = trio.Event()
        self.is_open: Callable[[str], bool] = lambda _: False
        self.unloaded: Callable[[ScopeImage], None] = lambda _: None

    async def ensure(self, name: str) -> None:
        """Have the session loaded; before the next checkpoint somebody must want it to stay.

        Raises:
            Failure: Its file cannot be read.
        """
        if self._engine.is_loaded(name):
            return
        async with self._lock:
            if self._engine.is_loaded(name):
                return
            while (parked := self._commits.kept.parked(name)) is not None:
                await self._prepare(parked)
                if self._commits.kept.parked(name) is parked:  # else it has been saved meanwhile
                    self._engine.load(parked, parked.running_seconds)
                    return
            await self._load_file(name)

    async def _load_file(self, name: str) -> None:
        found = await self._found(name)
        image = self._engine.without_known(found.loaded.image)
        await self._prepare(image)
        image = self._engine.without_known(image)  # global may have got some of it
        if found.frozen is not None:
            self._commits.frozen[name] = found.frozen
        self._engine.load(image, image.running_seconds)
        self._commits.kept.loaded(found, image)

    async def _prepare(self, image: ScopeImage) -> None:
        """Do most of what loading it takes; others have their turns meanwhile."""
        for _ in self._engine.preparing(image):
            await trio.lowlevel.checkpoint()

    async def _found(self, name: str) -> Found:
        """A session as it is on disk."""
        try:
            found = await self._disk.run(partial(self._store.find, name))
        except (StoreDamaged, VersionMismatch) as error:
            self.complain(name, error)
            raise
        self._health.note_file(name, found.loaded.warnings)
        return found

    async def closed(self, name: str) -> Found | None:
        """A session as it is on disk; None if it is loaded, or has more than is on disk.

        One that is about to be loaded is waited for: whoever reads its file counts as knowing it.

        Raises:
            Failure: Its file cannot be read.
        """
        async with self._lock:
            if self._engine.is_loaded(name) or self._commits.kept.parked(name) is not None:
                return None
            return await self._disk.run(partial(self._store.find, name))

    def complain(self, name: str, error: Exception) -> None:
        """Tell that a session cannot be opened."""
        self._health.note_file(name, [f"session {name} cannot be opened: {error}"])

    @asynccontextmanager
    async def visiting(self, names: Collection[str]) -> AsyncIterator[None]:
        """Have closed sessions loaded for a while, without opening them.

        Raises:
            Failure: A file cannot be read.
        """
        self._visits.update(names)
        try:
            for name in names:
                await self.ensure(name)
            yield
        finally:
            self._visits.subtract(names)
            self.sweep()

    async def only_open(self) -> None:
        """Wait until no session is loaded that is not open, as a pass over all must find it."""
        while self._lodgers():
            if self._quiet.is_set():  # else others wait for it already
                self._quiet = trio.Event()
            await self._quiet.wait()

    def sweep(self) -> None:
        """Unload what is loaded without need."""
        for name in self._lodgers():
            if not self._visits[name] and not self._commits.holds(name):
                image = self._engine.image(name)
                self.unloaded(image)
                self._engine.unload(name)
                self._commits.kept.unloaded(image, self._commits.durable)
        if not self._lodgers():
            self._quiet.set()

    def _lodgers(self) -> list[str]:
        return [name for name in self._engine.sessions() if not self.is_open(name)]
