"""The scopes' files as they were left, and what other programs did to them since."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from milkd.errors import Failure, StorageFailed
from milkd.store.files import Files, Stamp, current_stamp, restamped, storage_error
from milkd.store.interface import Theirs
from milkd.store.snapshot import Wiped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.store.copies import Copies
    from milkd.store.directory import Directory
    from milkd.store.snapshot import Loaded


class Presence:
    """Knows each file by its stamp."""

    def __init__(self, files: Files, directory: Directory, copies: Copies) -> None:
        self._files = files
        self._directory = directory
        self._copies = copies
        self._stamps: dict[str, Stamp] = {}
        self._seen: set[str] = set()  # scopes that have had a file
        self._home: tuple[int, int] | None = None  # the directory that was written to
        self.begun = False
        """Whether anything was written to the store by this process."""
        self.busy = threading.Lock()
        """Held while files are replaced, which must not be taken for another program's doing."""

    def stamp(self, scope: str) -> Stamp | None:
        """The stamp of the scope's file as it was left; None if it had none."""
        return self._stamps.get(scope)

    def know(self, scope: str, stamp: Stamp | None) -> None:
        """This is how the scope's file was left."""
        if stamp is None:
            self._stamps.pop(scope, None)
        else:
            self._stamps[scope] = stamp
            self._seen.add(scope)

    def read(self, scope: str) -> Loaded:
        """What is in the scope's file, which is known from then on; raises as `Directory` does."""
        try:
            loaded, stamp = self._directory.read(scope)
        except Wiped:
            with contextlib.suppress(OSError):
                self.know(scope, self._now(scope))  # it is to be replaced by a backup
            raise
        if stamp is None and scope in self._seen:
            self.check_there()
        self.know(scope, stamp)
        return loaded

    def changed(self, scopes: Sequence[str]) -> dict[str, Stamp | None] | None:
        """The scopes whose files are not as they were left; None while they are being replaced.

        Besides those that are asked for they are all sessions that have a file.

        Raises:
            Failure: The disk does not say, or the whole store is gone.
        """
        if not self.busy.acquire(blocking=False):
            return None
        try:
            self.check_there()
            looked_at = dict.fromkeys((*scopes, *self._directory.sessions()))
            found = {scope: self._now(scope) for scope in looked_at}
        except OSError as error:
            raise storage_error("cannot look at the store", error) from error
        finally:
            self.busy.release()
        return {scope: stamp for scope, stamp in found.items() if stamp != self.stamp(scope)}

    def theirs(self, scope: str) -> Theirs:
        """Read what another program left."""
        try:
            loaded, stamp = self._directory.read(scope)
        except Failure as error:
            return Theirs(self._now(scope), problem=str(error))
        return Theirs(stamp, loaded if stamp is not None else None)

    def adopt(self, scope: str, theirs: Theirs, kind: str | None) -> str | None:
        """Count another program's version as known; where the copy is, if one is to be kept."""
        stamp, kept = theirs.stamp, None
        if stamp is not None and kind is not None:
            path = self._files.resolve(self._directory.file(scope))
            kept = self._copies.set_aside(path, scope, kind)
            stamp = restamped(self._files, path, stamp)
        self.know(scope, stamp)
        return kept

    def begin(self) -> None:
        """Something was written to the store."""
        self.begun = True
        if self._home is None:
            with contextlib.suppress(OSError):
                self._home = self._directory_now()

    def check_there(self) -> None:
        """Refuse to go on as if the store were new when all of it is gone.

        Its disk may be unmounted: what was written now would hide under the mount point, and be
        in the way of the real files once they are back.

        Raises:
            StorageFailed: It is gone, or cannot be looked at.
        """
        if not self._seen and not self.begun:
            return
        path = self._directory.path
        try:
            if self._is_there():
                return
        except OSError as error:
            raise storage_error(f"cannot find the store {path}", error) from error
        raise StorageFailed(
            f"the store {path} is gone (moved away, or its disk not mounted?); nothing was "
            "changed; put it back and try again, or restart milkd to begin an empty one"
        )

    def _is_there(self) -> bool:
        """Whether anything is left of the store: its very directory, or in one any file of ours.

        An empty one may be what is under the mount point, but not if it was written to before.
        """
        if self._home is not None and self._directory_now() == self._home:
            return True
        ours = (self._copies.directory, *map(self._directory.file, sorted(self._seen)))
        return any(current_stamp(self._files, path) is not None for path in ours)

    def _directory_now(self) -> tuple[int, int] | None:
        stamp = current_stamp(self._files, self._directory.path)
        return None if stamp is None else stamp[:2]

    def _now(self, scope: str) -> Stamp | None:
        return current_stamp(self._files, self._directory.file(scope))
