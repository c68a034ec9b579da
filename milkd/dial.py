"""Reach a Unix socket, make sure whose it is, and say why when that fails.

`dial()` either returns a connected socket that belongs to the caller's own user
or raises `OSError`; `unreachable()` turns such an error into a sentence.  The
interpreter's `_socket` is used as it is: `socket` adds nothing needed here and
doubles what starting a short-lived client costs.
"""

from __future__ import annotations

import errno
import os
import sys
import time

from milkd.errors import DaemonUnreachable
from milkd.paths import SUN_PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket as net
else:
    try:
        import _socket as net
    except ImportError:  # another interpreter than CPython
        import socket as net

__all__ = ["dial", "refused", "unreachable"]

FIRST_PAUSE = 0.001  # seconds before another attempt at a full backlog; doubles
LONGEST_PAUSE = 0.25  # seconds
LOCAL_PEERCRED = 1  # macOS: getsockopt(SOL_LOCAL, LOCAL_PEERCRED) gives a struct xucred
XUCRED_SIZE = 76


def dial(path: str, *, timeout: float) -> net.socket:
    """Connect to the daemon's socket within `timeout` seconds.

    Raises:
        OSError: The path cannot be connected to; `refused()` tells the errors that mean
            "nobody is there" from the others.
        DaemonUnreachable: Somebody else's process answered; nothing was sent to it.
    """
    sock = net.socket(net.AF_UNIX, net.SOCK_STREAM)
    try:
        sock.settimeout(timeout)
        _reach(sock, path, time.monotonic() + timeout)
        _check_owner(sock, path)
    except BaseException:
        sock.close()
        raise
    return sock


def refused(error: OSError, path: str) -> bool:
    """Whether the error says that no daemon is there, so that starting one may help."""
    if error.errno == errno.ENOENT:
        return True
    return error.errno == errno.ECONNREFUSED and _is_socket(path)


def unreachable(path: str, error: OSError) -> DaemonUnreachable:
    """The error for a path that cannot be connected to, with the way out."""
    return DaemonUnreachable(f"cannot reach the daemon at {path}: {_reason(path, error)}")


def _reach(sock: net.socket, path: str, deadline: float) -> None:
    """Connect to a path of any length."""
    if len(os.fsencode(path)) <= SUN_PATH:
        _connect(sock, path, deadline)
        return
    from milkd.longpath import Way

    with Way(path) as way:
        _connect(sock, way.name, deadline)


def _connect(sock: net.socket, path: str, deadline: float) -> None:
    """Connect; a full backlog (EAGAIN at once, on Linux) is waited for."""
    pause = FIRST_PAUSE
    while True:
        try:
            sock.connect(path)
        except BlockingIOError:
            if time.monotonic() + pause > deadline:
                raise
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        else:
            return


def _check_owner(sock: net.socket, path: str) -> None:
    """Refuse a server that runs under another user id."""
    uid = _peer_uid(sock)
    if uid != os.geteuid():
        raise DaemonUnreachable(
            f"the socket {path} is served by user id {uid}, not by yours ({os.geteuid()}); "
            "nothing was sent"
        )


def _peer_uid(sock: net.socket) -> int:
    if sys.platform == "linux":  # struct ucred {pid, uid, gid}, an int each
        credentials = sock.getsockopt(net.SOL_SOCKET, net.SO_PEERCRED, 12)
    else:  # struct xucred {version, uid, …}
        credentials = sock.getsockopt(0, LOCAL_PEERCRED, XUCRED_SIZE)
    return int.from_bytes(credentials[4:8], sys.byteorder)


def _is_socket(path: str) -> bool:
    """Whether a socket is at the path; connect() says ECONNREFUSED for a regular file too."""
    try:
        return os.stat(path).st_mode & 0o170000 == 0o140000
    except OSError:
        return False


def _reason(path: str, error: OSError) -> str:
    """What is wrong with the path, in words."""
    if error.errno == errno.ENOENT:
        return "no such socket (not running?)\nstart it with: milkd"
    if error.errno in (errno.ECONNREFUSED, errno.ENOTDIR, errno.EPROTOTYPE):
        if error.errno == errno.ECONNREFUSED and _is_socket(path):
            return "the socket is there, but nobody listens (did it die?)\nstart it with: milkd"
        return "that is not a socket of milkd; give another path with --socket or $MILKD_SOCKET"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied; only the user who runs milkd may connect"
    if error.errno == errno.ENAMETOOLONG:
        from milkd.longpath import too_long

        return too_long(path)
    if isinstance(error, BlockingIOError):
        return "it accepts no connections at present (overloaded or stopped?)"
    return error.strerror or "it does not answer"
