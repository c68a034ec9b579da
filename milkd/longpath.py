"""Sockets whose path does not fit into a socket address.

An address holds 107 bytes of path on Linux and 103 elsewhere, of the path's bytes and
not its characters.  Linux has a way round that works for both sides: whoever binds or
connects opens the directory, and names the socket from there.
"""

from __future__ import annotations

import errno
import os
import sys

from milkd.errors import ConfigError
from milkd.paths import BIND_SUFFIX, SUN_PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = ["Way", "check_socket_path", "too_long"]

DESCRIPTORS = "/proc/self/fd"
LONGEST_NAME = SUN_PATH - len(f"{DESCRIPTORS}/1234567/")
HAS_WAY = sys.platform == "linux" and os.path.isdir(DESCRIPTORS)


class Way:
    """A name that fits into an address and leads to a socket path, until it is closed.

    Raises:
        OSError: Nothing fits, or the directory cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self.name = path
        self._directory: int | None = None
        if len(os.fsencode(path)) > SUN_PATH:
            directory, name = os.path.split(path)
            if not HAS_WAY or len(os.fsencode(name)) > LONGEST_NAME:
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
            self._directory = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            self.name = f"{DESCRIPTORS}/{self._directory}/{name}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._directory is not None:
            os.close(self._directory)


def check_socket_path(path: str) -> None:
    """Refuse a path that a daemon cannot listen on; it binds under a name that is longer.

    Raises:
        ConfigError: As `too_long` has it.
    """
    longest = path + BIND_SUFFIX
    fits = len(os.fsencode(longest)) <= SUN_PATH
    if not fits and not (HAS_WAY and _name_size(longest) <= LONGEST_NAME):
        raise ConfigError(too_long(path))


def too_long(path: str) -> str:
    """Path, length, limit and the variable that gives another path, as a sentence."""
    what, size, limit = "path", len(os.fsencode(path)), SUN_PATH
    if HAS_WAY:
        what, size, limit = "name in the path", _name_size(path), LONGEST_NAME
    return (
        f"the socket {what} {path} is {size} bytes long, at most {limit - len(BIND_SUFFIX)} fit; "
        "set $MILKD_SOCKET to a shorter one"
    )


def _name_size(path: str) -> int:
    return len(os.fsencode(os.path.basename(path)))
