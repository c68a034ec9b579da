"""The words by which a statement is turned into its contrary, in any number of languages.

A word list is text: sections in brackets, one entry a line, a comment behind `#`.

    [negation]    what denies: "not", "no longer"; `-n't` stands for every word ending so
    [agreeing]    what denies only where nothing else in the clause does: "nunca", "nor"
    [exempt]      what looks like a negation and denies nothing: "not only"
    [contrast]    what puts one thing before another, as "not" can: "instead of"
    [joins]       what parts two clauses, as a comma does: "and"
    [opposites]   words that exclude each other: "enable, enables / disable, disables"
    [numbers]     numbers as words: "seven = 7"

An entry is a word or a sequence of words; `0` in it stands for any number in digits.  One in a
script written without spaces, or in Hangul, is found anywhere in a run of letters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from milkd.engine.literals import HANGUL, UNSPACED
from milkd.engine.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NEGATION, AGREEING, EXEMPT, CONTRAST, JOINS, OPPOSITES, NUMBERS = SECTIONS = (
    "negation",
    "agreeing",
    "exempt",
    "contrast",
    "joins",
    "opposites",
    "numbers",
)
# A word with its apostrophe: "don't" is one, "l'API" is "l'" and "api".
_APOSTROPHE = r"(?:'t(?![^\W_])|'(?=[^\W_]))?"
_MARK = r"[<>]=?|[,.;:!?()、。]"
_PIECE = re.compile(rf"[^\W_]+{_APOSTROPHE}|{_MARK}")
_ENTRY = re.compile(r"[^\W_]|^[<>]=?$")
_INSIDE = re.compile(f"[{UNSPACED}{HANGUL}]")


class Meaning(NamedTuple):
    """What an entry says: its section, and for opposites and numbers which one of them."""

    section: str
    value: int = 0
    """Opposites: k and -k exclude each other.  Numbers: the number.  Else 0."""


class Entry(NamedTuple):
    """A word or a sequence of words, and what it says; it may say several things."""

    words: tuple[str, ...]
    meanings: frozenset[Meaning]


class Found(NamedTuple):
    """An entry in a text; places count its pieces."""

    word: str
    start: int
    end: int
    meanings: frozenset[Meaning]


_CLAUSE_END = frozenset({Meaning(JOINS)})


class Lexicon:
    """The entries of all languages together.  Immutable."""

    __slots__ = ("_endings", "_entries", "_piece", "_telling")

    def __init__(self, entries: Mapping[str, frozenset[Meaning]]) -> None:
        self._entries: dict[str, list[Entry]] = {}
        self._endings = {e[1:]: said for e, said in entries.items() if e.startswith("-")}
        inside = {entry for entry in entries if _INSIDE.search(entry)}
        for entry in entries.keys() - {"-" + ending for ending in self._endings}:
            words = (entry,) if entry in inside else _words(entry)
            self._entries.setdefault(words[0], []).append(Entry(words, entries[entry]))
        for found in self._entries.values():
            found.sort(key=lambda entry: -len(entry.words))
        self._telling = frozenset(word for word in self._entries if self._tells(word))
        # Alternatives are tried in this order, so the longest goes first.
        parts = [re.escape(entry) for entry in sorted(inside, key=lambda entry: -len(entry))]
        spaced = rf"(?:(?![{UNSPACED}{HANGUL}])[^\W_])+{_APOSTROPHE}"
        self._piece = re.compile("|".join([*parts, spaced, _MARK]))

    @classmethod
    def parse(cls, files: Mapping[str, str]) -> Lexicon:
        """Read word lists: the text of each by its name.

        Raises:
            ValueError: A line is none of the above; names the file and the line.
        """
        entries: dict[str, set[Meaning]] = {}
        pair = 0
        for section, sides in (line for name in files for line in _lines(name, files[name])):
            pair += section == OPPOSITES
            for sign, side in zip((1, -1), sides, strict=False):
                for entry in side:
                    word, _, number = entry.partition(" = ")
                    value = sign * pair if section == OPPOSITES else int(number or 0)
                    entries.setdefault(word, set()).add(Meaning(section, value))
        return cls({entry: frozenset(said) for entry, said in entries.items()})

    def pieces(self, text: str) -> list[str]:
        """The words of a text and the marks that part its clauses; none if no word of it tells.

        Of a script written without spaces only the entries are pieces.
        """
        folded = fold(text).replace("’", "'")  # noqa: RUF001 - the one that is typeset
        pieces = (_PIECE if folded.isascii() else self._piece).findall(folded)
        return [] if self._telling.isdisjoint(pieces) and "'" not in folded else pieces

    def find(self, pieces: list[str]) -> Iterator[Found]:
        """The entries among pieces, in order; at each place the longest one is taken.

        A punctuation mark that is no entry means the end of a clause.
        """
        end = 0
        for start, piece in enumerate(pieces):
            if start < end:
                continue
            end = start + 1
            if entries := self._entries.get(piece):
                for words, meanings in entries:
                    if len(words) == 1 or _reads(pieces[start : start + len(words)], words):
                        end = start + len(words)
                        yield Found(" ".join(words), start, end, meanings)
                        break
            elif not piece[0].isalnum():
                yield Found(piece, start, end, _CLAUSE_END)
            elif "'" in piece:
                for ending, meanings in self._endings.items():
                    if piece.endswith(ending):
                        yield Found(piece, start, end, meanings)

    def _tells(self, first_word: str) -> bool:
        """Whether an entry that begins so matters where there is no other."""
        return any(
            meaning.section not in {EXEMPT, JOINS}
            for entry in self._entries[first_word]
            for meaning in entry.meanings
        )


EMPTY = Lexicon({})
"""Without word lists nothing is denied and nothing is opposed."""


def _words(entry: str) -> tuple[str, ...]:
    if entry.endswith("'"):  # elided, as in "n'est": it stands before another word
        return (*_words(entry + "x")[:-1],)
    return tuple(_PIECE.findall(entry))


def _reads(pieces: list[str], words: tuple[str, ...]) -> bool:
    return len(pieces) == len(words) and all(
        piece == word or (word == "0" and piece.isdigit())
        for piece, word in zip(pieces, words, strict=True)
    )


def _lines(name: str, text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """(section, sides) of every line with an entry; two sides in opposites, elsewhere one."""
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        where, content = f"{name}:{number}", fold(line.partition("#")[0]).strip()
        if content.startswith("["):
            section = content.strip("[] ")
            if section not in SECTIONS:
                raise ValueError(f"{where}: found {content}, expected one of {', '.join(SECTIONS)}")
        elif content and not section:
            raise ValueError(f"{where}: found {content!r}, expected a section like [negation]")
        elif content:
            yield section, _sides(where, section, content)


def _sides(where: str, section: str, content: str) -> list[list[str]]:
    if section == NUMBERS and not re.fullmatch(r"\S.* = \d+", content):
        raise ValueError(f"{where}: found {content!r}, expected a number like: seven = 7")
    if section != OPPOSITES:
        sides = [[content]]
    else:
        sides = [[word.strip() for word in side.split(",")] for side in content.split(" / ")]
        if len(sides) != 2:
            raise ValueError(f"{where}: found {content!r}, expected opposites like: on / off")
    for entry in (entry for side in sides for entry in side):
        if not _ENTRY.search(entry):
            raise ValueError(f"{where}: found {entry!r}, expected a word")
    return sides
