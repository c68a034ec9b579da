"""Files that a command writes: whole, or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["replace"]


def replace(path: str, pieces: Iterable[bytes]) -> None:
    """Write a file, on the disk when this returns; the mode of an earlier one stays.

    What is no regular file, such as a pipe or a device, is written to as it is.
    """
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            file.writelines(pieces)
        return
    path = os.path.realpath(path)
    allowed = 0o600 if mode is None else stat.S_IMODE(mode)
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, allowed), "wb") as file:
            os.fchmod(file.fileno(), allowed)
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.rename(aside, path)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(aside)
        if isinstance(error, OSError):
            error.filename = path  # nobody knows the other one
        raise


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None
