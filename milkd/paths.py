"""Where things live: the store, the socket, milk's config file and the log.

Daemon and client call the same functions, so that both look in the same place.
Nothing here creates, changes or deletes anything; and since every client
imports this module, it imports next to nothing itself.
"""

from __future__ import annotations

import os
import sys

from milkd.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "BIND_SUFFIX",
    "LOCK_SUFFIX",
    "OWN_DIRECTORY",
    "SUN_PATH",
    "boot_id",
    "computed_socket",
    "config_path",
    "endpoint_path",
    "endpoint_text",
    "log_path",
    "named_socket",
    "noted_socket",
    "runtime_directory",
    "sockets",
    "store_directory",
    "valid_session",
]

OWN_DIRECTORY = ".milkd"
"""The directory inside a store where milkd keeps what is its own."""
BIND_SUFFIX = ".n"
"""Added to the socket's path while the daemon binds, before it renames; it has to fit, too."""
LOCK_SUFFIX = ".lock"
"""Added to the socket's path: a file that its daemon keeps locked, and that names the store."""
SUN_PATH = 107 if sys.platform == "linux" else 103
"""Bytes of a path that fit into a socket address, without the NUL; see `longpath`."""
NOTE_SIZE = 4096  # bytes read of the endpoint file, which has some hundred
SESSION_LENGTH = 64
RESERVED = ("global", "archive")
ALNUM = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


def valid_session(name: str) -> bool:
    """Whether an id can name a file: `[A-Za-z0-9._-]{1,64}`, no leading dot, not reserved."""
    return (
        0 < len(name) <= SESSION_LENGTH
        and name[0] != "."
        and all(char in ALNUM or char in "._-" for char in name)
        and name.lower() not in RESERVED
    )


def store_directory(explicit: str | None = None) -> str:
    """The store: `explicit`, else `$MILK_MEMORY_DIR`, else `~/.milk/memory`; symlinks resolved."""
    chosen = explicit or os.environ.get("MILK_MEMORY_DIR") or _in_home("memory")
    return os.path.realpath(_expanded(chosen))


def config_path(explicit: str | None = None) -> str:
    """The config file that milk and milkd share."""
    return os.path.abspath(_expanded(explicit or _in_home("config.json")))


def log_path() -> str:
    """The log of a daemon that nobody watches."""
    return _in_home("milkd.log")


def sockets(store: str, explicit: str | None = None) -> Iterator[str]:
    """Where to look for the daemon of a store, in order; one started now listens on the last.

    A path that somebody names is the only one.  Otherwise a running daemon has left a note in
    its store, so that clients with other variables than its own (of cron, ssh, su) find it.  A
    note may be stale: if nobody listens there, the daemon's own rule counts.

    Args:
        store: As `store_directory` returned it.
        explicit: What the command line names.
    """
    if (named := named_socket(store, explicit)) is not None:
        yield named
        return
    noted = noted_socket(store)
    if noted is not None:
        yield noted
    if (computed := computed_socket(store)) != noted:
        yield computed


def named_socket(store: str, explicit: str | None = None) -> str | None:
    """The socket that the command line names, else `$MILKD_SOCKET`.

    The variable speaks of the usual store only: who names another one must not be led to the
    wrong daemon.
    """
    chosen = explicit
    if not chosen and (usual := os.environ.get("MILKD_SOCKET")) and store == store_directory():
        chosen = usual
    return os.path.abspath(_expanded(chosen)) if chosen else None


def computed_socket(store: str) -> str:
    """The socket of a store that nobody gave another: one path a store, by its real path.

    The plain name is for the memory in the user's real home.  By `$HOME` it would belong to
    several stores, whose daemons would meet in a runtime directory that they share.
    """
    name = "milkd.sock"
    home = _real_home()
    if not home or store != os.path.realpath(os.path.join(home, ".milk", "memory")):
        import hashlib

        name = f"milkd-{hashlib.sha256(os.fsencode(store)).hexdigest()[:8]}.sock"
    return os.path.join(_socket_directory(name), name)


def runtime_directory() -> str | None:
    """The directory of this user for sockets, also where cron, ssh or su do not tell it."""
    uid = os.getuid()
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(given) and _owned_directory(given, uid):
        return given
    usual = f"/run/user/{uid}"
    return usual if _owned_directory(usual, uid, private=True) else None


def endpoint_path(store: str) -> str:
    """The file in which a running daemon notes on which socket it listens."""
    return os.path.join(store, OWN_DIRECTORY, "endpoint")


def endpoint_text(socket: str) -> bytes:
    """What that file holds: the socket, the host and the boot id, a line each."""
    return b"".join(os.fsencode(line) + b"\n" for line in (socket, *_machine()))


def noted_socket(store: str) -> str | None:
    """The socket in that file, if it was written on this machine since that was started.

    The daemon that wrote it may have died since, but none that is stopping leaves it.
    """
    try:
        with open(endpoint_path(store), "rb") as file:
            lines = file.read(NOTE_SIZE).split(b"\n")
    except OSError:
        return None
    if len(lines) != 4 or lines[3]:
        return None
    socket, *machine = map(os.fsdecode, lines[:3])
    here = os.path.isabs(socket) and tuple(machine) == _machine()
    return socket if here and not _is_anothers(socket, store) else None


def boot_id() -> str:
    """What the kernel calls the time since the machine started; empty where it does not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _in_home(name: str) -> str:
    return os.path.join(_home(), ".milk", name)


def _expanded(path: str) -> str:
    """The path with a leading `~` replaced, by our own idea of the home."""
    if path == "~" or path.startswith("~/"):
        return _home() + path[1:]
    return os.path.expanduser(path)


def _home() -> str:
    """The home directory: `$HOME`, else that of the user database.

    Raises:
        ConfigError: There is neither.
    """
    home = os.environ.get("HOME") or _real_home()
    if not home:
        raise ConfigError(
            f"$HOME is not set, and user id {os.getuid()} has no home directory; "
            "set $HOME to a directory of yours"
        )
    return home


def _real_home() -> str:
    """The home directory of the user database; empty if it has none for us."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def _machine() -> tuple[str, str]:
    """This machine, since it started."""
    return os.uname().nodename, boot_id()


def _socket_directory(name: str) -> str:
    """The first usable directory for a socket of that name; it may not exist yet."""
    if (runtime := runtime_directory()) is not None:
        return os.path.join(runtime, "milkd")
    home = os.environ.get("HOME") or _real_home()
    own = os.path.join(home, ".milk", "run")
    fits = len(os.fsencode(os.path.join(own, name + BIND_SUFFIX))) <= SUN_PATH
    if home and fits and os.access(home, os.W_OK | os.X_OK):
        return own
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"milkd-{os.getuid()}")


def _owned_directory(path: str, uid: int, *, private: bool = False) -> bool:
    """Whether it is a real directory of ours; `private`: that nobody else may enter."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    mode = found.st_mode
    return mode & 0o170000 == 0o040000 and found.st_uid == uid and not (private and mode & 0o077)


def _is_anothers(socket: str, store: str) -> bool:
    """Whether the socket's lock tells that the daemon of another store took the path since."""
    try:
        with open(socket + LOCK_SUFFIX, "rb") as file:
            holder = file.read(NOTE_SIZE)
    except (OSError, ValueError):
        return False
    return bool(holder) and holder != os.fsencode(store)


def short(path: str) -> str:
    """The end of a path in milkd's own directory, for a sentence."""
    return os.path.join(*path.rsplit(os.sep, 3)[-3:])
