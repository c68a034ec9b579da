"""The note in the store that tells on which socket its daemon listens.

Clients look there before they work out a path for themselves, since they may run
under other variables than the daemon.
"""

from __future__ import annotations

import contextlib
import os

from milkd.paths import endpoint_path, endpoint_text


def write(store: str, socket: str) -> None:
    """Leave the note, or none where the disk refuses: most clients find the daemon anyway."""
    path = endpoint_path(store)
    own = f"{path}.{os.getpid()}"
    remove(store)
    if "\n" in socket:
        return  # it would be read as several lines
    with contextlib.suppress(OSError):
        fd = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(fd, "wb") as file:
            file.write(endpoint_text(socket))
        os.replace(own, path)


def remove(store: str, socket: str | None = None) -> None:
    """Take the note away, if there is one.

    Args:
        store: It is there.
        socket: Leave a note alone that tells of another socket; None: whatever it tells.
    """
    path = endpoint_path(store)
    with contextlib.suppress(OSError):
        if socket is not None:
            with open(path, "rb") as file:
                if file.read() != endpoint_text(socket):
                    return
        os.unlink(path)
