"""The textbook's reading of texts: words, likeness, references, the injected block.

Two things it takes from elsewhere, since they have tests of their own: the stemmer, and
the guard that tells look-alikes apart.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

import snowballstemmer  # type: ignore[import-untyped]  # ships no types

from milkd import wordlists
from milkd.engine import distinctness
from milkd.errors import Ambiguous, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from milkd.engine.params import Params

STOP_LIST = (
    "a an and are as at be been but by do for from has have he her his i if in is it its me my no"
    " not of on or our out so that the their them then there they this to up us was we when which"
    " who will with you your"
)
UNSPACED = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
"""What the Unicode names of characters begin with that are written without spaces."""


LEXICON = wordlists.load()


class Stated(Protocol):
    """Anything with an id and words."""

    id: str
    content: str


S = TypeVar("S", bound=Stated)


def casefold(text: str) -> str:
    """What is compared instead of a text."""
    return unicodedata.normalize("NFKC", text).casefold()


@cache
def tokens(text: str, *, unicode_text: bool = True) -> frozenset[str]:
    """The words of a text; two neighbouring characters where a script has no spaces."""
    if not unicode_text:
        return frozenset(re.findall("[a-z0-9]+", text.lower())).difference(STOP_LIST.split())
    found: set[str] = set()
    for unspaced, run in runs(casefold(text)):
        if unspaced and len(run) > 1:
            found |= {a + b for a, b in pairwise(run)}
        else:
            found.add(run)
    return frozenset(found.difference(STOP_LIST.split()))


def runs(text: str) -> Iterator[tuple[bool, str]]:
    """The runs of letters, digits and their marks, each of one manner of writing."""
    run, manner = "", False
    for character in text + " ":
        kind = unicodedata.category(character)[0]
        unspaced = unicodedata.name(character, "").startswith(UNSPACED)
        mark = kind == "M" and not unspaced
        belongs = kind in "LN" or (kind == "M" and unspaced) or (mark and run != "")
        if run and not (belongs and (mark or unspaced == manner)):
            yield manner, run
            run = ""
        if belongs:
            manner = manner if run else unspaced
            run += character


def similarity(one: str, other: str, *, unicode_text: bool = True) -> float:
    """Jaccard of the token sets; texts without tokens are alike when they are the same."""
    a, b = tokens(one, unicode_text=unicode_text), tokens(other, unicode_text=unicode_text)
    if a or b:
        return len(a & b) / len(a | b)
    return float(casefold(one).strip() == casefold(other).strip())


@cache
def stem(language: str, word: str) -> str:
    """One of the forms of a word for all."""
    if language == "none":
        return word
    return str(snowballstemmer.stemmer(language).stemWord(word))


def terms(texts: Iterable[str], params: Params) -> frozenset[str]:
    """The stems of texts: what recall compares."""
    words = {word for text in texts for word in tokens(text, unicode_text=params.unicode_text)}
    return frozenset(stem(params.stemmer, word) for word in words)


@cache
def marks(text: str, *, unicode_text: bool) -> distinctness.Marks:
    return distinctness.marks(text, LEXICON, ascii_only=not unicode_text)


def apart(one: str, other: str, params: Params) -> bool:
    """Whether the guard takes two texts for two facts, however alike they are."""
    return distinctness.apart(
        marks(one, unicode_text=params.unicode_text),
        marks(other, unicode_text=params.unicode_text),
        params.distinctness_guard,
        lambda word: stem(params.stemmer, word),
    )


def hits(text: str, contents: Sequence[str], params: Params) -> frozenset[str]:
    """The different words of a text, in any form, that are in one of the contents."""
    words = terms([text], params)
    if words or not text.strip():
        return words & terms(contents, params)
    sign = casefold(text).strip()
    within = any(sign in casefold(content) for content in contents)
    return frozenset([sign] if within else [])


def meant(ref: str, facts: Sequence[tuple[str, S]]) -> list[tuple[str, S]]:
    """By id or its beginning; else by the same text; else by a part of the text."""
    prefix, text = ref.removeprefix("#"), ref.strip().casefold()
    by_id: list[tuple[str, S]] = []
    if len(prefix) >= 4 and set(prefix) <= set("0123456789abcdef-"):
        by_id = [pair for pair in facts if pair[1].id.startswith(prefix)]
    same = [pair for pair in facts if pair[1].content.strip().casefold() == text]
    return by_id or same or [pair for pair in facts if text in pair[1].content.casefold()]


def only(ref: str, found: Sequence[tuple[str, S]]) -> tuple[str, S]:
    """The one that a reference means."""
    if len(found) > 1:
        raise Ambiguous(f"{ref} means several", tuple(fact.id for _, fact in found))
    if not found:
        raise NotFound(f"nothing is meant by {ref}")
    return found[0]


def block(lines: Sequence[str]) -> str:
    """The text that is put before a prompt: a line a fact, and none of them a label."""
    return "\n".join(["[Remembered facts]", *lines, "[End of remembered facts]"]) + "\n"


def line(content: str) -> str:
    """A fact on one line, without control characters."""
    shown = [" " if unicodedata.category(c) in ("Cc", "Cf") else c for c in content]
    return " ".join("".join(shown).split())
