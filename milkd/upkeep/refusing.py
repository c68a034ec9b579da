"""What a repair and a restoration refuse, and how is told what the disk refused."""

from __future__ import annotations

import errno
import os

from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import InvalidParams, StorageFailed
from milkd.paths import valid_session


def check_scope(scope: str | None) -> None:
    """See whether there can be a scope of that name.

    Raises:
        InvalidParams: There cannot.
    """
    if scope not in (None, GLOBAL, ARCHIVE) and not valid_session(scope):
        raise InvalidParams("SCOPE", f"nothing in a store can have the name {scope!r}")


def broken_off(doing: str, error: OSError) -> StorageFailed:
    """The error to tell when the disk did not do something that must be done."""
    why = told(error)
    return StorageFailed(f"the {doing} broke off: {why}; nothing is lost, and it can be run again")


def told(error: Exception) -> str:
    """What went wrong in words: with the path, and with the way out where there is one."""
    if not isinstance(error, OSError):
        return str(error)
    path = error.filename
    if error.errno == errno.EACCES and isinstance(path, str):
        return f"{path}: permission denied; {_way_in(path)}"
    where = "" if path is None else f"{path}: "
    return f"{where}{error.strerror or error}"


def _way_in(path: str) -> str:
    """What its owner can do so that a path may be used: it or its directory is in the way."""
    folder = os.path.dirname(path)
    if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        path = folder
    mode = "700" if os.path.isdir(path) else "600"
    return f"`chmod {mode} {path}` if it is yours"
