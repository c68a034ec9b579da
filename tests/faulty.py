"""Files whose calls fail when they are told to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from milkd.store.files import Files

if TYPE_CHECKING:
    from collections.abc import Callable


class Death(BaseException):
    """The process is gone; what it does after this reaches no disk."""


class FaultyFiles(Files):
    """Fails the n-th call after `arm(n)`, or every one from then on.

    With an errno as error that call fails, with `Death` the process ends there, and with none
    a write takes half of its data.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.paths: dict[int, str] = {}
        self.open_fds: set[int] = set()
        self._fail_at = 0
        self._error: int | type[Death] | None = None
        self._for_ever = False

    def arm(
        self,
        fail_at: int,
        error: int | type[Death] | None = None,
        *,
        for_ever: bool = False,
    ) -> None:
        """Begin to count; 0 fails nothing."""
        self.calls = []
        self._fail_at, self._error, self._for_ever = fail_at, error, for_ever

    def close_all(self) -> None:
        """Close what the process would have left open when it ended."""
        for fd in self.open_fds:
            os.close(fd)
        self.open_fds.clear()

    def _step(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        self.calls.append(name)
        count = len(self.calls)
        for_ever = self._for_ever or self._error is Death
        if count == self._fail_at or (for_ever and 0 < self._fail_at <= count):
            if isinstance(self._error, int):
                raise OSError(self._error, os.strerror(self._error))
            if self._error is not None:
                raise self._error
            if name == "write":
                fd, data = arguments
                return call(fd, data[: (len(data) + 1) // 2])
        return call(*arguments)

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        fd: int = self._step("open", super().open, path, flags, mode)
        self.paths[fd] = path
        self.open_fds.add(fd)
        return fd

    def close(self, fd: int) -> None:
        super().close(fd)  # or the descriptors of the tests run out
        self.open_fds.discard(fd)
        self._step("close", int)

    def read(self, fd: int, size: int) -> bytes:
        data: bytes = self._step("read", super().read, fd, size)
        return data

    def write(self, fd: int, data: bytes | memoryview) -> int:
        count: int = self._step("write", super().write, fd, data)
        return count

    def fsync(self, fd: int) -> None:
        self._step("fsync", int)

    def fdatasync(self, fd: int) -> None:
        self._step("fdatasync", int)

    def ftruncate(self, fd: int, size: int) -> None:
        self._step("ftruncate", super().ftruncate, fd, size)

    def fstat(self, fd: int) -> os.stat_result:
        found: os.stat_result = self._step("fstat", super().fstat, fd)
        return found

    def stat(self, path: str) -> os.stat_result:
        found: os.stat_result = self._step("stat", super().stat, path)
        return found

    def rename(self, old: str, new: str) -> None:
        self._step("rename", super().rename, old, new)

    def link(self, old: str, new: str) -> None:
        self._step("link", super().link, old, new)

    def unlink(self, path: str) -> None:
        self._step("unlink", super().unlink, path)

    def mkdir(self, path: str, mode: int = 0o700) -> None:
        self._step("mkdir", super().mkdir, path, mode)

    def listdir(self, path: str) -> list[str]:
        names: list[str] = self._step("listdir", super().listdir, path)
        return names
