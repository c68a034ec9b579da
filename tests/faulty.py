"""Files whose calls fail when they are told to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from stepped import Stepped

if TYPE_CHECKING:
    from collections.abc import Callable


class Death(BaseException):
    """The process is gone; what it does after this reaches no disk."""


class FaultyFiles(Stepped):
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
        fd = super().open(path, flags, mode)
        self.paths[fd] = path
        self.open_fds.add(fd)
        return fd

    def close(self, fd: int) -> None:
        self.open_fds.discard(fd)
        super().close(fd)

    # Nothing waits for the disk here.

    def fsync(self, fd: int) -> None:
        self._step("fsync", int)

    def fdatasync(self, fd: int) -> None:
        self._step("fdatasync", int)
