"""The file calls of the store, through one object that a test can make fail.

Above `Files` no module of this package calls `os` for anything that touches the
disk, so that "the n-th call fails" can be tried for every n.  The functions
below it are what several modules do with a file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from typing import TYPE_CHECKING

from milkd.errors import Failure, MilkdError, ReadOnly, StorageFailed, StorageFull

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
DENIED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
MAX_FILE = 2 << 30  # bytes of one file of a store
CHUNK = 1 << 20  # bytes asked of one read
Stamp = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime in ns: equal while nobody wrote or replaced the file.

The mtime can be set back, the ctime cannot.
"""


class Poisoned(MilkdError):
    """What is on disk is unknown: the process must end and start again from the files.

    Raised after a failed fsync, which must never be retried (the kernel may have dropped the
    pages and call the next one good), and when a save broke off between two files.
    """


class SyncFailed(OSError):
    """A file or a directory could not be brought to the medium; a power cut may undo it.

    The file must be written anew: to sync it again might call good what the kernel has dropped.
    """


class Files:
    """Every file call of the store.  Each method is one system call unless it says otherwise."""

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, fd: int) -> None:
        os.close(fd)

    def read(self, fd: int, size: int) -> bytes:
        return os.read(fd, size)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write some of the data and return how many bytes that was."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        """Bring data and metadata to the medium, through the drive's own cache."""
        if hasattr(fcntl, "F_FULLFSYNC"):
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fsync(fd)

    def fdatasync(self, fd: int) -> None:
        """Bring the data to the medium, and of the metadata what is needed to read it."""
        if hasattr(os, "fdatasync"):
            os.fdatasync(fd)
        else:
            self.fsync(fd)

    def ftruncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def fstat(self, fd: int) -> os.stat_result:
        return os.fstat(fd)

    def stat(self, path: str) -> os.stat_result:
        return os.stat(path)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def link(self, old: str, new: str) -> None:
        os.link(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def mkdir(self, path: str, mode: int = 0o700) -> None:
        os.mkdir(path, mode)

    def listdir(self, path: str) -> list[str]:
        return os.listdir(path)

    def resolve(self, path: str) -> str:
        """The path with all symlinks followed; several calls, none of which fails."""
        return os.path.realpath(path)

    def fsync_directory(self, fd: int) -> None:
        """Make the names in an open directory durable, where its file system can (CIFS cannot)."""
        try:
            self.fsync(fd)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise


def stamp_of(found: os.stat_result) -> Stamp:
    """By what a later look tells whether the file is still the same.

    Renaming or linking a file changes its ctime: take the stamp after that.
    """
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def current_stamp(files: Files, path: str) -> Stamp | None:
    """The stamp of what is at the path now, symlinks followed; None if there is nothing."""
    try:
        return stamp_of(files.stat(path))
    except FileNotFoundError:
        return None


def restamped(files: Files, path: str, known: Stamp) -> Stamp:
    """The stamp of a file after we renamed or linked it, which sets its ctime.

    If something else is there by now, or the disk does not say, it is the one known.
    """
    try:
        found = stamp_of(files.stat(path))
    except OSError:
        return known
    return found if found[:-1] == known[:-1] else known


def read_file(files: Files, path: str, limit: int) -> tuple[bytes, Stamp]:
    """The bytes of a regular file, and its stamp from before the first was read.

    Raises:
        OSError: Also when it is no regular file (EINVAL) or larger than `limit` (EFBIG).
    """
    fd = files.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        found = files.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        if found.st_size > limit:
            raise OSError(errno.EFBIG, f"larger than {limit} bytes", path)
        pieces = iter(lambda: files.read(fd, max(CHUNK, found.st_size)), b"")
        return b"".join(pieces), stamp_of(found)
    finally:
        close_quietly(files, fd)


def write_all(files: Files, fd: int, data: bytes) -> None:
    """Write every byte: a write may take fewer than it was given, and says so only by its count."""
    rest = memoryview(data)
    while rest:
        count = files.write(fd, rest)
        if count <= 0:
            raise OSError(errno.EIO, "the disk took nothing and reported no error")
        rest = rest[count:]


def sync(call: Callable[[int], None], fd: int, path: str) -> None:
    """Bring a file to the medium by one of the three sync calls of `Files`.

    Raises:
        Poisoned: It failed, whatever the reason.
    """
    try:
        call(fd)
    except OSError as error:
        raise Poisoned(f"cannot sync {path}: {error.strerror or error}; outcome unknown") from error


def settle(call: Callable[[int], None], fd: int, path: str) -> None:
    """Bring to the medium what can be written anew if that fails.

    Raises:
        SyncFailed: It failed, whatever the reason.
    """
    try:
        call(fd)
    except OSError as error:
        raise SyncFailed(error.errno, error.strerror or str(error), path) from error


def ensure_directory(files: Files, path: str) -> None:
    """Create a directory and what is missing above it, for the user alone (0700), for good.

    Raises:
        OSError: It cannot be created.
        SyncFailed: It was, but may not survive a power cut.
    """
    try:
        _make_directory(files, path)
    except FileNotFoundError:
        ensure_directory(files, os.path.dirname(path))
        _make_directory(files, path)


def _make_directory(files: Files, path: str) -> None:
    try:
        files.mkdir(path, 0o700)
    except FileExistsError:
        return
    sync_directory(files, os.path.dirname(path))


@contextlib.contextmanager
def open_directory(files: Files, path: str) -> Iterator[int]:
    """A descriptor to sync a directory by, opened before the change: later it might not open."""
    fd = files.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        close_quietly(files, fd)


def sync_directory(files: Files, path: str) -> None:
    """Make the names in a directory durable, unless it may not be read: then it is not ours.

    Raises:
        SyncFailed: The sync failed.
    """
    with contextlib.suppress(PermissionError), open_directory(files, path) as fd:
        settle(files.fsync_directory, fd, path)


def close_quietly(files: Files, fd: int) -> None:
    """Close a descriptor of which nothing more is wanted."""
    with contextlib.suppress(OSError):
        files.close(fd)


def unlink_quietly(files: Files, path: str) -> None:
    """Delete a file of our own if that can be done; a leftover is swept at the next start."""
    with contextlib.suppress(OSError):
        files.unlink(path)


def storage_error(doing: str, error: OSError) -> Failure:
    """The error to tell a client when the disk refused and nothing was changed."""
    kinds = {**dict.fromkeys(FULL, StorageFull), **dict.fromkeys(DENIED, ReadOnly)}
    kind = kinds.get(error.errno or 0, StorageFailed)
    return kind(f"{doing}: {error.strerror or error}; nothing was changed")
