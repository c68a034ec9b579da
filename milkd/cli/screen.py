"""A terminal that a program has for itself: line by line, and given back as it was.

Only lines that have changed are written.  Nothing else avoids flicker on every
terminal, and over a slow connection it is all that one wants to wait for.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType, TracebackType
    from typing import Self

__all__ = ["Screen"]

# The alternate screen, no cursor, and no wrapping: a line that is too long must not spoil
# the next one.
ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
LEAVE = b"\x1b[?7h\x1b[?25h\x1b[?1049l"
CLEAR = b"\x1b[0m\x1b[2J"
ENDING = (signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*ENDING, signal.SIGWINCH, signal.SIGTSTP)


class Screen:
    """The terminal of standard input and output, from `with` until its end.

    However the block ends, by an exception or by SIGTERM or SIGHUP (as SystemExit), the
    terminal is as it was.  Ctrl-C is a KeyboardInterrupt, as ever; Ctrl-Z gives the
    terminal back for as long as the program is stopped.
    """

    def __init__(self) -> None:
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._shown: list[str] = []
        self._size = (0, 0)
        self._before = termios.tcgetattr(self._in)
        self._handlers: dict[int, object] = {}
        self._wake = self._waking = -1

    def __enter__(self) -> Self:
        self._waking, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in SIGNALS:
            self._handlers[number] = signal.signal(number, self._heard)
        self._take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # it came from there
        signal.set_wakeup_fd(-1)
        os.close(self._waking)
        os.close(self._wake)
        self._give_back()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        return os.get_terminal_size(self._out)

    def paint(self, lines: Sequence[tuple[str, int]]) -> None:
        """Show these lines from the top; those beyond the bottom are not shown.

        Args:
            lines: Each with the columns that it takes, which are not counted again.
        """
        columns, rows = size = self.size
        parts = []
        if size != self._size:
            parts.append(CLEAR)
            self._size, self._shown = size, [""] * rows
        wanted = [*lines[:rows], *[("", 0)] * (rows - len(lines))]
        for number, ((text, taken), shown) in enumerate(zip(wanted, self._shown, strict=True)):
            if text != shown:
                # At the right margin, "erase to the end" would take the last character with it.
                rest = "\x1b[0m\x1b[K" if taken < columns else "\x1b[0m"
                parts.append(f"\x1b[{number + 1};1H{text}{rest}".encode(errors="replace"))
        self._shown = [text for text, _ in wanted]
        self._write(b"".join(parts))

    def wait(self, seconds: float, *others: int) -> str:
        """Wait for a key, a signal or one of the other descriptors; gives the keys that came.

        Raises:
            SystemExit: The terminal is gone.
        """
        ready, _, _ = select.select([self._in, self._waking, *others], [], [], seconds)
        if self._waking in ready:
            os.read(self._waking, 4096)
        if self._in not in ready:
            return ""
        keys = os.read(self._in, 4096)
        if not keys:
            raise SystemExit(0)
        return keys.decode(errors="replace")

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        if number in ENDING:
            raise SystemExit(128 + number)
        if number == signal.SIGTSTP:
            self._give_back()
            os.kill(os.getpid(), signal.SIGSTOP)
            self._take()

    def _take(self) -> None:
        tty.setcbreak(self._in)
        self._write(ENTER)
        self._size = (0, 0)  # whatever was shown is gone

    def _give_back(self) -> None:
        try:
            self._write(LEAVE)
            termios.tcsetattr(self._in, termios.TCSADRAIN, self._before)
        except (OSError, termios.error):  # the terminal is gone, and nobody misses it
            pass

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._out, data) :]
