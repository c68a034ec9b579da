"""Copies of what others wrote, made before it is replaced.

Two kinds, both in the store's own directory: `backup/pre-milkd-<date>` holds the
whole store as it was before milkd's first write, `quarantine/` each later version
of a file that another program wrote, or that nobody could read.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from milkd.paths import OWN_DIRECTORY
from milkd.store.files import (
    MAX_FILE,
    current_stamp,
    ensure_directory,
    read_file,
    sync_directory,
    unlink_quietly,
)
from milkd.store.identity import about
from milkd.store.moments import PATTERN, moment_of, moment_text
from milkd.store.replace import keep, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from milkd.store.files import Files

NO_PART = frozenset({errno.EINVAL, errno.ENOENT, errno.EACCES, errno.EPERM})
"""A directory, a dangling link, somebody else's file: no part of the store."""
ASIDE = re.compile(
    rf"(?P<scope>.+)\.(?P<at>{PATTERN})(?:-(?P<number>\d+))?(?:\.(?P<kind>[a-z]+))?\.json"
)
MAX_ASIDE = 20  # versions of one scope's file in quarantine
MAX_BYTES = 64 << 20  # of all of them
KEPT_FOR = 7 * 86_400.0  # seconds for which every version is kept, however many there are


class Copies:
    """Where the versions of others are kept."""

    def __init__(self, files: Files, store: str, now: Callable[[], float]) -> None:
        self.directory = os.path.join(store, OWN_DIRECTORY)
        self.quarantine = os.path.join(self.directory, "quarantine")
        self._backups = os.path.join(self.directory, "backup")
        self._files = files
        self._store = store
        self._now = now
        self._marked = False

    def directories(self) -> list[str]:
        """Every directory in which copies may be."""
        try:
            names = self._files.listdir(self._backups)
        except OSError:
            names = []
        dated = [os.path.join(self._backups, name) for name in names if name.startswith("pre-")]
        return [self.directory, self.quarantine, self._backups, *dated]

    def back_up_once(self, store: str) -> None:
        """Copy the store's files, unless milkd has written to this store before.

        Whether it has is told by `store.json`, which also gives the store its id.

        Args:
            store: The id.

        Raises:
            OSError: That could not be done; the next call tries again.
        """
        if self._marked:
            return
        ensure_directory(self._files, self.directory)
        marker = os.path.join(self.directory, "store.json")
        if current_stamp(self._files, marker) is None:
            self._sync_way()
            self._back_up()
            save(self._files, marker, about(store, self._day()))
        self._marked = True

    def forget_mark(self) -> None:
        """Look again at the next write whether `store.json` is there: somebody removed things."""
        self._marked = False

    def set_aside(self, path: str, scope: str, kind: str = "") -> str:
        """Keep the version of a scope's file that is at `path` now; return where.

        Args:
            path: The file itself, no link to it.
            scope: Whose file it is.
            kind: Why it is kept: "conflict", "damaged", "replaced", or nothing in particular.

        Raises:
            OSError: It could not be kept.
        """
        ensure_directory(self._files, self.quarantine)
        base = os.path.join(self.quarantine, f"{scope}.{moment_text(self._now())}")
        ending = f".{kind}.json" if kind else ".json"
        kept, tries = base + ending, 0
        while current_stamp(self._files, kept) is not None:
            tries += 1
            kept = f"{base}-{tries}{ending}"
        keep(self._files, path, kept)
        with contextlib.suppress(OSError):
            self._thin()
        return kept

    def aside(self) -> Iterator[Aside]:
        """The versions in quarantine, in no order; one that goes away meanwhile is left out.

        Raises:
            OSError: They cannot be listed.
        """
        for name in self._files.listdir(self.quarantine):
            if match := ASIDE.fullmatch(name):
                path = os.path.join(self.quarantine, name)
                number, kind = int(match["number"] or 0), match["kind"] or ""
                with contextlib.suppress(ValueError, FileNotFoundError):
                    at, size = moment_of(match["at"]), self._files.stat(path).st_size
                    yield Aside(at, number, match["scope"], path, size, kind)

    def keep_text(self, text: bytes, scope: str, kind: str) -> str:
        """Keep a version of a scope's file that is in no file any more; return where.

        Raises:
            OSError: It could not be kept.
        """
        ensure_directory(self._files, self.quarantine)
        kept = os.path.join(self.quarantine, f"{scope}.{moment_text(self._now())}.{kind}.json")
        save(self._files, kept, text)
        return kept

    def keep_journal(self, path: str) -> None:
        """Keep a journal that is damaged beside where it is; nothing to do if that was done.

        Raises:
            OSError: It could not be kept.
        """
        ensure_directory(self._files, self.quarantine)
        with contextlib.suppress(FileExistsError):
            keep(self._files, path, os.path.join(self.quarantine, os.path.basename(path)))

    def _thin(self) -> None:
        """Delete the oldest versions where there are too many, but none of the last days."""
        counts: dict[str, int] = {}
        total = 0
        for version in sorted(self.aside(), reverse=True):
            counts[version.scope] = counts.get(version.scope, 0) + 1
            total += version.size
            too_much = counts[version.scope] > MAX_ASIDE or total > MAX_BYTES
            if too_much and self._now() - version.at >= KEPT_FOR:
                unlink_quietly(self._files, version.path)

    def _sync_way(self) -> None:
        """Make the directories that lead to a new store durable; who made them may not have."""
        place = self.directory
        for _ in range(3):  # .milkd, the store, and ~/.milk
            place = os.path.dirname(place)
            sync_directory(self._files, place)

    def _back_up(self) -> None:
        names = [name for name in self._files.listdir(self._store) if name.endswith(".json")]
        if not names:
            return
        directory = os.path.join(self._backups, f"pre-milkd-{self._day()}")
        ensure_directory(self._files, directory)
        for name in sorted(names):
            try:
                data, _ = read_file(self._files, os.path.join(self._store, name), MAX_FILE)
            except OSError as error:
                if error.errno in NO_PART:
                    continue
                raise
            save(self._files, os.path.join(directory, name), data)

    def _day(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m-%d")


@dataclass(frozen=True, slots=True, order=True)
class Aside:
    """A version in quarantine; the later ones are the greater.

    Attributes:
        at: Wall time at which it was kept.
        number: Of those kept at one moment.
        scope: Whose file it was.
        path: Where it is.
        size: Bytes.
        kind: Why it was kept; empty if for nothing in particular.
    """

    at: float
    number: int
    scope: str
    path: str
    size: int
    kind: str = ""

    @property
    def which(self) -> str:
        """By what it is named: the moment, a number if need be, and the reason."""
        return os.path.basename(self.path).removeprefix(f"{self.scope}.").removesuffix(".json")
