"""Growth as a drawing: microseconds over the number of facts, both by powers of ten, in SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from bench.hot import alike, recall
from bench.hot.product import COMPILED, PURE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.hot.limits import Tables

WIDTH, HEIGHT = 460, 380  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 74, 36, 40, 46
_COLOURS = ("#1b6ca8", "#d1495b", "#6b8f3c", "#8a6fb0", "#555555")
_NARROW = "\u202f"  # between groups of three digits


class Panel(NamedTuple):
    """What one half of the drawing shows."""

    part: str
    title: str
    column: str
    programs: tuple[str, ...]


PANELS = (
    Panel(
        "alike",
        "near-duplicate of a text, match",
        "match p50",
        (COMPILED, PURE, alike.RENSA, alike.CACHED, alike.SEED_GO),
    ),
    Panel(
        "recall",
        "recall of ten facts, mixed words",
        "mixed p50",
        (COMPILED, PURE, recall.TANTIVY, recall.TANTIVY_BM25, recall.FTS5),
    ),
)


def drawn(tables: Tables) -> str:
    """The drawing as the text of an SVG file."""
    legend = 22 * max(len(panel.programs) for panel in PANELS) + 34
    width, height = WIDTH * len(PANELS), HEIGHT + legend
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number, panel in enumerate(PANELS):
        lines += [f'<g transform="translate({number * WIDTH} 0)">', *_panel(tables, panel), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def _panel(tables: Tables, panel: Panel) -> list[str]:
    curves = {
        (program, profile): points
        for program in panel.programs
        for profile in ("zipf", "dense")
        if len(points := _points(tables, panel, profile, program)) > 1
    }
    title = f'<text x="{WIDTH / 2}" y="22" text-anchor="middle">{panel.title}, µs (p50)</text>'
    values = [point for points in curves.values() for point in points]
    if not values:
        return [title]
    frame = _Frame([size for size, _ in values], [value for _, value in values])
    lines = [title, *frame.grid()]
    for (program, profile), points in curves.items():
        colour = _COLOURS[panel.programs.index(program)]
        dashes = "" if profile == "zipf" else ' stroke-dasharray="5 4"'
        path = " ".join(f"{frame.x(size):.1f},{frame.y(value):.1f}" for size, value in points)
        style = f'fill="none" stroke="{colour}" stroke-width="2"'
        lines.append(f'<polyline points="{path}" {style}{dashes}/>')
        lines += [
            f'<circle cx="{frame.x(size):.1f}" cy="{frame.y(value):.1f}" r="2.5" fill="{colour}"/>'
            for size, value in points
        ]
    return lines + _legend(panel.programs)


def _points(tables: Tables, panel: Panel, profile: str, program: str) -> list[tuple[float, float]]:
    """(facts, microseconds), from the small to the large."""
    found = []
    for name, rows in tables.items():
        if name.startswith(f"{panel.part} {profile} ") and panel.column in rows.get(program, {}):
            found.append((float(name.split()[2]), rows[program][panel.column]))
    return sorted(found)


class _Frame:
    """Where a figure stands in a panel."""

    def __init__(self, sizes: Sequence[float], values: Sequence[float]) -> None:
        self._sizes = _decades(sizes)
        self._values = _decades(values)

    def x(self, size: float) -> float:
        return LEFT + _share(size, self._sizes) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - _share(value, self._values) * (HEIGHT - TOP - BOTTOM)

    def grid(self) -> list[str]:
        lines, low = [], HEIGHT - BOTTOM
        for power in range(self._sizes[0], self._sizes[1] + 1):
            x = self.x(10.0**power)
            lines += [
                f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{low}" stroke="#ddd"/>',
                f'<text x="{x:.1f}" y="{low + 18}" text-anchor="middle">'
                f"{_grouped(10**power)}</text>",
            ]
        for power in range(self._values[0], self._values[1] + 1):
            y = self.y(10.0**power)
            lines += [
                f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>',
                f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
                f"{_grouped(10**power) if power >= 0 else 10.0**power:}</text>",
            ]
        below = f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">facts</text>'
        return [*lines, below]


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", _NARROW)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around some values, of which there are two at least."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _share(value: float, decades: tuple[int, int]) -> float:
    return (math.log10(value) - decades[0]) / (decades[1] - decades[0])


def _legend(programs: Sequence[str]) -> list[str]:
    lines = []
    for number, program in enumerate(programs):
        y = HEIGHT + 14 + 20 * number
        lines += [
            f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + 26}" y2="{y}" '
            f'stroke="{_COLOURS[number]}" stroke-width="2"/>',
            f'<text x="{LEFT + 34}" y="{y + 4}">{program}</text>',
        ]
    y = HEIGHT + 14 + 20 * len(programs)
    note = "dashed: 300 words, none of them rare"
    return [*lines, f'<text x="{LEFT}" y="{y + 4}" fill="#555">{note}</text>']
