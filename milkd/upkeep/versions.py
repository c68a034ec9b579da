"""Versions of a scope's file that may take its place: what milkd kept, or a file of the user's."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from milkd.errors import Failure, NotFound, StorageFailed, StoreDamaged
from milkd.store.backups import DAY, Backups
from milkd.store.copies import Copies
from milkd.store.fields import matched
from milkd.store.files import MAX_FILE, Files, read_file
from milkd.store.gojson import parse
from milkd.store.moments import moment_text
from milkd.store.seal import Seal
from milkd.store.snapshot import image_from_bytes
from milkd.store.unreadable import TOP_KEYS
from milkd.upkeep.refusing import told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.store.snapshot import Loaded

PRE = "pre-milkd-"
EXPORT = "milkd_export"  # the key by which a document of `milkctl export` is known
BACKUP, ASIDE, ORIGINAL = "backup", "aside", "original"
SOUND, OTHERS, USELESS = "sound", "others", "useless"


@dataclass(frozen=True, slots=True)
class Version:
    """An earlier version of a scope's file.

    Attributes:
        scope: Whose file it was.
        which: By what it is named: a time stamp, with the reason if it is from quarantine, or the
            copy from before milkd.
        path: Where it is.
        at: Wall time at which it was replaced.
        size: Bytes.
        kind: `backup`; why it is in quarantine: `conflict`, `damaged`, `before`, `replaced` or
            `aside`; or `original` for the copy from before milkd.
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
    kind: str
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
            "kind": self.kind,
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
    for each in _kept(store, scope, files):
        try:
            loaded = image_from_bytes(each.scope, read_file(files, each.path, MAX_FILE)[0])
        except FileNotFoundError:
            continue
        except (Failure, OSError) as error:
            yield replace(each, problem=told(error))
            continue
        state = SOUND if loaded.sealed is Seal.OURS else OTHERS
        yield replace(each, state=state, facts=len(loaded.image.percepts), seq=loaded.seq)


def find(store: str, scope: str, which: str, files: Files) -> str:
    """The path of a version, by its name or by a path.

    Raises:
        NotFound: There is none; says which there are.
    """
    names = []
    for each in _kept(store, scope, files):
        if which == each.which:
            return each.path
        names.append(each.which)
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
        error.filename = path
        raise kind(f"{told(error)}; nothing was changed") from error
    try:
        loaded = image_from_bytes(scope, data)
    except StoreDamaged as error:
        said = str(error).removeprefix(f"{scope}.json").lstrip(": ")
        raise StoreDamaged(f"{path}: {said}") from error
    _check_shape(path, data, loaded)
    if loaded.store not in (None, store):
        loaded = replace(loaded, sealed=Seal.BARE, seq=0)
    return loaded


def _check_shape(path: str, data: bytes, loaded: Loaded) -> None:
    """See whether a file that can be read is a scope's: another one would look like an empty one.

    Raises:
        StoreDamaged: It is not.
    """
    if EXPORT in loaded.image.extra:
        raise StoreDamaged(
            f"{path}: an export, not the file of a scope; use `milkctl import {path}`"
        )
    if loaded.image.percepts:
        return
    top = parse(path, data).value
    if not isinstance(top, dict) or "percepts" not in matched(top, TOP_KEYS)[0]:
        raise StoreDamaged(f"{path}: has no list of percepts, which every scope's file has")


def _kept(store: str, scope: str | None, files: Files) -> Iterator[Version]:
    """Each version that milkd kept, the newest first; what is in it is still to be seen."""
    place, later = files.resolve(store), time.time() + DAY  # what is later is from a wrong clock
    found = [
        Version(each.scope, moment_text(each.at), each.path, each.at, each.size, BACKUP, USELESS)
        for each in Backups(files, place, time.time).listed(scope)
    ]
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        found += [
            Version(
                each.scope, each.which, each.path, each.at, each.size, each.kind or ASIDE, USELESS
            )
            for each in sorted(Copies(files, place, time.time).aside(), reverse=True)
            if scope in (None, each.scope)
        ]
    yield from sorted(found, key=lambda each: (each.at > later, -each.at, each.scope))
    yield from _originals(place, scope, files)


def _originals(place: str, scope: str | None, files: Files) -> Iterator[Version]:
    """The copies from before milkd."""
    directory = Backups(files, place, time.time).directory
    dated = [name for name in _names(files, directory) if name.startswith(PRE)]
    for folder in sorted(dated, reverse=True):
        for name in sorted(_names(files, os.path.join(directory, folder))):
            found, ending = os.path.splitext(name)
            if ending == ".json" and scope in (None, found):
                path = os.path.join(directory, folder, name)
                with contextlib.suppress(FileNotFoundError):
                    stat = files.stat(path)
                    at, size = stat.st_mtime, stat.st_size
                    yield Version(found, folder, path, at, size, ORIGINAL, USELESS)


def _names(files: Files, path: str) -> list[str]:
    try:
        return files.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
