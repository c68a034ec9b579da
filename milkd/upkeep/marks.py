"""What milkd notes of a store besides facts: which one it is, and how its disk did."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import Failure, StoreDamaged
from milkd.paths import OWN_DIRECTORY
from milkd.store.directory import Directory
from milkd.store.files import current_stamp, read_file
from milkd.store.gojson import parse
from milkd.store.identity import FILE as IDENTITY
from milkd.store.identity import MAX_SIZE, about, new_id, store_id
from milkd.store.poisonings import FILE as POISONED
from milkd.store.poisonings import forget
from milkd.store.replace import save
from milkd.upkeep.outcome import Problem

if TYPE_CHECKING:
    from milkd.store.files import Files
    from milkd.upkeep.outcome import Outcome


def forget_failures(files: Files, own: str, outcome: Outcome, *, act: bool) -> None:
    """Let milkd write again to a disk that failed.

    Args:
        files: The calls to go through.
        own: milkd's directory in the store.
        outcome: Takes what is found and done.
        act: Whether to do it.
    """
    if current_stamp(files, os.path.join(own, POISONED)) is None:
        return
    said = "the disk failed at a sync; when it does so often, milkd writes nothing for a while"
    outcome.problems.append(Problem(f"{OWN_DIRECTORY}/{POISONED}", said))
    outcome.done.append("that the disk failed is forgotten, so that milkd writes again")
    if act:
        forget(files, own)


def name_store(files: Files, directory: str, outcome: Outcome, *, act: bool, at: float) -> None:
    """Have the store say which one it is, if it did and does not any more.

    Args:
        files: The calls to go through.
        directory: Of the store.
        outcome: Takes what is found and done.
        act: Whether to do it.
        at: Wall time.
    """
    own = os.path.join(files.resolve(directory), OWN_DIRECTORY)
    marker = os.path.join(own, IDENTITY)
    there = current_stamp(files, marker) is not None
    if current_stamp(files, own) is None or (there and says_which(files, marker)):
        return
    store = store_id(files, own) or told_by_files(files, directory)
    if not there and store is None:
        return  # nobody ever wrote here
    store = store or new_id()
    said = "does not say which store this is" if there else "is missing"
    outcome.problems.append(Problem(f"{OWN_DIRECTORY}/{IDENTITY}", said))
    outcome.done.append(f"{IDENTITY} is written anew")
    if act:
        day = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
        save(files, marker, about(store, day))


def says_which(files: Files, marker: str) -> bool:
    """Whether the file that is to say which store this is does so."""
    try:
        found = parse(IDENTITY, read_file(files, marker, MAX_SIZE)[0]).value
    except StoreDamaged:
        return False
    return isinstance(found, dict) and isinstance(found.get("store"), str) and bool(found["store"])


def told_by_files(files: Files, directory: str) -> str | None:
    """The id of the store for which the files of scopes were written."""
    place = Directory(files, directory)
    for scope in (GLOBAL, ARCHIVE, *place.sessions()):
        with contextlib.suppress(Failure):
            if (store := place.read(scope)[0].store) is not None:
                return store
    return None
