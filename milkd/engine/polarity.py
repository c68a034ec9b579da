"""What a text denies, where it stands between opposites, and which numbers it spells out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.engine.lexicon import AGREEING, CONTRAST, JOINS, NEGATION, NUMBERS, OPPOSITES
from milkd.engine.text import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.engine.lexicon import Found, Lexicon

REACH = 3
"""Words from a negation to an opposite that it still turns: "not yet been enabled"."""


@dataclass(frozen=True, slots=True)
class Polarity:
    """What the words of a lexicon say in one text."""

    denials: tuple[str, ...] = ()
    """The negations that stand, in order; one that undoes another is gone with it."""
    contrasts: int = 0
    """How often one thing is put before another."""
    against: frozenset[str] = frozenset()
    """What is denied or put last: the words of substance from there to the end of the clause."""
    afterthoughts: tuple[str, ...] = ()
    """The first of them in a phrase that only follows: "spaces" in "use tabs, not spaces"."""
    poles: Mapping[int, str] = field(default_factory=dict)
    """k or -k for the words of a pair that exclude each other, each with its word."""
    meant: frozenset[int] = frozenset()
    """The poles after negation: who says "not disabled" means enabled."""
    spelled: Mapping[str, str] = field(default_factory=dict)
    """The numbers written as words: each in digits, with its word."""


NEUTRAL = Polarity()


def polarity(text: str, lexicon: Lexicon) -> Polarity:
    """Read what a text denies and opposes, in the words of a lexicon.

    Negations count by the clause.  In a clause a second one undoes the first ("not without"),
    unless the language makes them agree ("nunca … nada").
    """
    pieces = lexicon.pieces(text)
    if not pieces:
        return NEUTRAL
    reading = _Reading(pieces)
    for found in lexicon.find(pieces):
        sections = {section for section, _ in found.meanings}
        if JOINS in sections:
            reading.end_clause(found.start, found.end)
        if OPPOSITES in sections or NUMBERS in sections:
            reading.take_values(found)
        if CONTRAST in sections:
            reading.contrast(found)
        if NEGATION in sections or AGREEING in sections:
            reading.deny(found, agreeing=NEGATION not in sections)
    return reading.result()


class _Clause:
    """The negations of one clause, as they come."""

    def __init__(self, start: int, text_end: int) -> None:
        self.start = start
        self.last = text_end
        """Where it begins to name what is put last, if it does."""
        self.standing: Found | None = None
        self._latest: Found | None = None
        self._all_agree = True

    def deny(self, found: Found, *, agreeing: bool) -> None:
        """Take the next negation: it denies, agrees with those before, or undoes one."""
        if self._latest is None:
            self.standing = found
        elif not agreeing and not self._all_agree:
            self.standing = None if self.standing else found
        self._all_agree &= agreeing
        self._latest = found

    def reaches(self, place: int) -> bool:
        """Whether a word at that place is turned by the negation before it."""
        if self.standing is None or self._latest is None:
            return False
        return place - self._latest.end < REACH


class _Reading:
    """What was found in a text so far."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.clause = _Clause(0, len(pieces))
        self.negations: set[int] = set()
        self.denials: list[str] = []
        self.contrasts = 0
        self.against: set[str] = set()
        self.afterthoughts: list[str] = []
        self.poles: dict[int, str] = {}
        self.meant: set[int] = set()
        self.numbers: list[tuple[Found, int]] = []

    def contrast(self, found: Found) -> None:
        self.contrasts += 1
        self.clause.last = min(self.clause.last, found.end)

    def deny(self, found: Found, *, agreeing: bool) -> None:
        self.clause.deny(found, agreeing=agreeing)
        self.negations.update(range(found.start, found.end))

    def take_values(self, found: Found) -> None:
        for section, value in found.meanings:
            if section == OPPOSITES:
                self.poles[value] = found.word
                self.meant.add(-value if self.clause.reaches(found.start) else value)
            elif section == NUMBERS:
                self.numbers.append((found, value))

    def end_clause(self, end: int, next_start: int) -> None:
        """Keep what the clause denies or puts last, and begin the next one."""
        standing, last = self.clause.standing, self.clause.last
        if standing:
            self.denials.append(standing.word)
            last = min(last, standing.end)
        behind = [
            self.pieces[place]
            for place in range(last, end)
            if place not in self.negations and self.pieces[place] not in STOP_WORDS
        ]
        self.against.update(behind)
        if standing and behind and standing.start == self.clause.start > 0:
            self.afterthoughts.append(behind[0])
        self.clause = _Clause(next_start, len(self.pieces))

    def spelled(self) -> dict[str, str]:
        """The numbers of one word; several in a row make one that is not read ("two hundred")."""
        starts = {found.start for found, _ in self.numbers}
        ends = {found.end for found, _ in self.numbers}
        return {
            str(value): found.word
            for found, value in self.numbers
            if found.end not in starts and found.start not in ends
        }

    def result(self) -> Polarity:
        end = len(self.pieces)
        self.end_clause(end, end)
        if not (self.denials or self.contrasts or self.poles or self.numbers):
            return NEUTRAL
        return Polarity(
            denials=tuple(self.denials),
            contrasts=self.contrasts,
            against=frozenset(self.against),
            afterthoughts=tuple(self.afterthoughts),
            poles=self.poles,
            meant=frozenset(self.meant),
            spelled=self.spelled(),
        )
