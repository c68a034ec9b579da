"""The lock on a store: one daemon at a time owns the data.

It is an `flock` on `<store>/.milkd/lock`, which the kernel drops when the process
dies, however it dies.  milkd never deletes the file, since a waiter may have it open;
if somebody else does, the lock is taken anew on the file that is there then (`renew`).
Its content is for messages: whether the store is taken is never decided by a process
id, which may long belong to somebody else.

On a network file system a lock may hang, or reach no further than this machine.  So
there it is waited for in a thread, and the file's content counts as well: the holder
says in it that it lives, again and again (`holder`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from milkd.errors import AlreadyRunning, StorageFailed
from milkd.paths import OWN_DIRECTORY, noted_socket
from milkd.store.bounded import Hung, within
from milkd.store.files import DENIED, Files, close_quietly, ensure_directory, storage_error
from milkd.store.holder import FRESH, Machine
from milkd.store.signature import Signature, read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

T = TypeVar("T")
LIMIT = 5.0  # seconds that a disk of a network has for each step
POLL = 0.05  # seconds between two attempts
PATIENCE = 10.0  # seconds that cover "the old one is shutting down"
SERVES = 0.5  # seconds after which one that still serves was not just told to stop
TAKEN = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EINTR})
NO_LOCKS = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EBADF})
"""What a file system says that knows no locks; EBADF where they need a file open for writing."""


class StoreLock:
    """Exclusive right to a store; taken by `acquire`, given back by `release` or process end.

    Attributes:
        refusal: Why nothing may be written to the store, since only its directory is locked;
            None if it may.
    """

    def __init__(
        self,
        store: str,
        about: Mapping[str, object] | None = None,
        *,
        network: str | None = None,
        files: Files | None = None,
        here: Machine | None = None,
    ) -> None:
        """Prepare a lock; nothing is touched.

        Args:
            store: The store directory.
            about: What the lock file says of its holder besides pid, host and boot id.
            network: The type of its file system, if that is one of a network.
            files: The calls to open by.
            here: This machine.
        """
        self.store = store
        self.path = os.path.join(store, OWN_DIRECTORY, "lock")
        self.refusal: str | None = None
        self._network = network
        self._files = files or Files()
        self._here = here or Machine()
        self._signature = Signature(
            self.path,
            about or {},
            shared=network is not None,
            files=self._files,
            here=self._here,
        )
        self._fd: int | None = None
        self._home: tuple[int, int] | None = None  # which directory was locked

    @property
    def beats(self) -> bool:
        """Whether the holder has to call `beat` again and again."""
        return self._fd is not None and self._network is not None and self.refusal is None

    def acquire(
        self, wait_s: float = PATIENCE, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Take the lock, asking again for `wait_s` seconds while one that stops or starts has it.

        Raises:
            AlreadyRunning: Names the store and who holds it; soon, if that one serves clients.
            Failure: The lock file cannot be made, or cannot be locked.
        """
        if self._fd is not None:
            raise ValueError("the lock is already held by this object")
        served = 0.0
        for attempts_left in range(int(wait_s / POLL), -1, -1):
            problem = self._attempt()
            if problem is None:
                return
            served = served + POLL if self._bounded(self._is_served) else 0.0
            if not attempts_left or served > SERVES:
                raise AlreadyRunning(problem)
            sleep(POLL)

    def holds(self) -> bool:
        """Whether the lock file is still the one that is locked, by two quick calls."""
        return self._fd is not None and self._leads_to(self._fd)

    def renew(self) -> bool:
        """Take the lock on the file that is at the path now; made anew if there is none.

        Whether that was possible: nothing is made where nothing of the store is left, since its
        disk may be unmounted.

        Raises:
            AlreadyRunning: Another process has it, so that nothing may be written any more.
            Failure: The lock file cannot be made, or cannot be locked.
        """
        if not (_has_anything(self.store) or _identity(self.store) == self._home):
            return False
        old = self._fd
        if (problem := self._attempt()) is not None:
            raise AlreadyRunning(problem)
        if old is not None:
            close_quietly(self._files, old)
        return True

    def beat(self) -> None:
        """Say that the holder lives.  May take as long as the disk does.

        Raises:
            AlreadyRunning: The store is another one's by now, and must not be written to.
            OSError: The disk did not take it.
        """
        if self._fd is not None:
            self._signature.check_ours()
            self._signature.write(self._fd)

    def release(self) -> None:
        """Give the lock back; the file stays."""
        if self._fd is not None:
            if self.beats:
                # So that another machine may begin at once.
                with contextlib.suppress(OSError, StorageFailed, AlreadyRunning):
                    self._bounded(self._say_farewell)
            close_quietly(self._files, self._fd)
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
        flags = os.O_NOFOLLOW
        try:
            ensure_directory(self._files, os.path.dirname(self.path))
            return self._files.open(self.path, os.O_RDWR | os.O_CREAT | flags, 0o600)
        except OSError as error:
            if error.errno in DENIED and os.path.isdir(self.store):
                reason = f"{self.path} cannot be written ({error.strerror})"
                self.refusal = (
                    f"{reason}, so that nothing may be written to this store; "
                    "make it writable and start milkd anew"
                )
                with contextlib.suppress(OSError):
                    return self._files.open(self.store, os.O_RDONLY | flags)
            raise storage_error(f"cannot lock the store {self.store}", error) from error

    def _attempt(self) -> str | None:
        """Why the store cannot be had now; None if it is ours.

        The file is opened each time: the one that was there before may have been deleted.
        """
        fd = self._bounded(self._open)
        try:
            problem = self._problem(fd)
            if problem is None and not self._leads_to(fd):
                problem = f"{self.path} was deleted or replaced a moment ago"
            if problem is None:
                self._describe(fd)
                self._fd, fd = fd, -1
                self._home = _identity(self.store)
            return problem
        finally:
            if fd >= 0:
                close_quietly(self._files, fd)

    def _leads_to(self, fd: int) -> bool:
        """Whether the path leads to this open file; it does while nobody says that it does not."""
        path = self.store if self.refusal is not None else self.path
        try:
            there, here = self._files.stat(path), self._files.fstat(fd)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def _is_served(self) -> bool:
        """Whether the holder has noted where it listens, and its socket is there.

        Who is starting has not done so yet, and who is stopping takes the one or the other away
        first.
        """
        socket = noted_socket(self.store)
        return socket is not None and os.path.lexists(socket)

    def _problem(self, fd: int) -> str | None:
        """Why the store cannot be had now; None if it is ours."""
        if not self._bounded(partial(self._lock, fd)):
            holder = read(fd)
            return f"{holder} holds the store {self.store}{holder.place}"
        if self._network is None or self.refusal is not None:
            return None
        holder = read(fd)
        age = holder.age(self._here)
        if age is None:
            return None
        return (
            f"{holder} gave a sign of life {age:.0f} s ago{holder.place}; it works on the same "
            f"store {self.store}, whose file system ({self._network}) does not keep two machines "
            f"apart: stop it there; if it is dead already, start again in {FRESH:g} s, or delete "
            f"{self.path}"
        )

    def _lock(self, fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in TAKEN:
                return False
            if error.errno not in NO_LOCKS:
                raise storage_error(f"cannot lock the store {self.store}", error) from error
            # Who only reads is in nobody's way.
            return self.refusal is not None or self._refuse(error)
        return True

    def _refuse(self, error: OSError) -> bool:
        kind = f" ({self._network})" if self._network else ""
        raise StorageFailed(
            f"the file system{kind} of {self.store} has no locks ({error.strerror}), and without "
            "one two milkd could write at once; nothing was changed.  Mount it with locks (nfs: "
            "with a lock service, or local_lock=flock), or have the store on a local disk "
            "($MILK_MEMORY_DIR)"
        ) from error

    def _bounded(self, call: Callable[[], T]) -> T:
        """What a call returns, if the disk of a network answers in time."""
        if self._network is None:
            return call()
        try:
            return within(LIMIT, call)
        except Hung:
            raise StorageFailed(
                f"{self.path} could not be locked within {LIMIT:g} s; is the server of this file "
                f"system ({self._network}) there, and its lock service?"
            ) from None

    def _describe(self, fd: int) -> None:
        """Say who holds the lock; a full disk is no reason not to hold it."""
        with contextlib.suppress(OSError):
            self._bounded(partial(self._signature.write, fd))

    def _say_farewell(self) -> None:
        """Leave the file without a sign of life, unless it is another one's by now."""
        self._signature.check_ours()
        if self._fd is not None:
            self._signature.write(self._fd, alive=False)


def _identity(directory: str) -> tuple[int, int] | None:
    """What tells a directory from the one under its mount point."""
    try:
        found = os.stat(directory)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _has_anything(directory: str) -> bool:
    with contextlib.suppress(OSError), os.scandir(directory) as found:
        return next(found, None) is not None
    return False
