"""What is loaded of a scope at start: its file, or what stands in for a damaged one.

The newest good backup and the journals put away since then together give the state
that was in the file.
"""

from __future__ import annotations

import logging
import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from milkd.engine.changes import Passed, PerceptDropped, PerceptPut, ScopeDropped, scope_of
from milkd.engine.percept import ARCHIVE, GLOBAL, ScopeImage
from milkd.errors import StoreDamaged
from milkd.store.chain import whole
from milkd.store.interface import Found, Stale
from milkd.store.journalfile import read_journal
from milkd.store.seal import Seal
from milkd.store.snapshot import Loaded, Wiped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from milkd.store.backups import Backup, Backups
    from milkd.store.entries import Entry
    from milkd.store.files import Files
    from milkd.store.interface import Numbered
    from milkd.store.presence import Presence

MAX_PAST = 8 << 20  # bytes of a backup; what comes from a larger one is not kept besides

_log = logging.getLogger(__name__)


class Standins:
    """Finds scopes, whatever became of their files."""

    def __init__(self, files: Files, presence: Presence, backups: Backups) -> None:
        self._files = files
        self._presence = presence
        self._backups = backups
        self._living: dict[str, list[Numbered]] = {}
        self._store: str | None = None
        self._base = 0
        self.known: Mapping[str, int] = {}
        """The entry as of which milkd left the file of each scope."""

    def opened(self, store: str | None, base: int, entries: Iterable[Entry]) -> None:
        """Take note of what the living journals hold: the entries that follow upon `base`."""
        self._store, self._base = store, base
        for entry in entries:
            for change in entry.changes:
                if (scope := scope_of(change)) is not None:
                    self._living.setdefault(scope, []).append((entry.seq, change))

    def scopes(self) -> list[str]:
        """The scopes of which the living journals hold something."""
        return list(self._living)

    def forget(self, scope: str) -> None:
        """The scope's file holds all that the journals held at start."""
        self._living.pop(scope, None)

    def find(self, scope: str) -> Found:
        """A scope as it is on disk.

        Raises:
            StoreDamaged: Its file cannot be understood, and no backup stands in.
            VersionMismatch: A newer milkd must read it.
            StorageFailed: The disk did not give it, or the whole store is gone.
        """
        try:
            loaded = self._presence.read(scope)
        except Wiped as error:
            return _applicable(self._restored(scope, error))
        except StoreDamaged as error:
            return _applicable(self._frozen(scope, error))
        return self._compared(scope, loaded, self.with_entries(scope, loaded))

    def _compared(self, scope: str, loaded: Loaded, found: Found) -> Found:
        """What is found, with what milkd left there if that was another file.

        An older version that was put back, or saved by an editor that had it open for long, is no
        statement about what came after it: it is merged.  Any other is taken as it is.
        """
        left = self.known.get(scope)
        if left is None or (loaded.sealed is Seal.OURS and loaded.seq >= left):
            return found
        stale = loaded.sealed in (Seal.OURS, Seal.EDITED) and loaded.seq < left
        if not stale and (self._living.get(scope) or self._is_large(scope)):
            return found
        backed = self._backed(scope)
        if backed is None or not backed.complete:
            return found
        past = _applicable(backed.found)
        if not stale:
            return replace(found, past=past, dirty=True)
        note = (
            f"{scope}.json is as of entry {loaded.seq}, but milkd had written it as of {left}: an "
            "older version was put there; what it lacks was taken from backup and journals"
        )
        old = Stale(loaded, self._backups.as_of(scope, loaded.seq))
        return replace(past, loaded=_noted(past.loaded, note), dirty=True, stale=old)

    def _is_large(self, scope: str) -> bool:
        """Whether it would take long to tell what milkd had left of the scope."""
        return any(backup.size > MAX_PAST for backup in self._backups.listed(scope))

    def with_entries(self, scope: str, loaded: Loaded) -> Found:
        """What a file of the scope holds, with the entries that came after it."""
        replay = tuple(self._living.get(scope, ()))
        notes = loaded.warnings
        if loaded.sealed is Seal.BARE and replay:
            # Another program wrote the file after our last one.  Which of the entries it had
            # seen is unknown; to put a fact again does no harm, but to let time pass again would.
            replay = tuple(each for each in replay if not isinstance(each[1], Passed))
            notes += (_overtaken(scope),)
        elif loaded.sealed is Seal.NONE and replay and replay[0][0] > 1:
            restored = self._backed(scope)
            if restored is not None and restored.complete:
                return _applicable(replace(restored.found, dirty=True))
        elif loaded.sealed is Seal.EDITED and replay:
            notes += (_overtaken(scope),)
        if loaded.sealed is not Seal.BARE:
            replay = tuple(each for each in replay if each[0] > loaded.seq)
        dirty = bool(replay) or loaded.sealed in (Seal.EDITED, Seal.BARE) or loaded.lossy
        return _applicable(Found(replace(loaded, warnings=notes), replay, dirty=dirty))

    def _restored(self, scope: str, error: Wiped) -> Found:
        """In place of a file that lost all its bytes, what was in it."""
        backed = self._backed(scope)
        if backed is None:
            note = f"{error}; there is no backup, so it counts as empty"
            found = self._empty(scope)
        else:
            note = f"{error}; {backed.told}"
            found = replace(backed.found, standin=backed.told)
        _log.warning("%s", note)
        return replace(found, loaded=_noted(found.loaded, note), dirty=True)

    def _frozen(self, scope: str, error: StoreDamaged) -> Found:
        """In place of a file that somebody damaged, its backup, which must not be changed."""
        backed = self._backed(scope)
        if backed is None and scope not in (GLOBAL, ARCHIVE):
            raise error
        if backed is None:
            found, told = self._empty(scope), "there is no backup, so nothing of it is served"
        else:
            told = backed.told
            found = replace(backed.found, standin=told)
        reason = (
            f"{error}; {told}, and it is not changed until you choose: `milkctl stop`, then mend "
            f"the file, or `milkctl repair --accept-backup {scope}`"
        )
        return replace(found, loaded=_noted(found.loaded, reason), frozen=reason)

    def _empty(self, scope: str) -> Found:
        return Found(Loaded(ScopeImage(name=scope)), tuple(self._living.get(scope, ())))

    def _backed(self, scope: str) -> _Backed | None:
        """The newest good backup, or else the first file of all, with the entries since."""
        found = self._backups.newest_good(scope) or self._backups.newest_readable(scope)
        backup, loaded = found or (None, Loaded(ScopeImage(name=scope)))
        retired = self._retired()
        reach = _reach(retired, loaded.seq)
        complete = reach >= max([self._base, *(journal[-1].seq for _, journal in retired)])
        since = [*_of_scope(scope, retired), *self._living.get(scope, ())]
        replay = tuple(each for each in since if each[0] > loaded.seq)
        if backup is None and not (replay and reach and complete):
            return None
        return _Backed(Found(loaded, replay), complete, _told(backup, replay, complete))

    def _retired(self) -> list[tuple[int, Sequence[Entry]]]:
        """What the journals that were put away hold, each with the entry before its first."""
        found: list[tuple[int, Sequence[Entry]]] = []
        before = self._base or math.inf
        for _, gen, path in reversed(self._backups.retired_journals()):
            try:
                scan = read_journal(self._files, path, store=self._store, gen=gen)
            except OSError:
                continue
            if scan.header is not None:
                # What the next writer did not take never was.
                entries = [entry for entry in whole(scan.entries) if entry.seq <= before]
                before = min(before, scan.header.base)
                found += [(scan.header.base, entries)] if entries else []
        return found[::-1]


