"""Earlier versions of the files, and of the journal, in `.milkd/backup`.

Of each scope up to five are kept: the two newest, and of those before them one from
within the hour, one from within the day and one that is older.  A journal whose
entries are all in the files comes here too: from a scope's newest backup and the
journals since, its latest state can be had again.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.errors import StoreDamaged, VersionMismatch
from milkd.paths import OWN_DIRECTORY
from milkd.store.files import MAX_FILE, ensure_directory, read_file, unlink_quietly
from milkd.store.moments import PATTERN, TICK, moment_of, moment_text
from milkd.store.seal import Seal
from milkd.store.snapshot import image_from_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from milkd.engine.percept import ScopeImage
    from milkd.store.files import Files
    from milkd.store.snapshot import Loaded

NAME = re.compile(rf"(.+)\.({PATTERN})\.json")
JOURNAL = re.compile(r"journal\.((\d{8,})-[0-9a-f]{8})")
HOUR = 3_600.0
DAY = 86_400.0
NEWEST = 2  # backups of a scope that are kept whatever their age
MAX_JOURNALS = 5
KEPT_FOR = 7 * DAY  # journals, and backups of scopes that are no more


@dataclass(frozen=True, slots=True)
class Backup:
    """An earlier version of a scope's file.

    Attributes:
        scope: Whose file it was.
        path: Where it is now.
        at: Wall time at which it was replaced.
        size: Bytes.
    """

    scope: str
    path: str
    at: float
    size: int


class Backups:
    """The earlier versions of a store's files."""

    def __init__(self, files: Files, store: str, now: Callable[[], float]) -> None:
        self.directory = os.path.join(store, OWN_DIRECTORY, "backup")
        self._files = files
        self._store = store
        self._now = now

    def name(self, scope: str) -> str:
        """Where the version that is about to be replaced is to be kept.

        Names follow one another even if the clock was set back; but not one that is more than a
        day ahead, for then it had been set wrong before.
        """
        now = self._now()
        taken = {backup.path: backup.at for backup in self.listed(scope)}
        at = max([now, *(each + TICK for each in taken.values() if each <= now + DAY)])
        while (path := self._path(scope, at)) in taken:  # of one that is further ahead
            at += TICK
        return path

    def _path(self, scope: str, at: float) -> str:
        return os.path.join(self.directory, f"{scope}.{moment_text(at)}.json")

    def listed(self, scope: str | None = None) -> list[Backup]:
        """The backups of a scope, or of all, newest first.

        Raises:
            OSError: The directory cannot be read.
        """
        now = self._now()
        found = [backup for name in self._names() if (backup := self._backup(name, scope))]
        return sorted(found, key=lambda backup: (_age(backup, now), -backup.at, backup.scope))

    def read(self, backup: Backup) -> Loaded:
        """What a backup holds.

        Raises:
            StoreDamaged: It cannot be understood.
            VersionMismatch: A newer milkd must read it.
            OSError: The disk did not give it.
        """
        return image_from_bytes(backup.scope, read_file(self._files, backup.path, MAX_FILE)[0])

    def newest_good(self, scope: str) -> tuple[Backup, Loaded] | None:
        """The backup with the newest entry of the journal, among those that are as milkd left them.

        Raises:
            OSError: The directory cannot be read.
        """
        best: tuple[Backup, Loaded] | None = None
        for backup in self.listed(scope):
            with contextlib.suppress(StoreDamaged, VersionMismatch, OSError):
                loaded = self.read(backup)
                if loaded.sealed is Seal.OURS and (best is None or loaded.seq > best[1].seq):
                    best = backup, loaded
        return best

    def as_of(self, scope: str, seq: int) -> ScopeImage | None:
        """The scope as a backup with this entry as its newest holds it; None if there is none."""
        with contextlib.suppress(OSError):
            for backup in self.listed(scope):
                with contextlib.suppress(StoreDamaged, VersionMismatch, OSError):
                    loaded = self.read(backup)
                    if loaded.seq == seq and loaded.sealed is not Seal.BARE:
                        return loaded.image
        return None

    def newest_readable(self, scope: str) -> tuple[Backup, Loaded] | None:
        """The newest backup that can be understood, whoever wrote it.

        Raises:
            OSError: The directory cannot be read.
        """
        for backup in self.listed(scope):
            with contextlib.suppress(StoreDamaged, VersionMismatch, OSError):
                return backup, self.read(backup)
        return None

    def thin(self, scope: str) -> None:
        """Delete what is too much of a scope.  What cannot be deleted stays."""
        with contextlib.suppress(OSError):
            found = self.listed(scope)
            wanted = worth_keeping(found, self._now())
            self._delete(backup.path for backup in found if backup not in wanted)

    def expire(self) -> None:
        """Delete what is too old: backups of scopes that have no file any more, and journals."""
        with contextlib.suppress(OSError):
            there = self._files.listdir(self._store)  # a link that leads nowhere is a file too
            self._delete(
                backup.path
                for backup in self.listed()
                if f"{backup.scope}.json" not in there and self._now() - backup.at >= KEPT_FOR
            )
            self._thin_journals()

    def retire_journal(self, path: str) -> None:
        """Bring a journal here of which the files hold everything.

        If that cannot be done it is deleted; if that cannot be done either, it stays.
        """
        kept = os.path.join(self.directory, os.path.basename(path))
        try:
            ensure_directory(self._files, self.directory)
            self._files.rename(path, kept)
        except OSError:
            unlink_quietly(self._files, path)
        with contextlib.suppress(OSError):
            self._thin_journals()

    def retired_journals(self) -> list[tuple[int, str, str]]:
        """Number, generation and path of each journal here, by number.

        Raises:
            OSError: The directory cannot be read.
        """
        found = [(match, name) for name in self._names() if (match := JOURNAL.fullmatch(name))]
        paths = [(int(m[2]), m[1], os.path.join(self.directory, name)) for m, name in found]
        return sorted(paths)

    def _thin_journals(self) -> None:
        journals = self.retired_journals()
        self._delete(path for _, _, path in journals[:-MAX_JOURNALS])
        for _, _, path in journals[-MAX_JOURNALS:]:
            if self._now() - self._files.stat(path).st_mtime >= KEPT_FOR:
                unlink_quietly(self._files, path)

    def _names(self) -> list[str]:
        try:
            return self._files.listdir(self.directory)
        except FileNotFoundError:
            return []

    def _backup(self, name: str, scope: str | None) -> Backup | None:
        match = NAME.fullmatch(name)
        if match is None or (scope is not None and match[1] != scope):
            return None
        path = os.path.join(self.directory, name)
        with contextlib.suppress(ValueError, FileNotFoundError):
            return Backup(match[1], path, moment_of(match[2]), self._files.stat(path).st_size)
        return None

    def _delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            unlink_quietly(self._files, path)


def worth_keeping(backups: Sequence[Backup], now: float) -> set[Backup]:
    """Which of a scope's backups, newest first, are kept.

    As time goes on, the oldest from within the hour becomes the one from within the day as soon
    as that is a day old, and that one the older one.
    """
    within_hour = [backup for backup in backups if _age(backup, now) < HOUR]
    within_day = [backup for backup in backups if _age(backup, now) < DAY]
    older = [backup for backup in backups if _age(backup, now) >= DAY]
    return {*backups[:NEWEST], *within_hour[-1:], *within_day[-1:], *older[:1]}


def _age(backup: Backup, now: float) -> float:
    """Seconds; without end if it seems to be from later than tomorrow, by a clock set wrong."""
    age = now - backup.at
    return math.inf if age < -DAY else max(age, 0.0)
