"""Whether a store is sound: every file of it is read, and none is touched."""

from __future__ import annotations

import logging
import os
import time

from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import Failure
from milkd.paths import OWN_DIRECTORY
from milkd.store.backups import Backups
from milkd.store.copies import Copies
from milkd.store.directory import Directory
from milkd.store.files import Files
from milkd.upkeep import keepsakes, surroundings
from milkd.upkeep.journals import check_journals
from milkd.upkeep.refusing import told
from milkd.upkeep.report import Level, Report
from milkd.upkeep.scopes import Scopes
from milkd.upkeep.sharing import shared
from milkd.upkeep.steady import TRIES, state

# What the store says to a daemon's log is in the report too.
logging.getLogger("milkd.store").addHandler(logging.NullHandler())

UNSTEADY = "milkd wrote to it all the time; how its files fit together was not looked at"


def check(store: str, files: Files | None = None) -> Report:
    """Look at everything in a store.

    While a milkd is running there, what it is about to write is no fault.

    Args:
        store: The directory.
        files: The calls to go through.
    """
    files = files or Files()
    report = Report(store)
    if not os.path.isdir(store):
        report.add(Level.ERROR, ".", "there is no such directory")
        return report
    with shared(store) as report.holder:
        surroundings.check(report, files)
        try:
            _check_living(report, files)
        except (OSError, Failure) as error:
            report.add(Level.ERROR, ".", f"cannot be read: {told(error)}")
    # What is behind may be much, and nobody needs it in order to begin.
    try:
        keepsakes.check(report, files)
    except OSError as error:
        report.add(Level.ERROR, ".", f"cannot be read: {told(error)}")
    return report


def _check_living(report: Report, files: Files) -> None:
    """Look at files and journals as of one moment."""
    for _ in range(TRIES):
        before = state(report.store, files)
        attempt = Report(report.store, report.holder)
        try:
            scopes = _look(attempt, files)
            steady = report.holder is None or state(report.store, files) == before
        except FileNotFoundError:
            if report.holder is None:
                raise
            continue
        if steady:
            scopes.check_relations(attempt)
            report.findings += attempt.findings
            return
    report.findings += attempt.findings
    report.add(Level.NOTE, ".", UNSTEADY)


def _look(report: Report, files: Files) -> Scopes:
    directory = Directory(files, report.store)
    copies = Copies(files, directory.path, time.time)
    backups = Backups(files, directory.path, time.time)
    journal = check_journals(report, files, os.path.join(directory.path, OWN_DIRECTORY))
    scopes = Scopes(files, directory, copies, backups, journal)
    for name in dict.fromkeys((GLOBAL, ARCHIVE, *directory.sessions(), *scopes.names())):
        scopes.check(report, name)
    journal.tell_torn(report, contradicted=scopes.ahead)
    return scopes
