"""Descriptors kept for the moment when the process, or the system, has none left.

A checkpoint opens files.  Without it the journal grows until nothing is taken any more,
so that a lack of descriptors, which others may have brought about, would stop all writing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import weakref
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
NONE_LEFT = frozenset({errno.EMFILE, errno.ENFILE})
COUNT = 3  # two directories and a file: as many as replacing a file has open at once


class Spare:
    """Descriptors of nothing, to be given up when real ones are needed."""

    def __init__(self, take: Callable[[], int] = lambda: os.open(os.devnull, os.O_RDONLY)) -> None:
        """Prepare; none is taken yet.

        Args:
            take: Takes a descriptor, which others then cannot have.
        """
        self._take = take
        self._fds: list[int] = []
        self._one = threading.Lock()
        weakref.finalize(self, _close, self._fds)

    def keep(self) -> None:
        """Have all of them, or as many as there are."""
        with self._one, contextlib.suppress(OSError):
            while len(self._fds) < COUNT:
                self._fds.append(self._take())

    def give_up(self) -> bool:
        """Let go of them; whether there were any."""
        with self._one:
            return _close(self._fds)

    def lend(self, call: Callable[[], T]) -> T:
        """What a call returns; if it lacks a descriptor, what it returns when it can have these.

        Args:
            call: Changes nothing if it raises an `OSError` for want of a descriptor.

        Raises:
            OSError: As the call does.
        """
        try:
            return call()
        except OSError as error:
            if error.errno not in NONE_LEFT or not self.give_up():
                raise
        try:
            return call()
        finally:
            self.keep()


def _close(fds: list[int]) -> bool:
    found = bool(fds)
    while fds:
        with contextlib.suppress(OSError):
            os.close(fds.pop())
    return found
