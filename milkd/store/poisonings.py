"""How often the disk has failed at a sync of late: a disk that does so again and again is bad.

Each time ends the process, and the next one starts from what is on the disk.  Three times
in ten minutes, and the one after serves the store read-only, until a person has looked.
"""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from milkd.store.files import close_quietly, read_file, write_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.store.files import Files

FILE = "poisoned"
MANY = 3
SPAN = 600.0  # seconds in which so many are too many
FORGOTTEN = 3_600.0  # seconds after the last of them
MAX_SIZE = 1 << 20  # bytes


class Poisonings:
    """The file that tells of them: a line each, with the time."""

    def __init__(self, files: Files, directory: str, now: Callable[[], float]) -> None:
        """Prepare; nothing is touched.

        Args:
            files: The calls to go through.
            directory: milkd's own directory in the store.
            now: The wall clock.
        """
        self._path = os.path.join(directory, FILE)
        self._files = files
        self._now = now
        self._since = now()
        self._any = False

    def refusal(self) -> str | None:
        """Why nothing may be written to the store for the time being."""
        now = self._now()
        times = [at for at in self._times() if abs(now - at) < FORGOTTEN]
        for first, last in zip(times, times[MANY - 1 :], strict=False):
            if last - first <= SPAN:
                return (
                    f"the disk failed at a sync {MANY} times within {SPAN / 60:.0f} minutes, the "
                    f"last time at {_written(max(times))}: it cannot be relied on.  Look at the "
                    "disk; then let `milkctl repair` forget that, or start milkd anew after "
                    f"{_written(max(times) + FORGOTTEN)}"
                )
        return None

    def add(self) -> None:
        """Take note of one, if that can be done on such a disk."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        with contextlib.suppress(OSError):
            fd = self._files.open(self._path, flags, 0o600)
            try:
                # No sync: it would fail too, and after a power cut the disk gets a new chance.
                write_all(self._files, fd, f"{_written(self._now())}\n".encode())
            finally:
                close_quietly(self._files, fd)

    def sound(self) -> None:
        """The disk has just done all that it was asked; after a while of that all is forgotten."""
        if self._any and abs(self._now() - self._since) > SPAN:
            self._any = False
            with contextlib.suppress(OSError):
                forget(self._files, os.path.dirname(self._path))

    def _times(self) -> list[float]:
        """When they were, as far as that can be read, the oldest first."""
        try:
            data, _ = read_file(self._files, self._path, MAX_SIZE)
        except OSError:
            return []
        self._any = True
        return sorted(at for line in data.splitlines() if (at := _time(line)) is not None)


def forget(files: Files, directory: str) -> bool:
    """Let the next start write again; whether anything kept it from that.

    Args:
        files: The calls to go through.
        directory: milkd's own directory in the store.

    Raises:
        OSError: The file cannot be deleted.
    """
    try:
        files.unlink(os.path.join(directory, FILE))
    except FileNotFoundError:
        return False
    return True


def _written(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(line: bytes) -> float | None:
    try:
        return datetime.fromisoformat(line.decode("ascii")).timestamp()
    except (ValueError, OverflowError):
        return None
