"""What can be had of journals that cannot be relied on as they are.

A record has a CRC that starts from its store and generation, so one that is whole is
good wherever it stands: before damage, behind it, or in a file that has another's
name.  What is missing is known by its number.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from milkd.errors import VersionMismatch
from milkd.store.chain import Recovered, whole
from milkd.store.entries import entry_from_payload, parse_payload
from milkd.store.files import MAX_FILE, read_file
from milkd.store.framing import header_of, records_from, seed_of
from milkd.store.generations import Living
from milkd.store.journal import Header, Scan, Verdict, scan
from milkd.store.journalfile import journals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from milkd.store.entries import Entry
    from milkd.store.files import Files

Span = tuple[int, int]
"""Numbers of entries: the first and the last."""
SOUND = (Verdict.CLEAN, Verdict.TORN)


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What the journals of a store hold, all in all.

    Attributes:
        recovered: The entries, as if nothing had happened to the others.
        living: The journals.
        damaged: The paths of those that are not sound.
        problems: What is wrong, by the name of the file.
        missing: The numbers of entries that are nowhere, as far as journals tell.
    """

    recovered: Recovered = field(default_factory=Recovered)
    living: tuple[Living, ...] = ()
    damaged: tuple[str, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    missing: tuple[Span, ...] = ()


def salvage(files: Files, directory: str, store: str | None) -> Salvaged:
    """Read every journal for all that it is worth; none is touched.

    Args:
        files: The calls to go through.
        directory: Where the journals are.
        store: The id of the store; None believes each journal's header.

    Raises:
        VersionMismatch: A newer milkd wrote one.
        OSError: One cannot be read.
    """
    found = [_read(files, gen, path, store) for _, gen, path in journals(files, directory)]
    pile = _Pile()
    for each in sorted(found, key=lambda journal: _number(journal.gen)):
        pile.add(each)
    return pile.salvaged(found)


@dataclass(frozen=True, slots=True)
class _Journal:
    """A journal: what is wrong with it, and what is good of it."""

    gen: str
    path: str
    size: int
    problem: str
    header: Header | None
    entries: Sequence[Entry]

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


def _read(files: Files, gen: str, path: str, store: str | None) -> _Journal:
    data, _ = read_file(files, path, MAX_FILE)
    found = scan(data, store=store, gen=gen)
    name = os.path.basename(path)
    if found.verdict is Verdict.NEWER:
        raise VersionMismatch(f"{name}: {found.problem}; nothing was touched")
    if found.verdict in SOUND:
        return _Journal(gen, path, len(data), "", found.header, whole(found.entries))
    header = found.header
    if found.verdict is Verdict.FOREIGN:
        if header is None or header.store != (store or header.store):
            return _Journal(gen, path, len(data), found.problem, None, ())
        gen = header.gen  # it is ours, and somebody gave it another name
        found = replace(scan(data, store=store, gen=gen), problem=found.problem)
        if found.verdict is Verdict.NEWER:
            raise VersionMismatch(f"{name}: {found.problem}; nothing was touched")
    seeding = store or (header.store if header is not None else None)
    entries = _whole_records(data, None if seeding is None else seed_of(seeding, gen), found)
    return _Journal(gen, path, len(data), found.problem, header, whole(entries))


def _number(gen: str) -> int:
    digits = gen.partition("-")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _whole_records(data: bytes, seed: int | None, found: Scan) -> list[Entry]:
    """The entries of all records that are whole, by number."""
    entries = {entry.seq: entry for entry in found.entries}
    if seed is None:  # no record can be told from what looks like one
        return []
    start = 0 if header_of(data) is None else found.good_end
    for _, payload in records_from(data, start, seed):
        try:
            entry = entry_from_payload(parse_payload(payload))
        except ValueError:
            continue  # a header, or what a program that is not milkd made
        entries.setdefault(entry.seq, entry)
    return [entries[seq] for seq in sorted(entries)]


class _Pile:
    """Journals one after the other, whatever is missing between them."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._missing: list[Span] = []
        self._problems: list[tuple[str, str]] = []
        self._base = self._reach = 0
        self._begun = False

    def add(self, journal: _Journal) -> None:
        """Take what the next journal holds."""
        if journal.problem:
            self._problems.append((journal.name, journal.problem))
        header, entries = journal.header, journal.entries
        if header is not None:
            self._follow(journal.name, header)
        elif entries:
            self._drop_after(entries[0].seq - 1)
        for entry in entries:
            if not self._begun:
                self._begun, self._base = True, entry.seq - 1
                self._reach = self._base
            self._miss_up_to(entry.seq - 1)
            self._entries.append(entry)
            self._reach = entry.seq

    def salvaged(self, found: Iterable[_Journal]) -> Salvaged:
        """All of it."""
        newest = self._reach
        journals = tuple(found)
        return Salvaged(
            Recovered(tuple(self._entries), self._base, newest),
            tuple(Living(each.path, newest, each.size) for each in journals),
            tuple(each.path for each in journals if each.problem),
            tuple(self._problems),
            tuple(self._missing),
        )

    def _follow(self, name: str, header: Header) -> None:
        """Go on where a journal begins; what its writer did not take of those before goes."""
        after = header.base if header.after is None else header.after
        if not self._begun:
            self._begun, self._base, self._reach = True, header.base, header.base
            return
        if after > self._reach:
            self._problems.append(
                (name, f"begins after entry {after}, but those before it end with {self._reach}")
            )
            self._miss_up_to(after)
        self._drop_after(after)
        self._reach = max(self._reach, header.base)

    def _drop_after(self, seq: int) -> None:
        while self._entries and self._entries[-1].seq > seq:
            self._entries.pop()
            self._reach = min(self._reach, seq)

    def _miss_up_to(self, seq: int) -> None:
        if seq > self._reach:
            self._missing.append((self._reach + 1, seq))
            self._reach = seq
