"""The writer: hands what was applied in memory to the store, a batch at a time.

Everything applied while a commit is under way goes into the next one.  An answer
names the newest batch it could depend on and leaves when that is durable, so
nobody ever sees what a crash would undo; while nothing is under way no answer
waits.  A batch that the disk refuses is undone in memory together with all that
came after it: every scope goes back to its last durable image, which is kept here,
so that undoing asks nothing of a disk that has just failed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import trio

from milkd.daemon.batches import Batch, guarded
from milkd.daemon.fatal import EXIT_SOFTWARE, Fatal, trace
from milkd.daemon.uses import Uses
from milkd.engine.percept import ARCHIVE, GLOBAL, ScopeImage
from milkd.errors import ReadOnly, StorageFailed, StorageFull, WireError
from milkd.store.files import Poisoned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from milkd.daemon.disk import Disk
    from milkd.daemon.health import Health
    from milkd.daemon.uses import Use
    from milkd.engine.changes import Change
    from milkd.engine.engine import Engine
    from milkd.store.store import Commit, Store

HEALTH_KEY = "commit"

_log = logging.getLogger(__name__)


class Commits:
    """Pending changes and the task that makes them durable.

    Args:
        store: Where they go.
        engine: Holds the state that they lead to.
        reading: The running clocks, for scopes that go back to an earlier image.
        linger_s: For how long uses of percepts may wait for company.

    Attributes:
        settled: Called after every commit, good or bad.
        succeeded: Whether any commit has been durable yet.
        lost: What has cost the disk its credit, if anything has.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        health: Health,
        disk: Disk,
        *,
        reading: Callable[[], Mapping[str, float]],
        linger_s: float,
    ) -> None:
        self._store = store
        self._engine = engine
        self._health = health
        self._reading = reading
        self._linger_s = linger_s
        self._disk = disk
        self._pending = Batch()
        self._current: Batch | None = None
        self._uses = Uses()
        self._wake = trio.Event()
        self._poison: StorageFailed | None = None
        self._durable = {name: ScopeImage(name=name) for name in (GLOBAL, ARCHIVE)}
        self.settled: Callable[[], None] = lambda: None
        self.succeeded = False
        self.lost: str | None = None

    def loaded(self, image: ScopeImage) -> None:
        """Take note of a scope that the engine has loaded from the store."""
        self._durable[image.name] = image

    def unloaded(self, scope: str) -> None:
        """Forget a scope that the engine has let go."""
        del self._durable[scope]

    def check(self) -> None:
        """Refuse to go on after the disk has lost its credit.

        Raises:
            StorageFailed: Nothing can be decided any more; the process is about to end.
        """
        if self._poison is not None:
            raise StorageFailed(*self._poison.args)

    def add(self, changes: Sequence[Change]) -> Batch:
        """Take changes that were applied; the batch they will be durable with."""
        self._pending.add(self._uses.take())
        self._pending.add(changes)
        self._pending.urgent = True
        self._wake.set()
        return self._pending

    def add_uses(self, uses: Sequence[Use]) -> None:
        """Take uses that were applied; they go along with the next changes, or after a while."""
        if not self._uses:
            self._wake.set()
        self._uses.add(uses)

    def newest(self) -> Batch | None:
        """The batch that a read decided now depends on."""
        for batch in (self._pending, self._current):
            if batch is not None and batch.urgent:
                return batch
        return None

    def complain(self, what: str, error: WireError) -> None:
        """Tell that the disk took no change; the next one that it takes ends the trouble."""
        _log.error("%s: %s: %s", what, error.code, error)
        self._health.note(
            HEALTH_KEY,
            f"{what} ({error.code}: {error}); see to the disk",
            read_only=isinstance(error, ReadOnly),
        )

    def flush(self) -> Batch | None:
        """Hurry up with all that is pending; the batch to wait for, if there is anything."""
        if self._uses:
            return self.add(())
        return self.newest() or self._current

    def holds(self, scope: str) -> bool:
        """Whether changes of the scope are on their way."""
        current = self._current.scopes if self._current is not None else set()
        return any(scope in scopes for scopes in (self._pending.scopes, self._uses.scopes, current))

    async def run(self) -> None:
        """Commit for ever; return when the disk has lost its credit.

        Raises:
            Fatal: Memory cannot be trusted any more.
        """
        while self._poison is None:
            await self._wanted()
            self._current, self._pending = self._pending, Batch()
            await self._commit(self._current)
            self._current = None
            guarded(self.settled)

    async def _wanted(self) -> None:
        """Wait for changes, or for uses to have lingered."""
        while not self._pending.changes:
            self._wake = trio.Event()
            with trio.move_on_after(self._linger_s if self._uses else float("inf")) as waited:
                await self._wake.wait()
            if waited.cancelled_caught:
                self._pending.add(self._uses.take())

    async def _commit(self, batch: Batch) -> None:
        try:
            commit = self._store.prepare(tuple(batch.changes), self._engine.image)
        except Exception as error:
            raise Fatal(EXIT_SOFTWARE, f"a commit could not be prepared\n{trace(error)}") from None
        try:
            await self._disk.run(lambda: self._store.commit(commit))
        except Poisoned as error:
            self._give_up(batch, error)
        except (StorageFull, StorageFailed, ReadOnly) as error:
            self._fail(batch, error)
        except Exception as error:
            raise Fatal(EXIT_SOFTWARE, f"a commit went wrong\n{trace(error)}") from None
        else:
            self._keep(commit)
            self._health.clear(HEALTH_KEY)
            batch.settle()

    def _keep(self, commit: Commit) -> None:
        """From now on, undoing goes back to this."""
        self.succeeded = True
        self._durable |= {image.name: image for image in commit.images}
        self._durable |= {name: ScopeImage(name=name) for name in commit.dropped}

    def _fail(self, batch: Batch, error: WireError) -> None:
        """Undo what is not durable.  Lost uses do no harm, so they cost no undoing."""
        self.complain("the last change could not be saved", error)
        if batch.urgent:
            doomed, self._pending = self._pending, Batch()
            self._uses = Uses()
            self._undo((*batch.changes, *doomed.changes))
            doomed.settle(error)
        batch.settle(error)

    def _undo(self, changes: Iterable[Change]) -> None:
        """Put every loaded scope back to what is durable of it."""
        running = self._reading()
        for name, image in self._durable.items():
            self._engine.load(image, running.get(name, image.running_seconds))
        for change in changes:
            self._engine.revoke(change)

    def _give_up(self, batch: Batch, error: Poisoned) -> None:
        """After a failed fsync, or half a save, the disk's word is worth nothing."""
        _log.critical("the disk cannot be trusted; stopping: %s\n%s", error, trace(error))
        self.lost = str(error)
        self._poison = StorageFailed(f"{error}; milkd is ending")
        self._health.note(HEALTH_KEY, self.lost, read_only=True)
        batch.settle(self._poison)
        self._pending.settle(self._poison)
