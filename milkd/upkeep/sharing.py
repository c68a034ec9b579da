"""Looking at a store that a milkd may be working on, or having it to oneself.

As long as somebody looks, no milkd begins: the lock is shared among those who look,
and exclusive to the one who writes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from typing import TYPE_CHECKING

from milkd.errors import AlreadyRunning, NotFound, ReadOnly
from milkd.paths import OWN_DIRECTORY
from milkd.store.lock import StoreLock
from milkd.store.mounts import network_of

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 65_536  # bytes of a lock file that are looked at
PATIENCE = 2.0  # seconds that somebody who only looks may take
STOP_IT = "stop it first: `milkctl stop`; nothing was changed"


@contextlib.contextmanager
def shared(store: str) -> Iterator[str | None]:
    """Keep every milkd from beginning on the store; gives the one that has begun, in words.

    What cannot be locked is looked at all the same.
    """
    own = os.path.join(store, OWN_DIRECTORY, "lock")
    with contextlib.ExitStack() as open_files:
        # Where a milkd may not write to its lock file, it locks the directory.
        fds = [_opened(open_files, path) for path in (own, store)]
        held = [_is_held(fd) for fd in fds if fd is not None]
        yield _holder(fds[0]) if any(held) else None


@contextlib.contextmanager
def looking(store: str, *, beside: bool) -> Iterator[str | None]:
    """Keep every milkd from beginning on a store; gives the one that has begun, in words.

    Args:
        store: The directory.
        beside: Whether one may work on it meanwhile.

    Raises:
        NotFound: There is no such directory.
        AlreadyRunning: One works on it.
    """
    if not os.path.isdir(store):
        raise NotFound(f"{store}: there is no such directory")
    with shared(store) as holder:
        if holder is not None and not beside:
            raise AlreadyRunning(f"{holder} works on the store {store}; {STOP_IT}")
        yield holder


@contextlib.contextmanager
def exclusive(store: str) -> Iterator[None]:
    """Have a store to oneself, to write to it.

    Raises:
        AlreadyRunning: Somebody else works on it.
        ReadOnly: Nothing can be written to it.
        Failure: It cannot be locked.
    """
    lock = StoreLock(store, network=network_of(store))
    try:
        lock.acquire(PATIENCE)
    except AlreadyRunning as error:
        raise AlreadyRunning(f"{error}; {STOP_IT}") from error
    try:
        if lock.refusal is not None:
            raise ReadOnly(lock.refusal)
        yield
    finally:
        lock.release()


def _opened(open_files: contextlib.ExitStack, path: str) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    open_files.callback(os.close, fd)
    return fd


def _is_held(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _holder(fd: int | None) -> str:
    """Who wrote the lock file last."""
    try:
        told = json.loads(b"" if fd is None else os.pread(fd, LONGEST, 0))
        return f"milkd with pid {told['pid']} on {told['host']}"
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return "another process"
