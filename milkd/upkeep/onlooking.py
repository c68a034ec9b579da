"""File calls that change nothing: what would be done to a store can be found out with them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NoReturn

from milkd.store.files import Files

if TYPE_CHECKING:
    from typing import Any

CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Onlooker(Files):
    """Reads by other calls, and refuses to do anything else, as a read-only disk does."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        if flags & CHANGING:
            _refuse(path)
        return self._files.open(path, flags, mode)

    def close(self, fd: int) -> None:
        self._files.close(fd)

    def read(self, fd: int, size: int) -> bytes:
        return self._files.read(fd, size)

    def fstat(self, fd: int) -> os.stat_result:
        return self._files.fstat(fd)

    def stat(self, path: str) -> os.stat_result:
        return self._files.stat(path)

    def listdir(self, path: str) -> list[str]:
        return self._files.listdir(path)

    def resolve(self, path: str) -> str:
        return self._files.resolve(path)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        _refuse()

    def fsync(self, fd: int) -> None:
        _refuse()

    def fdatasync(self, fd: int) -> None:
        _refuse()

    def ftruncate(self, fd: int, size: int) -> None:
        _refuse()

    def rename(self, old: str, new: str) -> None:
        _refuse(old, None, new)

    def link(self, old: str, new: str) -> None:
        _refuse(old, None, new)

    def unlink(self, path: str) -> None:
        _refuse(path)

    def mkdir(self, path: str, mode: int = 0o700) -> None:
        _refuse(path)


def _refuse(*where: Any) -> NoReturn:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), *where)
