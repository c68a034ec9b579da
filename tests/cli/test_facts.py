"""Commands that state and change facts, in the words that people read."""

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
        f"already known — reinforced (83 % similar): #{found[1]} {WEST}, w 0.75\n",
        "",
    )


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
    assert "  recorded without its relation: " in failed.out


def test_a_learned_fact_is_for_good(milkctl: Milkctl) -> None:
    assert re.fullmatch(r"learned: #[0-9a-f]{8}, w 1\.00\n", milkctl("learn", WEST).out)
    assert milkctl("learn", WEST).out.startswith("already known — reinforced: #")


def test_a_fact_is_edited_in_place(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    edited = milkctl("edit", west, "deploys", "go", "through", "the", "east", "cluster")
    assert edited.out == f"[0.70] deploys go through the east cluster  {west}\n"


def test_a_fact_is_forgotten_by_its_words_or_its_id(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    assert milkctl("forget", *WEST.split()).out == f"forgotten {west} {WEST}\n"
    again = milkctl("forget", west)
    assert (again.code, again.out) == (1, "")


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
