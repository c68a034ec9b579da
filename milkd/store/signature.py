"""What the holder of a store writes into the lock file, and how it is read."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from milkd.errors import AlreadyRunning
from milkd.store.files import close_quietly
from milkd.store.holder import Holder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.store.files import Files
    from milkd.store.holder import Machine

LONGEST = 65_536  # bytes of the file that are looked at


class Signature:
    """The words of one holder.

    Args:
        path: The lock file.
        about: What it says besides pid, host and boot id.
        shared: Whether other machines reach the file, so that it has to say that we live.
        files: The calls to open by.
        here: This machine.
    """

    def __init__(
        self,
        path: str,
        about: Mapping[str, object],
        *,
        shared: bool,
        files: Files,
        here: Machine,
    ) -> None:
        self._path = path
        self._about = dict(about)
        self._shared = shared
        self._files = files
        self._here = here
        self._token = os.urandom(8).hex()

    def write(self, fd: int, *, alive: bool = True) -> None:
        """Put it into the open file.

        Raises:
            OSError: The disk did not take it.
        """
        words: dict[str, Any] = {
            "pid": os.getpid(),
            "host": self._here.host,
            "boot_id": self._here.boot_id,
        }
        if self._shared and alive:
            words |= {"token": self._token, "beat": round(self._here.wall(), 3)}
        text = json.dumps(words | self._about).encode() + b"\n"
        os.pwrite(fd, text, 0)  # before the file is shortened: somebody may be reading it
        os.ftruncate(fd, len(text))
        if self._shared:
            self._files.fsync(fd)  # to where the others see it

    def check_ours(self) -> None:
        """Look at the file as others see it: opened anew, it is asked for of its server.

        Raises:
            AlreadyRunning: It is not ours any more.
            OSError: It cannot be read.
        """
        try:
            fd = self._files.open(self._path, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            raise AlreadyRunning(f"{self._path} was deleted") from None
        try:
            holder = Holder.parse(os.pread(fd, LONGEST, 0), 0.0)
        finally:
            close_quietly(self._files, fd)
        if holder.told.get("token") != self._token:
            raise AlreadyRunning(f"{holder} has taken {self._path} over")


def read(fd: int) -> Holder:
    """What an open lock file says."""
    try:
        return Holder.parse(os.pread(fd, LONGEST, 0), os.fstat(fd).st_mtime)
    except OSError:
        return Holder({}, 0.0)
