"""Commands that change facts which are there, in the words that people read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from terminal import Terminal, on_a_terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]

WEST = "deploys go through the west cluster"


@pytest.fixture(autouse=True)
def daemon(place: Place) -> None:
    """A daemon on an empty store."""
    place.start()


def test_a_fact_is_edited_in_place(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    edited = milkctl("edit", west, "deploys", "go", "through", "the", "east", "cluster")
    assert edited.out == f"[0.70] deploys go through the east cluster  {west}\n"


def test_a_fact_is_forgotten_by_its_words_or_its_id(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    assert milkctl("forget", *WEST.split()).out == f"forgotten {west} {WEST}\n"
    again = milkctl("forget", west)
    assert (again.code, again.out) == (1, "")


def answered(place: Place, *arguments: str, question: str, answer: bytes) -> tuple[int, str]:
    """The exit code and the last screen of a command that is answered on a terminal."""
    place.env["NO_COLOR"] = "1"
    with Terminal(place, *arguments, columns=100) as terminal:
        terminal.until(question)
        terminal.type(answer + b"\n")
        return terminal.ended(), terminal.text


def test_of_several_that_fit_one_is_chosen_by_number_or_id(place: Place, milkctl: Milkctl) -> None:
    for where in ("west", "east", "north"):
        milkctl("record", f"{where} has a cluster of its {where}")
    east = next(line for line in milkctl("list").out.splitlines() if "east has" in line)[:8]
    question = "which one to forget? [1-3 or #id, nothing: none]"
    for answer in (b"", b"0", b"4", b"no", b"-1", b"#"):
        code, text = answered(place, "forget", "cluster of", question=question, answer=answer)
        assert code == 1
        assert "milkctl: nothing to forget was chosen" in text
    code, text = answered(
        place, "forget", "cluster of", question=question, answer=f"#{east}".encode()
    )
    assert (code, f"forgotten #{east} east has" in text) == (0, True)
    code, text = answered(place, "forget", "cluster of", question="[1-2", answer=b"2")
    assert code == 0
    assert milkctl("list").out.count("\n") == 1


def test_what_holds_the_words_is_offered_where_nothing_fits(place: Place, milkctl: Milkctl) -> None:
    milkctl("record", "postgres listens on port 5433 in staging")
    milkctl("record", "redis listens on port 6380 in staging")
    gone = milkctl("forget", "postgre por", "5433x")
    assert (gone.code, gone.out) == (1, "")
    assert "these hold most of the words:" in gone.err
    assert gone.err.splitlines()[-1].endswith("postgres listens on port 5433 in staging")
    code, text = answered(place, "forget", "postgre por", question="forget it? [y/N]", answer=b"n")
    assert (code, "postgres listens" in text) == (1, True)
    code, _ = answered(place, "forget", "por listens", question="[1-2 or", answer=b"1")
    assert code == 0
    assert milkctl("list").out.count("\n") == 1


def test_in_a_pipe_nobody_is_asked(milkctl: Milkctl) -> None:
    milkctl("record", WEST)
    assert milkctl("forget", "west cluster", stdin=b"n\n").code == 0
    assert milkctl("forget", "west cluster", stdin=b"y\n").code == 1


@pytest.fixture
def editor(place: Place) -> Callable[[str], Path]:
    """Has a script of the shell be the editor; gives where it notes its file's name."""

    def write(script: str) -> Path:
        path = place.home / "my editor"
        path.write_text(f'#!/bin/sh\necho "$1" >"{place.home}/name"\n{script}\n')
        path.chmod(0o700)
        place.env |= {"EDITOR": "false", "VISUAL": f"'{path}'"}
        return place.home / "name"

    return write


def test_without_words_the_editor_is_opened(
    place: Place, milkctl: Milkctl, editor: Callable[[str], Path]
) -> None:
    west = milkctl("record", WEST).out.split()[1]
    name = editor("""stat -c %a "$1" >>"$HOME/mode"; sed -i s/west/east/ "$1" """)
    ran = on_a_terminal(place, "edit", "west cluster")
    assert ran == (0, f"[0.70] deploys go through the east cluster  {west}\n", "")
    assert (place.home / "mode").read_text() == "600\n"
    assert not Path(name.read_text().strip()).exists()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("", "the text is as it was"),
        (': >"$1"', "the text is empty"),
        ('printf " \\n" >"$1"', "the text is empty"),
        ('echo other >"$1"; exit 3', "ended with exit code 3"),
    ],
    ids=["unchanged", "empty", "blank", "failed"],
)
def test_what_is_left_as_it_is_or_empty_changes_nothing(
    script: str, why: str, place: Place, milkctl: Milkctl, editor: Callable[[str], Path]
) -> None:
    milkctl("record", WEST)
    name = editor(script)
    ran = on_a_terminal(place, "edit", "west cluster", columns=200)
    assert ran.code == 1
    assert "milkctl: nothing was changed: " in ran.out
    assert why in ran.out
    assert milkctl("list").out.endswith(f"{WEST}\n")
    assert not Path(name.read_text().strip()).exists()


