"""The directory of a store: which file is whose, what is in it, what was left behind."""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL, Percept, ScopeImage
from milkd.errors import StorageFailed, StoreDamaged
from milkd.paths import valid_session
from milkd.store.files import MAX_FILE, read_file, unlink_quietly
from milkd.store.replace import TEMPORARY
from milkd.store.snapshot import Loaded, image_from_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Set

    from milkd.engine.percept import Engram
    from milkd.store.files import Files, Stamp

MISPLACED = frozenset({errno.EINVAL, errno.EFBIG})


class Directory:
    """A directory with a JSON file a scope; it need not exist."""

    def __init__(self, files: Files, path: str) -> None:
        self.path = files.resolve(path)
        self._files = files

    def file(self, scope: str) -> str:
        """The path of a scope's file."""
        if scope not in (GLOBAL, ARCHIVE) and not valid_session(scope):
            raise ValueError(f"{scope!r} cannot be the name of a file")
        return os.path.join(self.path, f"{scope}.json")

    def sessions(self) -> tuple[str, ...]:
        """The sessions that have a file, by name."""
        names = [name.removesuffix(".json") for name in self._names()]
        return tuple(sorted(name for name in names if valid_session(name)))

    def read(self, scope: str, *, known: ScopeImage | None) -> tuple[Loaded, Stamp | None]:
        """What a scope's file holds, and its stamp; an empty image and None if there is none.

        Args:
            scope: Whose file.
            known: The image of global, if that was read before.

        Raises:
            StoreDamaged: It cannot be understood.
            VersionMismatch: A newer milkd must read it.
            StorageFailed: The disk did not give it.
        """
        try:
            data, stamp = read_file(self._files, self.file(scope), MAX_FILE)
        except FileNotFoundError:
            return Loaded(ScopeImage(name=scope)), None
        except OSError as error:
            kind = StoreDamaged if error.errno in MISPLACED else StorageFailed
            raise kind(f"cannot read {scope}.json: {error.strerror or error}") from error
        loaded = image_from_bytes(scope, data)
        if scope != GLOBAL and known is not None:
            loaded = _without(loaded, known)
        return loaded, stamp

    def sweep(self, also: Iterable[str]) -> None:
        """Delete temporary files of a milkd that was stopped in the middle of a save.

        Args:
            also: Directories to look through besides those where the files really are.
        """
        real = [self._files.resolve(os.path.join(self.path, name)) for name in self._names()]
        for directory in dict.fromkeys([self.path, *also, *map(os.path.dirname, real)]):
            with contextlib.suppress(OSError):
                for name in self._files.listdir(directory):
                    if TEMPORARY.fullmatch(name):
                        unlink_quietly(self._files, os.path.join(directory, name))

    def _names(self) -> list[str]:
        try:
            return [name for name in self._files.listdir(self.path) if name.endswith(".json")]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageFailed(f"cannot list {self.path}: {error.strerror or error}") from error


def _without(loaded: Loaded, known: ScopeImage) -> Loaded:
    """Leave out what global holds too: a move was cut off between the two files."""
    image = loaded.image
    ours: dict[str, Percept] = {percept.id: percept for percept in known.percepts}
    twice = [percept for percept in image.percepts if percept.id in ours]
    if not twice:
        return loaded
    edges = set(known.edges)
    rest = replace(
        image,
        percepts=tuple(percept for percept in image.percepts if percept.id not in ours),
        engrams=tuple(_engrams_without(image.engrams, ours.keys())),
        edges=tuple(edge for edge in image.edges if edge not in edges),
    )
    differs = any(percept.content != ours[percept.id].content for percept in twice)
    return replace(loaded, image=rest, lossy=loaded.lossy or differs, twice=len(twice))


def _engrams_without(engrams: Iterable[Engram], ids: Set[str]) -> Iterator[Engram]:
    """The engrams without some percepts; one of which nothing is left goes."""
    for engram in engrams:
        left = tuple(each for each in engram.percept_ids if each not in ids)
        if left == engram.percept_ids:
            yield engram
        elif left:
            yield replace(engram, percept_ids=left)
