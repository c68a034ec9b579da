"""The note in the store that tells on which socket its daemon listens.

It is there only while that is not the socket that a client computes for itself.
"""

from __future__ import annotations

import contextlib
import json
import os

from milkd.paths import boot_id, computed_socket, endpoint_path


def write(store: str, socket: str) -> None:
    """Leave the note, or remove an old one where none is needed; no failure matters."""
    path = endpoint_path(store)
    with contextlib.suppress(OSError):
        if socket == computed_socket(store):
            remove(store)
            return
        note = {"socket": socket, "host": os.uname().nodename, "boot_id": boot_id()}
        own = f"{path}.{os.getpid()}"
        with open(own, "w", encoding="utf-8") as file:
            json.dump(note, file)
        os.replace(own, path)


def remove(store: str) -> None:
    """Take the note away, if there is one."""
    with contextlib.suppress(OSError):
        os.unlink(endpoint_path(store))
