"""A store without a file of global: whether it had one, and what brings that back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import scope_of
from milkd.engine.percept import GLOBAL
from milkd.store.journalfile import read_journal
from milkd.store.moments import moment_text
from milkd.upkeep.report import Level, counted

if TYPE_CHECKING:
    from milkd.store.backups import Backups
    from milkd.store.files import Files
    from milkd.upkeep.report import Report


def check_missing(
    report: Report, files: Files, backups: Backups, store: str | None, *, served: bool
) -> None:
    """Tell that the file is missing, if there was one.

    Args:
        report: Takes it.
        files: The calls to go through.
        backups: Of the store.
        store: Its id.
        served: Whether a milkd that starts finds what was in it all the same.

    Raises:
        OSError: What is kept cannot be listed.
    """
    way = _from_backup(backups) or _from_journals(files, backups, store)
    if way and report.holder is not None:
        way = "the running milkd writes it again, within seconds or with the next calls"
    elif way and served:
        way = "milkd brings it back when it starts, from backup and journals"
    if way:
        report.add(Level.WARNING, f"{GLOBAL}.json", f"is missing; {way}")


def _from_backup(backups: Backups) -> str:
    kept = backups.newest_good(GLOBAL) or backups.newest_readable(GLOBAL)
    if kept is None:
        return ""
    which, facts = moment_text(kept[0].at), counted(len(kept[1].image.percepts), "fact")
    return f"`milkctl backup restore {GLOBAL} {which}` brings back {facts}"


def _from_journals(files: Files, backups: Backups, store: str | None) -> str:
    """A file with nothing in it is filled from the journals, one that is missing is not."""
    for _, gen, path in backups.retired_journals():
        try:
            scan = read_journal(files, path, store=store, gen=gen)
        except OSError:
            continue
        changes = (change for entry in scan.entries for change in entry.changes)
        if any(scope_of(change) == GLOBAL for change in changes):
            return (
                f"journals in .milkd/backup tell of it: with an empty {GLOBAL}.json in its place "
                "`milkctl repair` brings back what they hold"
            )
    return ""
