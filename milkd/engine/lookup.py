"""The ways to find a scope's rows by text: duplicates by token, recall by term."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.index import TokenIndex

if TYPE_CHECKING:
    from milkd.engine.analysis import Analyzer
    from milkd.engine.marks import Marks
    from milkd.engine.percept import Percept


class Lookup:
    """Both indexes of one scope, and what the distinctness guard needs of its rows."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.tokens = TokenIndex()
        """Content alone, so that likeness never chains from wording to wording."""
        self.terms = TokenIndex()
        """Content, wordings and subject."""
        self._marks: dict[int, Marks] = {}

    def file(self, slot: int, percept: Percept) -> None:
        """Enter a row, instead of what it was entered under before."""
        self.tokens.add(slot, self.analyzer.features(percept.content))
        self.terms.add(slot, self.analyzer.percept_terms(percept))
        self._marks.pop(slot, None)

    def remove(self, slot: int) -> None:
        """Take a row out."""
        self.tokens.remove(slot)
        self.terms.remove(slot)
        self._marks.pop(slot, None)

    def marks(self, slot: int, content: str) -> Marks:
        """The marks of a row's content, worked out once."""
        found = self._marks.get(slot)
        if found is None:
            found = self._marks[slot] = self.analyzer.marks(content)
        return found
