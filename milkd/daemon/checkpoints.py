"""Checkpoints: when scopes are written into their files, and the steps of it.

The journal is what makes a change durable; the files follow when it has grown, when
nothing happened for a while, at the end, or when somebody asks.  Whatever goes wrong
here loses nothing: the journal is kept, and the next attempt comes by itself.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import trio

from milkd.daemon.batches import Batch, guarded
from milkd.daemon.fatal import trace
from milkd.engine.capture import Capture
from milkd.errors import Failure, ReadOnly, ShuttingDown, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from milkd.daemon.commits import Commits
    from milkd.daemon.disk import Disk
    from milkd.daemon.health import Health
    from milkd.daemon.limits import Limits
    from milkd.engine.engine import Engine
    from milkd.engine.percept import ScopeImage
    from milkd.store.checkpoint import Checkpoint
    from milkd.store.entries import Done, Entry
    from milkd.store.interface import Published, Store

HEALTH_KEY = "checkpoint"
FIRST_DELAY = 1.0  # seconds from a failed attempt to the next one
LAST_DELAY = 300.0
ROWS = 4_096  # percepts that the engine is given at one stroke
MOST_GONE = 10_000  # forgotten percepts that a file of another program may still bring back

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Moment:
    """All that one checkpoint saves.

    Attributes:
        seq: The newest entry that is in it.
        scrubs: Ids of forgotten percepts, by the entry that forgets them; all of these entries
            are in journals that are not written to any more.
        needed: The batch of that newest entry, if it is not durable yet.
    """

    seq: int
    parts: list[Capture | ScopeImage]
    operations: tuple[Done, ...]
    scrubs: dict[int, tuple[str, ...]]
    needed: Batch | None


class Checkpoints:
    """The task that takes them.

    Attributes:
        forgotten: By id, what percepts said of which no trace may stay; filled before the
            entry that forgets them is durable.
        gone: Ids of the percepts that were forgotten last, up to `MOST_GONE`.
        overtaken: Called with scopes whose files another program has written.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        commits: Commits,
        disk: Disk,
        health: Health,
        limits: Limits,
        operations: Callable[[], Sequence[Done]],
    ) -> None:
        self.forgotten: dict[str, set[str]] = {}
        self.gone: dict[str, None] = {}
        self.overtaken: Callable[[Sequence[str]], None] = lambda _: None
        self._store = store
        self._engine = engine
        self._commits = commits
        self._disk = disk
        self._health = health
        self._limits = limits
        self._operations = operations
        # Ids, by the entry that forgets them; below 0 there is no such entry.
        self._scrubs: dict[int, tuple[str, ...]] = {}
        self._numbers = count(1)
        self._entries = 0  # since the last one
        self._left = 0  # bytes of journal that it could not put away
        self._changed_at = trio.current_time()
        self._delay = 0.0
        self._tried_at = 0.0
        self._beaten = False  # whether others wrote a file before the last one could
        self._given_up = False
        self._asked: Batch | None = None
        self._resting = True  # nothing is due unless something happens
        self._wake = trio.Event()
        self._one = trio.Lock()

    def durable(self, entries: Sequence[Entry]) -> None:
        """Entries are on the medium."""
        self._entries += len(entries)
        self._scrubs |= {entry.seq: entry.scrub for entry in entries if entry.scrub}
        self._changed_at = trio.current_time()
        # The task wakes by itself when it has been quiet for long enough; waking it for every
        # entry would hold up the answers that leave now.
        if self._resting or self._wait() <= 0:
            self._wake.set()

    def forget(self, texts: Mapping[str, set[str]]) -> None:
        """Percepts are being forgotten, which said this."""
        self.forgotten |= texts
        self.gone.update(dict.fromkeys(texts))  # |= of keys would copy all of them
        while len(self.gone) > MOST_GONE:
            del self.gone[next(iter(self.gone))]

    def to_scrub(self, ids: Sequence[str]) -> None:
        """Percepts were forgotten, and it is not known whether every trace is gone."""
        if ids:
            self._scrubs[-next(self._numbers)] = tuple(ids)
            self._wake.set()

    def ask(self) -> Batch:
        """Have one taken soon; settled when it is done, or why it could not be."""
        if self._commits.refusal is not None:
            refused = Batch()
            refused.settle(ReadOnly(self._commits.refusal))
            return refused
        if self._asked is None:
            self._asked = Batch()
        self._wake.set()
        return self._asked

    def give_up(self) -> None:
        """Begin no more files: who asks twice for the end won't wait, and the journal has all."""
        self._given_up = True

    async def run(self) -> None:
        """Take them for ever."""
        while True:
            wait = self._wait()
            if wait > 0:
                self._wake, self._resting = trio.Event(), wait == float("inf")
                with trio.move_on_after(wait):
                    await self._wake.wait()
            else:
                await self.take()
                await self._compact()

    async def take(self) -> bool:
        """Take one now; whether all that was changed is in the files."""
        if self._commits.refusal is not None or self._given_up:
            return False  # what somebody must repair stays as it is
        async with self._one:
            asked, self._asked = self._asked, None
            error = await self._tried()
            self._left = self._store.unsaved
            if error is None:
                self._tried_at = trio.current_time()
                self._delay = FIRST_DELAY if self._beaten else 0.0
                self._health.clear(HEALTH_KEY)
            else:
                self.failed(error)
            if asked is not None:
                asked.settle(error)
            return error is None

    async def finish(self) -> None:
        """Take the last one, and leave no journal if that is not needed any more."""
        if self._commits.refusal is None and await self.take():
            try:
                await self._disk.run(self._store.finish)
            except Failure as error:
                _log.warning("the journal is left: %s", error)

    def _wait(self) -> float:
        """Seconds until one is due; 0 if it is."""
        if self._commits.refusal is not None or self._commits.lost is not None:
            return float("inf")
        now = trio.current_time()
        if self._delay and self._asked is None:
            return self._tried_at + self._delay - now
        limits = self._limits
        grown = (
            self._entries >= limits.checkpoint_entries
            or self._store.unsaved - self._left >= limits.checkpoint_bytes
        )
        if self._asked is not None or self._scrubs or self._store.all_at_risk or grown:
            return 0.0
        if self._commits.dirty():
            return max(0.0, self._changed_at + limits.checkpoint_idle_s - now)
        return float("inf")

    async def _tried(self) -> Failure | None:
        try:
            return await self._steps()
        except Failure as error:
            return error
        except Exception as error:
            _log.error("a checkpoint failed\n%s", trace(error))
            return StorageFailed(f"a fault of milkd: {type(error).__name__}")

    async def _steps(self) -> Failure | None:
        """Rotate, capture, write, publish, clear away; why it did not get that far."""
        self._entries = 0
        if (waiting := self._commits.flush()) is not None:
            await waiting.done.wait()
        self._commits.check()
        base = await self._disk.run(self._store.rotate)
        moment = self._moment(base)
        written = await self._disk.slow(partial(self._write, moment))
        try:
            if (needed := moment.needed) is not None:
                await needed.done.wait()
                if needed.error is not None:
                    return StorageFailed("what was to be saved had to be undone")
            published = await self._disk.run(partial(self._store.publish, written))
        finally:
            written.discard()
        self._published(published, moment.seq)
        await self._freshen(moment.parts, published)
        if published.error is not None or published.overtaken:
            return published.error
        return await self._clear_away(moment.scrubs)

    def _write(self, moment: _Moment, pause: Callable[[], None]) -> Checkpoint:
        def turn() -> None:
            if self._given_up:
                raise ShuttingDown("asked to stop twice")
            pause()

        return self._store.write(moment.parts, moment.seq, moment.operations, turn)

    def _moment(self, base: int) -> _Moment:
        """What is to be saved, as it is now; nothing may be awaited in here."""
        commits = self._commits
        return _Moment(
            seq=commits.seq,
            parts=[commits.kept.part(scope) for scope in commits.dirty()],
            operations=tuple(self._operations()),
            scrubs={seq: ids for seq, ids in self._scrubs.items() if seq <= base},
            needed=commits.latest(),
        )

    def _published(self, published: Published, seq: int) -> None:
        self._commits.kept.saved(published.images, seq)
        self._store.all_at_risk = False
        self._beaten = bool(published.overtaken)
        if self._beaten:
            guarded(self.overtaken, published.overtaken)

    async def _freshen(self, parts: Sequence[Capture | ScopeImage], published: Published) -> None:
        """Let the engine have the percepts that were made for the files, a few at a time."""
        for part in parts:
            image = published.images.get(part.name)
            if image is None or not isinstance(part, Capture) or 1 not in part.stale:
                continue
            for first in range(0, len(part.slots), ROWS):
                last = min(first + ROWS, len(part.slots))
                self._engine.freshen(part, image, range(first, last))
                await trio.lowlevel.checkpoint()

    async def _compact(self) -> None:
        """Let the engine clear up after itself; a checkpoint follows whatever drops percepts."""
        for _ in self._engine.compacting():
            await trio.lowlevel.checkpoint()

    async def _clear_away(self, scrubs: dict[int, tuple[str, ...]]) -> Failure | None:
        """Leave no trace of what was forgotten; then the journals may go."""
        ids = {each for group in scrubs.values() for each in group}
        if ids:
            texts = {each: self.forgotten.get(each, set()) for each in ids}
            live = self._engine.ids()
            await self._disk.slow(lambda _: self._store.scrub(texts, live.__contains__))
            for each in ids:
                self.forgotten.pop(each, None)
        await self._disk.run(partial(self._store.retire, keep=not ids))
        for seq in scrubs:
            del self._scrubs[seq]
        return None

    def failed(self, error: Failure) -> None:
        """The files could not be written; the journal still holds everything."""
        self._tried_at = trio.current_time()
        self._delay = min(max(2 * self._delay, FIRST_DELAY), LAST_DELAY)
        _log.error("the files could not be saved: %s: %s", error.code, error)
        self._health.note(
            HEALTH_KEY,
            f"the files could not be saved ({error.code}: {error}); nothing is lost, the journal "
            "has it, and it is tried again",
        )
