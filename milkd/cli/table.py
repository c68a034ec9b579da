"""Tables: fitted to the terminal for people, separated by tabs for programs."""

from __future__ import annotations

from shutil import get_terminal_size
from unicodedata import combining, east_asian_width

from milkd.cli.output import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.cli.output import Output

__all__ = ["Column", "draw", "fitted", "width"]

GAP = "  "
NARROWEST = 10  # columns that a stretching column gets on however small a terminal
INVISIBLE = "\u200b\u200c\u200d\ufe0e\ufe0f"  # joiners and variation selectors


class Column:
    """A column's title and how it behaves; one may stretch, the others take what they need."""

    def __init__(self, title: str, *, right: bool = False, stretches: bool = False) -> None:
        self.title = title
        self.right = right
        self.stretches = stretches


def draw(out: Output, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print the rows, under titles if the reader is a person."""
    shown = [[visible(cell) for cell in row] for row in rows]
    if not out.terminal:
        for row in shown:
            out.line("\t".join(row))
        return
    widths = _widths(columns, shown)
    out.line(out.bold(_joined(columns, widths, [column.title for column in columns])))
    for row in shown:
        out.line(_joined(columns, widths, row))


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
    if combining(char) or char in INVISIBLE:
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    """What each column needs; one that stretches, at most what the others leave of the line."""
    needed = [
        max([width(column.title), *(width(row[index]) for row in rows)])
        for index, column in enumerate(columns)
    ]
    fixed = sum(n for n, column in zip(needed, columns, strict=True) if not column.stretches)
    left = get_terminal_size().columns - fixed - len(GAP) * (len(columns) - 1)
    return [
        min(n, max(left, NARROWEST)) if column.stretches else n
        for n, column in zip(needed, columns, strict=True)
    ]


def _joined(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str]) -> str:
    parts = []
    for column, room, cell in zip(columns, widths, cells, strict=True):
        text = fitted(cell, room)
        padding = " " * (room - width(text))
        parts.append(padding + text if column.right else text + padding)
    return GAP.join(parts).rstrip()
