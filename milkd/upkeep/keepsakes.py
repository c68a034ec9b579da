"""What a store keeps of its past: backups, journals put away, what was replaced."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from milkd.errors import Failure
from milkd.paths import OWN_DIRECTORY
from milkd.store.backups import Backups
from milkd.store.identity import store_id
from milkd.store.journal import Verdict
from milkd.store.journalfile import read_journal
from milkd.store.seal import Seal
from milkd.upkeep.refusing import told
from milkd.upkeep.report import Level, counted

if TYPE_CHECKING:
    from milkd.store.backups import Backup
    from milkd.store.files import Files
    from milkd.upkeep.report import Report

BACKUP = f"{OWN_DIRECTORY}/backup"
QUARANTINE = f"{OWN_DIRECTORY}/quarantine"
FINE = (Verdict.CLEAN, Verdict.TORN)


def check(report: Report, files: Files) -> None:
    """Look at all of it.

    Raises:
        OSError: A directory cannot be listed.
    """
    backups = Backups(files, report.store, time.time)
    good = sum([_check_backup(report, backups, backup) for backup in backups.listed()])
    for _, gen, path in backups.retired_journals():
        good += _check_journal(report, files, gen, path)
    if good:
        report.add(Level.OK, BACKUP, counted(good, "earlier version"))
    kept = _names(files, os.path.join(report.store, QUARANTINE))
    if kept:
        report.add(
            Level.NOTE, QUARANTINE, f"{counted(len(kept), 'file')} kept aside: {_listed(kept)}"
        )


def _check_backup(report: Report, backups: Backups, backup: Backup) -> bool:
    """Whether a backup can be relied on; one that another program wrote is none of milkd's."""
    name = f"{BACKUP}/{os.path.basename(backup.path)}"
    try:
        loaded = backups.read(backup)
    except FileNotFoundError:
        return False  # it made room for a newer one
    except (Failure, OSError) as error:
        report.add(Level.WARNING, name, f"of no use: {told(error)}")
        return False
    if loaded.sealed is not Seal.OURS:
        report.add(Level.NOTE, name, "not milkd's own version, but what another program wrote")
        return False
    return True


def _check_journal(report: Report, files: Files, gen: str, path: str) -> bool:
    own = os.path.join(report.store, OWN_DIRECTORY)
    try:
        scan = read_journal(files, path, store=store_id(files, own), gen=gen)
    except FileNotFoundError:
        return False
    except OSError as error:
        report.add(
            Level.WARNING, f"{BACKUP}/{os.path.basename(path)}", f"cannot be read: {told(error)}"
        )
        return False
    if scan.verdict not in FINE:
        said = f"{scan.verdict.value}: {scan.problem}"
        report.add(Level.WARNING, f"{BACKUP}/{os.path.basename(path)}", said)
    return scan.verdict in FINE


def _names(files: Files, path: str) -> list[str]:
    try:
        return sorted(files.listdir(path))
    except FileNotFoundError:
        return []


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[-3:])
    return shown if len(names) <= 3 else f"…, {shown}"
