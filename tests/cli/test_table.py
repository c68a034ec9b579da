"""Tables: fitted for people, complete for programs."""

from __future__ import annotations

import io

import pytest

from milkd.cli.output import Output
from milkd.cli.table import Column, draw, fitted, width

COLUMNS = [Column("ID"), Column("W", right=True), Column("CONTENT", stretches=True)]


def drawn(rows: list[list[str]], *, terminal: bool) -> list[str]:
    """The lines of a table."""
    stream = io.StringIO()
    draw(Output(stream, terminal=terminal, colour=False), COLUMNS, rows)
    return stream.getvalue().splitlines()


def test_in_a_pipe_fields_are_whole_and_separated_by_tabs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    content = "x" * 100
    assert drawn([["a", "0.5", content]], terminal=False) == [f"a\t0.5\t{content}"]


def test_a_content_can_neither_add_a_field_nor_a_line() -> None:
    assert drawn([["a", "1", "b\tc\nd"]], terminal=False) == ["a\t1\tb\\tc\\nd"]


def test_in_a_pipe_an_escape_is_told_from_a_content_that_looks_like_one() -> None:
    real, alike = (drawn([["a", "1", text]], terminal=False) for text in ("b\nc", "b\\nc"))
    assert real == ["a\t1\tb\\nc"]
    assert alike == ["a\t1\tb\\\\nc"]
    assert real[0].split("\t")[2].encode().decode("unicode_escape") == "b\nc"
    assert drawn([["a", "1", "b\\nc"]], terminal=True)[1].endswith("b\\nc")


@pytest.mark.parametrize(
    ("columns", "titles"),
    [(80, "ID W KIND CONTENT"), (26, "ID W CONTENT"), (22, "ID CONTENT"), (5, "ID C…")],
)
def test_where_the_line_is_short_columns_are_left_out_in_their_turn(
    columns: int, titles: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    some = [COLUMNS[0], Column("W", spare=2), Column("KIND", spare=1), COLUMNS[2]]
    stream = io.StringIO()
    draw(Output(stream, terminal=True, colour=False), some, [["abcdef", "0.5", "core", "x" * 90]])
    head, row = stream.getvalue().splitlines()
    assert head.split() == titles.split() or columns == 5
    assert max(len(head), len(row)) <= columns


def test_on_a_terminal_columns_are_aligned_under_their_titles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert drawn([["abc", "1", "tabs"], ["d", "10", "spaces"]], terminal=True) == [
        "ID    W  CONTENT",
        "abc   1  tabs",
        "d    10  spaces",
    ]


@pytest.mark.parametrize("columns", [30, 40, 80, 200])
def test_a_table_is_never_wider_than_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [["abc", "1", "語" * 150], ["d", "10", "x" * 150]]
    lines = drawn(rows, terminal=True)
    assert max(map(width, lines)) in (columns, columns - 1)  # half a character does not fit


def test_wide_and_combining_characters_take_their_true_width() -> None:
    assert width("語") == 2
    assert width("e\u0301") == 1
    assert width("a\u200db") == 2
    assert width("\u1112\u1161\u11ab") == 2  # one Korean syllable in its three parts
    assert width("\u0e01\u0e34\u0e49") == 1  # a Thai letter with a vowel and a tone
    assert width("\u0915\u0941") == 1  # a Hindi letter with a vowel
    assert width("x\u20dd") == 1  # enclosed in a circle
    assert fitted("語語語", 5) == "語語…"
    assert fitted("tabs", 4) == "tabs"
