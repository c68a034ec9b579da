"""How texts are read under the knobs in force: tokens, stems, marks.

One analyzer serves all scopes; the rules are in `text.py` and `distinctness.py`, and
what it remembers are stems of words, which repeat.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import snowballstemmer  # type: ignore[import-untyped]  # ships no types

from milkd.engine import text
from milkd.engine.kernels import Vocabulary
from milkd.engine.lexicon import EMPTY
from milkd.engine.marks import marks
from milkd.engine.percept import SUBJECT_ROLE

if TYPE_CHECKING:
    from milkd.engine.lexicon import Lexicon
    from milkd.engine.marks import Marks
    from milkd.engine.params import Params
    from milkd.engine.percept import Percept
    from milkd.engine.polarity import Polarity

MAX_SHAPES = 10_000  # texts remembered without their digits
MAX_STEMS = 65_536  # distinct words remembered, 10 MB; a store of 100,000 facts has some 50,000


class Analyzer:
    """Reads texts; equal knobs read equally.

    Attributes:
        vocabulary: The words of all texts that were filed, for the indexes of all scopes.
    """

    def __init__(self, params: Params, lexicon: Lexicon = EMPTY) -> None:
        self.params = params
        self.lexicon = lexicon
        self._stems: dict[str, str] = {}
        self._polarities: dict[str, Polarity] = {}
        self.vocabulary = Vocabulary(self.tokens, None if params.stemmer == "none" else self.stem)

    def under(self, params: Params) -> Analyzer:
        """An analyzer for other knobs, with what this one has read so far if they read alike."""
        other = Analyzer(params, self.lexicon)
        if self.reads_like(params):
            other.vocabulary = self.vocabulary
        return other

    def reads_like(self, params: Params) -> bool:
        """Whether texts would be read the same under other knobs."""
        mine, theirs = self.params, params
        return (mine.unicode_text, mine.stemmer, mine.hit_fields) == (
            theirs.unicode_text,
            theirs.stemmer,
            theirs.hit_fields,
        )

    @property
    def is_literal(self) -> bool:
        """Whether a percept is found by the tokens of its content and by nothing else."""
        return self.params.stemmer == "none" and self.params.hit_fields == "content"

    def tokens(self, content: str) -> frozenset[str]:
        """The distinct tokens of a text."""
        return text.tokens(content, ascii_only=not self.params.unicode_text)

    def features(self, content: str) -> frozenset[str]:
        """The token set by which duplicates are judged."""
        return text.features(content, ascii_only=not self.params.unicode_text)

    def terms(self, content: str) -> frozenset[str]:
        """The distinct terms by which a text is looked for: its tokens' stems."""
        found = self.tokens(content)
        return found if self.params.stemmer == "none" else frozenset(map(self.stem, found))

    def percept_terms(self, percept: Percept) -> frozenset[str]:
        """The terms under which a percept is found: content, wordings and subject."""
        return frozenset().union(*map(self.terms, self.searched(percept)))

    def searched(self, percept: Percept) -> list[str]:
        """The texts in which a percept is found (knob `hit_fields`)."""
        if self.params.hit_fields == "content":
            return [percept.content]
        subject = percept.roles.get(SUBJECT_ROLE)
        texts = [percept.content, *(wording.content for wording in percept.wordings)]
        return [*texts, subject] if isinstance(subject, str) else texts

    def marks(self, content: str) -> Marks:
        """What the distinctness guard needs of a text."""
        if len(self._polarities) >= MAX_SHAPES:
            self._polarities.clear()
        ascii_only = not self.params.unicode_text
        return marks(content, self.lexicon, ascii_only=ascii_only, known=self._polarities)

    @cached_property
    def _stemmer(self) -> Any:
        return snowballstemmer.stemmer(self.params.stemmer)

    def stem(self, word: str) -> str:
        """The stem of one word."""
        # A number has no stem but itself, and there are too many of them to remember.
        if self.params.stemmer == "none" or (word.isdecimal() and word.isascii()):
            return word
        stem = self._stems.get(word)
        if stem is None:
            if len(self._stems) >= MAX_STEMS:
                self._stems.clear()
            stem = self._stems[word] = self._stemmer.stemWord(word)
        return stem
