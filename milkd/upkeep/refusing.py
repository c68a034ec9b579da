"""What a repair and a restoration refuse, and how they tell that they broke off."""

from __future__ import annotations

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
    where = "" if error.filename is None else f"{error.filename}: "
    why = f"{where}{error.strerror or error}"
    return StorageFailed(f"the {doing} broke off: {why}; nothing is lost, and it can be run again")
