"""The socket's path: taken over without a race, watched, and given back.

Two daemons must never serve one path, and a client must never meet a path that is
bound but not listened on.  So: an `flock` beside the socket says who may touch the
path, and the new socket listens under another name before it is renamed over the
old one.  Whether the old one still answers is never asked; a slow answer is not a
dead server.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat

from milkd.errors import AlreadyRunning, ConfigError
from milkd.longpath import Way, check_socket_path, too_long
from milkd.paths import BIND_SUFFIX, LOCK_SUFFIX

BACKLOG = 128
LISTENING = "00010000"
"""The flag of a listening socket in /proc/net/unix."""
SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""What another path would not help against."""
Identity = tuple[int, int]
"""Device and inode of the path; of the socket itself the kernel tells another inode."""


class Address:
    """A socket path of ours, from taking it to giving it back.

    Args:
        path: Where to listen.
        store: The store that is served there.
    """

    def __init__(self, path: str, store: str) -> None:
        self.path = path
        self._store = store
        self._lock: int | None = None
        self._identity: Identity | None = None

    def claim(self) -> None:
        """Lock the path, so that nobody else takes it; what is there stays as it is.

        Raises:
            AlreadyRunning: Somebody else serves it.
            ConfigError: It cannot be a socket of ours.
        """
        ensure_directory(os.path.dirname(self.path))
        self._lock = lock(self.path + LOCK_SUFFIX)
        try:
            _check_kind(self.path)
        except BaseException:
            self.unlock()
            raise
        self._sign(self._lock)

    def take(self) -> socket.socket:
        """Listen on the path, which is claimed first if it is not yet.

        Raises:
            AlreadyRunning: Somebody else serves it.
            ConfigError: It cannot be a socket of ours.
        """
        check_socket_path(self.path)
        if self._lock is None:
            self.claim()
        try:
            _check_free(self.path)
            listening, self._identity = _publish(self.path)
        except BaseException:
            self.unlock()
            raise
        return listening

    def _sign(self, lock: int) -> None:
        """Name the store in the lock, so that nobody follows an older note to us from another."""
        with contextlib.suppress(OSError):
            os.ftruncate(lock, 0)
            os.pwrite(lock, os.fsencode(self._store), 0)

    def is_ours(self) -> bool:
        """Whether the path still leads to our socket."""
        try:
            return _identity(self.path) == self._identity
        except OSError:
            return False

    def remove(self) -> None:
        """Take the name away, if it is still ours.  The lock is kept."""
        if self._identity is not None and self.is_ours():
            with contextlib.suppress(OSError):
                os.unlink(self.path)
        self._identity = None

    def unlock(self) -> None:
        """Let others have the path."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def ensure_directory(path: str) -> None:
    """Make the socket's directory if it is not there; refuse one that others may change.

    Raises:
        ConfigError: It is no directory of ours, or others may write to it.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.stat(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; set $MILKD_SOCKET to another") from error
    shared = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
    if found.st_uid not in (os.geteuid(), 0) or shared:
        raise ConfigError(
            f"the directory {path} belongs to or may be changed by others; "
            "set $MILKD_SOCKET to a path in a private one"
        )


def lock(path: str) -> int:
    """Lock a file beside the socket, for as long as the descriptor is open; it is never deleted.

    Raises:
        AlreadyRunning: Another process has the lock.
        ConfigError: The file cannot be made there.
        OSError: There is no room for it anywhere.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno in SCARCE:
            raise
        raise ConfigError(f"{path}: {error.strerror}; set $MILKD_SOCKET to another") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise AlreadyRunning(f"another milkd serves {path.removesuffix(LOCK_SUFFIX)}") from None
    return fd


def _check_kind(path: str) -> None:
    """Refuse what is no socket, a link to one included: it is somebody else's."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ConfigError(f"{path} is no socket and stays as it is; give another with --socket")


def _check_free(path: str) -> None:
    _check_kind(path)
    if _is_listened_on(path):
        raise AlreadyRunning(
            f"milkd.socket owns {path}; start the daemon with: systemctl --user start milkd.service"
        )


def _is_listened_on(path: str) -> bool:
    """Whether the kernel knows a listener under the very path.

    Since its owner does not hold our lock, it is a service manager.  Connecting instead would
    make that start another daemon.
    """
    try:
        with open("/proc/net/unix", "rb") as table:
            rows = [line.split(None, 7) for line in table]
    except OSError:
        return False
    wanted = os.fsencode(path)
    return any(
        len(row) == 8 and row[3] == LISTENING.encode() and row[7].rstrip(b"\n") == wanted
        for row in rows
    )


def _publish(path: str) -> tuple[socket.socket, Identity]:
    """Listen under a name of our own, then put that over the path."""
    own = path + BIND_SUFFIX
    with contextlib.suppress(FileNotFoundError):
        os.unlink(own)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind(sock, own)
        sock.listen(BACKLOG)
        sock.setblocking(False)
        os.rename(own, path)
        return sock, _identity(path)
    except OSError as error:
        sock.close()
        reason = error.strerror or str(error)
        if error.errno == errno.ENAMETOOLONG:
            reason = too_long(path)
        raise ConfigError(f"cannot listen on {path}: {reason}") from error


def _bind(sock: socket.socket, path: str) -> None:
    """Bind to a path of any length, for the user alone."""
    os.fchmod(sock.fileno(), 0o600)  # on Linux the file is born with this mode
    mask = os.umask(0o177)
    try:
        with Way(path) as way:
            sock.bind(way.name)
    finally:
        os.umask(mask)


def _identity(path: str) -> Identity:
    found = os.stat(path)
    return (found.st_dev, found.st_ino)


def activated(name: str = "milkd") -> socket.socket | None:
    """The listening socket that a service manager handed over, if it did (sd_listen_fds(3))."""
    pid = os.environ.pop("LISTEN_PID", "")
    count = os.environ.pop("LISTEN_FDS", "")
    names = os.environ.pop("LISTEN_FDNAMES", "").split(":")
    if pid != str(os.getpid()) or not count.isdigit():
        return None
    found = None
    for index in range(int(count)):
        named = count == "1" or names[index : index + 1] == [name]
        sock = _inherited(3 + index)
        if sock is not None and named and found is None:
            found = sock
        elif sock is not None:
            sock.close()
    return found


def _inherited(fd: int) -> socket.socket | None:
    """The listening Unix socket behind a descriptor, made non-blocking; others are closed."""
    try:
        os.set_inheritable(fd, False)
        sock = socket.socket(fileno=fd)
    except OSError as error:
        if error.errno != errno.EBADF:
            os.close(fd)
        return None
    listening = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if sock.family == socket.AF_UNIX and sock.type == socket.SOCK_STREAM and listening:
        sock.setblocking(False)
        return sock
    sock.close()
    return None
