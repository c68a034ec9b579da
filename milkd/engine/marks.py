"""What the distinctness guard needs to know of a text, and what one text has and another lacks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.engine.literals import literals, name_before
from milkd.engine.polarity import polarity
from milkd.engine.text import tokens as tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.engine.lexicon import Lexicon
    from milkd.engine.polarity import Polarity

_DIGITS = re.compile(r"\d+")
_AMOUNT = re.compile(r"\d[\d.]*")


@dataclass(slots=True, eq=False)
class Marks:
    """Taken of a text once, compared often; never changed."""

    text: str
    numbers: frozenset[str]
    """As in `Literals`, like the next two."""
    named: frozenset[str]
    identifiers: frozenset[str]
    polarity: Polarity
    ascii_only: bool = False
    """How tokens are read: see `text.tokens`."""
    _tokens: frozenset[str] | None = None

    @property
    def tokens(self) -> frozenset[str]:
        """The distinct tokens; read when first asked for, since most pairs are told without."""
        if self._tokens is None:
            self._tokens = tokens_of(self.text, ascii_only=self.ascii_only)
        return self._tokens


def marks(
    text: str,
    lexicon: Lexicon,
    *,
    ascii_only: bool = False,
    known: dict[str, Polarity] | None = None,
) -> Marks:
    """Take the marks of a text.

    Args:
        text: As it was stated.
        lexicon: What denies and what is opposed.
        ascii_only: Whether tokens are milk's own, as in `text.tokens`.
        known: Polarities taken before, by the text with its digits levelled: in thousands of
            reports of one template only the numbers differ.
    """
    found = literals(text)
    shape = _DIGITS.sub("0", text)
    turned = None if known is None else known.get(shape)
    if turned is None:
        turned = polarity(shape, lexicon)
        if known is not None:
            known[shape] = turned
    return Marks(
        text=text,
        numbers=frozenset(found.numbers),
        named=frozenset(found.named),
        identifiers=frozenset(found.identifiers),
        polarity=turned,
        ascii_only=ascii_only,
    )


def own_numbers(one: Marks, other: Marks) -> set[str]:
    """The numbers of one that the other lacks, in digits; "six feet" has the six of "6 ft"."""
    spelled, there = one.polarity.spelled.keys(), other.polarity.spelled.keys()
    if spelled == there:
        return set(one.numbers - other.numbers)
    own = {number for number in one.numbers - other.numbers if _amount(number) not in there}
    return own | (spelled - there - set(map(_amount, other.numbers)))


def own_named(one: Marks, other: Marks) -> set[str]:
    """The numbers of one whose name the other does not mention: "node-20", not "Node 20"."""
    return {
        number
        for number in one.named - other.named
        if not tokens_of(name_before(number)) <= other.tokens
    }


def own_identifiers(one: Marks, other: Marks) -> set[str]:
    """The identifiers of one that the other lacks.

    One that is written as a plain word there is not lacking ("GitHub", "github"), nor is a
    file that is named with its folder there.  The letter of "C++" is no plain word.
    """
    letters = {name.rstrip("+#") for name in other.identifiers if name[-1] in "+#"}
    return {
        name
        for name in one.identifiers - other.identifiers - (other.tokens - letters)
        if not any(longer.endswith("/" + name) for longer in other.identifiers)
    }


def own_words(one: Marks, other: Marks, stem: Callable[[str], str]) -> set[str]:
    """The words of substance that one has and the other lacks in any form."""
    there = set(map(stem, other.tokens))
    return {word for word in one.tokens - other.tokens if stem(word) not in there}


def _amount(number: str) -> str:
    """A number without its unit."""
    match = _AMOUNT.match(number)
    return match[0] if match else number
