"""Completion, by the shells themselves."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from milkd.cli import verbs
from milkd.cli.shells import SHELLS
from needs import absent
from terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]

WEST = "deploys go through the west cluster"


@pytest.fixture
def west(place: Place) -> str:
    """A daemon with two facts, and a `milkctl` on the path; gives the id of one."""
    place.start()
    bin_ = place.home / "bin"
    bin_.mkdir()
    program = bin_ / "milkctl"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m milkd.cli "$@"\n')
    program.chmod(0o700)
    place.env["PATH"] = f"{bin_}:{place.env['PATH']}"
    with place.client() as client:
        client.learn("the user prefers tabs")
        return client.record(WEST)["id"]


def needed(shell: str) -> None:
    if shutil.which(shell) is None:
        absent(f"no {shell}: apt-get install {shell}")


def offered(milkctl: Milkctl, *words: str) -> list[str]:
    ran = milkctl("completion", "candidates", "--", *words)
    assert (ran.code, ran.err) == (0, "")
    return [line.partition("\t")[0] for line in ran.out.splitlines()]


@pytest.mark.usefixtures("west")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rec", ["record", "recall"]),
        ("--session api exp", ["explain", "export"]),
        ("list --sc", ["--scope"]),
        ("list --scope ", ["global", "session", "archive"]),
        ("list --producer=user --sort up", ["updated_at"]),
        ("record --relation up", ["updates"]),
        ("relate abcd con", ["contradicts"]),
        ("session o", ["open"]),
        ("config ", ["show", "init", "path", "reload"]),
        ("completion z", ["zsh"]),
        ("export ", [":files"]),
        ("list --store ", [":files"]),
        ("--vers", ["--version"]),
        ("help rest", ["restore"]),
        ("ping ", []),
        ("nonsense ", []),
        ("record the ", []),
    ],
)
def test_what_is_offered(line: str, expected: list[str], milkctl: Milkctl) -> None:
    assert offered(milkctl, *line.split(" ")) == expected


def test_every_verb_and_every_option_is_offered(west: str, milkctl: Milkctl) -> None:
    assert west
    everything = [verb for group in verbs.GROUPS.values() for verb in group]
    assert offered(milkctl, "") == [*everything, "help"]
    for verb in everything:
        shown = milkctl(verb, "--help").out
        options = offered(milkctl, verb, "-")
        assert "--json" in options
        assert all(option in shown for option in options)


def test_facts_are_offered_by_id_or_by_a_word_of_theirs(west: str, milkctl: Milkctl) -> None:
    for verb in (["show"], ["forget"], ["relate"], ["record", "--related-to"], ["confirm"]):
        assert west[:8] in offered(milkctl, *verb, "")
        assert len(offered(milkctl, *verb, "")) == 2
        assert offered(milkctl, *verb, west[:5]) == [west[:8]]
        assert offered(milkctl, *verb, f"#{west[:5].upper()}") == [west[:8]]
        assert offered(milkctl, *verb, "clust") == [west[:8]]
    assert offered(milkctl, "relate", west, "extends", west[:6]) == [west[:8]]
    assert offered(milkctl, "show", west[:12]) == [west]
    ran = milkctl("completion", "candidates", "--", "show", west[:5])
    assert ran.out == f"{west[:8]}\t{WEST}\n"


def test_facts_of_the_session_that_the_line_names_are_offered(
    west: str, place: Place, milkctl: Milkctl
) -> None:
    with place.client(session="api") as client:
        ident = client.record("the API is versioned by date")["id"][:8]
        for words in (["--session", "api", "show", ident], ["show", "--session=api", ident]):
            assert offered(milkctl, *words) == [ident]
        assert offered(milkctl, "show", ident) == []
        assert offered(milkctl, "--session", "a") == ["api"]
        assert west[:8] in offered(milkctl, "show", "")


def test_facts_that_begin_alike_are_offered_by_their_whole_ids(
    west: str, place: Place, milkctl: Milkctl
) -> None:
    with place.client() as client:
        records = [record for record in client.export() if record.get("id") == west]
        twin = f"{west[:8]}{'-0000-4000-8000-000000000000'}"
        client.import_([records[0] | {"id": twin, "content": "something else"}])
    assert sorted(offered(milkctl, "show", west[:8])) == sorted([west, twin])


def test_without_a_daemon_nothing_is_started_and_nothing_said(
    place: Place, milkctl: Milkctl
) -> None:
    assert offered(milkctl, "show", "ab") == []
    assert "record" in offered(milkctl, "rec")
    assert not place.store.exists()


def test_to_press_tab_is_no_activity_and_opens_no_session(
    west: str, place: Place, milkctl: Milkctl
) -> None:
    assert west[:8] in offered(milkctl, "--session", "api", "show", "")
    with place.client() as client:
        assert client.stats()["sessions"] == []


def test_a_content_cannot_break_a_line_of_candidates(
    west: str, place: Place, milkctl: Milkctl
) -> None:
    with place.client() as client:
        ident = client.record("one\ntwo\tthree \x1b[2J")["id"]
    ran = milkctl("completion", "candidates", "--", "show", ident[:8])
    assert ran.out == f"{ident[:8]}\tone\\ntwo\\tthree \\x1b[2J\n"
    assert west


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_what_the_shell_takes(shell: str, milkctl: Milkctl) -> None:
    needed(shell)
    ran = milkctl("completion", shell)
    assert ran.code == 0
    checked = subprocess.run(
        [shell, "-n"], input=ran.out, text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    assert milkctl("completion", shell, "more").code == 2


def test_bash_completes(west: str, place: Place) -> None:
    needed("bash")
    for words, expected in (
        (["milkctl", "forg"], ["forget"]),
        (["milkctl", "show", west[:4]], [west[:8]]),
        (["milkctl", "list", "--scope", "arc"], ["archive"]),
        (["milkctl", "export", ""], []),
    ):
        asked = subprocess.run(
            [
                "bash",
                "--norc",
                "-c",
                'eval "$(milkctl completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                '_milkctl milkctl; (($#COMPREPLY)) ; printf "%s\\n" "${COMPREPLY[@]}"',
                "-",
                *words,
            ],
            env=place.env,
            capture_output=True,
            text=True,
            check=True,
        )
        assert asked.stdout.split() == expected


@pytest.mark.parametrize(
    ("shell", "setup"),
    [
        (("bash", "--norc", "-i"), 'PS1="> "; eval "$(milkctl completion bash)"'),
        (
            ("zsh", "-f", "-i"),
            'PS1="> "; autoload -U compinit; compinit -u -d ~/.zc; '
            'eval "$(milkctl completion zsh)"',
        ),
    ],
    ids=["bash", "zsh"],
)
def test_tab_completes_a_line(shell: tuple[str, ...], setup: str, west: str, place: Place) -> None:
    needed(shell[0])
    with Terminal(place, program=shell, columns=100) as terminal:
        terminal.type(setup.encode() + b"; echo rea''dy\n")
        terminal.until("\nready")
        terminal.type(b"clear\n")
        terminal.until(gone="ready")
        terminal.type(b"milkctl forg\t")
        terminal.until("milkctl forget")
        terminal.type(b"clust\t")
        terminal.until(f"milkctl forget {west[:8]}")
        terminal.type(b"\x15milkctl show \t\t")
        terminal.until(f"{west[:8]}  -- {WEST}", "-- the user prefers tabs")


def test_fish_completes(west: str, place: Place) -> None:
    needed("fish")
    asked = subprocess.run(
        [
            "fish",
            "--no-config",
            "-c",
            "milkctl completion fish | source; "
            f"complete -C 'milkctl forg'; complete -C 'milkctl show {west[:4]}'; "
            "complete -C 'milkctl --session x list --scope arc'",
        ],
        env=place.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout.splitlines() == [
        "forget\tdelete a fact",
        f"{west[:8]}\t{WEST}",
        "archive",
    ]
