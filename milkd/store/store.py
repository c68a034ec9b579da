"""The store: a journal for what is new, a JSON file a scope for what is settled.

An entry is durable when the journal has it; a checkpoint writes the scopes that it
changed into their files and puts the journal away.  After a clean stop there is no
journal, and the files are the whole truth.
"""

from __future__ import annotations

import contextlib
import os
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import ReadOnly, StorageFailed
from milkd.paths import OWN_DIRECTORY
from milkd.store.backups import Backups
from milkd.store.checkpoint import Checkpoint, is_void
from milkd.store.copies import Copies
from milkd.store.directory import Directory
from milkd.store.encoder import image_to_bytes
from milkd.store.files import FULL, Files, Poisoned, storage_error
from milkd.store.generations import Generations
from milkd.store.identity import new_id, store_id
from milkd.store.interface import Found, Opened, Published, Store, Theirs
from milkd.store.operations import read_operations
from milkd.store.poisonings import Poisonings
from milkd.store.presence import Presence
from milkd.store.reserve import Reserve
from milkd.store.saving import Saving
from milkd.store.scrub import scrub
from milkd.store.seal import Sealing
from milkd.store.spare import Spare
from milkd.store.standins import Standins
from milkd.store.unsaved import Unsaved

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from milkd.engine.capture import Capture
    from milkd.engine.percept import ScopeImage
    from milkd.store.entries import Done, Entry
    from milkd.store.files import Stamp
    from milkd.store.salvage import Salvaged
    from milkd.store.snapshot import Loaded

__all__ = ["JournalStore", "Poisoned", "Store", "is_void"]

T = TypeVar("T")


