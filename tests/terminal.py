"""`milkctl` on a terminal, which it knows from a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

from places import Ran

if TYPE_CHECKING:
    from places import Place


def on_a_terminal(place: Place, *arguments: str, typed: bytes = b"", columns: int = 60) -> Ran:
    """What a command prints, without colours, and its exit code; `typed` is shown as well."""
    ours, theirs = pty.openpty()
    os.write(ours, typed)
    command = subprocess.Popen(
        [sys.executable, "-m", "milkd.cli", *arguments],
        env={"NO_COLOR": "1"} | place.env | {"COLUMNS": str(columns), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:  # Linux: EIO at the end of a terminal
        pass
    os.close(ours)
    return Ran(command.wait(60), b"".join(parts).decode(errors="replace").replace("\r\n", "\n"), "")