def test_a_text_that_is_refused_is_kept(
    place: Place, milkctl: Milkctl, editor: Callable[[str], Path]
) -> None:
    milkctl("record", WEST)
    name = editor("""head -c 9000 /dev/zero | tr '\\0' x >"$1" """)
    ran = on_a_terminal(place, "edit", "west cluster", columns=200)
    kept = Path(name.read_text().strip())
    assert ran.code == 1
    assert f"what you wrote is in {kept}" in ran.out
    assert kept.read_text() == "x" * 9_000
    kept.unlink()


def test_a_secret_that_is_refused_is_not_kept_either(
    place: Place, milkctl: Milkctl, editor: Callable[[str], Path]
) -> None:
    milkctl("record", WEST)
    name = editor("""echo "the key is AKIA""IOSFODNN7EXAMPLQ" >"$1" """)
    ran = on_a_terminal(place, "edit", "west cluster", columns=200)
    assert ran.code == 1
    assert "keeps no secrets" in ran.out
    assert not Path(name.read_text().strip()).exists()


def test_a_fact_that_changed_while_it_was_edited_is_not_overwritten(
    place: Place, milkctl: Milkctl, editor: Callable[[str], Path]
) -> None:
    west = milkctl("record", WEST).out.split()[1]
    python = f"'{sys.executable}' -m milkd.cli"
    name = editor(f"""{python} edit '{west}' other words; echo mine >"$1" """)
    ran = on_a_terminal(place, "edit", west, columns=200)
    kept = Path(name.read_text().strip())
    assert (ran.code, kept.read_text()) == (1, "mine\n")
    assert "was changed by somebody else meanwhile" in ran.out
    assert milkctl("list").out.endswith("other words\n")
    kept.unlink()


def test_an_editor_that_is_not_there_is_named(place: Place, milkctl: Milkctl) -> None:
    milkctl("record", WEST)
    place.env |= {"VISUAL": "/nowhere/ed"}
    ran = on_a_terminal(place, "edit", "west cluster", columns=200)
    assert ran.code == 2
    assert "the editor '/nowhere/ed' cannot be started" in ran.out


def test_in_a_pipe_no_editor_is_opened(milkctl: Milkctl) -> None:
    milkctl("record", WEST)
    ran = milkctl("edit", "west cluster")
    assert (ran.code, ran.out) == (2, "")
    assert "edit needs TEXT, or - for standard input" in ran.err


def test_on_a_terminal_a_fact_named_by_its_text_goes_only_if_the_user_says_so(
    place: Place, milkctl: Milkctl
) -> None:
    west = milkctl("record", WEST).out.split()[1]
    kept = on_a_terminal(place, "forget", "west cluster", typed=b"\n")
    assert f"[0.70] {WEST}  {west}\n" in kept.out
    assert "forget it? [y/N] " in kept.out
    assert kept.out.endswith("milkctl: nothing to forget was chosen\n")
    assert kept.code == 1
    assert on_a_terminal(place, "forget", "west cluster", typed=b"\xff\n").code == 1
    ident = milkctl("list").out[:3]
    milkctl("edit", west, f"{WEST} {ident} #")
    for text in ("#", ident):  # too short for an id
        assert on_a_terminal(place, "forget", text, typed=b"n\n").code == 1
    milkctl("edit", west, WEST)
    gone = on_a_terminal(place, "forget", "west cluster", typed=b"yes\n")
    assert gone.out.endswith(f"forgotten {west} {WEST}\n")
    assert gone.code == 0


@pytest.mark.parametrize("named", ["by id", "by prefix", "with --yes"])
def test_who_names_an_id_or_says_yes_is_not_asked(
    named: str, place: Place, milkctl: Milkctl
) -> None:
    milkctl("record", WEST)
    ident = milkctl("list").out.split("\t")[0]
    ref = {"by id": [ident], "by prefix": [f"#{ident[:6].upper()}"]}
    gone = on_a_terminal(place, "forget", *ref.get(named, ["--yes", "west cluster"]))
    assert (gone.code, gone.out) == (0, f"forgotten #{ident[:8]} {WEST}\n")


def test_equal_facts_elsewhere_are_forgotten_on_request(place: Place, milkctl: Milkctl) -> None:
    for session in ("s1", "s2", "s3"):
        milkctl("record", WEST, "--session", session)
    west = milkctl("list", "--session", "s1").out.split("\t")[0]
    kept = milkctl("forget", west, "--session", "s1").out.splitlines()
    assert kept[1] == "  2 of the same text elsewhere, still there (--all forgets them too)"
    west = milkctl("list", "--session", "s2").out.split("\t")[0]
    gone = milkctl("forget", west, "--session", "s2", "--all").out.splitlines()
    assert gone[1] == "  1 of the same text elsewhere, forgotten too"
    with place.client(session="s3") as client:
        assert client.list()["total"] == 0


def test_relations_are_made_and_taken_back_once(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    east = milkctl("record", "the east cluster is a spare").out.split()[1]
    edge = f"{east} extends {west}"
    assert milkctl("relate", east, "extends", west).out == f"{edge}\n"
    assert milkctl("relate", east, "extends", west).out == f"{edge} (already)\n"
    assert milkctl("unrelate", east, "extends", west).out == f"no more: {edge}\n"
    assert milkctl("unrelate", east, "extends", west).out == f"was not: {edge}\n"
    assert milkctl("relate", east, "resembles", west).code == 1


def test_what_is_not_archived_cannot_be_restored(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    assert milkctl("restore", west).code == 1
