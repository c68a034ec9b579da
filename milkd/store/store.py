"""The store in files: a JSON file a scope, replaced as a whole.

The whole file is written for every batch of changes that touches its scope.  What the
daemon knows of a store, and in which order files are written, is in `commit.py`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL, ScopeImage
from milkd.errors import Failure, StorageFailed
from milkd.store.commit import Commit, Store, commit_of, in_order, is_void
from milkd.store.copies import Copies
from milkd.store.directory import Directory
from milkd.store.files import (
    Files,
    Poisoned,
    Stamp,
    current_stamp,
    open_directory,
    restamped,
    storage_error,
    sync,
)
from milkd.store.foreign import difference
from milkd.store.replace import Replacement
from milkd.store.snapshot import Encoder, Loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from milkd.engine.changes import Change

__all__ = ["Commit", "FileStore", "Loaded", "Poisoned", "Store"]

MAX_WARNINGS = 100  # the newest are kept
MAX_ENCODERS = 16  # scopes whose texts are remembered

_log = logging.getLogger(__name__)


class FileStore:
    """A JSON file a scope, replaced as a whole."""

    def __init__(
        self,
        directory: str,
        *,
        files: Files | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Use the store in a directory, which need not exist yet.  The caller holds its lock.

        Args:
            directory: Where the files are.
            files: The calls to go through.
            now: The wall clock, for names of copies.
        """
        self.warnings: list[str] = []
        self._files = files or Files()
        self._directory = Directory(self._files, directory)
        self._copies = Copies(self._files, self._directory.path, now)
        self._one_at_a_time = threading.Lock()
        self._stamps: dict[str, Stamp] = {}
        self._seen: set[str] = set()  # scopes that have had a file
        self._lossy: set[str] = set()
        self._unfinished: dict[str, ScopeImage] = {}  # of files that hold what global holds too
        self._images: dict[str, ScopeImage] = {}
        self._encoders: dict[str, Encoder] = {}
        self._halfway = False
        self._poison: str | None = None
        self._directory.sweep(also=self._copies.directories())

    def load(self, scope: str) -> Loaded:
        """A scope as it is on disk; empty if it has no file.

        Raises:
            StoreDamaged: The file cannot be understood; it stays as it is.
            VersionMismatch: A newer milkd must read it.
            StorageFailed: The disk did not give it, or the whole store is gone.
        """
        with self._one_at_a_time:
            loaded, stamp = self._directory.read(scope, known=self._images.get(GLOBAL))
            if stamp is None and scope in self._seen:
                self._check_there()
            self._remember(loaded.image, stamp)
            if loaded.lossy:
                self._lossy.add(scope)
            if loaded.twice:
                self._unfinished[scope] = loaded.image
            return loaded

    def sessions(self) -> tuple[str, ...]:
        """The sessions that have a file, by name."""
        found = self._directory.sessions()
        self._seen.update(found)
        return found

    def contents(self, session: str) -> dict[str, str]:
        """The ids of a session's percepts and what they say.  Raises as `load` does."""
        with self._one_at_a_time:
            loaded, _ = self._directory.read(session, known=self._images.get(GLOBAL))
            return {percept.id: percept.content for percept in loaded.image.percepts}

    def prepare(self, changes: Sequence[Change], image: Callable[[str], ScopeImage]) -> Commit:
        """Ask for the image of each scope that the changes touch."""
        return commit_of(changes, image)

    def finish_moves(self) -> None:
        """Take out of the loaded files what global holds too; raises as `commit` does."""
        if self._unfinished:
            with self._one_at_a_time, self._all_or_nothing():
                self._prepare_to_write()
                self._finish()

    def commit(self, commit: Commit) -> None:
        """Write every touched scope's file anew.

        Raises:
            Failure: StorageFull, ReadOnly or StorageFailed; nothing was changed.
            Poisoned: A sync failed, or the disk gave up between two files.
        """
        if not commit.images and not commit.dropped:
            return
        with self._one_at_a_time, self._all_or_nothing():
            self._prepare_to_write()
            self._finish()
            self._save(commit)

    def foreign(self, scopes: Sequence[str]) -> dict[str, str] | None:
        """By scope, what other programs did to its file; None while a commit is under way."""
        if not self._one_at_a_time.acquire(blocking=False):
            return None
        try:
            self._check_there()
            return {scope: said for scope in scopes if (said := self._difference(scope))}
        except Failure as error:
            return {GLOBAL: str(error)}
        finally:
            self._one_at_a_time.release()

    def close(self) -> None:
        """Let go of what is held in memory; the files are complete as they are."""
        self._encoders.clear()
        self._images.clear()

    def _prepare_to_write(self) -> None:
        self._check_there()
        self._copies.back_up_once()

    def _finish(self) -> None:
        """Finish the moves that were cut off, before anything is taken out of global."""
        if not self._unfinished:
            return
        scopes = ", ".join(f"{scope}.json" for scope in self._unfinished)
        self._save(Commit(images=tuple(self._unfinished.values())))
        self._halfway = False  # a whole step, and no part of what the caller wants
        _log.warning("a move to global.json had been cut off; finished in %s", scopes)

    def _save(self, commit: Commit) -> None:
        with contextlib.ExitStack() as undo:
            written = []
            for image in in_order(commit, self._images.get(ARCHIVE)):
                replacement = Replacement(self._files, self._directory.file(image.name))
                undo.callback(replacement.discard)
                replacement.write(self._encoder(image.name).encode(image))
                written.append((image, replacement))
            going = self._going(commit)
            for scope in dict.fromkeys([*(image.name for image, _ in written), *going]):
                self._keep_foreign(scope)
            for image, replacement in written:
                replacement.publish()
                self._halfway = True
                self._remember(image, replacement.stamp)
            for scope in going:
                self._remove(scope)

    def _check_there(self) -> None:
        """Refuse to go on as if the store were new when all of it is gone.

        Its disk may be unmounted: what was written now would hide under the mount point, and be
        in the way of the real files once they are back.

        Raises:
            StorageFailed: It is gone, or cannot be looked at.
        """
        if not self._seen:
            return
        path = self._directory.path
        try:
            if self._is_there():
                return
        except OSError as error:
            raise storage_error(f"cannot find the store {path}", error) from error
        raise StorageFailed(
            f"the store {path} is gone (moved away, or its disk not mounted?); nothing was "
            "changed; put it back and try again, or restart milkd to begin an empty one"
        )

    def _is_there(self) -> bool:
        """Whether anything is left of the store: its directory, and in that any file of ours."""
        ours = (self._copies.directory, *map(self._directory.file, sorted(self._seen)))
        return any(current_stamp(self._files, path) is not None for path in ours)

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Turn what the disk says into what a client, or the process, must know."""
        if self._poison:
            raise Poisoned(self._poison)
        self._halfway = False
        try:
            yield
        except OSError as error:
            if not self._halfway:
                raise storage_error(f"cannot save to {self._directory.path}", error) from error
            name = os.path.basename(error.filename2 or error.filename or self._directory.path)
            self._poison = (
                f"a save broke off between two files, at {name}: {error.strerror or error}; "
                "outcome unknown"
            )
            raise Poisoned(self._poison) from error
        except Poisoned as error:
            self._poison = str(error)
            raise

    def _going(self, commit: Commit) -> list[str]:
        """The scopes that have a file and shall not."""
        void = [image.name for image in commit.images if is_void(image)]
        scopes = (*void, *commit.dropped)
        return [s for s in scopes if current_stamp(self._files, self._directory.file(s))]

    def _keep_foreign(self, scope: str) -> None:
        """Keep a copy of a file that is not as we left it, or that loading could not keep whole."""
        path = self._directory.file(scope)
        found, known = current_stamp(self._files, path), self._stamps.get(scope)
        if found is None:
            if known is not None:
                self._warn(f"{scope}.json was deleted by another program; written again")
            return
        if found == known and scope not in self._lossy:
            return
        kept = self._copies.set_aside(self._files.resolve(path), scope)
        why = "could not be taken whole" if found == known else "was changed by another program"
        self._warn(f"{scope}.json {why}; that version is kept as {kept}")
        self._stamps[scope] = restamped(self._files, path, found)
        self._lossy.discard(scope)

    def _difference(self, scope: str) -> str | None:
        try:
            found = current_stamp(self._files, self._directory.file(scope))
        except OSError as error:
            return f"{scope}.json cannot be looked at: {error.strerror or error}"
        return difference(f"{scope}.json", self._stamps.get(scope), found)

    def _remove(self, scope: str) -> None:
        """Delete a scope's file; of a symlink, both ends."""
        path = self._directory.file(scope)
        for name in dict.fromkeys([self._files.resolve(path), path]):
            directory = os.path.dirname(name)
            with open_directory(self._files, directory) as fd:
                self._files.unlink(name)
                self._halfway = True
                sync(self._files.fsync_directory, fd, directory)
        self._remember(ScopeImage(name=scope), None)

    def _remember(self, image: ScopeImage, stamp: Stamp | None) -> None:
        """Note what is on disk now."""
        self._unfinished.pop(image.name, None)
        if image.name in (GLOBAL, ARCHIVE):
            self._images[image.name] = image
        if stamp is None:
            self._stamps.pop(image.name, None)
        else:
            self._stamps[image.name] = stamp
            self._seen.add(image.name)

    def _encoder(self, scope: str) -> Encoder:
        encoder = self._encoders.pop(scope, None) or Encoder()
        self._encoders[scope] = encoder
        if len(self._encoders) > MAX_ENCODERS:
            del self._encoders[next(iter(self._encoders))]
        return encoder

    def _warn(self, sentence: str) -> None:
        self.warnings.append(sentence)
        del self.warnings[:-MAX_WARNINGS]
