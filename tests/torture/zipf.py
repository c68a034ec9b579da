"""Facts that look like those of people: few words are frequent, and most are rare.

Words are drawn by the law of Zipf and Mandelbrot, p(rank) ~ 1 / (rank + 2.7).  The same
seed gives the same facts.
"""

from __future__ import annotations

import random
from itertools import accumulate, product

WORDS = 20_000
OFFSET = 2.7
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


def made_up_words(count: int = WORDS) -> list[str]:
    """Distinct words that can be pronounced, of four or six letters; at most `WORDS`."""
    syllables = ["".join(parts) for parts in product(_CONSONANTS, _VOWELS)]
    short = ["".join(parts) for parts in product(syllables, repeat=2)]
    long = ["".join(parts) for parts in product(syllables, repeat=3)]
    draw = random.Random(3)
    return draw.sample(short + draw.sample(long, WORDS), count)


class Facts:
    """Draws facts of 7 to 13 distinct words, ten on average."""

    def __init__(self, seed: int, words: int = WORDS) -> None:
        self._random = random.Random(seed)
        self.words = made_up_words(words)
        self._shares = list(accumulate(1 / (rank + OFFSET) for rank in range(1, words + 1)))

    def drawn(self, count: int) -> list[str]:
        """Distinct words."""
        found: dict[str, None] = {}
        while len(found) < count:
            more = self._random.choices(self.words, cum_weights=self._shares, k=count - len(found))
            found |= dict.fromkeys(more)
        return list(found)

    def fresh(self) -> str:
        """A fact that says something new."""
        return sentence(self.drawn(self._random.randint(7, 13)))

    def restated(self, fact: str) -> str:
        """The same fact with one word more and, if it is long, one less."""
        words = fact.rstrip(".").lower().split()
        if len(words) > 8:
            words.pop(self._random.randrange(len(words)))
        return sentence([*words, *self.drawn(1)])

    def frequent(self, count: int) -> str:
        """Some of the fifty most frequent words."""
        return " ".join(self._random.sample(self.words[:50], count))

    def about(self, fact: str, count: int) -> str:
        """Words of which two are any, the others from a fact."""
        words = fact.rstrip(".").lower().split()
        return " ".join([*self._random.sample(words, count - 2), *self.drawn(2)])


def sentence(words: list[str]) -> str:
    """The words as a text."""
    return f"{' '.join(words).capitalize()}."