class JournalStore:
    """A store in a directory; one process at a time, which holds its lock."""

    def __init__(
        self,
        directory: str,
        *,
        files: Files | None = None,
        now: Callable[[], float] = time.time,
        refusal: str | None = None,
        holds: Callable[[], bool] = lambda: True,
    ) -> None:
        """Use the store in a directory, which need not exist yet.

        Args:
            directory: Where the files are.
            files: The calls to go through.
            now: The wall clock, for names of copies.
            refusal: Why nothing may be written to it; None if that is for the store to say.
            holds: Whether the lock on it is still held; asked before anything is written.
        """
        self.warnings: list[str] = []
        self.all_at_risk = False
        self._files = files or Files()
        self._now = now
        self._directory = Directory(self._files, directory)
        self._own = os.path.join(self._directory.path, OWN_DIRECTORY)
        self._copies = Copies(self._files, self._directory.path, now)
        self._backups = Backups(self._files, self._directory.path, now)
        self._presence = Presence(self._files, self._directory, self._copies)
        self._standins = Standins(self._files, self._presence, self._backups)
        self._journals = Generations(self._files, self._own)
        self._reserve = Reserve(self._files, self._own)
        self._poisonings = Poisonings(self._files, self._own, now)
        self._spare = Spare()
        self._refusal = refusal
        self._holds = holds
        self._unsaved = Unsaved()
        self._saving = Saving(
            self._files, self._directory, self._own, self._presence, self._backups, self._unsaved
        )
        self._id: str | None = None
        self._spoilt: tuple[str, ...] = ()  # damaged journals

    @property
    def newest(self) -> int:
        """The newest entry that is durable, in the journal or in a file."""
        return self._journals.durable

    @property
    def unsaved(self) -> int:
        """Bytes of journal that the files do not hold yet, about."""
        return self._journals.unsaved

    def open(self, salvaged: Salvaged | None = None) -> Opened:
        """Read what must be known before anything is loaded; once.

        Args:
            salvaged: What could be saved of journals that cannot be relied on.

        Raises:
            StorageFailed: It cannot be read.
        """
        try:
            self._id = store_id(self._files, self._own)
            if salvaged is None:
                found = self._journals.recover(self._id)
            else:
                found, self._spoilt = self._journals.take(salvaged), salvaged.damaged
            retired = self._backups.retired_journals()
        except OSError as error:
            path = error.filename or f"the journal of {self._directory.path}"
            raise storage_error(f"cannot read {path}", error) from error
        refusal = self._refusal or found.refusal or self._poisonings.refusal()
        self._journals.refusal = refusal
        if refusal is None:
            self._directory.sweep(also=self._copies.directories())
            self._spare.keep()
        self._unsaved.add(found.entries)
        self._standins.opened(self._id, found.base, found.entries)
        kept = read_operations(self._files, self._own, self._id)
        self._saving.left.update(kept.files)
        self._standins.known = kept.files
        self._journals.start_at(kept.seq)
        self._journals.start_after(retired)
        later = [e.done for e in found.entries if e.done is not None and e.seq > kept.seq]
        files = (*self._directory.sessions(), *kept.files)
        scopes = (GLOBAL, ARCHIVE, *files, *self._standins.scopes())
        return Opened(
            scopes=tuple(dict.fromkeys(scopes)),
            operations=(*kept.operations, *later),
            refusal=refusal,
            notes=(*found.notes, *filter(None, [kept.note])),
            scrub={each: entry.seq for entry in found.entries for each in entry.scrub},
        )

    def find(self, scope: str) -> Found:
        """A scope as it is on disk; empty if there is nothing of it.

        Raises:
            StoreDamaged: Its file cannot be understood, and no backup stands in.
            VersionMismatch: A newer milkd must read it.
            StorageFailed: The disk did not give it, or the whole store is gone.
        """
        found = self._standins.find(scope)
        self._journals.start_at(found.loaded.seq)
        # A crash came after the file was published: then its entries are in it already.
        self._unsaved.saved(scope, found.loaded.seq)
        return found

    def with_entries(self, scope: str, loaded: Loaded) -> Found:
        """The scope as it would be found if this were in its file."""
        return self._standins.with_entries(scope, loaded)

    def append(self, entries: Sequence[Entry]) -> None:
        """Make entries durable.

        Raises:
            Failure: StorageFull, ReadOnly or StorageFailed; nothing was changed.
            Poisoned: What is on disk is unknown; no later append will succeed.
        """
        try:
            self._check_journal()
            store = self._spare.lend(self._prepare_to_write)
            self._append(entries, store)
        except Poisoned:
            self._poisonings.add()
            raise
        except OSError as error:
            path = self._directory.path
            raise storage_error(f"cannot append to the journal ({path})", error) from error
        self._presence.begin()
        self._unsaved.add(entries)

    def _append(self, entries: Sequence[Entry], store: str) -> None:
        append = partial(self._journals.append, entries, store)
        # To forget must be possible on a full disk too: it is what makes room.
        if any(entry.scrub for entry in entries):
            self._with_room(append)
        else:
            self._spare.lend(append)

    def rotate(self) -> int:
        """Begin a new journal; the number of the newest entry that is not in it.

        Raises:
            Failure: It cannot be made.
        """
        with self._as_failure("cannot begin a new journal"):
            self._presence.check_there()
            store = self._spare.lend(self._prepare_to_write)
            return self._with_room(partial(self._journals.rotate, store))

    def write(
        self,
        parts: Sequence[Capture | ScopeImage],
        seq: int,
        operations: Sequence[Done],
        pause: Callable[[], None],
    ) -> Checkpoint:
        """Write scopes, as of the entry `seq`, into new files beside the old ones.

        Raises:
            Failure: The disk refused; nothing is left of them.
        """
        with self._as_failure("cannot save"):
            sealing = Sealing(self._spare.lend(self._prepare_to_write), seq, self._now())
            return self._with_room(partial(self._saving.write, parts, sealing, operations, pause))

    def publish(self, written: Checkpoint) -> Published:
        """Put the new files in the old ones' places."""
        published = self._saving.publish(written, self._spare.lend)
        for scope in published.images:
            self._standins.forget(scope)
        if published.error is None:
            self._reserve.keep()
            self._spare.keep()
            self._poisonings.sound()
        return published

    def keep_damaged(self) -> None:
        """Keep the journals aside that `open` was told to be damaged: nobody else can read them.

        Raises:
            Failure: The disk refused.
        """
        with self._as_failure("cannot keep a damaged journal"):
            for path in self._spoilt:
                self._copies.keep_journal(path)

    def retire(self, *, keep: bool) -> None:
        """Put away the journals that are not needed any more: among the backups, or for good.

        Raises:
            Failure: The disk refused; they are still there, which does no harm.
        """
        with self._as_failure("cannot put a journal away"):
            away = self._away(keep=keep)
            self._spare.lend(partial(self._journals.retire, self._covered(), away))

    def scrub(self, texts: Mapping[str, Collection[str]], live: Callable[[str], bool]) -> None:
        """Remove every trace of forgotten percepts from what is kept besides the files.

        Args:
            texts: By id, what they said in any words, as far as it is known.
            live: Whether a percept of some id is not forgotten.

        Raises:
            Failure: Something could not be removed.
        """
        ids = texts.keys()
        with self._as_failure("cannot remove every trace of what was forgotten"):
            said = set().union(*texts.values())
            scrub(self._files, self._directory.path, ids=ids, texts=said, live=live)

    def changed(self, scopes: Sequence[str]) -> dict[str, Stamp | None] | None:
        """The scopes whose files are not as they were left; None while they are being replaced.

        Raises:
            Failure: The disk does not say, or the whole store is gone.
        """
        return self._presence.changed(scopes)

    def theirs(self, scope: str) -> Theirs:
        """Read what another program left in a scope's file."""
        return self._presence.theirs(scope)

    def earlier(self, scope: str, seq: int) -> ScopeImage | None:
        """The scope's file as it was as of an entry, if a backup has it."""
        return self._backups.as_of(scope, seq)

    def adopt(self, scope: str, theirs: Theirs, kind: str | None) -> str | None:
        """Count another program's version as known; where the copy is, if one is to be kept.

        Raises:
            Failure: The copy cannot be made; the version is not known.
        """
        with self._as_failure(f"cannot keep a copy of {scope}.json"):
            kept = self._presence.adopt(scope, theirs, kind)
        useless = kept is not None and theirs.problem
        (self._saving.useless.add if useless else self._saving.useless.discard)(scope)
        return kept

    def keep_past(self, image: ScopeImage) -> str | None:
        """Keep a scope as it was before another program replaced its file; where that is."""
        if is_void(image) or self._journals.refusal is not None:
            return None
        text = image_to_bytes(image, Sealing(self._id or "", 0, self._now()))
        try:
            return self._copies.keep_text(text, image.name, "before")
        except OSError:
            return None

    def finish(self) -> None:
        """Close the journal; if the files hold everything it goes, and they are the whole truth.

        Raises:
            Failure: The disk refused; it is still there, which does no harm.
        """
        with self._as_failure("cannot put the journal away"):
            self._journals.finish(self._covered(), self._away(keep=True))

    def _prepare_to_write(self) -> str:
        """The store's id; what must be there before anything of ours is written is made."""
        if self._journals.refusal is not None:
            raise ReadOnly(self._journals.refusal)
        if not self._holds():
            raise StorageFailed(
                f"the lock file in {self._own} was deleted or replaced by another program, so that "
                "another daemon may have the store; milkd takes it anew within seconds if not"
            )
        if self._id is None:
            self._id = new_id()
        self._copies.back_up_once(self._id)
        self._reserve.keep()
        return self._id

    def _check_journal(self) -> None:
        """See whether the journal is where it was; if not, whether the store is."""
        if self._journals.is_there():
            return
        self._presence.check_there()
        if self._journals.abandon():
            self._copies.forget_mark()
            self.warnings.append("the journal was removed by another program; a new one was begun")
            self.all_at_risk = True

    def _with_room(self, call: Callable[[], T]) -> T:
        """Make a call that may have the room of the reserve, should the disk be full."""
        try:
            return self._spare.lend(call)
        except OSError as error:
            if error.errno not in FULL or not self._reserve.give_up():
                raise
            return call()

    def _covered(self) -> int:
        return self._unsaved.covered(self._journals.durable)

    def _away(self, *, keep: bool) -> Callable[[str], None]:
        if not keep:
            return self._files.unlink
        retire = self._backups.retire_journal
        return lambda path: (self._files.unlink if path in self._spoilt else retire)(path)

    @contextlib.contextmanager
    def _as_failure(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise storage_error(f"{doing} ({self._directory.path})", error) from error
