"""The directory of a store: which file is whose, what is in it, what was left behind."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL, ScopeImage
from milkd.errors import StorageFailed, StoreDamaged
from milkd.paths import valid_session
from milkd.store.files import MAX_FILE, read_file, unlink_quietly
from milkd.store.replace import TEMPORARY
from milkd.store.snapshot import Loaded, image_from_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    def read(self, scope: str) -> tuple[Loaded, Stamp | None]:
        """What a scope's file holds, and its stamp; an empty image and None if there is none.

        Raises:
            StoreDamaged: It cannot be understood.
            Wiped: There is nothing in it; a backup should take its place.
            VersionMismatch: A newer milkd must read it.
            StorageFailed: The disk did not give it.
        """
        try:
            data, stamp = read_file(self._files, self.file(scope), MAX_FILE)
        except FileNotFoundError:
            return Loaded(ScopeImage(name=scope)), None
        except OSError as error:
            kind = StoreDamaged if error.errno in MISPLACED else StorageFailed
            raise kind(f"cannot read {self._why(scope, error)}") from error
        return image_from_bytes(scope, data), stamp

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

    def _why(self, scope: str, error: OSError) -> str:
        """Which file the disk did not give, and why; where it is for the owner to mend, how."""
        if error.errno != errno.EACCES:
            return f"{scope}.json: {error.strerror or error}"
        path = self.file(scope)
        return f"{path}: permission denied; `chmod 600 {path}` lets milkd read it"

    def _names(self) -> list[str]:
        try:
            return [name for name in self._files.listdir(self.path) if name.endswith(".json")]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageFailed(f"cannot list {self.path}: {error.strerror or error}") from error