@dataclass(frozen=True, slots=True)
class _Backed:
    """A backup that stands in for a file.

    Attributes:
        complete: Whether the journals tell all that happened since.
        told: The same, in words.
    """

    found: Found
    complete: bool
    told: str


def _applicable(found: Found) -> Found:
    """Without the end of percepts that are not there: others ended them, or entries are gone."""
    here = {percept.id for percept in found.loaded.image.percepts} if found.replay else set()
    replay = []
    for seq, change in found.replay:
        match change:
            case PerceptPut():
                here.add(change.percept.id)
            case PerceptDropped() if change.id not in here:
                continue
            case PerceptDropped():
                here.remove(change.id)
            case ScopeDropped():
                here.clear()
        replay.append((seq, change))
    return replace(found, replay=tuple(replay))


def _noted(loaded: Loaded, note: str) -> Loaded:
    return replace(loaded, warnings=(*loaded.warnings, note), lossy=True)


def _overtaken(scope: str) -> str:
    return (
        f"{scope}.json was changed by another program while milkd was not running, after a stop "
        "that left entries in the journal; they were added to it"
    )


def _reach(retired: Iterable[tuple[int, Sequence[Entry]]], reach: int) -> int:
    """The last entry that follows without a gap upon another one."""
    for base, entries in retired:
        if base <= reach:
            reach = max(reach, entries[-1].seq)
    return reach


def _of_scope(scope: str, retired: Iterable[tuple[int, Sequence[Entry]]]) -> Iterator[Numbered]:
    for _, entries in retired:
        for entry in entries:
            yield from ((entry.seq, each) for each in entry.changes if scope_of(each) == scope)


def _told(backup: Backup | None, replay: Sequence[Numbered], complete: bool) -> str:
    since = len({seq for seq, _ in replay})
    if backup is None:
        return f"{since} entries of the journal stand in for it"
    name = os.path.basename(backup.path)
    said = f"its backup {name} stands in for it"
    if since:
        entries = "a later entry" if since == 1 else f"{since} later entries"
        said = f"its backup {name} and {entries} of the journal stand in for it"
    return said if complete else f"{said}, but some entries in between are gone"
