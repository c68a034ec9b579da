"""How the daemon fails: what ends the process, and how a fault is told without its content.

The log never holds what anybody remembered.  An exception's message may quote a
value, and a value may be a percept; so a trace shows types and places only.
"""

from __future__ import annotations

import os
import traceback

EXIT_USAGE = 64
EXIT_SOFTWARE = 70
EXIT_IO = 74
EXIT_RUNNING = 75
EXIT_STORE = 78


class Fatal(BaseException):
    """The process must end: its memory may be wrong, or the disk cannot be trusted.

    Not an `Exception`, so that no wall around a request or connection holds it up.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def trace(error: BaseException) -> str:
    """Where an exception came from, by type, file, line and function, its causes first."""
    lines: list[str] = []
    cause = error.__cause__ or error.__context__
    if cause is not None and cause is not error:
        lines += [trace(cause), "then"]
    lines.append(type(error).__qualname__)
    lines += [
        f"  {os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    if isinstance(error, BaseExceptionGroup):
        lines += [trace(inner) for inner in error.exceptions]
    return "\n".join(lines)
