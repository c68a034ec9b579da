"""The files of a store's scopes: each for itself, and how they fit together.

What a file holds is looked at as a milkd would find it, with the entries of the
journal that came after.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import Failure, StoreDamaged
from milkd.paths import OWN_DIRECTORY
from milkd.store.files import current_stamp
from milkd.store.presence import Presence
from milkd.store.seal import Seal
from milkd.store.standins import Standins
from milkd.upkeep.holdings import Holdings
from milkd.upkeep.missing import check_missing
from milkd.upkeep.report import Level, counted

if TYPE_CHECKING:
    from milkd.store.backups import Backups
    from milkd.store.copies import Copies
    from milkd.store.directory import Directory
    from milkd.store.files import Files
    from milkd.store.interface import Found
    from milkd.store.snapshot import Loaded
    from milkd.upkeep.journals import Journals
from milkd.upkeep.report import Report

SEALS = {
    Seal.EDITED: (
        "not as milkd wrote it: somebody edited it, or a disk damaged it; its facts are taken as "
        "they stand there"
    ),
    Seal.BARE: "another program wrote it last; its facts are taken as they stand there",
}
TAKEN_IN = (
    "changed since milkd wrote it; the running milkd takes that in within seconds or with the "
    "next call"
)
KEPT_ASIDE = (
    "the running milkd keeps it as it is in .milkd/quarantine and writes what it has itself, "
    "within seconds or with the next call; `milkctl health` tells"
)
IF_OPEN = f"if the session is open, {KEPT_ASIDE}; otherwise mend the file"


class Scopes:
    """The scopes of a store as far as they have been looked at."""

    def __init__(
        self,
        files: Files,
        directory: Directory,
        copies: Copies,
        backups: Backups,
        journal: Journals,
    ) -> None:
        self._presence = _Attentive(files, directory, copies)
        self._standins = Standins(files, self._presence, backups)
        self._files = files
        self._directory = directory
        self._backups = backups
        self._journal = journal
        self.ahead = False
        """Whether a file holds later entries than the journals."""
        self._holdings: dict[str, Holdings] = {}
        self._blind = False  # whether there are percepts that cannot be seen
        recovered = journal.recovered
        self._standins.opened(journal.store, recovered.base, recovered.entries)

    def names(self) -> list[str]:
        """The scopes of which the journal holds something, with a file or without."""
        return self._standins.scopes()

    def check(self, report: Report, scope: str) -> None:
        """Look at one scope."""
        try:
            found = self._standins.find(scope)
        except Failure as error:
            report.add(Level.ERROR, f"{scope}.json", _without_name(scope, str(error)))
            self._blind = True
            return
        held = self._holdings[scope] = Holdings.after(found.loaded.image, found.replay)
        if scope == GLOBAL and current_stamp(self._files, self._directory.file(scope)) is None:
            told = found.loaded.sealed is not Seal.NONE
            check_missing(report, self._files, self._backups, self._journal.store, served=told)
        if problem := self._presence.problems.get(scope):
            level, said = self._damage(report, scope, found, problem)
            report.add(level, f"{scope}.json", _without_name(scope, said))
            self._blind = True
        elif found.loaded.sealed is not Seal.NONE or found.replay:
            self._check_loaded(report, scope, found)
            report.add(Level.OK, f"{scope}.json", _contents(held, found))

    def check_relations(self, report: Report) -> None:
        """Look at what the scopes say of each other, once all were looked at."""
        homes: dict[str, str] = {}
        for scope, held in self._holdings.items():
            twice = [each for each in held.percepts if each in homes]
            others = [f"percept {each} is in {homes[each]}.json too" for each in twice]
            report.add_all(Level.WARNING, f"{scope}.json", others)
            for each in held.percepts:
                homes.setdefault(each, scope)
        for scope, held in self._holdings.items():
            if not self._blind:
                report.add_all(Level.WARNING, f"{scope}.json", held.loose_edges(homes.keys()))
            report.add_all(Level.WARNING, f"{scope}.json", held.loose_members())

    def _damage(
        self, report: Report, scope: str, found: Found, problem: StoreDamaged
    ) -> tuple[Level, str]:
        """What to say of a file that cannot be understood, and how bad it is."""
        if report.holder is None or not self._is_recent(scope):
            return Level.ERROR, found.frozen or _last(found, problem)
        if scope in (GLOBAL, ARCHIVE):
            return Level.WARNING, f"{problem}; {KEPT_ASIDE}"
        return Level.ERROR, f"{problem}; {IF_OPEN}"

    def _is_recent(self, scope: str) -> bool:
        """Whether a file was changed since the milkd that is running took the lock."""
        try:
            changed = self._files.stat(self._directory.file(scope))
            began = self._files.stat(os.path.join(self._directory.path, OWN_DIRECTORY, "lock"))
        except OSError:
            return False
        return max(changed.st_mtime_ns, changed.st_ctime_ns) > began.st_mtime_ns

    def _check_loaded(self, report: Report, scope: str, found: Found) -> None:
        if report.holder is not None:
            self._check_beside(report, scope, found)
            return
        loaded, file = found.loaded, f"{scope}.json"
        level = Level.ERROR if loaded.lossy else Level.WARNING
        report.add_all(level, file, (each.removeprefix(f"{file}: ") for each in loaded.warnings))
        if loaded.sealed in SEALS and self._journal.store is not None:
            level = Level.NOTE if loaded.sealed is Seal.BARE else Level.WARNING
            report.add(level, file, SEALS[loaded.sealed])
        self._check_number(report, file, loaded)

    def _check_beside(self, report: Report, scope: str, found: Found) -> None:
        """Look at a file beside a running milkd, which knows more than the file tells."""
        loaded, file = self._presence.loaded.get(scope, found.loaded), f"{scope}.json"
        said = [each.removeprefix(f"{file}: ") for each in loaded.warnings]
        if loaded.lossy:
            said = [f"{each}; the running milkd keeps this version too" for each in said]
        report.add_all(Level.WARNING, file, said)
        if loaded.sealed in SEALS and self._journal.store is not None:
            report.add(Level.NOTE, file, TAKEN_IN)
        self._check_number(report, file, loaded)

    def _check_number(self, report: Report, file: str, loaded: Loaded) -> None:
        """Look at what the file says of the journal; what a running milkd knows is newer."""
        newest = self._journal.recovered.newest
        if loaded.store not in (None, self._journal.store):
            report.add(Level.WARNING, file, f"was written for another store, {loaded.store}")
        elif self._journal.present and loaded.seq > newest and report.holder is None:
            self.ahead = True
            what = f"holds entry {loaded.seq}, but the journal ends with {newest}"
            report.add(Level.ERROR, file, f"{what}: entries of other files may be lost")


class _Attentive(Presence):
    """Remembers what was in a file, or wrong with it, whatever stands in for it."""

    def __init__(self, files: Files, directory: Directory, copies: Copies) -> None:
        super().__init__(files, directory, copies)
        self.problems: dict[str, StoreDamaged] = {}
        self.loaded: dict[str, Loaded] = {}

    def read(self, scope: str) -> Loaded:
        """As its base does it."""
        try:
            loaded = self.loaded[scope] = super().read(scope)
        except StoreDamaged as error:
            self.problems[scope] = error
            raise
        return loaded


def _contents(held: Holdings, found: Found) -> str:
    counts = {"percept": len(held.percepts), "engram": len(held.engrams), "edge": len(held.edges)}
    said = ", ".join(counted(number, name) for name, number in counts.items())
    later = len({seq for seq, _ in found.replay})
    return said + (f", with {counted(later, 'entry')} of the journal" if later else "")


def _last(found: Found, problem: StoreDamaged) -> str:
    """What became of a file that lost all its bytes."""
    return found.loaded.warnings[-1] if found.loaded.warnings else str(problem)


def _without_name(scope: str, sentence: str) -> str:
    """The sentence without the file's name, which stands before it anyway."""
    return sentence.removeprefix(f"{scope}.json").lstrip(": ")
