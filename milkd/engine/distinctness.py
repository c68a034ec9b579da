"""Whether two texts that share most of their words are two facts nevertheless.

Similarity counts words, and "allowed" and "not allowed" share all that count.  The guard
looks at what turns one fact into another: numbers, identifiers, negations, opposites.  A
side that only adds to the other restates it.

It compares marks, which are taken of a text once; a comparison is a few set operations,
since thousands of look-alikes of one template may have to be told apart.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from milkd.engine.differences import differs
from milkd.engine.literals import literals
from milkd.engine.marks import (
    Marks,
    marks,
    own_identifiers,
    own_named,
    own_numbers,
    own_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["LEVELS", "OFF", "VALUES", "WORDS", "Marks", "apart", "differs", "distinct", "marks"]

OFF, VALUES, WORDS = LEVELS = ("off", "values", "words")
"""How much the guard looks at: nothing, what is said above, or every word of substance."""

SHOWN = 3
"""Tokens that a reason names on either side, at most."""


def apart(new: Marks, known: Marks, level: str, stem: Callable[[str], str] = str) -> bool:
    """Whether the guard objects to taking one text for a restatement of the other.

    The same either way round.  `distinct` says why, and takes longer.

    Args:
        new: The marks of one text.
        known: The marks of the other, by the same lexicon.
        level: One of `LEVELS`.
        stem: Makes one of the forms of a word; for the level `words`.
    """
    if level == OFF:
        return False
    return (
        numbers_differ(new, known)
        or identifiers_differ(new, known)
        or polarity_differs(new, known)
        or (level == WORDS and words_differ(new, known, stem))
    )


def distinct(new: Marks, known: Marks, level: str, stem: Callable[[str], str] = str) -> str | None:
    """Why the guard objects, for people to read, the new words first; None if it does not."""
    if not apart(new, known, level, stem):
        return None
    if numbers_differ(new, known):
        own = own_numbers if own_numbers(new, known) and own_numbers(known, new) else own_named
        return (
            f"numbers differ: {_spoken(own(new, known), new)} / {_spoken(own(known, new), known)}"
        )
    if identifiers_differ(new, known):
        mine, theirs = own_identifiers(new, known), own_identifiers(known, new)
        return f"identifiers differ: {_spoken(mine, new)} / {_spoken(theirs, known)}"
    if polarity_differs(new, known):
        return _polarity_reason(new, known)
    mine, theirs = own_words(new, known, stem), own_words(known, new, stem)
    return f"words differ: {_listed(mine)} / {_listed(theirs)}"


def numbers_differ(one: Marks, other: Marks) -> bool:
    """Each side has a number that the other lacks.

    A spelled number is read where it stands against another one ("six feet", "5 feet"); by
    itself it is a word.  The name in front of a number tells only if the other side doesn't
    mention it: "ubuntu-22.04" is "Ubuntu 22.04", "node-20" is not "python-20".
    """
    if one.polarity.spelled == other.polarity.spelled:
        if _crossed(one.numbers, other.numbers):
            return True
    elif own_numbers(one, other) and own_numbers(other, one):
        return True
    return _crossed(one.named, other.named) and bool(
        own_named(one, other) and own_named(other, one)
    )


def identifiers_differ(one: Marks, other: Marks) -> bool:
    """Each side has an identifier that the other lacks."""
    return _crossed(one.identifiers, other.identifiers) and bool(
        own_identifiers(one, other) and own_identifiers(other, one)
    )


def polarity_differs(one: Marks, other: Marks) -> bool:
    """One denies what the other states, or they stand on opposite sides.

    A negation and an opposite together make no difference: "not disabled" is "enabled".
    """
    here, there = one.polarity, other.polarity
    if here is there:
        return False
    opposed = _opposed(here.poles, there.poles) if here.poles and there.poles else []
    if not _denied(one, other):
        return bool(opposed) or _turned(one, other)
    return not opposed or bool(_opposed(here.meant, there.meant))


def words_differ(one: Marks, other: Marks, stem: Callable[[str], str]) -> bool:
    """Each side has a word of substance that the other lacks in any form."""
    return _crossed(one.tokens, other.tokens) and bool(
        own_words(one, other, stem) and own_words(other, one, stem)
    )


def _crossed(one: frozenset[str], other: frozenset[str]) -> bool:
    return not (one <= other or other <= one)


def _denied(one: Marks, other: Marks) -> bool:
    """One side has more negations, and they aren't made up for.

    A contrast on the other side makes up for one: "flat output over JSON" is "flat output not
    JSON".  And a phrase that is only added may deny what the other side doesn't mention: "use
    tabs" is restated by "use tabs, not spaces".
    """
    if len(one.polarity.denials) < len(other.polarity.denials):
        one, other = other, one
    more = len(one.polarity.denials) - len(other.polarity.denials)
    if more == 0 or other.polarity.contrasts > one.polarity.contrasts:
        return False
    added = sum(word not in other.tokens for word in one.polarity.afterthoughts)
    return more > added or not other.tokens <= one.tokens


def _turned(one: Marks, other: Marks) -> bool:
    """Each side puts last what the other prefers: "tabs over spaces", "spaces, not tabs"."""
    here, there = one.polarity.against, other.polarity.against
    return not ((here - there).isdisjoint(other.tokens) or (there - here).isdisjoint(one.tokens))


def _opposed(one: Collection[int], other: Collection[int]) -> list[int]:
    """The poles of one that have their opposite in their place on the other side."""
    return [pole for pole in one if -pole in other and pole not in other and -pole not in one]


def _polarity_reason(new: Marks, known: Marks) -> str:
    here, there = new.polarity, known.polarity
    if len(here.denials) != len(there.denials):
        more, less = (here, there) if len(here.denials) > len(there.denials) else (there, here)
        return f"negated: {_listed(Counter(more.denials) - Counter(less.denials))}"
    if opposed := _opposed(here.poles, there.poles):
        mine = {here.poles[pole] for pole in opposed}
        theirs = {there.poles[-pole] for pole in opposed}
        return f"opposites: {_listed(mine)} / {_listed(theirs)}"
    last = _listed((here.against - there.against) & known.tokens)
    last_there = _listed((there.against - here.against) & new.tokens)
    return f"the other way round: not {last} / not {last_there}"


def _spoken(found: Iterable[str], where: Marks) -> str:
    """Numbers and identifiers as the text has them."""
    read = literals(where.text)
    forms: Mapping[str, str] = {
        **where.polarity.spelled,
        **read.numbers,
        **read.named,
        **read.identifiers,
    }
    return _listed(forms.get(token, token) for token in found)


def _listed(words: Iterable[str]) -> str:
    ordered = sorted(words)
    return ", ".join(ordered[:SHOWN]) + (", …" if len(ordered) > SHOWN else "")
