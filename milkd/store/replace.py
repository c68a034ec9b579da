"""Replacing a file so that it is always either the old one or the new one, complete.

The new text goes into a temporary file in the directory of the real target (a
symlink stays a symlink), is synced, and then renamed over the old one; then the
directory is synced.  The old one may be kept under another name first.  A temporary
file that a crash leaves is swept at the next start.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from enum import Enum
from typing import TYPE_CHECKING, Final

from milkd.errors import MilkdError
from milkd.store.files import (
    MAX_FILE,
    close_quietly,
    current_stamp,
    ensure_directory,
    open_directory,
    read_file,
    restamped,
    settle,
    stamp_of,
    unlink_quietly,
    write_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from milkd.store.files import Files, Stamp

OTHERS = 0o077  # rights that nobody else may have on what milkd keeps
TEMPORARY = re.compile(r"\..+\.milkd-\d+-[0-9a-f]{8}\.tmp")


class Anything(Enum):
    """The type of `ANY`."""

    ANY = "any"


ANY: Final = Anything.ANY
"""Whatever is at the target, it is to be replaced."""


class Overtaken(MilkdError):
    """Another program wrote the file that was to be replaced; it was left as it is."""

    def __init__(self, path: str) -> None:
        super().__init__(f"another program wrote {path} meanwhile")
        self.path = path


class Replacement:
    """One file about to be replaced: `write`, then `publish`; `discard` in any case."""

    def __init__(self, files: Files, path: str) -> None:
        """Prepare; nothing is touched.

        Args:
            files: The calls to go through.
            path: The file to replace; it need not exist.
        """
        self.path = path
        self.target = files.resolve(path)
        self.stamp: Stamp | None = None
        """By what the file at the target is known after `publish`, whether that failed or not."""
        self._files = files
        self._directory, name = os.path.split(self.target)
        suffix = f"milkd-{os.getpid()}-{os.urandom(4).hex()}.tmp"
        self._temporary = os.path.join(self._directory, f".{name}.{suffix}")
        self._written: Stamp | None = None
        self._pending = False

    def write(self, pieces: Iterable[bytes]) -> None:
        """Put the text beside the target, on the medium.

        Raises:
            OSError: The disk refused; `discard` leaves no trace.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        fd = self._files.open(self._temporary, flags, 0o600)
        self._pending = True
        try:
            for piece in pieces:
                write_all(self._files, fd, piece)
            settle(self._files.fsync, fd, self.path)
            self._written = stamp_of(self._files.fstat(fd))
        except BaseException:
            close_quietly(self._files, fd)
            raise
        self._files.close(fd)

    def publish(self, expected: Stamp | Anything | None, backup: str | None = None) -> None:
        """Put the new file in the old one's place, for good.

        Afterwards `stamp` tells the file that is there from others: the new one, or after a
        failure the old one, which a link to it may have touched.

        Args:
            expected: What must be at the target: the file of this stamp, none, or `ANY`.
            backup: Where the old file is kept; its directory is made if it is missing.

        Raises:
            Overtaken: Something else is at the target; nothing was changed.
            SyncFailed: The new file is there, but may not survive a power cut; or, as below.
            OSError: The old file is still there.  That it could not be kept is one reason.
        """
        if self._written is None:
            raise ValueError(f"nothing was written for {self.path}")
        self.stamp = None if expected is ANY else expected
        with open_directory(self._files, self._directory) as fd:
            self._compare(expected)
            with self._kept(expected, backup):
                self._files.rename(self._temporary, self.target)
            self._pending = False
            self.stamp = restamped(self._files, self.target, self._written)
            settle(self._files.fsync_directory, fd, self._directory)

    def discard(self) -> None:
        """Remove what was written and not published."""
        if self._pending:
            unlink_quietly(self._files, self._temporary)
            self._pending = False

    def _compare(self, expected: Stamp | Anything | None) -> None:
        found = current_stamp(self._files, self.path)
        if expected is ANY:
            self.stamp = found
        elif found != expected:
            raise Overtaken(self.path)

    @contextlib.contextmanager
    def _kept(self, expected: Stamp | Anything | None, backup: str | None) -> Iterator[None]:
        """Keep the old file while it is replaced, and in the end if it was."""
        before = self.stamp
        if backup is None or before is None:
            yield
            return
        try:
            ensure_directory(self._files, os.path.dirname(backup))
            keep(self._files, self.target, backup)
            # Keeping takes its time; and it may set the ctime of the file.
            found = current_stamp(self._files, self.path)
            if expected is not ANY and (found is None or found[:-1] != before[:-1]):
                raise Overtaken(self.path)
            yield
        except BaseException as error:
            if not isinstance(error, FileExistsError):  # by which `keep` says: not my file
                unlink_quietly(self._files, backup)
            self.stamp = restamped(self._files, self.path, before)
            raise


def save(files: Files, path: str, data: bytes) -> None:
    """Write and publish one file that has nothing to do with any other."""
    replacement = Replacement(files, path)
    try:
        replacement.write([data])
        replacement.publish(ANY)
    finally:
        replacement.discard()


def keep(files: Files, path: str, kept: str) -> None:
    """Give a file a second name, durably; a copy gets it where links do not work.

    So it does where others may use the file: both names of a linked one have the same mode.

    Raises:
        OSError: It has none; `FileExistsError` if there is such a file already.
    """
    directory = os.path.dirname(kept)
    with open_directory(files, directory) as fd:
        try:
            _check_private(files, path, kept)
            files.link(path, kept)
        except FileExistsError:
            raise
        except OSError:
            # Another file system, one without hard links, a file with too many, or of a wide mode.
            save(files, kept, read_file(files, path, MAX_FILE)[0])
        else:
            settle(files.fsync_directory, fd, directory)


def _check_private(files: Files, path: str, kept: str) -> None:
    """See whether a file may have a second name: nobody else may use it.

    Raises:
        OSError: It may not; `FileExistsError` if there is a file of that name.
    """
    if not files.stat(path).st_mode & OTHERS:
        return
    if current_stamp(files, kept) is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), kept)
    raise OSError(errno.EPERM, "others may use it", path)
