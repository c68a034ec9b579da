"""Tables: fitted to the terminal for people, separated by tabs for programs.

On a narrow terminal columns are left out, and the last one is cut.  In a pipe a cell is
whole, with its backslashes doubled, so that the escapes of `visible()` can be undone.
"""

from __future__ import annotations

from shutil import get_terminal_size
from unicodedata import category, east_asian_width

from milkd.cli.output import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.cli.output import Output

__all__ = ["Column", "draw", "fitted", "width"]

GAP = "  "
NARROWEST = 10  # columns that a stretching column gets on however small a terminal
INVISIBLE = ("Mn", "Me", "Cf")  # marks on the letter before, and signs that are never drawn


class Column:
    """A column's title and how it behaves; one may stretch, the others take what they need.

    Args:
        title: What stands above it.
        right: Whether it is aligned to the right.
        stretches: Whether it takes what the others leave.
        spare: Its turn to be left out where the line is too short; 0: never.
    """

    def __init__(
        self, title: str, *, right: bool = False, stretches: bool = False, spare: int = 0
    ) -> None:
        self.title = title
        self.right = right
        self.stretches = stretches
        self.spare = spare


def draw(out: Output, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print the rows, under titles if the reader is a person."""
    if not out.terminal:
        for row in rows:
            out.line("\t".join(visible(cell.replace("\\", "\\\\")) for cell in row))
        return
    shown = [[visible(cell) for cell in row] for row in rows]
    room = get_terminal_size().columns
    widths = _widths(columns, shown, room)
    out.line(out.bold(_joined(columns, widths, [column.title for column in columns], room)))
    for row in shown:
        out.line(_joined(columns, widths, row, room))


def width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def fitted(text: str, room: int) -> str:
    """The text, cut with an ellipsis to at most `room` columns."""
    if width(text) <= room:
        return text
    taken = 0
    for index, char in enumerate(text):
        taken += _char_width(char)
        if taken > room - 1:
            return text[:index] + "…"
    return text


def _char_width(char: str) -> int:
    # The second and third part of a Korean syllable stand in the first one.
    if category(char) in INVISIBLE or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """What each column gets: what it needs, or 0 where it is left out.

    The one that stretches gets at most what the others leave, for which they go one by one
    until it has a little.
    """
    widths = [
        max([width(column.title), *(width(row[index]) for row in rows)])
        for index, column in enumerate(columns)
    ]
    stretching = [index for index, column in enumerate(columns) if column.stretches]
    wanted = {index: widths[index] for index in stretching}
    for index in stretching:
        widths[index] = min(widths[index], NARROWEST)
    for index in sorted(range(len(columns)), key=lambda index: columns[index].spare):
        if columns[index].spare and _line(widths) > room:
            widths[index] = 0
    for index, most in wanted.items():
        widths[index] = min(most, max(widths[index], widths[index] + room - _line(widths)))
    return widths


def _line(widths: Sequence[int]) -> int:
    """The length of a line with such columns."""
    return sum(widths) + len(GAP) * (sum(map(bool, widths)) - 1)


def _joined(
    columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str], room: int
) -> str:
    parts = []
    for column, size, cell in zip(columns, widths, cells, strict=True):
        if size:
            text = fitted(cell, size)
            padding = " " * (size - width(text))
            parts.append(padding + text if column.right else text + padding)
    return fitted(GAP.join(parts).rstrip(), room)
