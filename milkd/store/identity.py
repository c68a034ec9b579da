"""Which store this is: `store.json`, written at milkd's first write to it."""

from __future__ import annotations

import errno
import os
import uuid
from typing import TYPE_CHECKING

from milkd.errors import StoreDamaged
from milkd.store.files import read_file
from milkd.store.gojson import dumps, parse, to_bytes
from milkd.store.journalfile import journals, read_journal

if TYPE_CHECKING:
    from milkd.store.files import Files

FILE = "store.json"
MAX_SIZE = 1 << 20  # bytes
NONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.EFBIG})
"""There is no such file, or what has its name is something else."""


def store_id(files: Files, directory: str) -> str | None:
    """The id of a store, from its own file, or else from what a journal says; None if it has none.

    Args:
        files: The calls to go through.
        directory: milkd's own directory in the store.

    Raises:
        OSError: The disk does not give it; with another id, nothing in the store would fit.
    """
    path = os.path.join(directory, FILE)
    try:
        data, _ = read_file(files, path, MAX_SIZE)
        about = parse(FILE, data).value
        if isinstance(about, dict) and isinstance(about.get("store"), str) and about["store"]:
            return str(about["store"])
    except StoreDamaged:
        pass  # nothing else is lost with it
    except OSError as error:
        if error.errno not in NONE:
            raise OSError(error.errno, error.strerror, path) from error
    for _, gen, path in journals(files, directory):
        header = read_journal(files, path, store=None, gen=gen).header
        if header is not None:
            return header.store
    return None


def new_id() -> str:
    """An id for a store."""
    return str(uuid.uuid4())


def about(store: str, created: str) -> bytes:
    """The file that says which store this is."""
    return to_bytes(dumps({"format": 1, "store": store, "created": created}) + "\n")
