"""How the textbook judges one fact: how like another, how strong, how it ranks, how it reads.

Where a threshold was decided within rounding error, `doubtful` is set: two right
implementations may then differ.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from textbook_shelf import ARCHIVE, DAY, EPOCH, GLOBAL, Fact, Shelf
from textbook_text import apart, line, similarity, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from milkd.engine import commands as ask
    from milkd.engine.params import Params

CLOSE = 1e-9  # weights as near to a threshold as this may fall on either side of it


def power(exponent: float) -> float:
    return float(2.0 ** max(-1000.0, min(1000.0, exponent)))


class Judging(Shelf):
    """The rules by which facts are compared."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self.doubtful = False
        self.rounded: set[Fact] = set()  # facts whose weight a power of two went into

    # Likeness

    def nearest(
        self, text: str, among: Iterable[tuple[str, Fact]], *, rejected: bool = False
    ) -> tuple[float, str, Fact | None]:
        """The fact that a text restates: the most alike, and of such the first.

        Or else, of those that the guard takes for another fact, the one that looks most like it.
        """
        best: tuple[float, str, Fact | None] = (0.0, GLOBAL, None)
        for name, fact in among:
            alike = self.likeness(text, fact.content)
            enough = alike >= self.params.duplicate_threshold and alike > best[0]
            if enough and apart(text, fact.content, self.params) == rejected:
                best = (alike, name, fact)
        return best

    def likeness(self, one: str, other: str) -> float:
        return similarity(one, other, unicode_text=self.params.unicode_text)

    def words(self, *texts: str) -> set[str]:
        found = [tokens(text, unicode_text=self.params.unicode_text) for text in texts]
        return {word for words in found for word in words}

    def keep_wording(self, fact: Fact, text: str, at: float) -> None:
        """The latest few that have words of their own."""
        if self.params.wordings and self.words(text) - self.words(fact.content):
            others = [worded for worded in fact.wordings if worded[0] != text]
            fact.wordings = [*others, (text, at)][-self.params.wordings :]

    def line(self, fact: Fact) -> str:
        """As it is put before a prompt, with the latest wording that adds a word."""
        shown = "- " + line(fact.content)
        since = fact.content_at
        later = [text for text, at in fact.wordings if since is None or at > since]
        own = [text for text in later if self.words(text) - self.words(fact.content)]
        return f"{shown} (later stated: {line(own[-1])})" if own and self.params.wordings else shown

    # Strength and score

    def strength(self, scope: str, fact: Fact, now: ask.Now) -> float:
        """ADR-90, "Decay": one exponential since the fact's own last touch."""
        elapsed = 0.0 if scope == ARCHIVE else min(DAY, now.running[scope] - fact.at)
        floor, days = 0.0, self.params.session_half_life_days
        if scope == GLOBAL:
            floor, days = self.params.prune_threshold, self.params.global_half_life_days
        if fact.core or elapsed == 0.0 or fact.w <= floor:
            return fact.w
        self.rounded.add(fact)
        return float(floor + (fact.w - floor) * 2.0 ** (-elapsed / (days * DAY)))

    def score(self, fact: Fact, wall: float) -> float:
        """ADR-90, "Weighing": rank_score, with ages in whole days if so wanted."""
        half_life = self.params.recency_half_life_days * DAY
        updated_at, wall = self.day(min(fact.updated_at, wall)), self.day(wall)
        u = power((updated_at - EPOCH) / half_life)
        c = self.params.recency_boost * power((EPOCH - wall) / half_life)
        return fact.w * (1 + 0.05 * min(fact.evidence, 4)) * (1 + c * u)

    def day(self, wall: float) -> float:
        """When the day of a moment began, by the unit in which ages are counted."""
        unit = self.params.recency_unit_days * DAY
        return EPOCH + (wall - EPOCH) // unit * unit if unit else wall

    def order_score(self, fact: Fact, wall: float) -> float:
        """The rank_score, and how useful the fact has proved."""
        importance = 0.5 if fact.importance is None else fact.importance
        useful = 1 + self.params.importance_weight * (importance - 0.5)
        return self.score(fact, wall) * useful

    def ranked(self, facts: Iterable[Fact], key: Callable[[Fact], float]) -> list[Fact]:
        """The highest first, equal ones as they came."""
        keys = {fact: key(fact) for fact in facts}
        order = sorted(keys, key=lambda fact: -keys[fact])
        for one, next_one in pairwise(order):
            gap = keys[one] - keys[next_one]
            self.doubtful |= 0 < gap < 1e-12 * keys[one]
        return order

    def reaches(self, fact: Fact, threshold: float) -> bool:
        self.doubtful |= fact in self.rounded and abs(fact.w - threshold) < CLOSE
        return fact.w >= threshold

    def be_sure(self) -> None:
        """Take all weights for exact from here on."""
        self.doubtful = False
        self.rounded.clear()
