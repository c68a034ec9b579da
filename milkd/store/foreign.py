"""What another program did to a file, told from two stamps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milkd.store.files import Stamp

KEPT = (
    "milkd goes on with what it has; at the next change there it keeps that version in "
    ".milkd/quarantine and writes its own"
)
GONE = "milkd still has what was in it, and writes it again at the next change there"


def difference(name: str, known: Stamp | None, found: Stamp | None) -> str | None:
    """A sentence about what happened to a file since it was known; None if nothing did."""
    if found == known:
        return None
    if found is None:
        return f"{name} was removed by another program; {GONE}"
    return f"{name} was {_what_happened(known, found)} by another program; {KEPT}"


def _what_happened(known: Stamp | None, found: Stamp) -> str:
    if known is None:
        return "put there"
    if found[:-1] == known[:-1]:
        return "touched (or changed, and its time set back)"
    size, before = found[2], known[2]
    if size < before:
        return f"cut from {before} to {size} bytes"
    return "replaced" if found[:2] != known[:2] else "changed"
