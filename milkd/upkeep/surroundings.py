"""What is around the facts: who may read them, on what kind of disk, and what was left behind."""

from __future__ import annotations

import contextlib
import os
import stat
from itertools import starmap
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.paths import OWN_DIRECTORY, valid_session
from milkd.store.mounts import network_of
from milkd.store.replace import TEMPORARY
from milkd.upkeep.report import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.store.files import Files
    from milkd.upkeep.report import Report

FOLDERS = (".", OWN_DIRECTORY, f"{OWN_DIRECTORY}/backup", f"{OWN_DIRECTORY}/quarantine")
OWNER, OTHERS = 0o700, 0o077  # rights: all that milkd needs on a directory, and of everybody else


def check(report: Report, files: Files) -> None:
    """Look at all of it."""
    found = list(_all(report.store, files))
    report.add_all(Level.WARNING, ".", filter(None, starmap(_access, found)))
    for folder in FOLDERS:
        for name in _names(files, os.path.join(report.store, folder)):
            _check_name(report, folder, name)
    kind = network_of(report.store)
    if kind is not None:
        said = f"on a network file system ({kind}), where locks and crashes cannot be relied on"
        report.add(Level.WARNING, ".", said)


def _all(store: str, files: Files) -> Iterator[tuple[str, os.stat_result]]:
    """Every directory and file of the store, by its name in it."""
    names = ["."]
    names += [name for name in _names(files, store) if name.endswith(".json")]
    for folder in FOLDERS[1:]:
        names.append(folder)
        names += [f"{folder}/{name}" for name in _names(files, os.path.join(store, folder))]
    for name in dict.fromkeys(names):
        with contextlib.suppress(OSError):  # gone meanwhile, or a link that leads nowhere
            yield name, files.stat(os.path.join(store, name))


def _access(name: str, found: os.stat_result) -> str | None:
    """What is wrong with the rights on a file or directory."""
    if found.st_uid != os.geteuid():
        return f"{name} belongs to user id {found.st_uid}"
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISDIR(found.st_mode) and mode & OWNER != OWNER:
        also = ", and others may use it" if mode & OTHERS else ""
        return f"{name} has mode {mode:o}: milkd cannot write to it{also} (chmod 700 mends that)"
    if mode & OTHERS:
        wanted = 0o700 if stat.S_ISDIR(found.st_mode) else 0o600
        return f"{name} has mode {mode:o}: others may use it (chmod {wanted:o} forbids that)"
    return None


def _check_name(report: Report, folder: str, name: str) -> None:
    """Files that are nobody's."""
    shown = name if folder == "." else f"{folder}/{name}"
    if TEMPORARY.fullmatch(name) and report.holder is None:
        report.add(Level.NOTE, shown, "left by a save that was cut off; milkd sweeps it away")
    elif folder == "." and name.endswith(".json"):
        scope = name.removesuffix(".json")
        if scope not in (GLOBAL, ARCHIVE) and not valid_session(scope):
            report.add(Level.NOTE, shown, "no session can have this name; milkd passes it over")


def _names(files: Files, path: str) -> list[str]:
    try:
        return sorted(files.listdir(path))
    except OSError:
        return []
