"""What to say when it is not sure what the daemon did, or whose daemon it is.

Imported only then: most clients never have reason to doubt.
"""

from __future__ import annotations

import fcntl
import json
import os

from milkd.errors import ConnectionLost, DaemonUnreachable, MilkdError, Unanswered, WireError
from milkd.paths import OWN_DIRECTORY, boot_id
from milkd.rpc.values import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.link import Link

__all__ = ["check_store", "explained", "holder"]

LONGEST_LOCK = 65_536  # bytes of a lock file that are looked at


def check_store(link: Link, store: str, socket: str, *, timeout: float) -> None:
    """Close a link to a daemon that serves another store than the one that is meant.

    Raises:
        DaemonUnreachable: It does; nothing else was sent to it.
    """
    from milkd import __version__

    greeting = {"client": "milkd-python", "version": __version__}
    theirs = str(link.ask("hello", greeting, timeout=timeout).get("store"))
    # A path that is not UTF-8 arrives as `plain` writes it.
    if os.path.realpath(theirs) != plain(store):
        link.close()
        raise DaemonUnreachable(
            f"the daemon at {socket} serves the store {theirs}, not {store}; "
            "nothing was asked of it\nleave out the socket to reach the daemon of that store"
        )


def explained(
    error: MilkdError,
    method: str,
    arguments: Mapping[str, object],
    *,
    doubtful: bool,
    holder_of: tuple[str, str],
) -> MilkdError:
    """The error, with what is not known of the request and how to look.

    Args:
        error: What the last attempt met.
        method: What was asked.
        arguments: With these.
        doubtful: Whether a change was asked for that an attempt may have made, unseen.
        holder_of: Store and socket of the daemon.
    """
    lines = [str(error)]
    if doubtful and isinstance(error, WireError) and not isinstance(error, Unanswered):
        lines.append(
            "this answers the second attempt; the first lost its connection, and may have "
            "been granted"
        )
    elif doubtful:
        lines.append(_way_to_look(method, arguments))
    if isinstance(error, Unanswered) and (pid := holder(*holder_of)) is not None:
        lines.append(f"if it stays silent, the last resort is: kill -9 {pid}")
    if doubtful and isinstance(error, DaemonUnreachable):
        return ConnectionLost("\n".join(["the daemon went away in the middle", *lines]))
    error.args = ("\n".join(lines),)
    return error


def holder(store: str, socket: str) -> int | None:
    """The process that holds the store and serves the socket, as its lock file tells.

    None unless that process is sure to be the one: the lock is held, by a process of this
    machine since it started.
    """
    try:
        with open(os.path.join(store, OWN_DIRECTORY, "lock"), "rb") as file:
            if not _is_held(file.fileno()):
                return None
            told = json.loads(file.read(LONGEST_LOCK))
        pid = told["pid"]
        written_here = (told["host"], told["boot_id"]) == (os.uname().nodename, boot_id())
        return pid if written_here and told["socket"] == socket and type(pid) is int else None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


def _is_held(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _way_to_look(method: str, arguments: Mapping[str, object]) -> str:
    if method == "shutdown":
        return "whether it has saved everything is not known; see whether it has gone: milkctl ping"
    look = "milkctl list"
    if method.startswith("session_"):
        look = "milkctl session list"
    elif session := arguments.get("session"):
        look = f"milkctl list --session {session}"
    return f"whether the change was made is not known; look with: {look}"
