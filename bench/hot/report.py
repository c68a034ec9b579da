"""The figures as tables, on the screen and in a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench.hot import alike, living, passes, plot, recall, wire
from bench.hot.product import COMPILED, PURE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bench.hot.limits import Tables, Verdict

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
"""Between these lines of a page stands what is made here."""


class Sheet(NamedTuple):
    """A table to be shown."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """As a page has it."""
        line = "| " + " | ".join(self.head) + " |"
        rule = "|---|" + "---:|" * (len(self.head) - 1)
        rows = ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join([f"### {self.title}", "", line, rule, *rows, ""])

    def plain(self) -> str:
        """As a terminal has it."""
        lines = [self.head, *self.rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.head))]
        told = [
            "  ".join(
                cell.rjust(width) if at else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        return "\n".join([self.title, *told, ""])


def text(tables: Tables, verdicts: Sequence[Verdict], main: int) -> str:
    """All that was measured, for the screen."""
    return "\n".join(sheet.plain() for sheet in (*_sheets(tables, main), _judgement(verdicts)))


def write(
    page: Path, tables: Tables, verdicts: Sequence[Verdict], machine: dict[str, str], main: int
) -> None:
    """Put all that was measured between the marks of a page, and the plot beside it.

    Raises:
        ValueError: The page has no such marks.
    """
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} lacks the lines {BEGIN} and {END}")
    drawing = page.with_suffix(".svg")
    drawing.write_text(plot.drawn(tables), encoding="utf-8")
    sheets = [sheet.markdown() for sheet in (_judgement(verdicts), *_sheets(tables, main))]
    told_of = ", ".join(f"{what} {value}" for what, value in machine.items())
    made = [f"Machine: {told_of}.", "", f"![growth]({drawing.name})", ""]
    told = "\n".join([BEGIN, "", *made, *sheets, END])
    page.write_text(before + told + after, encoding="utf-8")


def _judgement(verdicts: Sequence[Verdict]) -> Sheet:
    rows = []
    for verdict in verdicts:
        limit, value = verdict.limit, verdict.value
        unit = f" {limit.unit}" if limit.unit else ""
        shown = "" if value is None else figure(value) + unit
        rows.append([limit.what, shown, figure(limit.most) + unit, verdict.word])
    return Sheet("Limits", ["what", "measured", "at most", ""], rows)


def figure(value: float) -> str:
    """Three digits, or a share of one."""
    if value == round(value):
        return f"{value:,.0f}"
    if 0 < value < 1 and (value < 0.3 or abs(1 / value - round(1 / value)) < 1e-9):
        share = 1 / value
        return f"1/{share:,.1f}" if share < 10 and share % 1 else f"1/{share:,.0f}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def _cell(row: dict[str, float], column: str) -> str:
    value = row.get(column)
    if value is None:
        return "–"
    return (
        f"{value:.1%}" if column == "same" else figure(value) if abs(value) >= 1 else f"{value:.2g}"
    )


def _sheet(
    tables: Tables, name: str, title: str, columns: Sequence[str], first: str = "program"
) -> Iterator[Sheet]:
    """The columns of one table, if it was measured."""
    rows = tables.get(name, {})
    if rows:
        cells = [
            [row, *(_cell(found, column) for column in columns)] for row, found in rows.items()
        ]
        yield Sheet(title, [first, *columns], cells)


def _sheets(tables: Tables, main: int) -> Iterator[Sheet]:
    finding = [
        "match p50",
        "match p99",
        "novel p50",
        "novel p99",
        "insert p50",
        "bytes/fact",
        "same",
    ]
    asking = [
        "mixed p50",
        "mixed p99",
        "frequent p50",
        "frequent p99",
        "rare p50",
        "bytes/fact",
        "same",
    ]
    for profile in ("zipf", "dense"):
        facts = f"{main:,} facts, {profile}, µs"
        yield from _sheet(tables, f"alike {profile} {main}", f"Near-duplicates: {facts}", finding)
        yield from _sheet(tables, f"recall {profile} {main}", f"Recall: {facts}", asking)
    some = (COMPILED, PURE, alike.RENSA, alike.SEED_GO)
    yield from _growth(tables, "alike", "Near-duplicates", ("match p50", "novel p50"), some)
    engines = (COMPILED, PURE, recall.TANTIVY, recall.FTS5)
    yield from _growth(tables, "recall", "Recall", ("mixed p50", "frequent p50"), engines)
    yield from _passes(tables)
    for form in ("compiled", "pure"):
        yield from _engine(tables, f"engine {form} {main}", f"The engine's methods, {form}")
    yield from _sheet(tables, wire.TABLE, "Through the socket, µs", ["p50", wire.RATE], "server")
    title = f"A recall by the client, {main:,} facts, mixed, µs"
    yield from _sheet(tables, wire.CLIENTS_TABLE, title, ["mixed p50", "mixed p99"])
    columns = ["first ready", "ready", "bytes/fact", "bytes/fact, all"]
    yield from _sheet(tables, "start", f"Starting with {main:,} facts, s", columns, "milkd")
    yield from _sheet(tables, "answers", "Answers compared", ["answers", "differences"], "of")


def sizes(tables: Tables, part: str) -> list[tuple[str, int]]:
    """Profiles and numbers of facts for which a part was measured."""
    found = [name.split() for name in tables if name.startswith(f"{part} ")]
    return sorted(((profile, int(size)) for _, profile, size in found), reverse=False)


def _growth(
    tables: Tables, part: str, title: str, columns: Sequence[str], programs: Sequence[str]
) -> Iterator[Sheet]:
    """How some programs grow with the number of facts: both columns in one cell."""
    rows = []
    for profile, size in sorted(sizes(tables, part), key=lambda case: (case[0] != "zipf", case[1])):
        found = tables[f"{part} {profile} {size}"]
        cells = [
            " / ".join(_cell(found.get(name, {}), column) for column in columns)
            for name in programs
        ]
        rows.append([f"{size:,} {profile}", *cells])
    if rows:
        yield Sheet(f"{title}: growth, {' / '.join(columns)}, µs", ["facts", *programs], rows)


def _passes(tables: Tables) -> Iterator[Sheet]:
    names = sorted((name for name in tables if name.startswith("pass ")), key=lambda n: int(n[5:]))
    kinds = [
        (name, kind)
        for kind in ("pass", "eviction")
        for name in (COMPILED, PURE, passes.COPY, passes.PARTITION, passes.SORT)
        if any(kind in tables[table].get(name, {}) for table in names)
    ]
    rows = [
        [f"{int(table[5:]):,}", *(_cell(tables[table].get(name, {}), kind) for name, kind in kinds)]
        for table in names
    ]
    if rows:
        head = ["rows", *(f"{kind}: {name}" for name, kind in kinds)]
        yield Sheet("A pass over columns, and choosing the weakest tenth, µs", head, rows)


def _engine(tables: Tables, name: str, title: str) -> Iterator[Sheet]:
    rows = tables.get(name, {})
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    if rows:
        cells = [
            [column, *(_cell(rows[guard], column) for guard in (living.OFF, living.ON))]
            for column in columns
        ]
        yield Sheet(f"{title}, µs", ["", living.OFF, living.ON], cells)
