"""Seeing a store as of one moment, though a milkd may be writing to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import Conflict, Failure
from milkd.paths import OWN_DIRECTORY
from milkd.store.directory import Directory
from milkd.store.files import current_stamp
from milkd.store.journalfile import journals

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.store.files import Files, Stamp

T = TypeVar("T")
TRIES = 5  # at finding the files as they were a moment before


def steadily(store: str, files: Files, holder: str | None, look: Callable[[], T]) -> T:
    """What somebody sees in a store, if no file was replaced while he looked.

    Args:
        store: The directory.
        files: The calls to go through.
        holder: The milkd that works on it; None if none does.
        look: What he does; it may be done several times.

    Raises:
        Conflict: It never was the same for long enough.
    """
    if holder is None:
        return look()
    for _ in range(TRIES):
        before = state(store, files)
        try:
            seen = look()
        except (FileNotFoundError, Failure):
            if state(store, files) == before:
                raise
            continue
        if state(store, files) == before:
            return seen
    raise Conflict(f"{holder} wrote to the store all the time; try again, or `milkctl stop` first")


def state(store: str, files: Files) -> tuple[dict[str, Stamp | None], list[str]]:
    """By what it is known whether a milkd replaced a file or began a journal meanwhile."""
    directory = Directory(files, store)
    names = (GLOBAL, ARCHIVE, *directory.sessions())
    stamps = {name: current_stamp(files, directory.file(name)) for name in names}
    own = os.path.join(directory.path, OWN_DIRECTORY)
    return stamps, [gen for _, gen, _ in journals(files, own)]
