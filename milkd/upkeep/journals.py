"""The journals of a store, which store it is, and what its operations gave."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.errors import StoreDamaged
from milkd.paths import OWN_DIRECTORY
from milkd.store.files import current_stamp, read_file
from milkd.store.generations import Generations
from milkd.store.identity import FILE as IDENTITY
from milkd.store.identity import store_id
from milkd.store.journal import Verdict
from milkd.store.journalfile import journals, read_journal
from milkd.store.operations import FILE as OPERATIONS
from milkd.store.operations import operations_from_bytes
from milkd.upkeep.report import Level, counted

if TYPE_CHECKING:
    from milkd.store.chain import Recovered
    from milkd.store.files import Files
    from milkd.store.journal import Scan
    from milkd.upkeep.report import Report

MAX_OPERATIONS = 64 << 20  # bytes of their file


@dataclass(frozen=True, slots=True)
class Journals:
    """What the journals of a store hold.

    Attributes:
        store: The id of the store; None if it has none.
        recovered: Their entries.
        present: Whether there are any.
    """

    store: str | None
    recovered: Recovered
    present: bool


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
    _check_identity(report, files, own, store)
    damaged = False
    for position, (_, gen, path) in enumerate(found):
        scan = read_journal(files, path, store=store, gen=gen)
        level, sentence = _judged(scan, unfinished=position == len(found) - 1 and _runs(report))
        damaged = damaged or level == Level.ERROR
        report.add(level, _name(path), sentence)
    recovered = Generations(files, own).recover(store)
    if recovered.refusal is not None and not damaged:
        report.add(Level.ERROR, OWN_DIRECTORY, recovered.refusal)
    _check_operations(report, files, own, store)
    return Journals(store, recovered, bool(found))


def _judged(scan: Scan, *, unfinished: bool) -> tuple[Level, str]:
    """What to say of a journal; one that is being written may have an end that is not."""
    entries = counted(len(scan.entries), "entry")
    if scan.entries:
        entries += f" ({scan.entries[0].seq} to {scan.entries[-1].seq})"
    if scan.verdict is Verdict.CLEAN or (unfinished and scan.verdict is Verdict.TORN):
        return Level.OK, f"{entries}, {scan.size:,} bytes"
    if scan.verdict is Verdict.TORN:
        return (
            Level.NOTE,
            f"{entries}; {scan.problem} when it broke off; nobody was told that it was done",
        )
    return Level.ERROR, f"{entries}; {scan.verdict.value}: {scan.problem}"


def _check_identity(report: Report, files: Files, own: str, store: str | None) -> None:
    there = current_stamp(files, os.path.join(own, IDENTITY)) is not None
    name = f"{OWN_DIRECTORY}/{IDENTITY}"
    if store is None and there:
        report.add(Level.ERROR, name, "does not say which store this is")
    elif store is None:
        report.add(Level.NOTE, ".", "milkd has not written here yet")
    else:
        report.add(Level.OK, name, f"store {store}")


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
