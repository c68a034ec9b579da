"""A file system in memory, some of whose calls go wrong."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crashfs import CrashFiles
from stepped import Stepped

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


class FaultyFiles(Stepped, CrashFiles):
    """Files whose `fault` can be set at any time."""

    def __init__(self, tree: Tree, fault: Fault | None = None) -> None:
        super().__init__(tree)
        self.fault = fault or Fault()

    def fdatasync(self, fd: int) -> None:
        self.fsync(fd)

    def _step(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        if name == "open":
            name = "create" if arguments[1] & os.O_CREAT else "look"
        if not self.fault.due(name):
            return call(*arguments)
        if name == "write":
            fd, data = arguments
            if self.fault.how == "short":
                return call(fd, data[: max(1, len(data) // 2)])
            call(fd, data[: len(data) // 2])  # which an error does not rule out
        if self.fault.how == "crash":
            raise Died
        number: int = getattr(errno, self.fault.how)
        raise OSError(number, os.strerror(number))
