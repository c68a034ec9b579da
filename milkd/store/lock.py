"""The lock on a store: one daemon at a time owns the data.

It is an `flock` on `<store>/.milkd/lock`, which the kernel drops when the process
dies, however it dies.  The file is never deleted, since a waiter may have it open.
Its content is for messages alone: whether the store is taken is never decided by
a process id, which may long belong to somebody else.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from typing import TYPE_CHECKING, Self

from milkd.errors import AlreadyRunning
from milkd.paths import OWN_DIRECTORY, boot_id
from milkd.store.files import DENIED, Files, ensure_directory, storage_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

POLL = 0.05  # seconds between two attempts
PATIENCE = 10.0  # seconds that cover "the old one is shutting down"


class StoreLock:
    """Exclusive right to a store; taken by `acquire`, given back by `release` or process end."""

    def __init__(self, store: str, about: Mapping[str, object] | None = None) -> None:
        """Prepare a lock; nothing is touched.

        Args:
            store: The store directory.
            about: What the lock file says of its holder besides pid, host and boot id.
        """
        self.store = store
        self.path = os.path.join(store, OWN_DIRECTORY, "lock")
        self._about = dict(about or {})
        self._fd: int | None = None

    def acquire(
        self, wait_s: float = PATIENCE, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Take the lock, asking again for `wait_s` seconds while another process has it.

        Raises:
            AlreadyRunning: Names the store and who holds it.
            Failure: The lock file cannot be made.
        """
        if self._fd is not None:
            raise ValueError("the lock is already held by this object")
        fd = self._open()
        try:
            for attempts_left in range(int(wait_s / POLL), -1, -1):
                if self._try(fd):
                    self._fd = fd
                    self._describe(fd)
                    return
                if attempts_left:
                    sleep(POLL)
            holder, place = _holder(fd)
            raise AlreadyRunning(f"{holder} holds the store {self.store}{place}")
        finally:
            if self._fd is None:
                os.close(fd)

    def release(self) -> None:
        """Give the lock back; the file stays."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def _open(self) -> int:
        """Open the lock file; on a store that cannot be written to, the directory itself."""
        flags = os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            ensure_directory(Files(), os.path.dirname(self.path))
            return os.open(self.path, os.O_RDWR | os.O_CREAT | flags, 0o600)
        except OSError as error:
            if error.errno in DENIED and os.path.isdir(self.store):
                return os.open(self.store, os.O_RDONLY | flags)
            raise storage_error(f"cannot lock the store {self.store}", error) from error

    def _try(self, fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EINTR):
                return False
            raise storage_error(f"cannot lock the store {self.store}", error) from error
        return True

    def _describe(self, fd: int) -> None:
        """Say who holds the lock; a full disk is no reason not to hold it."""
        known = {"pid": os.getpid(), "host": os.uname().nodename, "boot_id": boot_id()}
        text = json.dumps(known | self._about) + "\n"
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, text.encode(), 0)
        except OSError:
            return


def _holder(fd: int) -> tuple[str, str]:
    """Who wrote the lock file last, in words, and where it can be reached."""
    try:
        told = json.loads(os.pread(fd, 65_536, 0))
        version = f" {told['version']}" if "version" in told else ""
        place = f" and listens on {told['socket']}" if "socket" in told else ""
        return f"milkd{version} with pid {told['pid']} on {told['host']}", place
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return "another process", ""
