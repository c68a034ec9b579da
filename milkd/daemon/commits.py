"""The writer: appends what was applied in memory to the journal, a batch at a time.

Everything applied while an append is under way goes into the next one, and one sync
makes all of it durable.  An answer names the newest batch it could depend on and
leaves when that is durable, so nobody ever sees what a crash would undo; while
nothing is under way no answer waits.  A batch that the disk refuses is undone in
memory together with all that came after it, from what is kept here, so that undoing
asks nothing of a disk that has just failed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import trio

from milkd.daemon.batches import Batch, guarded
from milkd.daemon.fatal import EXIT_SOFTWARE, Fatal, trace
from milkd.daemon.kept import KeptScopes
from milkd.daemon.parting import parts
from milkd.daemon.uses import Uses
from milkd.engine.changes import scope_of
from milkd.errors import ReadOnly, StorageFailed, StorageFull, WireError
from milkd.store.entries import Entry
from milkd.store.files import Poisoned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from milkd.daemon.disk import Disk
    from milkd.daemon.health import Health
    from milkd.daemon.uses import Use
    from milkd.engine.changes import Change
    from milkd.engine.engine import Engine
    from milkd.store.entries import Done
    from milkd.store.interface import Store

HEALTH_KEY = "commit"

_log = logging.getLogger(__name__)


class Commits:
    """Pending entries and the task that makes them durable.

    Args:
        store: Where they go.
        engine: Holds the state that they lead to.
        wall: The wall clock.
        linger_s: For how long uses of percepts may wait for company.

    Attributes:
        kept: What is durable of each scope.
        frozen: Scopes that must not be changed, and why.
        refusal: Why nothing at all may be changed.
        noted: Called with the entries of every good commit, before anybody hears of it.
        settled: Called after every commit, good or bad, when the answers have left.
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
        wall: Callable[[], float],
        linger_s: float,
    ) -> None:
        self.kept = KeptScopes(engine)
        self.frozen: dict[str, str] = {}
        self.refusal: str | None = None
        self.noted: Callable[[Sequence[Entry]], None] = lambda _: None
        self.settled: Callable[[], None] = lambda: None
        self.succeeded = False
        self.lost: str | None = None
        self._store = store
        self._health = health
        self._wall = wall
        self._linger_s = linger_s
        self._disk = disk
        self._seq = self._durable = 0
        self._pending = Batch()
        self._current: Batch | None = None
        self._uses = Uses()
        self._wake = trio.Event()
        self._poison: StorageFailed | None = None

    @property
    def seq(self) -> int:
        """The newest entry that was applied."""
        return self._seq

    @property
    def durable(self) -> int:
        """The newest entry that is on the medium."""
        return self._durable

    def start_at(self, seq: int) -> None:
        """The store was loaded, as of this entry."""
        self._seq = self._durable = seq

    def check(self, changes: Sequence[Change] = ()) -> None:
        """Refuse what must not be changed, before it is applied.

        Raises:
            StorageFailed: Nothing can be decided any more; the process is about to end.
            ReadOnly: The store, or a scope, waits for somebody to repair it.
        """
        if self._poison is not None:
            raise StorageFailed(*self._poison.args)
        if self.refusal is not None and changes:
            raise ReadOnly(self.refusal)
        if self.frozen:
            for scope in map(scope_of, changes):
                if scope in self.frozen:
                    raise ReadOnly(self.frozen[scope])

    def add(
        self,
        changes: Sequence[Change],
        kind: str,
        *,
        done: Done | None = None,
        scrub: Sequence[str] = (),
    ) -> Batch:
        """Take an operation whose changes were applied; the batch it will be durable with."""
        self._add_pending_uses()
        *before, last = parts(changes)
        for part in before:
            self._append(Entry(self._next(), self._wall(), kind, part, more=True))
        self._append(Entry(self._next(), self._wall(), kind, last, done, tuple(scrub)))
        self._pending.urgent = True
        self._wake.set()
        return self._pending

    def add_uses(self, uses: Sequence[Use]) -> None:
        """Take uses that were applied; they go along with the next changes, or after a while."""
        if self.refusal is not None:
            return
        if not self._uses:
            self._wake.set()
        self._uses.add([use for use in uses if use.scope not in self.frozen])

    def newest(self) -> Batch | None:
        """The batch that a read decided now depends on."""
        for batch in (self._pending, self._current):
            if batch is not None and batch.urgent:
                return batch
        return None

    def latest(self) -> Batch | None:
        """The batch of the newest entry, if that is not durable yet."""
        return self._pending if self._pending.entries else self._current

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
        self._add_pending_uses()
        if self._pending.entries:
            self._pending.urgent = True
            self._wake.set()
            return self._pending
        return self._current

    def dirty(self) -> list[str]:
        """The scopes whose files lack something and may be written."""
        return [scope for scope in self.kept.dirty() if scope not in self.frozen]

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
            guarded(self.settled)  # the answers have left by now

    def _append(self, entry: Entry) -> None:
        self._pending.add(entry)

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def _add_pending_uses(self) -> None:
        if self._uses:
            self._append(Entry(self._next(), self._wall(), "uses", tuple(self._uses.take())))

    async def _wanted(self) -> None:
        """Wait for changes, or for uses to have lingered."""
        while not self._pending.entries:
            self._wake = trio.Event()
            if not self._uses:
                await self._wake.wait()
                continue
            with trio.move_on_after(self._linger_s) as waited:
                await self._wake.wait()
            if waited.cancelled_caught:
                self._add_pending_uses()

    async def _commit(self, batch: Batch) -> None:
        try:
            await self._disk.run(lambda: self._store.append(batch.entries))
        except Poisoned as error:
            self._give_up(batch, error)
        except (StorageFull, StorageFailed, ReadOnly) as error:
            self._fail(batch, error)
        except Exception as error:
            raise Fatal(EXIT_SOFTWARE, f"a commit went wrong\n{trace(error)}") from None
        else:
            self.succeeded = True
            self._durable = batch.entries[-1].seq
            self.kept.durable(batch.entries)
            self._health.clear(HEALTH_KEY)
            guarded(self.noted, batch.entries)
            batch.settle()

    def _fail(self, batch: Batch, error: WireError) -> None:
        """Undo what is not durable, and use the numbers of the entries again.

        Lost uses do no harm: where there is nothing else, they cost no undoing.
        """
        self.complain("the last change could not be saved", error)
        doomed, self._pending = self._pending, Batch()
        if batch.urgent or doomed.entries:
            self._uses = Uses()
            self.kept.undo((*batch.entries, *doomed.entries))
        self._seq = self._durable
        doomed.settle(error)
        batch.settle(error)

    def _give_up(self, batch: Batch, error: Poisoned) -> None:
        """After a failed fsync the disk's word is worth nothing."""
        _log.critical("the disk cannot be trusted; stopping: %s\n%s", error, trace(error))
        self.lost = str(error)
        self._poison = StorageFailed(f"{error}; milkd is ending")
        self._health.note(HEALTH_KEY, self.lost, read_only=True)
        batch.settle(self._poison)
        self._pending.settle(self._poison)
