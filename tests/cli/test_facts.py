"""Commands that change facts which are there, in the words that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from terminal import on_a_terminal

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


def test_on_a_terminal_a_fact_named_by_its_text_goes_only_if_the_user_says_so(
    place: Place, milkctl: Milkctl
) -> None:
    west = milkctl("record", WEST).out.split()[1]
    kept = on_a_terminal(place, "forget", "west cluster", typed=b"\n")
    assert f"[0.70] {WEST}  {west}\n" in kept.out
    assert "forget it? [y/N] " in kept.out
    assert kept.out.endswith("milkctl: not forgotten\n")
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
