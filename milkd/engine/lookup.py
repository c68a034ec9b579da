"""The ways to find a scope's rows by text: duplicates by token, recall by term."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.kernels import TokenIndex

if TYPE_CHECKING:
    from milkd.engine.analysis import Analyzer
    from milkd.engine.marks import Marks
    from milkd.engine.percept import Percept


class Lookup:
    """Both indexes of one scope, and what the distinctness guard needs of its rows.

    Attributes:
        tokens: By content alone, so that likeness never chains from wording to wording.
        terms: By content, wordings and subject; the same one where both would hold the same.
        known_marks: By row, where they were worked out already.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.tokens = TokenIndex(analyzer.vocabulary)
        self.terms = self.tokens if analyzer.is_literal else TokenIndex(analyzer.vocabulary)
        self.known_marks: dict[int, Marks] = {}

    def file(self, slot: int, percept: Percept) -> None:
        """Enter a row, instead of what it was entered under before."""
        vocabulary = self.analyzer.vocabulary
        self.tokens.add(slot, vocabulary.features(percept.content))
        if self.terms is not self.tokens:
            self.terms.add(slot, vocabulary.terms(self.analyzer.searched(percept)))
        self.known_marks.pop(slot, None)

    def remove(self, slot: int) -> None:
        """Take a row out."""
        self.tokens.remove(slot)
        self.terms.remove(slot)
        self.known_marks.pop(slot, None)

    def marks(self, slot: int, content: str) -> Marks:
        """The marks of a row's content, worked out once."""
        found = self.known_marks.get(slot)
        if found is None:
            found = self.known_marks[slot] = self.analyzer.marks(content)
        return found
