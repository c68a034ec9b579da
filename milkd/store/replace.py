"""Replacing a file so that it is always either the old one or the new one, complete.

The new text goes into a temporary file in the directory of the real target (a
symlink stays a symlink), is synced, and then renamed over the old one; then the
directory is synced.  A temporary file that a crash leaves is swept at the next start.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from milkd.store.files import (
    close_quietly,
    open_directory,
    restamped,
    stamp_of,
    sync,
    unlink_quietly,
    write_all,
)

if TYPE_CHECKING:
    from milkd.store.files import Files, Stamp

TEMPORARY = re.compile(r"\..+\.milkd-\d+-[0-9a-f]{8}\.tmp")


class Replacement:
    """One file about to be replaced: `write`, then `publish` or `discard`."""

    def __init__(self, files: Files, path: str) -> None:
        """Prepare; nothing is touched.

        Args:
            files: The calls to go through.
            path: The file to replace; it need not exist.
        """
        self.path = path
        self.target = files.resolve(path)
        self.stamp: Stamp | None = None
        """What tells the new file from others, once it is published."""
        self._files = files
        self._directory, name = os.path.split(self.target)
        suffix = f"milkd-{os.getpid()}-{os.urandom(4).hex()}.tmp"
        self._temporary = os.path.join(self._directory, f".{name}.{suffix}")
        self._pending = False

    def write(self, data: bytes) -> None:
        """Put the text beside the target, on the medium.

        Raises:
            OSError: The disk refused; `discard` leaves no trace.
            Poisoned: The sync failed.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        fd = self._files.open(self._temporary, flags, 0o600)
        self._pending = True
        try:
            write_all(self._files, fd, data)
            sync(self._files.fsync, fd, self.path)
            self.stamp = stamp_of(self._files.fstat(fd))
        except BaseException:
            close_quietly(self._files, fd)
            raise
        self._files.close(fd)

    def publish(self) -> None:
        """Put the new file in the old one's place, for good.

        Raises:
            OSError: The old file is still there.
            Poisoned: The new file is there, but may not survive a power cut.
        """
        with open_directory(self._files, self._directory) as fd:
            self._files.rename(self._temporary, self.target)
            self._pending = False
            sync(self._files.fsync_directory, fd, self._directory)
        if self.stamp is not None:
            self.stamp = restamped(self._files, self.target, self.stamp)

    def discard(self) -> None:
        """Remove what was written and not published."""
        if self._pending:
            unlink_quietly(self._files, self._temporary)
            self._pending = False


def save(files: Files, path: str, data: bytes) -> None:
    """Write and publish one file that has nothing to do with any other."""
    replacement = Replacement(files, path)
    try:
        replacement.write(data)
        replacement.publish()
    finally:
        replacement.discard()
