"""A process without some of its streams, or with some that take nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from places import Ran

if TYPE_CHECKING:
    from places import Place

FULL = "milkctl: cannot write to standard output: No space left on device\n"
CLOSED = "milkctl: cannot write to standard output: it is closed\n"
DONE = "  what was asked for is done all the same\n"


@pytest.fixture(autouse=True)
def daemon(place: Place) -> None:
    """A daemon on an empty store."""
    place.start()


def shell(place: Place, command: str) -> Ran:
    """A line of shell in which $M is `milkctl`; buffered as it usually is."""
    env = place.env | {"M": f"{sys.executable} -m milkd.cli", "PYTHONUNBUFFERED": ""}
    ran = subprocess.run(
        ["sh", "-c", command], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.parametrize(("to", "said"), [(">/dev/full", FULL), (">&-", CLOSED)])
def test_an_answer_that_cannot_be_printed_is_code_one(place: Place, to: str, said: str) -> None:
    assert shell(place, f"$M list {to}") == (1, "", said)
    assert shell(place, f"$M show nothing --json {to}") == (1, "", said)


@pytest.mark.parametrize(("to", "said"), [(">/dev/full", FULL), (">&-", CLOSED)])
def test_a_change_whose_answer_cannot_be_printed_is_made(place: Place, to: str, said: str) -> None:
    assert shell(place, f"$M record tabs are for indenting {to}") == (1, "", said + DONE)
    assert "tabs are for indenting" in shell(place, "$M list").out


@pytest.mark.parametrize("command", ["$M", "$M --version", "$M recall --help", "$M help list"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_help_that_cannot_be_printed_is_code_one(
    place: Place, command: str, unbuffered: str
) -> None:
    line = f"PYTHONUNBUFFERED={unbuffered} {command} >/dev/full"
    assert shell(place, line) == (1, "", FULL)


@pytest.mark.parametrize("to", ["2>/dev/full", "2>&-"])
def test_a_message_that_cannot_be_printed_leaves_the_exit_code_as_it_is(
    place: Place, to: str
) -> None:
    assert shell(place, f"$M show nothing {to}") == (1, "", "")
    assert shell(place, f"$M recall {to}") == (2, "", "")
    assert shell(place, f"$M --socket /tmp/none ping {to}") == (3, "", "")
    assert shell(place, f"$M list >/dev/full {to}") == (1, "", "")


def test_a_closed_standard_input_is_said_to_be(place: Place) -> None:
    assert shell(place, "$M record - <&-") == (1, "", "milkctl: standard input: it is closed\n")
    assert shell(place, "$M recall tabs <&-") == (0, "(no relevant memories found)\n", "")
    assert shell(place, "$M forget tabs <&-").code == 1


def test_a_command_without_any_stream_does_its_work(place: Place) -> None:
    assert shell(place, "$M record tabs are for indenting <&- >&- 2>&-").code == 1
    assert "tabs are for indenting" in shell(place, "$M list").out


def test_a_daemon_is_started_by_a_command_without_streams(place: Place) -> None:
    place.stop()
    assert shell(place, "$M list <&- >&- 2>&-").code == 1
    assert shell(place, "$M ping").out == "pong\n"


def test_text_that_is_not_utf8_is_named(place: Place) -> None:
    for command, named in (
        ("record", "TEXT"),
        ("list", "TEXT"),
        ("inject", "PROMPT"),
        ("show", "REF"),
        ("list --session", "session"),
    ):
        ran = shell(place, f"$M {command} \"$(printf 'a\\377')\"")
        assert ran == (1, "", f"milkctl: {named}: found bytes that are not UTF-8\n")


def test_a_store_whose_path_is_not_utf8_is_a_store_like_any_other(place: Place) -> None:
    store = '"$HOME/$(printf "a\\377")"'
    assert shell(place, f"$M --store {store} record tabs are for indenting").code == 0
    socket = shell(place, f"$M --store {store} stats").out.splitlines()[2].split()[1]
    assert socket != str(place.socket)
    assert "tabs" in shell(place, f"$M --store {store} --socket {socket} list").out
    assert shell(place, f"$M --store {store} stop").code == 0


def test_a_relative_path_in_a_deleted_directory_leads_nowhere(place: Place) -> None:
    gone = 'mkdir "$HOME/gone" && cd "$HOME/gone" && rmdir "$HOME/gone" &&'
    for option in ("--store", "--socket"):
        ran = shell(place, f"{gone} $M {option} here list")
        assert (ran.code, ran.out) == (3, "")
        assert ran.err.startswith("milkctl: the working directory has been deleted")
    assert shell(place, f"{gone} $M list").code == 0
