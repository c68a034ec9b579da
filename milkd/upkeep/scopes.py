"""The files of a store's scopes: each for itself, and how they fit together.

What a file holds is looked at as a milkd would find it, with the entries of the
journal that came after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.errors import Failure, StoreDamaged
from milkd.store.presence import Presence
from milkd.store.seal import Seal
from milkd.store.standins import Standins
from milkd.upkeep.holdings import Holdings
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
        self._journal = journal
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
        if problem := self._presence.problems.get(scope):
            said = found.frozen or _last(found, problem)
            report.add(Level.ERROR, f"{scope}.json", _without_name(scope, said))
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

    def _check_loaded(self, report: Report, scope: str, found: Found) -> None:
        loaded, file = found.loaded, f"{scope}.json"
        level = Level.ERROR if loaded.lossy else Level.WARNING
        report.add_all(level, file, (each.removeprefix(f"{file}: ") for each in loaded.warnings))
        if loaded.sealed in SEALS and self._journal.store is not None:
            level = Level.NOTE if loaded.sealed is Seal.BARE else Level.WARNING
            report.add(level, file, SEALS[loaded.sealed])
        self._check_number(report, file, loaded)

    def _check_number(self, report: Report, file: str, loaded: Loaded) -> None:
        """Look at what the file says of the journal; what a running milkd knows is newer."""
        newest = self._journal.recovered.newest
        if loaded.store not in (None, self._journal.store):
            report.add(Level.WARNING, file, f"was written for another store, {loaded.store}")
        elif self._journal.present and loaded.seq > newest and report.holder is None:
            what = f"holds entry {loaded.seq}, but the journal ends with {newest}"
            report.add(Level.ERROR, file, f"{what}: entries of other files may be lost")


class _Attentive(Presence):
    """Remembers what was wrong with a file for which a backup stands in."""

    def __init__(self, files: Files, directory: Directory, copies: Copies) -> None:
        super().__init__(files, directory, copies)
        self.problems: dict[str, StoreDamaged] = {}

    def read(self, scope: str) -> Loaded:
        """As its base does it."""
        try:
            return super().read(scope)
        except StoreDamaged as error:
            self.problems[scope] = error
            raise


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
