"""Versions of a scope's file that may take its place: what milkd kept, or a file of the user's."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from milkd.errors import Failure, NotFound, StorageFailed, StoreDamaged
from milkd.store.backups import Backups
from milkd.store.files import MAX_FILE, Files, read_file
from milkd.store.moments import moment_text
from milkd.store.seal import Seal
from milkd.store.snapshot import image_from_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.store.snapshot import Loaded

PRE = "pre-milkd-"
SOUND, OTHERS, USELESS = "sound", "others", "useless"


@dataclass(frozen=True, slots=True)
class Version:
    """An earlier version of a scope's file.

    Attributes:
        scope: Whose file it was.
        which: By what it is named: a time stamp, or the copy from before milkd.
        path: Where it is.
        at: Wall time at which it was replaced.
        size: Bytes.
        state: `sound`, `others` if another program wrote it, or `useless`.
        facts: How many percepts are in it.
        seq: The newest entry of the journal in it; 0 if it does not say.
        problem: Why it is of no use.
    """

    scope: str
    which: str
    path: str
    at: float
    size: int
    state: str
    facts: int = 0
    seq: int = 0
    problem: str = ""

    def to_json(self) -> dict[str, object]:
        """It as plain values."""
        return {
            "scope": self.scope,
            "which": self.which,
            "path": self.path,
            "at": self.at,
            "size": self.size,
            "state": self.state,
            "facts": self.facts,
            "seq": self.seq,
            "problem": self.problem or None,
        }


def versions(store: str, scope: str | None = None, files: Files | None = None) -> Iterator[Version]:
    """Every earlier version that milkd kept of one scope's file or of all, the newest first.

    One that is deleted meanwhile, for a milkd may be running, is left out.

    Raises:
        OSError: They cannot be listed.
    """
    files = files or Files()
    for name, which, path, at, size in _kept(store, scope, files):
        try:
            loaded = image_from_bytes(name, read_file(files, path, MAX_FILE)[0])
        except FileNotFoundError:
            continue
        except (Failure, OSError) as error:
            yield Version(name, which, path, at, size, USELESS, problem=str(error))
            continue
        state = SOUND if loaded.sealed is Seal.OURS else OTHERS
        yield Version(name, which, path, at, size, state, len(loaded.image.percepts), loaded.seq)


def find(store: str, scope: str, which: str, files: Files) -> str:
    """The path of a version, by its name or by a path.

    Raises:
        NotFound: There is none; says which there are.
    """
    names = []
    for _, name, path, _, _ in _kept(store, scope, files):
        if which == name:
            return path
        names.append(name)
    with contextlib.suppress(OSError):
        files.stat(which)
        return which
    there = ", ".join(names) if names else "none"
    raise NotFound(f"{which}: no file, and no backup of {scope}; there are: {there}")


def from_file(files: Files, scope: str, path: str, store: str | None) -> Loaded:
    """A file of the user's that is to become a scope.

    Args:
        files: The calls to go through.
        scope: Which one.
        path: Of the file.
        store: The id of the store.  What a file of another one says of its journal means nothing.

    Raises:
        StoreDamaged: It cannot be understood, or is no scope's file.
        VersionMismatch: A newer milkd must read it.
        NotFound: There is none.
        StorageFailed: It cannot be read.
    """
    try:
        data, _ = read_file(files, path, MAX_FILE)
    except OSError as error:
        kind = NotFound if error.errno == errno.ENOENT else StorageFailed
        raise kind(f"{path}: {error.strerror or error}; nothing was changed") from error
    try:
        loaded = image_from_bytes(scope, data)
    except StoreDamaged as error:
        said = str(error).removeprefix(f"{scope}.json").lstrip(": ")
        raise StoreDamaged(f"{path}: {said}") from error
    image = loaded.image
    if not (image.percepts or image.unreadable) and b'"percepts"' not in data.lower():
        raise StoreDamaged(f"{path}: has no list of percepts, which every scope's file has")
    if loaded.store not in (None, store):
        loaded = replace(loaded, sealed=Seal.BARE, seq=0)
    return loaded


def _kept(
    store: str, scope: str | None, files: Files
) -> Iterator[tuple[str, str, str, float, int]]:
    """Scope, name, path, time and size of each version that milkd kept."""
    backups = Backups(files, files.resolve(store), time.time)
    for backup in backups.listed(scope):
        yield backup.scope, moment_text(backup.at), backup.path, backup.at, backup.size
    directory = backups.directory
    dated = [name for name in _names(files, directory) if name.startswith(PRE)]
    for folder in sorted(dated, reverse=True):
        for name in sorted(_names(files, os.path.join(directory, folder))):
            found, ending = os.path.splitext(name)
            if ending == ".json" and scope in (None, found):
                path = os.path.join(directory, folder, name)
                with contextlib.suppress(FileNotFoundError):
                    told = files.stat(path)
                    yield found, folder, path, told.st_mtime, told.st_size


def _names(files: Files, path: str) -> list[str]:
    try:
        return files.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
