"""Commands that look at facts, in a pipe."""

from __future__ import annotations

import json
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


def test_a_list_in_a_pipe_has_whole_ids_and_contents_between_tabs(
    place: Place, milkctl: Milkctl
) -> None:
    content = f"{WEST} " * 20
    with place.client(session="s1") as client:
        session = client.record(content, consumer="escalation")["id"]
        core = client.learn("the user prefers tabs")["id"]
    assert milkctl("list", "--session", "s1").out.splitlines() == [
        f"{core}\tglobal\t1.00\tcore\tuser\tall\tthe user prefers tabs",
        f"{session}\tsession\t0.70\t\tprimary\tescalation\t{content}",
    ]


def test_an_empty_list_is_said_so(milkctl: Milkctl) -> None:
    assert milkctl("list").out == "(no percepts found)\n"


def test_a_list_is_filtered_sorted_and_limited(milkctl: Milkctl) -> None:
    milkctl("record", WEST)
    milkctl("learn", "the user prefers tabs")
    milkctl("record", "the user dislikes surprises", "--producer", "user")

    def contents(*options: str) -> list[str]:
        return [
            line.split("\t")[6].split()[2] for line in milkctl("list", *options).out.splitlines()
        ]

    assert contents("the", "USER") == ["prefers", "dislikes"]
    assert contents("--producer", "primary") == ["through"]
    assert contents("--core") == ["prefers"]
    assert contents("--no-core", "--min-w", "0.8") == ["dislikes"]
    assert contents("--sort", "created_at", "--limit", "2") == ["dislikes", "prefers"]
    assert milkctl("list", "--sort", "colour").code == 1
    assert milkctl("list", "--limit", "0").code == 2


def test_a_list_of_more_than_a_page_is_whole(place: Place, milkctl: Milkctl) -> None:
    with place.client() as client:
        now = client.record("a first one, for its keys")["id"]
        record = next(r for r in client.export() if r["kind"] == "percept")
        client.import_(
            record | {"id": f"{number:08x}-0000-4000-8000-000000000000", "content": f"fact{number}"}
            for number in range(1_200)
        )
        client.forget(now)
    assert len(milkctl("list").out.splitlines()) == 1_200
    assert len(milkctl("list", "--limit", "700").out.splitlines()) == 700
    page = json.loads(milkctl("list", "--json").out)
    assert (len(page["percepts"]), page["total"], "next" in page) == (1_200, 1_200, False)
    assert "next" in json.loads(milkctl("list", "--json", "--limit", "700").out)


def test_a_fact_is_shown_in_full(place: Place, milkctl: Milkctl) -> None:
    with place.client(session="s1") as client:
        west = client.record(WEST, subject="deploys", roles={"when": "always"})["id"]
        east = client.record("the east cluster is a spare", session="s1")["id"]
        client.relate(east, "extends", west)
    out = milkctl("show", west, "--session", "s1").out
    assert out.startswith(f"{WEST}\n  id          {west}\n  scope       session s1\n")
    assert "  strength    0.7000 (score " in out
    assert "  when        always\n" in out
    assert "  theme       deploys\n" in out
    assert f"  relation    #{east[:8]} extends this\n" in out


def test_other_wordings_are_shown_and_explained(milkctl: Milkctl) -> None:
    milkctl("record", WEST)
    milkctl("record", f"{WEST} since May")
    assert f"  also stated {WEST} since May (20" in milkctl("show", WEST).out
    assert f"\n  - It was also stated as: {WEST} since May\n" in milkctl("explain", WEST).out


def test_similar_says_why_a_look_alike_is_another_fact(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    assert milkctl("similar", "deploys never go through the west cluster").out == (
        f" 83 %  {WEST}  {west}  ← another fact: negated: never\n"
    )


def test_an_explanation_is_in_sentences(milkctl: Milkctl) -> None:
    milkctl("record", WEST)
    out = milkctl("explain", WEST).out
    assert out.splitlines()[1] == "global, w 0.70"
    assert "\nWhat holds:\n  - " in out
    assert "\nWhat comes next:\n  - " in out


def test_similar_says_what_a_text_would_be_held_for(milkctl: Milkctl) -> None:
    west = milkctl("record", WEST).out.split()[1]
    milkctl("record", "the west wing is closed")
    first, second = milkctl("similar", "deploys go through the west cluster now").out.splitlines()
    assert first == f" 83 %  {WEST}  {west}  ← stating the text would reinforce this one"
    assert second.endswith(milkctl("list", "wing").out[:8])
    assert len(milkctl("similar", "the west cluster", "--limit", "1").out.splitlines()) == 1
    assert milkctl("similar", "lunch").out == "(nothing similar found)\n"


def test_a_program_is_told_what_holds_the_words_and_gets_nothing(milkctl: Milkctl) -> None:
    ident = milkctl("record", "postgres listens on port 5433").out.split()[1]
    milkctl("record", "redis listens elsewhere")
    for verb in ("show", "explain"):
        ran = milkctl(verb, "postgre por")
        assert (ran.code, ran.out) == (1, "")
        head, offer, line = ran.err.splitlines()
        assert head.startswith("milkctl: no percept visible here fits")
        assert offer == "  these hold most of the words:"
        assert line.startswith(f"  {ident[1:]}")
        assert line.endswith("  postgres listens on port 5433")
    told = json.loads(milkctl("show", "postgre por", "--json").out)["error"]
    assert told["code"] == "not_found"
    assert [each["content"] for each in told["candidates"]] == ["postgres listens on port 5433"]
    assert len(milkctl("show", "listens xyz").err.splitlines()) == 4
    assert len(milkctl("show", "wholly unknown").err.splitlines()) == 1


def test_a_person_gets_the_only_fact_that_holds_most_of_the_words(
    place: Place, milkctl: Milkctl
) -> None:
    milkctl("record", "postgres listens on port 5433")
    milkctl("record", "redis listens on port 6380")
    for verb in ("show", "explain"):
        ran = on_a_terminal(place, verb, "postgre", "por")
        assert (ran.code, ran.out.splitlines()[0][:29]) == (0, "postgres listens on port 5433")
        assert on_a_terminal(place, verb, "port lis").code == 1
    ran = on_a_terminal(place, "confirm", "postgre por")
    assert ran.code == 1
    assert "these hold most of the words:" in ran.out
