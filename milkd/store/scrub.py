"""Taking forgotten facts out of every copy that milkd keeps.

A copy names a fact by its id, or it only says the same: a percept of another id, a
damaged file of which no more than the text is left.  Those are found by what the
fact said, which is known from the copies that have the id.  So these go last, and
only once all others are done: whenever the process dies, the ids are enough to
finish.
"""

from __future__ import annotations

import contextlib
import os
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from milkd.paths import OWN_DIRECTORY
from milkd.store.files import MAX_FILE, read_file, sync_directory
from milkd.store.journalfile import NAME as JOURNAL
from milkd.store.replace import TEMPORARY, save
from milkd.store.traces import Traces, texts_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from milkd.store.files import Files

BACKUP, QUARANTINE = "backup", "quarantine"


def scrub(
    files: Files,
    store_directory: str,
    *,
    ids: Collection[str],
    texts: Collection[str],
    live: Callable[[str], bool],
    keep: Collection[str] = (),
) -> None:
    """Leave no trace of some percepts in `backup/` and `quarantine/`.

    Retired journals are deleted, and so is any file that holds an id or a text and cannot be
    read as a scope's.  In the others the percepts, their edges and their places in engrams are
    taken out.  What holds none of it stays as it is, byte for byte.

    Args:
        files: The calls to go through.
        store_directory: Where the scopes' files are, which are without the percepts already.
        ids: Of the percepts.
        texts: What they said, in any words, as far as it is known; what the copies tell of it is
            added.
        live: Tells by id whether a percept is still there: it may say the same.  Only where the
            text is one of its wordings it loses that.
        keep: Names of retired journals that began when the percepts were gone.

    Raises:
        OSError: The first failure, after the rest was tried.  As long as something may be left
            that only a text finds, the copies that tell the texts are left too.
    """
    names = frozenset(ids)
    copies = _Copies(files, store_directory, frozenset(keep))
    said = copies.texts_of(names) | frozenset(texts)
    if said:
        copies.clean(Traces(texts=frozenset(said), live=live, sources=names))
    copies.settle()
    copies.clean(Traces(ids=names))
    copies.delete_journals()
    copies.settle()


def texts_of(files: Files, store_directory: str, ids: Collection[str]) -> set[str]:
    """What some percepts said: content and wordings in every copy, journal and scope's file.

    Raises:
        OSError: Something could not be read.
    """
    copies = _Copies(files, store_directory)
    found = copies.texts_of(frozenset(ids))
    copies.check()
    return found


class _Copies:
    """The files that may hold a trace; remembers what could not be done with them."""

    def __init__(
        self, files: Files, store_directory: str, keep: frozenset[str] = frozenset()
    ) -> None:
        self._files = files
        self._store = files.resolve(store_directory)
        self._own = os.path.join(self._store, OWN_DIRECTORY)
        self._keep = keep
        self._failures: list[OSError] = []

    def texts_of(self, ids: frozenset[str]) -> set[str]:
        """What copies, journals and the scopes' files tell of percepts."""
        if not ids:
            return set()
        wanted, found = Traces(ids=ids), set[str]()
        for path in (*self._copies(), *self._retired(), *self._living()):
            data = self._read(path)
            if wanted.are_in(data):
                found |= texts_in(data, ids)
        return found

    def clean(self, traces: Traces) -> None:
        """Take traces out of every copy, or delete it where that cannot be done."""
        for path in self._copies():
            data = self._read(path)
            if traces.are_in(data):
                with self._trying():
                    self._clean(path, data, traces)

    def delete_journals(self) -> None:
        """Delete the retired journals."""
        for path in self._retired():
            with self._trying():
                self._files.unlink(path)

    def settle(self) -> None:
        """Make it durable that names are gone, perhaps since an attempt that was cut off.

        Raises:
            OSError: Something failed, now or before.
        """
        for directory in [path for path, _ in self._directories()]:
            with self._trying():
                sync_directory(self._files, directory)
        self.check()

    def check(self) -> None:
        """Tell what failed first.

        Raises:
            OSError: Something did.
        """
        if self._failures:
            raise self._failures[0]

    def _clean(self, path: str, data: bytes, traces: Traces) -> None:
        try:
            if TEMPORARY.fullmatch(os.path.basename(path)):
                raise ValueError("left over from a save that was cut off")
            clean = traces.without(data)
        except (ValueError, RecursionError):
            # What has an id too is a source of texts, and goes with those.
            if not Traces(ids=traces.sources).are_in(data):
                self._files.unlink(path)
        else:
            if clean is not data:
                save(self._files, path, clean)

    def _copies(self) -> Iterator[str]:
        """The paths of all that is kept, but for retired journals."""
        for directory, names in self._directories():
            for name in names:
                if not self._is_retired(directory, name):
                    yield os.path.join(directory, name)

    def _retired(self) -> Iterator[str]:
        """The paths of the retired journals that are to go."""
        for directory, names in self._directories():
            for name in names:
                if self._is_retired(directory, name) and name not in self._keep:
                    yield os.path.join(directory, name)

    def _living(self) -> Iterator[str]:
        """The paths of the scopes' files and of the journals in use."""
        for name in self._list(self._store):
            if name.endswith(".json"):
                yield os.path.join(self._store, name)
        for name in self._list(self._own):
            if JOURNAL.fullmatch(name):
                yield os.path.join(self._own, name)

    def _is_retired(self, directory: str, name: str) -> bool:
        in_backup = directory == os.path.join(self._own, BACKUP)
        return in_backup and JOURNAL.fullmatch(name) is not None

    def _directories(self) -> Iterator[tuple[str, list[str]]]:
        """Each directory of copies with the names of the files in it."""
        waiting = [os.path.join(self._own, top) for top in (BACKUP, QUARANTINE)]
        while waiting:
            directory = waiting.pop()
            modes = {name: self._mode(directory, name) for name in self._list(directory)}
            waiting += [os.path.join(directory, n) for n, mode in modes.items() if S_ISDIR(mode)]
            yield directory, [name for name, mode in modes.items() if S_ISREG(mode)]

    def _mode(self, directory: str, name: str) -> int:
        with self._trying():
            return self._files.stat(os.path.join(directory, name)).st_mode
        return 0

    def _list(self, directory: str) -> list[str]:
        with self._trying():
            return sorted(self._files.listdir(directory))
        return []

    def _read(self, path: str) -> bytes:
        """The bytes of a file; none if it cannot be read."""
        with self._trying():
            return read_file(self._files, path, MAX_FILE)[0]
        return b""

    @contextlib.contextmanager
    def _trying(self) -> Iterator[None]:
        """Go on after a failure, and remember it; what is not there is none."""
        try:
            yield
        except FileNotFoundError:
            return
        except OSError as error:
            self._failures.append(error)
