"""A file system in memory, some of whose calls go wrong."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crashfs import CrashFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from crashfs import Tree

NAMES = ("rename", "link", "unlink", "mkdir", "create")
ROOMY = ("unlink", "ftruncate", "close", "read", "stat", "fstat", "listdir", "look")
"""Calls that a full disk does not refuse."""


class Died(BaseException):
    """The process is no more."""


@dataclass
class Fault:
    """Which calls go wrong, from the n-th on, and how.

    Attributes:
        at: The number of the call, from 1; 0: none.
        how: EIO, ENOSPC, EROFS, `short`, or `crash`.
        always: Whether all later calls go wrong as well.
    """

    at: int = 0
    how: str = "EIO"
    always: bool = False
    calls: list[str] = field(default_factory=list)

    def due(self, name: str) -> bool:
        """Count a call; whether it goes wrong."""
        self.calls.append(name)
        count = len(self.calls)
        mine = count == self.at or (self.always and 0 < self.at < count)
        return mine and self.befalls(name)

    def befalls(self, name: str) -> bool:
        """Whether such a thing happens to such a call."""
        if self.how == "short":
            return name == "write"
        if self.how == "EROFS":
            return name in NAMES
        return self.how != "ENOSPC" or name not in ROOMY


class FaultyFiles(CrashFiles):
    """Files whose `fault` can be set at any time."""

    def __init__(self, tree: Tree, fault: Fault | None = None) -> None:
        super().__init__(tree)
        self.fault = fault or Fault()

    def _step(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        if self.fault.due(name):
            if self.fault.how == "crash":
                raise Died
            number: int = getattr(errno, self.fault.how)
            raise OSError(number, os.strerror(number))
        return call(*arguments)

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        name = "create" if flags & os.O_CREAT else "look"
        fd: int = self._step(name, super().open, path, flags, mode)
        return fd

    def close(self, fd: int) -> None:
        super().close(fd)
        self._step("close", int)

    def read(self, fd: int, size: int) -> bytes:
        data: bytes = self._step("read", super().read, fd, size)
        return data

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if not self.fault.due("write"):
            return super().write(fd, data)
        if self.fault.how == "short":
            return super().write(fd, data[: max(1, len(data) // 2)])
        super().write(fd, data[: len(data) // 2])  # which an error does not rule out
        if self.fault.how == "crash":
            raise Died
        number: int = getattr(errno, self.fault.how)
        raise OSError(number, os.strerror(number))

    def fsync(self, fd: int) -> None:
        self._step("fsync", super().fsync, fd)

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
