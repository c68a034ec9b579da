"""A chart of lines over whole numbers, as SVG that reads on light and dark pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 40, 200, 34, 30  # pixels around the lines
INK = "#888888"


class Line(NamedTuple):
    """Values at 0, 1, 2 …"""

    name: str
    values: Sequence[float]
    colour: str
    dashed: bool = False


def chart(title: str, across: str, lines: Sequence[Line]) -> str:
    """The lines with a grid and a legend.

    Args:
        title: What the values are.
        across: What is counted from left to right.
        lines: At least one, each with two values or more.
    """
    top = max(value for line in lines for value in line.values) * 1.05
    last = max(len(line.values) for line in lines) - 1
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">'
    )
    parts = [head, _text(LEFT, 18, title), *_grid(top, last, across)]
    for place, line in enumerate(lines):
        parts += _drawn(line, top, last)
        parts += _named(line, TOP + 18 * place)
    return "\n".join([*parts, "</svg>\n"])


def _grid(top: float, last: int, across: str) -> Iterator[str]:
    step = _step(top)
    value = 0.0
    while value <= top:
        y = _y(value, top)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{INK}" stroke-opacity="0.3"/>'
        yield _text(LEFT - 6, y + 4, f"{value:g}", anchor="end")
        value += step
    for number in range(0, last + 1, max(1, round(last / 6))):
        yield _text(_x(number, last), HEIGHT - BOTTOM + 16, str(number), anchor="middle")
    yield _text(WIDTH - RIGHT + 8, HEIGHT - BOTTOM + 16, across)


def _drawn(line: Line, top: float, last: int) -> Iterator[str]:
    points = " ".join(f"{_x(x, last):.1f},{_y(y, top):.1f}" for x, y in enumerate(line.values))
    yield f'<polyline points="{points}" fill="none" {_stroke(line)}/>'


def _named(line: Line, y: float) -> Iterator[str]:
    x = WIDTH - RIGHT + 12
    yield f'<path d="M{x} {y}h22" {_stroke(line)}/>'
    yield _text(x + 28, y + 4, line.name)


def _stroke(line: Line) -> str:
    dashes = ' stroke-dasharray="5 4"' if line.dashed else ""
    return f'stroke="{line.colour}" stroke-width="2"{dashes}'


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _x(number: float, last: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * number / max(1, last)


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top


def _step(top: float) -> float:
    """A round distance that makes some five lines."""
    step = 1.0
    while top / step > 6:
        step *= 2 if str(step)[0] in "15" else 2.5
    return step
