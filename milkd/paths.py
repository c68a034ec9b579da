"""Where things live: the store, the socket, milk's config file and the log.

Daemon and client call the same functions, so that both look in the same place.
Nothing here creates, changes or deletes anything; and since every client
imports this module, it imports next to nothing itself.
"""

from __future__ import annotations

import os
import sys

from milkd.errors import ConfigError

__all__ = [
    "BIND_SUFFIX",
    "OWN_DIRECTORY",
    "boot_id",
    "check_socket_path",
    "computed_socket",
    "config_path",
    "endpoint_path",
    "log_path",
    "socket_path",
    "store_directory",
    "valid_session",
]

OWN_DIRECTORY = ".milkd"
"""The directory inside a store where milkd keeps what is its own."""
BIND_SUFFIX = ".n"
"""Added to the socket's path while the daemon binds, before it renames (same length limit)."""
SUN_PATH = 107 if sys.platform == "linux" else 103  # bytes of sockaddr_un.sun_path, without NUL
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
    return os.path.realpath(os.path.expanduser(chosen))


def config_path(explicit: str | None = None) -> str:
    """The config file that milk and milkd share."""
    return os.path.abspath(os.path.expanduser(explicit or _in_home("config.json")))


def log_path() -> str:
    """The log of a daemon that nobody watches."""
    return _in_home("milkd.log")


def socket_path(store: str, explicit: str | None = None) -> str:
    """Where the daemon of a store listens.

    The first that is given: `explicit`, `$MILKD_SOCKET`, the store's endpoint file if it was
    written on this machine since it started, the computed path.  The variable speaks of the
    usual store only: who names another one must not be led to the wrong daemon.

    Args:
        store: As `store_directory` returned it.
        explicit: What the command line names.
    """
    chosen = explicit
    if not chosen and (usual := os.environ.get("MILKD_SOCKET")) and store == store_directory():
        chosen = usual
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    return _recorded_socket(store) or computed_socket(store)


def computed_socket(store: str) -> str:
    """The socket of a store that nobody gave another: one path a store, by its real path."""
    name = "milkd.sock"
    if store != os.path.realpath(_in_home("memory")):
        import hashlib

        name = f"milkd-{hashlib.sha256(os.fsencode(store)).hexdigest()[:8]}.sock"
    return os.path.join(_runtime_directory(name), name)


def endpoint_path(store: str) -> str:
    """The file in which a daemon tells on which socket it listens.

    A JSON object: `socket` (absolute path), `host`, `boot_id`.  Reading it costs a client the
    import of `json`, so it need only be there while the socket is not the computed one.
    """
    return os.path.join(store, OWN_DIRECTORY, "endpoint.json")


def boot_id() -> str:
    """What the kernel calls the time since the machine started; empty where it does not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def check_socket_path(path: str) -> None:
    """Refuse a path that does not fit into a socket address.

    Raises:
        ConfigError: Names path, length, limit and the variable that gives another path.
    """
    size, limit = len(os.fsencode(path)), SUN_PATH - len(BIND_SUFFIX)
    if size > limit:
        raise ConfigError(
            f"the socket path {path} is {size} bytes long, at most {limit} fit; "
            "set $MILKD_SOCKET to a shorter one"
        )


def _in_home(name: str) -> str:
    return os.path.join(os.path.expanduser("~"), ".milk", name)


def _runtime_directory(name: str) -> str:
    """The first usable directory for a socket of that name; it may not exist yet."""
    uid = os.getuid()
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(given) and _owned_directory(given, uid):
        return os.path.join(given, "milkd")
    usual = f"/run/user/{uid}"
    if _owned_directory(usual, uid, private=True):
        return os.path.join(usual, "milkd")
    own = _in_home("run")
    fits = len(os.fsencode(os.path.join(own, name + BIND_SUFFIX))) <= SUN_PATH
    if fits and os.access(os.path.expanduser("~"), os.W_OK | os.X_OK):
        return own
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"milkd-{uid}")


def _owned_directory(path: str, uid: int, *, private: bool = False) -> bool:
    """Whether it is a real directory of ours; `private`: that nobody else may enter."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    mode = found.st_mode
    return mode & 0o170000 == 0o040000 and found.st_uid == uid and not (private and mode & 0o077)


def _recorded_socket(store: str) -> str | None:
    try:
        with open(endpoint_path(store), "rb") as file:
            text = file.read(65_536)
    except OSError:
        return None
    import json

    try:
        told = json.loads(text)
        here = told["host"] == os.uname().nodename and told["boot_id"] == boot_id()
        return os.path.abspath(told["socket"]) if here else None
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
