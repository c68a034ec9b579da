"""Start a daemon for a client that found none, once however many clients look.

Clients of one socket queue on the lock `<socket>.spawn`; the first one starts the
daemon and waits until it is ready, the others find it running.
"""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
import sys
import threading
import time

from milkd.dial import dial, refused, unreachable
from milkd.errors import DaemonUnreachable
from milkd.paths import log_path, runtime_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Iterator

__all__ = ["start"]

PATIENCE = 10.0  # seconds to wait for the lock, and to connect to a daemon that is ready
MANAGED = 2.0  # seconds to connect to a socket that systemd has opened
READY = 15.0  # seconds for it to get ready; it waits up to 10 for one that is stopping
FIRST_PAUSE = 0.001  # seconds between two attempts; doubles
LONGEST_PAUSE = 0.05  # seconds
IDLE_EXIT = 7200  # seconds without activity after which the daemon goes (daemon.md, A9)
LOG_READ = 1 << 16  # bytes of the log that are looked at for
LOG_SHOWN = 5  # last lines of it in an error

# These speak to the process that was started with them, not to a daemon started from it.
NOT_INHERITED = ("LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET", "WATCHDOG_PID")


def start(store: str, path: str) -> _socket.socket:
    """A connection to the daemon on `path`, started for `store` if nobody else has meanwhile.

    Raises:
        DaemonUnreachable: It may not be started, or could not; tells the daemon's last words.
    """
    if os.environ.get("MILKD_NO_AUTOSTART"):
        raise DaemonUnreachable(
            f"no daemon at {path}, and $MILKD_NO_AUTOSTART forbids to start one\n"
            "start it with: milkd"
        )
    lock = _open_lock(path)
    try:
        return _wait_for_lock(lock, path) or _managed(store, path) or _launch(store, path)
    finally:
        os.close(lock)


def _managed(store: str, path: str) -> _socket.socket | None:
    """A connection to a daemon that a service manager starts; None if none is in charge."""
    runtime = runtime_directory()
    if runtime is None or not os.path.exists(os.path.join(runtime, "systemd", "private")):
        return None
    from milkd.managed import Unit

    unit = Unit(store, runtime)
    if not unit.listens_on(path):
        return None
    unit.start()
    for _ in _attempts(MANAGED):
        if (sock := _dialled(path)) is not None:
            return sock
    raise DaemonUnreachable(unit.last_words(f"is active, but nobody listens on {path}"))


def _open_lock(path: str) -> int:
    """The lock file beside the socket, whose directory need not exist yet."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(f"{path}.spawn", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DaemonUnreachable(
            f"no daemon at {path}, and none can be started there: {error.strerror}\n"
            "set $MILKD_SOCKET to a path elsewhere"
        ) from error


def _wait_for_lock(lock: int, path: str) -> _socket.socket | None:
    """The lock (None), or a connection if somebody else's daemon comes up first."""
    for _ in _attempts():
        locked = _try_lock(lock)
        if (sock := _dialled(path)) is not None:
            return sock
        if locked:
            return None
    raise DaemonUnreachable(
        f"no daemon at {path}; another process has been starting one for {PATIENCE:g} s "
        f"(it holds {path}.spawn)"
    )


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _launch(store: str, path: str) -> _socket.socket:
    """Start the daemon, wait until it is ready, and connect."""
    log = _open_log()
    try:
        begin = os.fstat(log).st_size
        daemon, ready = _spawn(store, path, log)
    finally:
        os.close(log)
    try:
        if not _says_ready(ready):
            raise DaemonUnreachable(_last_words(daemon, begin))
    finally:
        os.close(ready)
        # A client that outlives the daemon must not keep a zombie.
        threading.Thread(target=daemon.wait, name="milkd reaper", daemon=True).start()
    for _ in _attempts():
        if (sock := _dialled(path)) is not None:
            return sock
    raise DaemonUnreachable(f"the daemon was started, but does not answer at {path}")


def _spawn(store: str, path: str, log: int) -> tuple[subprocess.Popen[bytes], int]:
    """The daemon, depending on nothing of this process, and the pipe on which it gets ready."""
    ready, tell = os.pipe()
    command = [sys.executable, "-m", "milkd", "--store", store, "--socket", path]
    command += ["--idle-exit", str(IDLE_EXIT), "--ready-fd", str(tell)]
    try:
        daemon = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            umask=0o077,
            env=_environment(),
            pass_fds=[tell],
            start_new_session=True,
        )
    except OSError as error:
        os.close(ready)
        raise DaemonUnreachable(f"cannot start {sys.executable}: {error.strerror}") from error
    finally:
        os.close(tell)
    return daemon, ready


def _environment() -> dict[str, str]:
    """This process's variables, less those meant for it alone, with paths that hold in `/`."""
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    if places := kept.get("PYTHONPATH"):
        kept["PYTHONPATH"] = os.pathsep.join(_absolute(places.split(os.pathsep)))
    return kept


def _absolute(places: list[str]) -> list[str]:
    """The places as absolute paths, less those that lead nowhere."""
    try:
        return list(map(os.path.abspath, places))
    except FileNotFoundError:  # the working directory has been deleted
        return list(filter(os.path.isabs, places))


def _open_log() -> int:
    """The log, opened for appending; the daemon rotates it.  Nowhere if it can't be."""
    path = log_path()
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _says_ready(ready: int) -> bool:
    """Whether a line comes out of the pipe in time, not its end."""
    poll = select.poll()
    poll.register(ready, select.POLLIN)
    return bool(poll.poll(1000 * READY)) and os.read(ready, 64) != b""


def _last_words(daemon: subprocess.Popen[bytes], begin: int) -> str:
    """Why a daemon did not get ready: its exit code, and what it has written to the log."""
    try:
        code = daemon.wait(timeout=1)
        fate = f"ended with exit code {code}" if code >= 0 else f"was killed by signal {-code}"
    except subprocess.TimeoutExpired:
        fate = f"is not ready after {READY:g} s"
    said = _log_from(begin) or ["(nothing)"]
    return "\n  ".join([f"the daemon that was started {fate}; it says in {log_path()}:", *said])


def _log_from(begin: int) -> list[str]:
    """The last lines of the log from an offset on."""
    try:
        with open(log_path(), "rb") as file:
            end = file.seek(0, os.SEEK_END)
            # A daemon that began a new file says why it ends at the head of that.
            file.seek(max(begin if begin <= end else 0, end - LOG_READ))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return text.splitlines()[-LOG_SHOWN:]


def _dialled(path: str) -> _socket.socket | None:
    """A connection, or None if nobody is there."""
    try:
        return dial(path, timeout=PATIENCE)
    except OSError as error:
        if not refused(error, path):
            raise unreachable(path, error) from error
        return None


def _attempts(patience: float = PATIENCE) -> Iterator[None]:
    """Yield at growing intervals until so many seconds are over."""
    deadline = time.monotonic() + patience
    pause = FIRST_PAUSE
    while True:
        yield
        if time.monotonic() >= deadline:
            return
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
