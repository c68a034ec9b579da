"""What other programs do to the files while the daemon runs: noticed, and taken in.

A file that a person or milk changed is merged with what is in memory, and written
anew.  One that nobody can understand is kept aside, and what is in memory is written
in its place.  Nothing of theirs is overwritten that is not kept somewhere.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import trio

from milkd.daemon.fatal import trace
from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import Failure, StorageFailed
from milkd.paths import short
from milkd.store.merging import merge
from milkd.store.seal import Seal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from milkd.daemon.batches import Batch
    from milkd.daemon.core import Core
    from milkd.engine.changes import Change
    from milkd.engine.percept import ScopeImage
    from milkd.store.files import Stamp
    from milkd.store.interface import Found, Theirs
    from milkd.store.merging import Merged
    from milkd.store.snapshot import Loaded

STORE_KEY = "store"
ATTEMPTS = 3
BESIDE = (
    "another program (milk?) writes the files of this store too: what it adds and changes is "
    "taken in, but what it deletes comes back; use `milkctl forget`"
)

_log = logging.getLogger(__name__)


class Edits:
    """Compares the files with what milkd left there, and merges."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._noted: dict[str, Stamp | None] = {}
        self._one = trio.Lock()
        self._looked_at = trio.current_time()
        self._wake = trio.Event()
        self._warned = False

    async def look(self) -> None:
        """Take in what is not as it was left, and write those files anew.

        What cannot be understood, or is gone, may be in the middle of being written: it is noted
        now, and acted on if it is the same at the next look.
        """
        async with self._one:
            self._looked_at = trio.current_time()
            try:
                found = await self._core.disk.look(
                    partial(self._core.store.changed, self._scopes())
                )
            except Failure as error:
                self._core.health.note(STORE_KEY, str(error))
                return
            if found is None:
                return  # a checkpoint is being published, which looks itself
            self._core.health.clear(STORE_KEY)
            for scope in self._noted.keys() - found.keys():
                self._core.health.clear(_key(scope))
            before, self._noted = self._noted, {}
            taken = [
                scope
                for scope, stamp in found.items()
                if await self._take_in(scope, settled=before.get(scope, ()) == stamp)
            ]
            if taken:
                self._core.checkpoints.ask()

    async def glance(self) -> None:
        """Look, unless somebody just did: who calls now may have edited a file before that."""
        if self.overdue():
            await self.look()

    def overdue(self) -> bool:
        """Whether nobody looked lately, nor does now."""
        since = trio.current_time() - self._looked_at
        return since >= self._core.limits.files_poll_s and not self._one.locked()

    def wake(self, _: Sequence[str]) -> None:
        """A checkpoint found files that others have written."""
        self._wake.set()

    async def watch(self, poll_s: float, wanted: Callable[[], object]) -> None:
        """Look again and again, while somebody wants to know."""
        while True:
            with trio.move_on_after(poll_s):
                await self._wake.wait()
            if self._wake.is_set() or wanted():
                self._wake = trio.Event()
                await self.look()

    def _scopes(self) -> Sequence[str]:
        core = self._core
        scopes = (GLOBAL, ARCHIVE, *core.engine.sessions(), *core.sessions.closed_names())
        return [scope for scope in scopes if scope not in core.commits.frozen]

    async def _take_in(self, scope: str, *, settled: bool) -> bool:
        """Do what is to be done about a scope's file; whether it is to be written anew."""
        core = self._core
        if core.commits.refusal is not None:
            return False
        try:
            if scope not in (GLOBAL, ARCHIVE):
                closed = await core.loading.closed(scope)
                if closed is not None:
                    self._notice(scope, closed)
                    return False
            visited = [] if scope in (GLOBAL, ARCHIVE) else [scope]
            async with core.loading.visiting(visited):
                return await self._brought_in(scope, settled=settled)
        except Failure as error:
            _log.error("%s.json could not be taken in: %s", scope, error)
        except Exception as error:
            _log.error("%s.json could not be taken in\n%s", scope, trace(error))
        core.health.note(
            _key(scope),
            f"{scope}.json was changed by another program, and could not be taken in yet; milkd "
            "goes on with what it has",
        )
        return False

    def _notice(self, scope: str, found: Found) -> None:
        """A closed session has another file now, or none, or is new."""
        core = self._core
        core.sessions.adopt(core.engine.without_known(found.loaded.image))
        core.health.note_file(scope, found.loaded.warnings)
        core.health.clear(_key(scope))

    async def _brought_in(self, scope: str, *, settled: bool) -> bool:
        core = self._core
        theirs = await core.disk.run(partial(core.store.theirs, scope))
        if theirs.loaded is None and not settled:
            self._note(scope, theirs)
            return False
        await (self._replace if theirs.loaded is None else self._merge)(scope, theirs)
        core.health.clear(_key(scope))
        return True

    def _note(self, scope: str, theirs: Theirs) -> None:
        self._noted[scope] = theirs.stamp
        what = theirs.problem or f"{scope}.json was removed by another program"
        self._core.health.note(_key(scope), f"{what}; milkd goes on with what it has")

    async def _replace(self, scope: str, theirs: Theirs) -> None:
        """Keep what nobody can understand, and put ours in its place."""
        core = self._core
        kept = await core.disk.run(partial(core.store.adopt, scope, theirs, "damaged"))
        if kept is None:
            said = f"{scope}.json was removed by another program; it was written again"
        else:
            said = (
                f"{theirs.problem}; another program did that while milkd was running. "
                f"It is kept as {short(kept)}, and what milkd had was written again"
            )
        self._warn(said)
        file, _ = core.commits.kept.file(scope)
        core.commits.kept.rewrite(scope, file)

    async def _merge(self, scope: str, theirs: Theirs) -> None:
        """Bring what is in the file into memory, durably; then the file may be replaced."""
        core, loaded = self._core, theirs.loaded
        assert loaded is not None
        core.commits.check()
        merged = await self._merged(scope, loaded, await self._base(scope, loaded))
        batch = self._apply(merged.changes)
        if batch is not None:
            await batch.done.wait()
            if batch.error is not None:
                raise StorageFailed(str(batch.error))
        conflict = bool(merged.conflicts or merged.refused or loaded.lossy)
        kind = "conflict" if conflict else None
        kept = await core.disk.run(partial(core.store.adopt, scope, theirs, kind))
        core.commits.kept.rewrite(scope, loaded.image)
        # A file that brings back what was forgotten meanwhile is kept only without that.
        gone = core.checkpoints.gone
        core.checkpoints.to_scrub([each for each in merged.refused if each in gone])
        self._tell(scope, loaded, merged, kept)

    async def _base(self, scope: str, loaded: Loaded) -> ScopeImage | None:
        """What their file came from; None if nobody knows."""
        if loaded.sealed is Seal.BARE:
            return None
        file, seq = self._core.commits.kept.file(scope)
        if loaded.seq == seq:
            return file
        return await self._core.disk.run(partial(self._core.store.earlier, scope, loaded.seq))

    async def _merged(self, scope: str, loaded: Loaded, base: ScopeImage | None) -> Merged:
        """What the merge comes to, for the scope as it is when this returns.

        A large scope takes a second, so it is done beside the loop, and again if something was
        changed meanwhile; at last at one stroke.
        """
        core = self._core
        for attempts_left in range(ATTEMPTS, -1, -1):
            seq, job = core.commits.seq, self._job(scope, loaded, base)
            merged = await core.disk.slow(partial(_without_pause, job)) if attempts_left else job()
            if core.commits.seq == seq:
                break
        return merged

    def _job(self, scope: str, loaded: Loaded, base: ScopeImage | None) -> Callable[[], Merged]:
        core, capture = self._core, self._core.engine.capture(scope)
        work = partial(
            merge,
            base,
            loaded.image,
            wall=core.now().wall,
            running=core.clocks.reading().get(scope),
            elsewhere=self._taken(scope, loaded).__contains__,
        )
        return lambda: work(ours=capture.image())

    def _taken(self, scope: str, loaded: Loaded) -> set[str]:
        """The ids in their file that another scope has, or that were forgotten in this run."""
        core = self._core
        ids = (percept.id for percept in loaded.image.percepts)
        return {
            each
            for each in ids
            if each in core.checkpoints.gone or core.engine.exists(each, beside=scope)
        }

    def _apply(self, changes: Sequence[Change]) -> Batch | None:
        if not changes:
            return None
        self._core.commits.check(changes)
        self._core.apply(changes)
        return self._core.commits.add(changes, "merge")

    def _tell(self, scope: str, loaded: Loaded, merged: Merged, kept: str | None) -> None:
        summary = merged.summary or "nothing new"
        _log.info("%s.json was changed by another program: %s", scope, summary)
        if kept is not None:
            # What is odd about an entry may quote it, and is for the client alone, not the log.
            odd = "".join(f"; {warning}" for warning in loaded.warnings)
            if any(each in self._core.checkpoints.gone for each in merged.refused):
                odd += "; what was forgotten is not brought back by an edit"
            self._core.health.tell(
                f"{scope}.json: {summary}{odd}; their version is kept as {short(kept)}"
            )
        if loaded.sealed is Seal.BARE and not self._warned:
            self._warned = True
            self._warn(BESIDE)
        self._core.hub.publish("percepts", "merged", scope=scope)

    def _warn(self, sentence: str) -> None:
        _log.warning("%s", sentence)
        self._core.health.tell(sentence)


def _without_pause(job: Callable[[], Merged], _: Callable[[], None]) -> Merged:
    return job()


def _key(scope: str) -> str:
    return f"edit {scope}"
