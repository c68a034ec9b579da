"""`milkctl watch`, as somebody sees it who sits in front of it."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from terminal import Terminal, rows_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]

SCREENS = Path(__file__).parent / "screens"
BORN = "2026-01-01T00:00:00Z"
VARIABLE = (
    (re.compile(r"#[0-9a-f]{8}\b"), "#12345678"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "12:34:56"),
)
# Strengths whose running time is half-way between two minutes, so that a second is nothing.
FACTS: tuple[tuple[str, str, float, dict[str, bool]], ...] = (
    ("api", "the west cluster takes every deploy, whatever the clock says", 0.72, {}),
    ("api", "日本語の説明は docs/ja にある", 0.55, {}),
    ("api", "cafe\u0301s are booked by Ada", 0.2247, {}),
    ("global", "the API is versioned by date, and never by number, says the handbook", 0.85, {}),
    ("global", "integration tests need the staging database", 0.41, {}),
    ("global", "the user prefers tabs over spaces", 1.0, {"core": True}),
    ("global", "never push to main on a Friday", 1.0, {"core": True}),
)


@pytest.fixture(autouse=True)
def filled(place: Place) -> None:
    """A daemon whose memory has facts of every kind, none of which is new."""
    place.start()
    with place.client(session="api") as client:
        client.session_open("api")
        records: list[dict[str, Any]] = [
            {
                "kind": "percept",
                "scope": scope,
                "id": f"{number:08x}-0000-4000-8000-000000000000",
                "content": content,
                "producer": "primary",
                "w": w,
                "roles": {},
                "created_at": BORN,
                "updated_at": BORN,
                **more,
            }
            for number, (scope, content, w, more) in enumerate(FACTS, 0x10)
        ]
        assert client.import_(records)["refused"] == []


def steady(lines: list[str]) -> str:
    text = "\n".join(lines).rstrip() + "\n"
    for pattern, replacement in VARIABLE:
        text = pattern.sub(replacement, text)
    return text


def looked_at(place: Place, columns: int, rows: int) -> Terminal:
    place.env.pop("NO_COLOR", None)
    return Terminal(place, "watch", "--session", "api", columns=columns, rows=rows)


@pytest.mark.parametrize(("columns", "rows"), [(40, 24), (80, 24), (200, 16)])
def test_a_screenshot(place: Place, columns: int, rows: int) -> None:
    with looked_at(place, columns, rows) as terminal:
        terminal.until("AHEAD")
        with place.client(session="api") as client:
            client.record("the linter runs before every commit", producer="user")
        lines = terminal.until("LAST MINUTE", "the linter runs", "promoted")
        assert steady(lines) == (SCREENS / f"{columns}.txt").read_text()


def test_only_lines_that_look_different_are_written_anew(place: Place) -> None:
    with looked_at(place, 80, 24) as terminal:
        terminal.until("AHEAD")
        while terminal.take_in(0.3):
            pass
        before, sent = terminal.looks(), len(terminal.sent)
        with place.client(session="api") as client:
            client.edit("integration tests", "integration tests need the spare database")
        terminal.until("need the spare database", "LAST MINUTE")
        while terminal.take_in(0.3):
            pass
        changed = {
            row
            for row, (old, new) in enumerate(zip(before, terminal.looks(), strict=True))
            if old != new
        }
        assert rows_in(terminal.sent[sent:]) == changed
        assert 0 < len(changed) < 12


def test_what_is_as_it_was_is_not_written_at_all(place: Place) -> None:
    with looked_at(place, 80, 24) as terminal:
        terminal.until("AHEAD")
        while terminal.take_in(0.3):
            pass
        sent = len(terminal.sent)
        terminal.command.send_signal(signal.SIGWINCH)  # it looks at its size, which is the same
        terminal.type(b"x ")
        while terminal.take_in(0.3):
            pass
        assert terminal.sent[sent:] == b""


def test_it_takes_the_size_that_the_terminal_gets(place: Place) -> None:
    with looked_at(place, 200, 24) as terminal:
        lines = terminal.until("AHEAD")
        assert any("SESSION api" in line and "CORE" in line for line in lines)
        terminal.resize(40, 12)
        lines = terminal.until("AHEAD", "…")
        assert [line.split()[0] for line in lines if line[:1].isupper()] == [
            "SESSION",
            "GLOBAL",
            "CORE",
            "AHEAD",
        ]
        assert len(lines) == 12


@pytest.mark.parametrize("size", [(1, 1), (7, 3), (20, 2), (119, 4), (120, 3), (300, 60)])
def test_no_size_is_too_odd(place: Place, size: tuple[int, int]) -> None:
    columns, rows = size
    with looked_at(place, columns, rows) as terminal:
        terminal.until("milkd" if columns > 5 else "…")
        terminal.type(b"q")
        assert terminal.ended() == 0


@pytest.mark.parametrize("keys", [b"q", b"Q", b"\x03"], ids=["q", "Q", "Ctrl-C"])
def test_it_ends_by_a_key_and_the_terminal_is_as_it_was(place: Place, keys: bytes) -> None:
    with looked_at(place, 80, 24) as terminal:
        terminal.until("AHEAD")
        assert not terminal.is_as_before()
        terminal.type(keys)
        assert terminal.ended() == 0
        assert terminal.is_as_before()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_by_a_signal_and_the_terminal_is_as_it_was(
    place: Place, number: signal.Signals
) -> None:
    with looked_at(place, 80, 24) as terminal:
        terminal.until("AHEAD")
        terminal.command.send_signal(number)
        assert terminal.ended() == 128 + number
        assert terminal.is_as_before()


def test_while_it_is_stopped_the_terminal_is_as_it_was(place: Place) -> None:
    with looked_at(place, 80, 24) as terminal:
        terminal.until("AHEAD")
        terminal.command.send_signal(signal.SIGTSTP)
        deadline = time.monotonic() + 30
        while not terminal.is_as_before():
            assert time.monotonic() < deadline
            terminal.take_in(0.1)
        sent = len(terminal.sent)
        terminal.command.send_signal(signal.SIGCONT)
        while b"AHEAD" not in terminal.sent[sent:]:
            assert time.monotonic() < deadline
            terminal.take_in(0.1)
        assert not terminal.is_as_before()


def test_a_daemon_that_ends_is_waited_for_and_not_started(place: Place) -> None:
    with looked_at(place, 80, 24) as terminal:
        terminal.until("AHEAD")
        place.stop()
        terminal.until("no daemon is running; waiting for one")
        place.start()
        terminal.until("GLOBAL", gone="no daemon")


def test_who_looks_on_opens_no_session_and_ages_nothing(place: Place) -> None:
    with place.client() as client:
        client.session_close("api")
    with looked_at(place, 80, 24) as terminal:
        lines = terminal.until("GLOBAL")
        assert not any("SESSION" in line for line in lines)
        with place.client() as client:
            assert client.stats()["sessions"] == []


def test_what_is_forgotten_is_named_once_more(place: Place) -> None:
    with looked_at(place, 80, 24) as terminal:
        terminal.until("integration tests")
        with place.client(session="api") as client:
            client.forget("integration tests")
        lines = terminal.until("forgotten")
        assert sum("integration tests" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("name", "value", "coloured"),
    [("NO_COLOR", "1", False), ("NO_COLOR", "", True), ("FORCE_COLOR", "1", True)],
)
def test_colours_are_a_matter_of_choice(
    place: Place, name: str, value: str, *, coloured: bool
) -> None:
    place.env[name] = value
    with Terminal(place, "watch", "--session", "api") as terminal:
        terminal.until("AHEAD")
        assert (b"\x1b[32m" in terminal.sent) == coloured


def test_bars_are_plain_signs_where_blocks_cannot_be_written(place: Place) -> None:
    place.env["PYTHONIOENCODING"] = "ascii"
    with Terminal(place, "watch", "--session", "api") as terminal:
        terminal.until("####", "AHEAD")


def test_without_a_terminal_it_says_what_is_there_instead(place: Place, milkctl: Milkctl) -> None:
    ran = milkctl("watch")
    assert (ran.code, ran.out) == (2, "")
    assert "milkctl watch --json" in ran.err
    assert '"total_due": 1' in milkctl("watch", "--json", "--session", "api").out


def test_a_fact_cannot_steer_the_terminal(place: Place) -> None:
    with place.client(session="api") as client:
        client.record("\x1b[2Jgotcha\r\nsecond line", producer="user")
    with looked_at(place, 80, 24) as terminal:
        terminal.until(r"\x1b[2Jgotcha\r\nsecond line")
