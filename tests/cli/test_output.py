"""Printing: nothing in a content steers the terminal or breaks a line."""

from __future__ import annotations

import io
import sys

import pytest

from milkd.cli.command import WrongUsage
from milkd.cli.output import Output, duration, percent, short, spoken, visible
from milkd.errors import InvalidParams


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("plain text", "plain text"),
        ("größer, 大きい, 👩‍💻, no\u00a0break", "größer, 大きい, 👩‍💻, no\u00a0break"),
        ("two\nlines\tand\rmore", "two\\nlines\\tand\\rmore"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"),
        ("a\u2028b", "a\\u2028b"),
        ("\udcff", "\\udcff"),
    ],
)
def test_characters_that_steer_are_shown_as_escapes(content: str, shown: str) -> None:
    assert visible(content) == shown


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (61, "1 min 1 s"),
        (3_600, "1 h 0 min"),
        (7_290, "2 h 1 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_an_id_is_shown_by_its_first_eight_digits() -> None:
    assert short("6f0d8a52-41c1-4c5e-9d7e-0b7a52c0f9a1") == "#6f0d8a52"


def test_a_similarity_is_shown_in_per_cent() -> None:
    assert percent(0.8) == "80 %"


def test_json_is_one_line_in_a_pipe_and_indented_on_a_terminal() -> None:
    pipe, screen = io.StringIO(), io.StringIO()
    Output(pipe, terminal=False, colour=False).json({"a": "ü"})
    Output(screen, terminal=True, colour=False).json({"a": "ü"})
    assert pipe.getvalue() == '{"a": "ü"}\n'
    assert screen.getvalue() == '{\n  "a": "ü"\n}\n'


def test_colours_are_used_only_where_they_are_wanted() -> None:
    stream = io.StringIO()
    assert Output(stream, terminal=True, colour=True).dim("x") == "\x1b[2mx\x1b[0m"
    assert Output(stream, terminal=True, colour=False).dim("x") == "x"
    assert Output(stream, terminal=True, colour=False).bold("x") == "x"


@pytest.mark.parametrize(
    ("terminal", "variables", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": ""}, False),
        (True, {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_variables_choose_colours(
    variables: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    terminal: bool,
    coloured: bool,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm"} | variables).items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    assert Output.standard().colour == coloured


def given(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Let standard input hold this."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_words_are_joined_and_a_lone_dash_reads_standard_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given(monkeypatch, "zwei\nZeilen ü\n".encode())
    assert spoken(["a", "-b"]) == "a -b"
    assert spoken(["-"]) == "zwei\nZeilen ü"


def test_a_dash_among_words_could_mean_either(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, b"text")
    for words in (["-", "a"], ["a", "-", "b"], ["-", "-"]):
        with pytest.raises(WrongUsage, match="either - for standard input, or words"):
            spoken(words)


def test_standard_input_must_be_utf8_of_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, b"abc\xff")
    with pytest.raises(InvalidParams, match="not UTF-8 at byte 3"):
        spoken(["-"])
    given(monkeypatch, b"x" * ((1 << 20) + 1))
    with pytest.raises(InvalidParams, match="more than 1,048,576 bytes"):
        spoken(["-"])
