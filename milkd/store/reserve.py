"""Room kept for the day the disk is full: forgetting and saving must still be possible then."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from milkd.store.files import close_quietly, write_all

if TYPE_CHECKING:
    from milkd.store.files import Files

SIZE = 256 << 10  # bytes


class Reserve:
    """A file of nothing, to be deleted when its room is needed."""

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._path = os.path.join(directory, "reserve")
        self._kept: bool | None = None  # not known yet

    def keep(self) -> None:
        """Make it, unless it is there.  Without room for it there is none: that is no error."""
        if self._kept:
            return
        try:
            self._kept = self._files.stat(self._path).st_size >= SIZE
            if not self._kept:
                self._files.unlink(self._path)
        except OSError:
            self._kept = False
        if not self._kept:
            self._make()

    def give_up(self) -> bool:
        """Delete it; whether that made room."""
        try:
            self._files.unlink(self._path)
        except OSError:
            self._kept = False
            return False
        self._kept = False
        return True

    def _make(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            fd = self._files.open(self._path, flags, 0o600)
        except OSError:
            return
        try:
            # Not zeros: a file system that compresses, or keeps holes, would reserve nothing.
            write_all(self._files, fd, os.urandom(SIZE))
            self._kept = True
        except OSError:
            self.give_up()
        finally:
            close_quietly(self._files, fd)
