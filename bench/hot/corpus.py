"""Facts that nobody stated, from a seed: words by Zipf's law, some facts like earlier ones.

A fact has 6–14 words and some stop words.  One in ten is nearly an earlier one (Jaccard at
least 0.60), one in twenty holds a word beyond ASCII.  The first facts of a larger corpus are
those of a smaller one, so that what grows with the size is only the size.
"""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass, field
from itertools import accumulate

from milkd.engine.text import STOP_WORDS

SEED = 20_261_201
ALIKE = 0.60
"""The least similarity at which two facts count as one (knob `duplicate_threshold`)."""
DAY_S = 86_400.0
NOW = 1_790_000_000.0
"""The moment at which all questions are asked."""
_ONSETS = (
    "b", "br", "d", "dr", "f", "g", "gl", "h", "j", "k", "kr", "l", "m", "n", "p", "pl", "r",
    "s", "sk", "st", "t", "tr", "v", "w", "z",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "io", "ou")
_ENDS = ("", "", "l", "m", "n", "nd", "r", "rk", "s", "st", "t", "x")
_FILLERS = ("the", "of", "in", "is", "to", "and", "on", "with", "for", "by", "are", "at")
_FOREIGN = (
    "Žluťoučký", "größer", "naïveté", "čaj", "Łąka", "žirafa", "señal", "Ωμέγα", "вопрос",
    "память", "検索", "검색", "記憶", "🦊",
)  # fmt: skip


@dataclass(frozen=True)
class Profile:
    """How words are distributed: that of rank r in proportion to (r + 2.7) ** -exponent."""

    name: str
    words: int
    exponent: float


ZIPF = Profile("zipf", 20_000, 1.0)
DENSE = Profile("dense", 300, 0.5)
"""No word is rare: what an index likes least."""
PROFILES = {profile.name: profile for profile in (ZIPF, DENSE)}


@dataclass
class Corpus:
    """The first facts of a profile, with their numbers."""

    profile: Profile
    texts: list[str]
    w: array[float] = field(default_factory=lambda: array("d"))
    """Strengths from 0.2 to 1."""
    updated_at: array[float] = field(default_factory=lambda: array("d"))
    evidence: array[int] = field(default_factory=lambda: array("I"))

    def __len__(self) -> int:
        return len(self.texts)

    def first(self, count: int) -> Corpus:
        """A smaller corpus."""
        columns = (self.w[:count], self.updated_at[:count], self.evidence[:count])
        return Corpus(self.profile, self.texts[:count], *columns)

    @property
    def name(self) -> str:
        """What figures of this corpus are called by."""
        return f"{self.profile.name} {len(self)}"


@dataclass(frozen=True)
class Questions:
    """What is asked of a corpus; each list is in no order."""

    match: list[str]
    """Texts that are nearly one of the facts."""
    novel: list[str]
    """Texts like the facts, drawn anew."""
    mixed: list[str]
    """3–8 words, most of them of one fact."""
    frequent: list[str]
    """3–8 of the 50 commonest words."""
    rare: list[str]
    """3–8 words that are not among the commonest tenth."""


def corpus(profile: Profile, count: int) -> Corpus:
    """The first so many facts of a profile."""
    writer = _Writer(profile, f"{SEED}/{profile.name}/facts")
    made = Corpus(profile, writer.facts(count))
    chance = random.Random(f"{SEED}/{profile.name}/numbers")
    for _ in range(count):
        made.w.append(0.2 + 0.8 * chance.betavariate(3.0, 2.0))
        made.updated_at.append(NOW - chance.expovariate(1.0 / 30.0) * DAY_S)
        made.evidence.append(min(6, int(chance.expovariate(1.2))))
    return made


def questions(facts: Corpus, count: int) -> Questions:
    """So many questions of each kind."""
    writer = _Writer(facts.profile, f"{SEED}/{facts.name}/questions")
    chance, ranked = writer.chance, writer.words
    asked = Questions([], [], [], [], [])
    asked.novel.extend(writer.fresh() for _ in range(count))
    for _ in range(count):
        asked.match.append(writer.varied(chance.choice(facts.texts)))
        size = chance.randint(3, 8)
        known = _content(chance.choice(facts.texts))
        chosen = chance.sample(known, min(len(known), max(1, size - 2)))
        while len(chosen) < size:
            chosen.append(writer.word())
        asked.mixed.append(" ".join(chosen))
        asked.frequent.append(" ".join(chance.sample(ranked[:50], size)))
        asked.rare.append(" ".join(chance.sample(ranked[len(ranked) // 10 :], size)))
    return asked


class _Writer:
    """Draws words and makes sentences of them."""

    def __init__(self, profile: Profile, seed: str) -> None:
        self.words = _vocabulary(profile.words)
        weights = ((rank + 2.7) ** -profile.exponent for rank in range(1, profile.words + 1))
        self._totals = list(accumulate(weights))
        self.chance = random.Random(seed)
        self._drawn: list[str] = []

    def facts(self, count: int) -> list[str]:
        texts: list[str] = []
        for _ in range(count):
            if len(texts) > 10 and self.chance.random() < 0.10:
                texts.append(self.varied(texts[int(self.chance.random() * len(texts))]))
            else:
                texts.append(self.fresh())
        return texts

    def word(self) -> str:
        if not self._drawn:
            self._drawn = self.chance.choices(self.words, cum_weights=self._totals, k=10_000)
        return self._drawn.pop()

    def fresh(self) -> str:
        """A fact like no other."""
        size, chosen = 6 + int(self.chance.random() * 9), dict[str, None]()
        while len(chosen) < size:
            chosen[self.word()] = None
        return self._sentence(list(chosen))

    def varied(self, text: str) -> str:
        """A fact that is nearly this one: words changed, left out, added, or none."""
        known = _content(text)
        while True:
            words = known.copy()
            for _ in range(self.chance.choice((0, 1, 1, 2, 2, 3))):
                self._change(words)
            both = len(set(known) & set(words))
            if both >= ALIKE * (len(set(known)) + len(set(words)) - both):
                return self._sentence(words)

    def _change(self, words: list[str]) -> None:
        act, at = self.chance.random(), int(self.chance.random() * len(words))
        if act < 0.35 and len(words) > 3:
            del words[at]
        elif act < 0.65:
            words.insert(at, self.word())
        else:
            words[at] = self.word()

    def _sentence(self, words: list[str]) -> str:
        chance = self.chance.random
        for _ in range(1 + int(chance() * 5)):
            words.insert(int(chance() * len(words)), _FILLERS[int(chance() * len(_FILLERS))])
        if chance() < 0.05:
            words.append(_FOREIGN[int(chance() * len(_FOREIGN))])
        return " ".join(words).capitalize() + "."


def _content(text: str) -> list[str]:
    """The words of a fact in their order, without stop words and foreign ones."""
    words = text.rstrip(".").lower().split()
    return [word for word in words if word.isascii() and word not in _FILLERS]


def _vocabulary(size: int) -> list[str]:
    """Distinct words that can be pronounced, and some numbers; the commonest first."""
    chance, words = random.Random(SEED), dict[str, None]()
    while len(words) < size:
        if chance.random() < 0.03:
            words[str(chance.randrange(10, 99_999))] = None
            continue
        syllables = chance.choice((1, 2, 2, 3, 3))
        parts = [chance.choice(part) for _ in range(syllables) for part in (_ONSETS, _VOWELS)]
        word = "".join(parts) + chance.choice(_ENDS)
        if word not in STOP_WORDS:
            words[word] = None
    return [*words]
