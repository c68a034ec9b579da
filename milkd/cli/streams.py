"""Standard streams for a process that was started without some of them (`milkctl list >&-`)."""

from __future__ import annotations

import os
import sys

__all__ = ["fill"]

# Each is opened the wrong way round, so that whoever uses it is told that it was closed.
STREAMS = (
    ("stdin", "r", os.O_WRONLY),
    ("stdout", "w", os.O_RDONLY),
    ("stderr", "w", os.O_RDONLY),
)


def fill() -> None:
    """Put a stream that refuses in the place of each that is missing.

    In order, so that each gets its own number: no file or socket that is opened later may,
    for a child would take that for its output.
    """
    for name, mode, flags in STREAMS:
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            encoding, errors = "utf-8", "backslashreplace"
            setattr(sys, name, os.fdopen(descriptor, mode, encoding=encoding, errors=errors))
