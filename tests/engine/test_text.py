from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.text import STOP_WORDS, check_content, features, fold, jaccard, tokens
from milkd.errors import InvalidParams


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_gives_the_tokens_that_milk_gives(text: str) -> None:
    assert tokens(text) == set(re.findall("[a-z0-9]+", text.lower())) - STOP_WORDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user prefers flat output", {"user", "prefers", "flat", "output"}),
        ("data-api", {"data", "api"}),
        ("data_api", {"data", "api"}),
        ("Ｃｌｏｕｄｆｌａｒｅ", {"cloudflare"}),
        ("Müller", {"müller"}),
        ("STRASSE straße", {"strasse"}),
        ("用户喜欢", {"用户", "户喜", "喜欢"}),
        ("水", {"水"}),
        ("ที่นี่", {"ที", "ี่", "่น", "นี"}),
        ("v2用户beta", {"v2", "用户", "beta"}),
        ("Προφίλ", {"προφίλ"}),
        ("ｶﾀｶﾅ", {"カタ", "タカ", "カナ"}),
        ("→ !!! 🙂", set()),
        ("the of and", set()),
    ],
)
def test_tokens_of_scripts(text: str, expected: set[str]) -> None:
    assert tokens(text) == expected


def test_a_word_is_one_token_whether_its_accents_are_composed_or_not() -> None:
    assert tokens("cafe\u0301 au lait") == tokens("caf\u00e9 au lait")


def test_no_token_is_invented_from_half_a_word() -> None:
    assert tokens("A migração usa filas") & tokens("A criação usa filas") == {"usa", "filas"}


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text())
def test_every_text_resembles_itself_wholly(text: str) -> None:
    assert jaccard(features(text), features(text)) == 1.0


def test_texts_without_tokens_are_alike_only_when_equal() -> None:
    assert jaccard(features("→"), features(" → ")) == 1.0
    assert jaccard(features("→"), features("←")) == 0.0
    assert jaccard(features("!!!"), features("three marks")) == 0.0


def test_similarity_is_the_shared_part_of_all_tokens() -> None:
    assert jaccard(tokens("red green blue"), tokens("red green grey")) == 0.5


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "found no text"),
        (" \n\t ", "found no text"),
        ("\u200b\ufeff\u00ad", "found no text"),
        ("\x01\x7f", "found no text"),
        ("tabs\0spaces", "NUL"),
        ("half \ud800 of it", "surrogate"),
        ("é" * 33, "found 66 bytes, expected at most 64"),
    ],
)
def test_content_that_cannot_be_kept_is_refused_by_name(content: str, problem: str) -> None:
    with pytest.raises(InvalidParams, match=f"^content: .*{problem}"):
        check_content(content, max_bytes=64)


@pytest.mark.parametrize("size", [63, 64])
def test_content_up_to_the_limit_is_kept(size: int) -> None:
    check_content("x" * size, max_bytes=64)


def test_the_limit_counts_bytes_not_characters() -> None:
    check_content("🙂" * 16, max_bytes=64)
    with pytest.raises(InvalidParams, match="68 bytes"):
        check_content("🙂" * 17, max_bytes=64)
