"""When a store has nothing to say to a prompt, although a word is shared."""

from __future__ import annotations

from typing import Any

import pytest

from milkd.engine.params import DEFAULT
from milkd.engine.relevance import CHANCE, MANY
from sitting import Sitting, percept

MOON = percept("the moon is full of holes", 1)
LONG = "which tide does the moon cause near brittany today?"
SHORT = "what about the moon?"


def sit(count: int = MANY, **knobs: Any) -> Sitting:
    others = [percept(f"gadget{n} of vendor{n}", 100 + n) for n in range(count - 1)]
    sitting = Sitting("s1", base=DEFAULT, **knobs)
    sitting.hold("global", MOON, *others)
    return sitting


def test_a_large_store_is_silent_where_one_word_is_shared_with_a_long_prompt() -> None:
    assert sit().inject(LONG).text == ""
    assert sit(inject_chance_words=0).inject(LONG).ids == (MOON.id,)


def test_it_speaks_where_two_are() -> None:
    assert sit().inject(LONG + " or its holes?").ids == (MOON.id,)


def test_a_short_prompt_may_share_one() -> None:
    assert sit().inject(SHORT).ids == (MOON.id,)
    assert sit(inject_chance_words=1).inject(SHORT).text == ""


def test_a_small_store_shares_nothing_by_chance() -> None:
    assert sit(MANY - 1).inject(LONG).ids == (MOON.id,)


def test_what_may_not_come_makes_nothing_else_come() -> None:
    weak = percept("the moon causes the tide", 2, w=0.3)
    sitting = sit()
    sitting.hold("s1", weak)
    assert sitting.inject(LONG, "s1").text == ""


def test_a_silent_prompt_is_a_turn_all_the_same() -> None:
    sitting = sit()
    assert sitting.inject(LONG, "s1").turn == 1
    assert sitting.inject(SHORT, "s1").turn == 2


def test_without_the_gate_there_is_no_silence() -> None:
    assert sit(percept_relevance_gate=False).inject(LONG).ids


@pytest.mark.parametrize("weight", ["count", "idf"])
def test_rarity_makes_no_word_count_twice(weight: str) -> None:
    assert sit(hit_weight=weight).inject(LONG).text == ""


def test_explain_says_so() -> None:
    (found,) = [c for c in sit().inject(LONG, explain=True).candidates or () if c.id == MOON.id]
    assert (found.included, found.reason, found.hits) == (False, CHANCE, 1)
