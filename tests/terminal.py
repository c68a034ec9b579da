"""`milkctl` on a terminal, which it knows from a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Self

import pyte

from places import Ran

if TYPE_CHECKING:
    from types import TracebackType

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


LAUNCH = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
ROW = re.compile(rb"\x1b\[(\d+);1H")
PATIENCE = 30.0  # seconds that a program may take to show something on a busy machine


class Terminal:
    """A terminal that a command runs in, and that can be looked at; a `with` block of it.

    Args:
        place: Whose environment the command gets.
        arguments: Those of `milkctl`, or a program with its own.
        program: What runs in it.
        columns: Its width.
        rows: Its height.

    Attributes:
        sent: All that the command has written.
    """

    def __init__(
        self,
        place: Place,
        *arguments: str,
        program: tuple[str, ...] = (sys.executable, "-m", "milkd.cli"),
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self._ours, theirs = pty.openpty()
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.sent = b""
        self.resize(columns, rows)
        self.settings = termios.tcgetattr(self._ours)
        self.command = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *program, *arguments],
            env=place.env | {"TERM": "xterm", "LC_ALL": "C.UTF-8"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        self._theirs = theirs  # held open, so that what the command leaves can be looked at

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.command.kill()
        self.command.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size, of which whoever is in it hears."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen.resize(rows, columns)

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._ours, keys)

    def until(self, *texts: str, gone: str = "\0") -> list[str]:
        """The lines, without the blanks at their ends, once they have these texts."""
        deadline = time.monotonic() + PATIENCE
        while not (all(text in self.text for text in texts) and gone not in self.text):
            assert time.monotonic() < deadline, f"not shown: {texts}\n{self.text}"
            self.take_in(0.2)
        while self.take_in(0.05):  # the kernel hands a screenful over in pieces
            pass
        return self.lines

    def take_in(self, seconds: float) -> bytes:
        """What the command writes within a time, which is on the screen then."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return b""
        data = os.read(self._ours, 65536)
        self.sent += data
        self._stream.feed(data)
        return data

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def looks(self) -> list[object]:
        """Each line with all that can be seen of it: signs, colours, bold."""
        return [
            [tuple(self._screen.buffer[row][column]) for column in range(self._screen.columns)]
            for row in range(self._screen.lines)
        ]

    def ended(self) -> int:
        """The exit code, once there is one; what was written is taken in till then."""
        deadline = time.monotonic() + PATIENCE
        while (code := self.command.poll()) is None:
            assert time.monotonic() < deadline, self.text
            self.take_in(0.05)
        while self.take_in(0.0):
            pass
        return code

    def is_as_before(self) -> bool:
        """Whether the terminal is set as it was, with its cursor and without another screen."""
        off = [self.sent.rfind(each) for each in (b"\x1b[?25h", b"\x1b[?1049l", b"\x1b[?7h")]
        on = [self.sent.rfind(each) for each in (b"\x1b[?25l", b"\x1b[?1049h", b"\x1b[?7l")]
        switched = all(a > b for a, b in zip(off, on, strict=True))
        return switched and termios.tcgetattr(self._ours) == self.settings


def rows_in(data: bytes) -> set[int]:
    """The lines that were written anew, the first one being 0."""
    return {int(number) - 1 for number in ROW.findall(data)}
