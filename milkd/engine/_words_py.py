"""Texts as the indexes see them: the reference for the compiled vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Words:
    """The distinct words of a text, read by one vocabulary."""

    __slots__ = ("_strings", "_vocabulary")

    def __init__(self, strings: frozenset[str], vocabulary: Vocabulary) -> None:
        self._strings = strings
        self._vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self._strings)

    def strings(self) -> frozenset[str]:
        """The words themselves."""
        return self._strings

    def read_by(self, vocabulary: Vocabulary) -> frozenset[str]:
        """The words themselves, for an index of that vocabulary.

        Raises:
            ValueError: Another vocabulary read them.
        """
        if self._vocabulary is not vocabulary:
            raise ValueError("words of another vocabulary than the index has")
        return self._strings


class Vocabulary:
    """Reads texts for the indexes of one memory.

    Args:
        read: Gives the distinct tokens of a text.
        stem: Gives the term of a token, remembering it; None: each is its own.
    """

    def __init__(
        self, read: Callable[[str], frozenset[str]], stem: Callable[[str], str] | None
    ) -> None:
        self._read = read
        self._stem = stem

    def features(self, text: str) -> Words:
        """The words by which duplicates are judged; never none (`text.features`)."""
        return Words(self._read(text) or frozenset({"\0" + fold(text).strip()}), self)

    def terms(self, texts: Iterable[str]) -> Words:
        """The words by which something of these texts is found."""
        found = frozenset().union(*map(self._read, texts))
        return Words(found if self._stem is None else frozenset(map(self._stem, found)), self)
