"""The textbook's reading of texts: words, likeness, references, the injected block."""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

from milkd.errors import Ambiguous, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STOP_LIST = (
    "a an and are as at be been but by do for from has have he her his i if in is it its me my no"
    " not of on or our out so that the their them then there they this to up us was we when which"
    " who will with you your"
)
UNSPACED = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
"""What the Unicode names of characters begin with that are written without spaces."""


class Stated(Protocol):
    """Anything with an id and words."""

    id: str
    content: str


S = TypeVar("S", bound=Stated)


def casefold(text: str) -> str:
    """What is compared instead of a text."""
    return unicodedata.normalize("NFKC", text).casefold()


@cache
def tokens(text: str) -> frozenset[str]:
    """The words of a text; two neighbouring characters where a script has no spaces."""
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


def similarity(one: str, other: str) -> float:
    """Jaccard of the token sets; texts without tokens are alike when they are the same."""
    a, b = tokens(one), tokens(other)
    if a or b:
        return len(a & b) / len(a | b)
    return float(casefold(one) == casefold(other))


def hits(text: str, content: str) -> int:
    """How many different words of the text are in the content."""
    words = tokens(text)
    if words or not text.strip():
        return len(words & tokens(content))
    return int(casefold(text).strip() in casefold(content))


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


def block(contents: Sequence[str]) -> str:
    """The text that is put before a prompt: a line a fact, and none of them a label."""
    lines = ["[Remembered facts]", *("- " + line(content) for content in contents)]
    return "\n".join([*lines, "[End of remembered facts]"]) + "\n"


def line(content: str) -> str:
    """A fact on one line, without control characters."""
    shown = [" " if unicodedata.category(c) in ("Cc", "Cf") else c for c in content]
    return " ".join("".join(shown).split())
