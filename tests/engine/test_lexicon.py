from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.lexicon import (
    AGREEING,
    CONTRAST,
    EMPTY,
    EXEMPT,
    JOINS,
    NEGATION,
    NUMBERS,
    OPPOSITES,
    Lexicon,
    Meaning,
)

WORDS = """
# what a list may hold
[negation]
not            # a word
-n't           # an ending
no longer      # two words
没有           # in a script without spaces
않             # inside a word
[agreeing]
nor            # goes on
n'             # elided
[exempt]
not only       # both
no 0           # a number behind it
[contrast]
instead of     # before what is put last

[joins]
and            # two clauses
[opposites]
on, enabled / off, disabled   # a switch
on / under                    # a place
> / <                         # a comparison
[numbers]
seven = 7
"""
LEXICON = Lexicon.parse({"words": WORDS})


def found(text: str) -> list[tuple[str, set[str]]]:
    return [
        (entry.word, {meaning.section for meaning in entry.meanings})
        for entry in LEXICON.find(LEXICON.pieces(text))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Do NOT go", [("not", {NEGATION})]),
        ("it doesn't go", [("doesn't", {NEGATION})]),
        ("it doesn’t go", [("doesn't", {NEGATION})]),
        ("no longer so", [("no longer", {NEGATION})]),
        ("a longer one is not", [("not", {NEGATION})]),
        ("我没有车", [("没有", {NEGATION})]),
        ("공유되지 않는다", [("않", {NEGATION})]),
        ("n'est", [("n'", {AGREEING})]),
        ("rock n roll is not", [("not", {NEGATION})]),
        ("not only that, but on", [("not only", {EXEMPT}), (",", {JOINS}), ("on", {OPPOSITES})]),
        ("No 4 is off", [("no 0", {EXEMPT}), ("off", {OPPOSITES})]),
        ("nor that and this", [("nor", {AGREEING}), ("and", {JOINS})]),
        ("tea instead of milk", [("instead of", {CONTRAST})]),
        ("a > b", [(">", {OPPOSITES})]),
        ("it's seven", [("seven", {NUMBERS})]),
        ("nothing of that or no more", []),
        ("knot", []),
    ],
)
def test_entries_are_found_as_they_are_written(
    text: str, expected: list[tuple[str, set[str]]]
) -> None:
    assert found(text) == expected


def test_a_text_without_a_telling_word_gives_no_pieces() -> None:
    assert LEXICON.pieces("bread and butter, only") == []


def test_opposites_have_opposite_values() -> None:
    (on,), (off,) = (list(LEXICON.find(LEXICON.pieces(word))) for word in ("enabled", "off"))
    assert {meaning.value for meaning in on.meanings} == {
        -meaning.value for meaning in off.meanings
    }


def test_a_word_may_have_several_opposites() -> None:
    (on,) = LEXICON.find(LEXICON.pieces("on"))
    assert len(on.meanings) == 2


def test_a_spelled_number_has_its_value() -> None:
    (seven,) = LEXICON.find(LEXICON.pieces("seven"))
    assert seven.meanings == {Meaning(NUMBERS, 7)}


def test_words_of_several_files_are_one_lexicon() -> None:
    both = Lexicon.parse({"en": "[negation]\nnot", "de": "[negation]\nnicht"})
    assert [entry.word for entry in both.find(both.pieces("nicht not"))] == ["nicht", "not"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[negations]\nnot", r"xx\.txt:1: found \[negations\], expected one of negation, "),
        ("# a list\nnot", r"xx\.txt:2: found 'not', expected a section"),
        ("[opposites]\n\non, off", r"xx\.txt:3: found 'on, off', expected opposites like"),
        ("[opposites]\non / off / out", r"xx\.txt:2: .* expected opposites like"),
        ("[opposites]\non, / off", r"xx\.txt:2: found '', expected a word"),
        ("[opposites]\n / off", r"xx\.txt:2: found .*, expected"),
        ("[numbers]\nseven", r"xx\.txt:2: found 'seven', expected a number like: seven = 7"),
        ("[negation]\n???", r"xx\.txt:2: found '\?\?\?', expected a word"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Lexicon.parse({"xx.txt": text})


@given(st.text())
def test_the_empty_lexicon_finds_nothing_but_ends_of_clauses(text: str) -> None:
    sections = {
        meaning.section for entry in EMPTY.find(EMPTY.pieces(text)) for meaning in entry.meanings
    }
    assert sections <= {JOINS}


@given(st.text(alphabet=st.sampled_from("nots'only 没有않,.>4")))
def test_what_is_found_comes_in_order_and_does_not_overlap(text: str) -> None:
    end = 0
    for entry in LEXICON.find(LEXICON.pieces(text)):
        assert end <= entry.start < entry.end
        end = entry.end
