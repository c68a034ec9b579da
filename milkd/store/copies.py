"""Copies of what others wrote, made before it is replaced.

Two kinds, both in the store's own directory: `backup/pre-milkd-<date>` holds the
whole store as it was before milkd's first write, `quarantine/` each later version
of a file that another program wrote.
"""

from __future__ import annotations

import errno
import os
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from milkd.paths import OWN_DIRECTORY
from milkd.store.files import (
    DENIED,
    MAX_FILE,
    current_stamp,
    ensure_directory,
    open_directory,
    read_file,
    sync,
    sync_directory,
)
from milkd.store.gojson import dumps, to_bytes
from milkd.store.replace import save

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.store.files import Files


class Copies:
    """Where the versions of others are kept."""

    def __init__(self, files: Files, store: str, now: Callable[[], float]) -> None:
        self.directory = os.path.join(store, OWN_DIRECTORY)
        self._files = files
        self._store = store
        self._now = now
        self._marked = False

    def directories(self) -> list[str]:
        """Every directory in which copies may be."""
        backups = os.path.join(self.directory, "backup")
        quarantine = os.path.join(self.directory, "quarantine")
        try:
            dated = self._files.listdir(backups)
        except OSError:
            dated = []
        return [self.directory, quarantine, *(os.path.join(backups, name) for name in dated)]

    def back_up_once(self) -> None:
        """Copy the store's files, unless milkd has written to this store before.

        Whether it has is told by `store.json`, which also gives the store its id.
        """
        if self._marked:
            return
        ensure_directory(self._files, self.directory)
        marker = os.path.join(self.directory, "store.json")
        if current_stamp(self._files, marker) is None:
            self._sync_way()
            self._back_up()
            about = {"format": 1, "store": str(uuid.uuid4()), "created": self._moment("%Y-%m-%d")}
            save(self._files, marker, to_bytes(dumps(about) + "\n"))
        self._marked = True

    def set_aside(self, path: str, scope: str) -> str:
        """Keep the version of a scope's file that is at `path` now; return where."""
        directory = os.path.join(self.directory, "quarantine")
        ensure_directory(self._files, directory)
        base = os.path.join(directory, f"{scope}.{self._moment('%Y%m%dT%H%M%S.%fZ')}")
        kept, tries = f"{base}.json", 0
        while current_stamp(self._files, kept) is not None:
            tries += 1
            kept = f"{base}-{tries}.json"
        with open_directory(self._files, directory) as fd:
            try:
                self._files.link(path, kept)
            except OSError:
                # Another file system, or one without hard links.
                save(self._files, kept, read_file(self._files, path, MAX_FILE)[0])
            else:
                sync(self._files.fsync_directory, fd, directory)
        return kept

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
        directory = os.path.join(self.directory, "backup", self._moment("pre-milkd-%Y-%m-%d"))
        ensure_directory(self._files, directory)
        for name in sorted(names):
            try:
                data, _ = read_file(self._files, os.path.join(self._store, name), MAX_FILE)
            except OSError as error:
                if error.errno in DENIED | {errno.EINVAL, errno.ENOENT}:
                    continue  # a directory, a dangling link, somebody else's: no part of the store
                raise
            save(self._files, os.path.join(directory, name), data)

    def _moment(self, form: str) -> str:
        return datetime.fromtimestamp(self._now(), UTC).strftime(form)
