"""Lines of a panel: parts in a style, cut to the room that there is."""

from __future__ import annotations

from milkd.cli.table import fitted, width

__all__ = ["Line", "Palette", "bar"]

EIGHTHS = " ▏▎▍▌▋▊▉█"


class Palette:
    """Parts of lines, coloured or not, and the blocks of bars or plain signs."""

    def __init__(self, *, colour: bool, blocks: bool) -> None:
        self._colour = colour
        self.blocks = blocks

    def part(self, text: str, style: str) -> str:
        """The text in a style of SGR."""
        return f"\x1b[{style}m{text}\x1b[0m" if self._colour and text else text


class Line:
    """A line in the making, never longer than its room."""

    def __init__(self, room: int, palette: Palette) -> None:
        self._room = room
        self._palette = palette
        self.text = ""
        self.taken = 0

    def add(self, text: str, style: str = "") -> Line:
        """Append as much of a text as there is room for."""
        part = fitted(text, self._room - self.taken) if self.taken < self._room else ""
        self.taken += width(part)
        self.text += self._palette.part(part, style) if style else part
        return self

    def padded(self) -> str:
        """The line with blanks up to its room."""
        return self.text + " " * (self._room - self.taken)


def bar(w: float, cells: int, *, blocks: bool) -> str:
    """A strength in [0, 1] as a bar of so many cells."""
    if not blocks:
        return ("#" * round(w * cells)).ljust(cells, ".")
    eighths = round(w * cells * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(cells)
