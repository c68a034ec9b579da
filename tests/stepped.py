"""Every file call of the store made to go through one place, where it may go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from milkd.store.files import Files

if TYPE_CHECKING:
    import os
    from collections.abc import Callable


class Stepped(Files):
    """Files, real or not, each call of which is a step; put it before them in the bases."""

    def _step(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make a call; here it may fail instead."""
        return call(*arguments)

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        fd: int = self._step("open", super().open, path, flags, mode)
        return fd

    def close(self, fd: int) -> None:
        super().close(fd)  # whatever comes of it, or the descriptors of the tests run out
        self._step("close", int)

    def read(self, fd: int, size: int) -> bytes:
        data: bytes = self._step("read", super().read, fd, size)
        return data

    def write(self, fd: int, data: bytes | memoryview) -> int:
        count: int = self._step("write", super().write, fd, data)
        return count

    def fsync(self, fd: int) -> None:
        self._step("fsync", super().fsync, fd)

    def fdatasync(self, fd: int) -> None:
        self._step("fdatasync", super().fdatasync, fd)

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
