"""The journals of a store, which store it is, and what its operations gave."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.errors import StoreDamaged
from milkd.paths import OWN_DIRECTORY
from milkd.store.files import current_stamp, read_file
from milkd.store.framing import Header, header_frame
from milkd.store.generations import WRITER, Generations
from milkd.store.identity import FILE as IDENTITY
from milkd.store.identity import store_id
from milkd.store.journal import Verdict
from milkd.store.journalfile import journals, read_journal
from milkd.store.operations import FILE as OPERATIONS
from milkd.store.operations import operations_from_bytes
from milkd.upkeep.marks import says_which, told_by_files
from milkd.upkeep.report import Level, counted

if TYPE_CHECKING:
    from milkd.store.chain import Recovered
    from milkd.store.files import Files
    from milkd.store.journal import Scan
    from milkd.upkeep.report import Report

MAX_OPERATIONS = 64 << 20  # bytes of their file
CUT_OFF = "its creation was cut off before anything was in it"


@dataclass(frozen=True, slots=True)
class Journals:
    """What the journals of a store hold.

    Attributes:
        store: The id of the store; None if it has none.
        recovered: Their entries.
        present: Whether there are any that may ever have held something.
        torn: Those that break off: the name, and what there is to say of it.
    """

    store: str | None
    recovered: Recovered
    present: bool
    torn: list[tuple[str, str]] = field(default_factory=list)

    def tell_torn(self, report: Report, *, contradicted: bool) -> None:
        """Tell which break off.

        Args:
            report: Takes it.
            contradicted: Whether a file holds later entries, so that more may be gone than what
                nobody was told of.
        """
        harmless = "" if contradicted else "; nobody was told that it was done"
        for name, said in self.torn:
            report.add(Level.NOTE, name, f"{said} when it broke off{harmless}")


def check_journals(report: Report, files: Files, own: str) -> Journals:
    """Look at all of them, and at what else is milkd's own.

    Args:
        report: Takes the findings.
        files: The calls to go through.
        own: milkd's directory in the store.

    Raises:
        OSError: One cannot be read.
    """
    store = store_id(files, own)
    found = journals(files, own)
    named = store or _told_by_files(files, report, own)
    _check_identity(report, files, own, store, named)
    damaged = present = False
    torn = list[tuple[str, str]]()
    for position, (_, gen, path) in enumerate(found):
        scan = read_journal(files, path, store=store, gen=gen)
        level, sentence = _judged(scan, unfinished=position == len(found) - 1 and _runs(report))
        damaged = damaged or level == Level.ERROR
        if is_cut_off(scan, store, gen):
            report.add(Level.NOTE, _name(path), CUT_OFF)
            continue
        present = True
        if level == Level.NOTE:
            torn.append((_name(path), sentence))
        else:
            report.add(level, _name(path), sentence)
    recovered = Generations(files, own).recover(store)
    if recovered.refusal is not None and not damaged:
        report.add(Level.ERROR, OWN_DIRECTORY, recovered.refusal)
    _check_operations(report, files, own, store)
    return Journals(named, recovered, present, torn)


def is_cut_off(scan: Scan, store: str | None, gen: str) -> bool:
    """Whether nothing of a journal was written but a part of its header: it never held anything."""
    most = Header(store or 36 * "x", gen, base=1 << 53, writer=WRITER, after=1 << 53)
    begun = scan.header is None and scan.verdict is Verdict.TORN
    return begun and scan.size <= len(header_frame(most))


def none_began(files: Files, own: str, store: str | None) -> bool:
    """Whether no journal ever held anything.

    Raises:
        OSError: One cannot be read.
    """
    found = ((gen, path) for _, gen, path in journals(files, own))
    return all(
        is_cut_off(read_journal(files, path, store=store, gen=gen), store, gen)
        for gen, path in found
    )


def _judged(scan: Scan, *, unfinished: bool) -> tuple[Level, str]:
    """What to say of a journal; one that is being written may have an end that is not."""
    entries = counted(len(scan.entries), "entry")
    if scan.entries:
        entries += f" ({scan.entries[0].seq} to {scan.entries[-1].seq})"
    if scan.verdict is Verdict.CLEAN or (unfinished and scan.verdict is Verdict.TORN):
        return Level.OK, f"{entries}, {scan.size:,} bytes"
    if scan.verdict is Verdict.TORN:
        return Level.NOTE, f"{entries}; {scan.problem}"
    return Level.ERROR, f"{entries}; {scan.verdict.value}: {scan.problem}"


def _told_by_files(files: Files, report: Report, own: str) -> str | None:
    """Which store the files of scopes say this is, unless milkd never wrote here."""
    return told_by_files(files, report.store) if current_stamp(files, own) is not None else None


def _check_identity(
    report: Report, files: Files, own: str, store: str | None, named: str | None
) -> None:
    """See whether the store says which one it is, or what else tells it."""
    marker, name = os.path.join(own, IDENTITY), f"{OWN_DIRECTORY}/{IDENTITY}"
    there = current_stamp(files, marker) is not None
    if there and says_which(files, marker):
        report.add(Level.OK, name, f"store {store}")
        return
    lacking = "does not say which store this is" if there else "is missing"
    if named is not None:
        level = Level.ERROR if there and store is None else Level.WARNING
        source = "a file of facts" if store is None else "a journal"
        said = f"that this is {named} is known from {source}; `milkctl repair` writes it anew"
        report.add(level, name, f"{lacking}; {said}")
    elif there:
        report.add(Level.ERROR, name, lacking)
    else:
        report.add(Level.NOTE, ".", "milkd has not written here yet")


def _check_operations(report: Report, files: Files, own: str, store: str | None) -> None:
    """Losing them loses no fact, but a client that repeats one of them may do it twice."""
    name = f"{OWN_DIRECTORY}/{OPERATIONS}"
    try:
        data, _ = read_file(files, os.path.join(own, OPERATIONS), MAX_OPERATIONS)
        seq, operations = operations_from_bytes(data, store)
    except FileNotFoundError:
        return
    except StoreDamaged as error:
        report.add(Level.WARNING, name, f"{error}; a call that is repeated may be done twice")
    else:
        report.add(Level.OK, name, f"{counted(len(operations), 'result')}, up to entry {seq}")


def _runs(report: Report) -> bool:
    return report.holder is not None


def _name(path: str) -> str:
    return f"{OWN_DIRECTORY}/{os.path.basename(path)}"
