"""The journals of a store as one: what they hold at start, and where to append.

A journal is begun anew at each checkpoint and after each start; one that was there at
start is read and never appended to, since what a crash or a failed sync left of it is
known only as far as it can be read.  Together they are one sequence of entries: each
says in its header which entry came before its first.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.errors import ReadOnly, StorageFull
from milkd.store.chain import Chain, Recovered
from milkd.store.files import (
    Files,
    current_stamp,
    ensure_directory,
    open_directory,
    settle,
    unlink_quietly,
)
from milkd.store.journalfile import Journal, journals, read_journal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from milkd.store.entries import Entry
    from milkd.store.journal import Scan
    from milkd.store.salvage import Salvaged

MAX_UNSAVED = 64 << 20  # bytes of journals that no checkpoint has covered; more is refused
WRITER = "milkd"


@dataclass(frozen=True, slots=True)
class Living:
    """A journal that is still needed: its newest entry, its size."""

    path: str
    last: int
    size: int


class Generations:
    """The living journals, the newest of which is appended to."""

    def __init__(self, files: Files, directory: str) -> None:
        """Prepare; nothing is touched.

        Args:
            files: The calls to go through.
            directory: Where the journals are; it need not exist.
        """
        self.refusal: str | None = None
        self._files = files
        self._directory = directory
        self._living: list[Living] = []
        self._current: Journal | None = None
        self._place = (0, 0)  # device and inode of the current one
        self._number = 0
        self._durable = 0
        self._logged = 0  # the newest entry that a journal has, or had

    def recover(self, store: str | None) -> Recovered:
        """Read all journals, once, before anything is appended.

        Args:
            store: The store's id; None if it is not known.

        Raises:
            OSError: One cannot be read.
        """
        chain = Chain()
        for number, gen, path in journals(self._files, self._directory):
            self._number = number
            scan = _scan(self._files, path, store, gen)
            chain.add(os.path.basename(path), scan)
            self._living.append(Living(path, chain.newest, scan.size))
        self.refusal = chain.refusal
        self._durable = self._logged = chain.newest
        return chain.recovered()

    def take(self, salvaged: Salvaged) -> Recovered:
        """Go on from what could be saved of journals, instead of `recover`."""
        names = journals(self._files, self._directory)
        self._number = max((number for number, _, _ in names), default=0)
        self._living += salvaged.living
        self._durable = self._logged = salvaged.recovered.newest
        return salvaged.recovered

    def start_at(self, newest: int) -> None:
        """Number the next entry one more than this, or than the newest entry found."""
        self._durable = max(self._durable, newest)

    def start_after(self, retired: Sequence[tuple[int, str, str]]) -> None:
        """Number the next generation on from those that were put away, which stay in order so."""
        self._number = max(self._number, *(number for number, _, _ in retired), 0)

    @property
    def unsaved(self) -> int:
        """Bytes of all living journals."""
        current = 0 if self._current is None else self._current.size
        return current + sum(journal.size for journal in self._living)

    @property
    def durable(self) -> int:
        """The newest entry on the medium."""
        return self._durable

    def append(self, entries: Sequence[Entry], store: str) -> None:
        """Make entries durable, all of them or none.

        Raises:
            Failure: ReadOnly or StorageFull: it must not, or ought not, be written to.
            OSError: The disk refused; nothing was changed.
            Poisoned: What is on disk is unknown; no later append will succeed.
        """
        self._check()
        if self.unsaved >= MAX_UNSAVED:
            raise StorageFull(
                f"the journal has grown to {self.unsaved >> 20} MiB, because the files of the "
                "store cannot be saved (health says why); nothing was changed"
            )
        journal = self._current or self._begin(store)
        journal.append(entries, self._durable)
        self._durable = self._logged = entries[-1].seq

    def is_there(self) -> bool:
        """Whether the journal that is appended to still has its name; False if there is none."""
        if self._current is None:
            return False
        try:
            found = self._files.stat(self._current.path)
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == self._place

    def abandon(self) -> bool:
        """Append no more to a journal that somebody removed; whether there was one."""
        if self._current is None:
            return False
        self._current.close()
        self._current = None
        return True

    def rotate(self, store: str) -> int:
        """Begin the next journal; the newest entry of those before it.

        Raises:
            ReadOnly: Somebody must repair the journals first.
            OSError: It cannot be made; the old one is still in use.
        """
        self._check()
        before = self._current
        if before is not None and before.last > before.base:
            self._current = self._begin(store)
            self._close(before)
        return self._durable

    def retire(self, covered: int, away: Callable[[str], None]) -> None:
        """Put away the journals of which the files hold everything, the oldest first.

        Each is gone for good before the next one goes: a power cut must not leave a gap.  While
        one of them waits to be repaired all stay.

        Args:
            covered: All entries up to this one are in the files.
            away: What becomes of the path of such a journal.

        Raises:
            OSError: One could not be put away; it and those after it are still there.
        """
        while self._living and self._living[0].last <= covered and self.refusal is None:
            path = self._living[0].path
            with open_directory(self._files, self._directory) as fd:
                away(path)
                if current_stamp(self._files, path) is not None:
                    raise OSError(errno.EBUSY, "it could be neither moved nor deleted", path)
                self._living.pop(0)
                settle(self._files.fsync_directory, fd, self._directory)

    def finish(self, covered: int, away: Callable[[str], None]) -> None:
        """Close the current journal, and put away all that can be; raises as `retire` does."""
        if self._current is not None:
            last, self._current = self._current, None
            self._close(last)
        self.retire(covered, away)

    def _check(self) -> None:
        if self.refusal is not None:
            raise ReadOnly(self.refusal)

    def _close(self, journal: Journal) -> None:
        """One without entries goes; if it can't, it waits like the others until it is its turn."""
        journal.close()
        if journal.last == journal.base and self._gone(journal.path):
            return
        self._living.append(Living(journal.path, journal.last, journal.size))

    def _gone(self, path: str) -> bool:
        """Delete a journal; whether it is not there any more."""
        unlink_quietly(self._files, path)
        try:
            return current_stamp(self._files, path) is None
        except OSError:
            return False

    def _begin(self, store: str) -> Journal:
        ensure_directory(self._files, self._directory)
        self._number += 1
        journal = Journal.create(
            self._files,
            self._directory,
            store=store,
            number=self._number,
            base=self._durable,
            writer=WRITER,
            after=self._logged if self._logged < self._durable else None,
        )
        try:
            found = self._files.stat(journal.path)
        except OSError:
            self._close(journal)
            raise
        self._current, self._place = journal, (found.st_dev, found.st_ino)
        return journal


def _scan(files: Files, path: str, store: str | None, gen: str) -> Scan:
    """What is in a journal; an error names it, which one of `read` does not."""
    try:
        return read_journal(files, path, store=store, gen=gen)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
