from __future__ import annotations

import pytest

from milkd.engine.lexicon import EMPTY, Lexicon
from milkd.engine.polarity import NEUTRAL, polarity

LEXICON = Lexicon.parse(
    {
        "one": """
[negation]
not
without
-n't
[agreeing]
nor
[exempt]
not only
[contrast]
over
[joins]
and
that
[opposites]
on / off
open / shut
[numbers]
two = 2
twenty = 20
five = 5
hundred = 100
""",
        "two": """
[negation]
no
[agreeing]
nunca
nada
""",
    }
)


@pytest.mark.parametrize(
    ("text", "denials"),
    [
        ("it is not allowed", ("not",)),
        ("it isn't allowed", ("isn't",)),
        ("it is not without charm", ()),
        ("it does not go without not asking", ("not",)),
        ("not here, not there", ("not", "not")),
        ("not here and not there", ("not", "not")),
        ("not only here", ()),
        ("not here nor there", ("not",)),
        ("not here, nor there", ("not", "nor")),
        ("no usa nunca nada", ("no",)),
        ("nunca no usa nada", ("nunca",)),
        ("nunca lo usa", ("nunca",)),
        ("it is allowed", ()),
    ],
)
def test_negations_count_by_the_clause(text: str, denials: tuple[str, ...]) -> None:
    assert polarity(text, LEXICON).denials == denials


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tea over milk", {"milk"}),
        ("tea, not cold milk, please", {"cold", "milk"}),
        ("nunca no usa tea", {"usa", "tea"}),
        ("tea and milk", set()),
    ],
)
def test_what_is_put_last_is_what_follows_in_the_clause(text: str, words: set[str]) -> None:
    assert polarity(text, LEXICON).against == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tea, not milk", ("milk",)),
        ("tea and not milk", ("milk",)),
        ("not milk, tea", ()),
        ("tea is, so not", ()),
        ("it is not milk", ()),
        ("tea, not.", ()),
    ],
)
def test_an_afterthought_is_a_denial_that_opens_a_later_clause(
    text: str, words: tuple[str, ...]
) -> None:
    assert polarity(text, LEXICON).afterthoughts == words


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("the lamp is not off", "the lamp is on"),
        ("the lamp is not yet fully off", "the lamp is on"),
        ("the lamp isn't on", "the lamp is off"),
        ("not here, off", "off"),
        ("not one of the many lamps here is off", "off"),
        ("not without being off", "off"),
    ],
)
def test_a_negation_turns_an_opposite_within_reach(text: str, same: str) -> None:
    assert polarity(text, LEXICON).meant == polarity(same, LEXICON).meant


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("two cats", {"2": "two"}),
        ("twenty-five cats", {}),
        ("two hundred cats and five dogs", {"5": "five"}),
        ("2 cats", {}),
    ],
)
def test_a_number_of_one_word_is_read(text: str, spelled: dict[str, str]) -> None:
    assert polarity(text, LEXICON).spelled == spelled


def test_a_text_that_says_nothing_of_the_kind_is_neutral() -> None:
    assert polarity("bread, and butter: it's good", LEXICON) is NEUTRAL
    assert polarity("it is not so", EMPTY) is NEUTRAL
