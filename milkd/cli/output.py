"""Printing: for people on a terminal, for programs in a pipe.

Contents come from anywhere, so nothing in them may steer a terminal, break a line or
turn the reading direction: `visible()` shows such characters as escapes.  `--json` has
the exact content.
"""

from __future__ import annotations

import errno
import os
import sys

from milkd.cli.command import WrongUsage
from milkd.errors import InvalidParams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["Output", "complain", "counted", "duration", "percent", "short", "spoken", "visible"]

SHORT_ID = 8  # hex digits
LONGEST_INPUT = 1 << 20  # bytes; the daemon takes no longer request
NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Beyond C0, DEL and C1: line and paragraph separators, and marks that turn the direction.
STEERING = frozenset(
    "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)


class Output:
    """Where a command prints.

    Args:
        stream: A text stream.
        terminal: Whether people read it at once.
        colour: Whether escape sequences may be used.

    Only bold, dim and the base colours red and green are: those a person has chosen to go with
    the ground, be it dark or light.
    """

    def __init__(self, stream: TextIO, *, terminal: bool, colour: bool) -> None:
        self._stream = stream
        self.terminal = terminal
        self.colour = colour
        self.blocks = (stream.encoding or "").lower().startswith("utf")
        """Whether bars may be drawn by blocks, or by plain signs only."""

    @classmethod
    def standard(cls) -> Output:
        """Standard output; colours only on a capable terminal.

        FORCE_COLOR has them anywhere, and NO_COLOR, which beats it, nowhere.
        """
        terminal = sys.stdout.isatty()
        forced = os.environ.get("FORCE_COLOR", "0") not in ("", "0")
        capable = terminal and os.environ.get("TERM") != "dumb"
        colour = (forced or capable) and not os.environ.get("NO_COLOR")
        return cls(sys.stdout, terminal=terminal, colour=colour)

    def line(self, text: str = "") -> None:
        """Print a line."""
        self._stream.write(text + "\n")

    def json(self, value: object) -> None:
        """Print a value as JSON: on one line in a pipe, indented on a terminal."""
        import json

        self.line(json.dumps(value, ensure_ascii=False, indent=2 if self.terminal else None))

    def dim(self, text: str) -> str:
        """The text, set back."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def bold(self, text: str) -> str:
        """The text, set off."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text


def complain(message: str, code: int) -> int:
    """Print a message to standard error, its further lines indented; returns the exit code."""
    text = "\n  ".join(visible(line) for line in message.split("\n"))
    try:
        sys.stderr.write(f"milkctl: {text}\n")
        sys.stderr.flush()
    except OSError:  # there is nobody left to tell; the exit code stays
        pass
    return code


def visible(text: str) -> str:
    """The text on one line, with characters that steer a terminal shown as escapes."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char in NAMED:
        return NAMED[char]
    code = ord(char)
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    if char in STEERING or 0xD800 <= code < 0xE000:
        return f"\\u{code:04x}"
    return char


def short(ident: str) -> str:
    """An id as people use it: `#` and its first eight digits."""
    return f"#{ident[:SHORT_ID]}"


def counted(number: int, thing: str) -> str:
    """So many things: `1 percept`, `2 percepts`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def percent(similarity: float) -> str:
    """A similarity in [0, 1] in per cent."""
    return f"{100 * similarity:.0f} %"


def duration(seconds: float) -> str:
    """A duration in its two largest units: `3 d 4 h`, `5 min 0 s`."""
    left = int(seconds)
    for unit, size, next_unit, next_size in (
        ("d", 86_400, "h", 3_600),
        ("h", 3_600, "min", 60),
        ("min", 60, "s", 1),
    ):
        if left >= size:
            return f"{left // size} {unit} {left % size // next_size} {next_unit}"
    return f"{left} s"


def spoken(words: list[str]) -> str:
    """The text that a command was given: its words, or standard input for a lone `-`.

    Raises:
        WrongUsage: A `-` among words.
        InvalidParams: Standard input is too long, not UTF-8, or cannot be read.
    """
    if "-" not in words:
        return " ".join(words)
    if len(words) > 1:
        raise WrongUsage("either - for standard input, or words; quote a text that holds a -")
    try:
        data = sys.stdin.buffer.read(LONGEST_INPUT + 1)
    except OSError as error:
        why = "it is closed" if error.errno == errno.EBADF else f"{error.strerror}"
        raise InvalidParams("standard input", why) from error
    if len(data) > LONGEST_INPUT:
        raise InvalidParams("standard input", f"more than {LONGEST_INPUT:,} bytes")
    try:
        return data.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidParams("standard input", f"not UTF-8 at byte {error.start}") from error
