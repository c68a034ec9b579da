"""Commands that state facts, in the words that people read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]

WEST = "deploys go through the west cluster"


@pytest.fixture(autouse=True)
def daemon(place: Place) -> None:
    """A daemon on an empty store."""
    place.start()


def test_a_new_fact_is_recorded_and_a_restated_one_reinforced(milkctl: Milkctl) -> None:
    first = milkctl("record", WEST)
    found = re.fullmatch(r"recorded #([0-9a-f]{8}) \(global, w 0\.70\)\n", first.out)
    assert found
    again = milkctl("record", "deploys go through the west cluster now")
    assert again == (
        0,
        f"already known — reinforced (83 % similar): #{found[1]} {WEST}, w 0.75\n"
        "  new words: now\n",
        "",
    )
    less = milkctl("record", "deploys go through the cluster")
    assert less.out.splitlines()[1] == "  words left out: west"


def test_a_look_alike_beside_which_a_fact_is_stored_is_told_with_the_reason(
    milkctl: Milkctl,
) -> None:
    known = milkctl("record", "the build needs Python 3.11").out.split()[1]
    beside = milkctl("record", "the build needs Python 3.12").out.splitlines()
    assert beside[0].startswith("recorded #")
    assert beside[1] == (
        f"  stored beside {known} the build needs Python 3.11: numbers differ: 3.12 / 3.11"
    )


def test_a_look_alike_that_is_nearer_than_what_is_restated_is_told_too(milkctl: Milkctl) -> None:
    known = milkctl("record", "the build needs Python 3.11").out.split()[1]
    milkctl("record", "the build needs Python 3.12 on every Linux machine")
    again = milkctl("record", "the build needs Python 3.12").out.splitlines()
    assert again[0].startswith("already known — reinforced (62 % similar): #")
    assert again[-1] == (
        f"  not held for {known} the build needs Python 3.11: numbers differ: 3.12 / 3.11"
    )


def test_what_an_agent_repeats_strengthens_nothing(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    milkctl("recall", "deploys", "--session", "s1")
    echoed = milkctl("record", WEST, "--session", "s1").out
    assert echoed == (
        f"already known — repeated, nothing strengthened (100 % similar): {west} {WEST}, w 0.70\n"
    )
    said = milkctl("record", WEST, "--session", "s1", "--producer", "user").out
    assert said.startswith("already known — reinforced (100 % similar): ")


def test_a_fact_comes_back_from_the_archive_when_it_is_stated(
    place: Place, milkctl: Milkctl
) -> None:
    with place.client() as client:
        client.record(WEST)
        record = next(r for r in client.export() if r["kind"] == "percept")
        west = client.forget(WEST)["id"]
        client.import_([record | {"scope": "archive", "archived_at": "2026-01-01T00:00:00Z"}])
    back = milkctl("record", WEST, "--session", "s1").out
    assert back.startswith(
        f"already known — brought back from the archive (100 % similar): #{west[:8]} {WEST}, w 0.75"
    )
    assert "global" in milkctl("list").out


def test_words_need_no_quotes_and_a_dash_reads_standard_input(milkctl: Milkctl) -> None:
    milkctl("record", *WEST.split())
    milkctl("record", "-", stdin=b"the user prefers tabs\n")
    assert WEST in milkctl("recall", "deploys").out
    assert "the user prefers tabs  #" in milkctl("recall", "prefers").out


def test_what_is_said_of_a_fact_is_kept_with_it(place: Place, milkctl: Milkctl) -> None:
    milkctl("--session", "s1", "record", "--producer", "user", "--subject", "deploys", WEST)
    milkctl("record", "--core", "--role", "when=always", "--consumer", "primary", "use tabs")
    with place.client(session="s1") as client:
        west, tabs = client.list(sort="created_at")["percepts"][::-1]
    assert (west["producer"], west["roles"], west["scope"]) == (
        "user",
        {"theme": "deploys"},
        "session",
    )
    assert (tabs["core"], tabs["roles"], tabs["consumer"]) == (True, {"when": "always"}, "primary")


def test_a_relation_is_made_with_the_fact_or_said_to_have_failed(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    made = milkctl(
        "record", "the east cluster is a spare", "--relation", "extends", "--related-to", west
    )
    east = made.out.split()[1]
    assert made.out.splitlines()[1:] == [f"  {east} extends {west}"]
    failed = milkctl("record", "lunch is at noon", "--relation", "extends", "--related-to", "ffff")
    assert failed.code == 0
    assert "  recorded without its relation: no percept visible here fits" in failed.out
    alone = milkctl("record", "dinner is at eight", "--relation", "extends")
    assert alone.err == (
        "milkctl: --related-to: missing; --relation and --related-to go together\n"
    )


def test_a_learned_fact_is_for_good(milkctl: Milkctl) -> None:
    assert re.fullmatch(r"learned: #[0-9a-f]{8}, w 1\.00\n", milkctl("learn", WEST).out)


def test_learning_a_known_fact_says_what_it_became(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST, "--session", "s1").out.split()[1]
    promoted = milkctl("learn", WEST, "--session", "s1").out
    assert promoted == f"already known — now core and global: {west} {WEST}, w 1.00\n"
    other = f"{WEST} now"
    for again in (
        milkctl("learn", "-", stdin=other.encode()),
        milkctl("record", "--core", *WEST.split()),
    ):
        first, second = again.out.splitlines()
        assert first.startswith(f"already known — now core and global: {west} {WEST}")
        assert second.startswith("  it was (83 % similar): deploys go through the west cluster")
