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
from milkd.store.files import (
    Files,
    current_stamp,
    ensure_directory,
    open_directory,
    settle,
    unlink_quietly,
)
from milkd.store.journal import Header, Scan, Verdict
from milkd.store.journalfile import Journal, journals, read_journal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from milkd.store.entries import Entry
    from milkd.store.salvage import Salvaged

MAX_UNSAVED = 64 << 20  # bytes of journals that no checkpoint has covered; more is refused
WRITER = "milkd"


@dataclass(frozen=True, slots=True)
class Living:
    """A journal that is still needed: its newest entry, its size."""

    path: str
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the journals held at start.

    Attributes:
        entries: In order, whole operations only.
        base: The entry before the first one.
        newest: The highest sequence number ever used, as far as journals tell.
        refusal: Why nothing may be written to this store until somebody repaired it.
        notes: Sentences about what was found odd and needs nobody.
    """

    entries: tuple[Entry, ...] = ()
    base: int = 0
    newest: int = 0
    refusal: str | None = None
    notes: tuple[str, ...] = ()


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
        chain = _Chain()
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
        """Whether the journal that is appended to still has its name; True if there is none yet."""
        if self._current is None:
            return True
        try:
            found = self._files.stat(self._current.path)
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == self._place

    def abandon(self) -> None:
        """Append no more to a journal that somebody removed."""
        if self._current is not None:
            self._current.close()
            self._current = None

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
        journal.close()
        if journal.last > journal.base:
            self._living.append(Living(journal.path, journal.last, journal.size))
        else:
            unlink_quietly(self._files, journal.path)

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


class _Chain:
    """Journals one after the other, joined where they follow upon each other."""

    def __init__(self) -> None:
        self.base = self.newest = 0
        self.refusal: str | None = None
        self._entries: list[Entry] = []
        self._notes: list[str] = []
        self._begun = False

    def add(self, name: str, scan: Scan) -> None:
        """Take what the next journal holds, unless one before it cannot be trusted."""
        if self.refusal is not None:
            return
        if scan.verdict in (Verdict.CORRUPT, Verdict.NEWER, Verdict.FOREIGN):
            self.refusal = f"{name}: {scan.problem}; `milkctl repair` tells what can be saved"
        elif scan.verdict is Verdict.TORN:
            self._notes.append(f"{name}: {scan.problem}")
        if scan.header is not None and self._follows(name, scan.header):
            self._entries += whole(scan.entries)
            last = self._entries[-1].seq if self._entries else 0
            self.newest = max(last, scan.header.base)

    def recovered(self) -> Recovered:
        """All that can be relied on."""
        return Recovered(
            tuple(self._entries), self.base, self.newest, self.refusal, tuple(self._notes)
        )

    def _follows(self, name: str, header: Header) -> bool:
        """Whether a journal continues what came before; what its writer did not take goes."""
        after = header.base if header.after is None else header.after
        if self._begun and after > self.newest:
            self.refusal = (
                f"{name} begins after entry {after}, but the journals before it end with "
                f"{self.newest}: one is missing; `milkctl repair` tells what can be saved"
            )
            return False
        if not self._begun:
            self._begun, self.base = True, header.base
        while self._entries and self._entries[-1].seq > after:
            self._entries.pop()
        return True


def whole(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries without the beginning of an operation whose end was not written."""
    end = len(entries)
    while end and entries[end - 1].more:
        end -= 1
    return entries[:end]
