"""Changing some entries of a JSON file and no other byte of it.

A file of a store is an object with a few long lists.  Read piece by piece it keeps
what is left in it as it was, the way numbers are spelled included, and a large one
does not hold up other threads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator

from milkd.store.gojson import BOM, dumps

GONE = object()
"""What a change gives for what goes; a value that is no entry of a list leaves null."""
UNCHANGED = object()
Change = Callable[[str, object], object]
"""From a key of the object, and an entry of its list or its value, to what shall be there: the
same object, another one, or `GONE`."""

FEW = 16  # words; looking for more takes longer than it spares

_BLANK = re.compile(r"[ \t\r\n]*")
_BOM = BOM.decode()
_raw_decode = json.JSONDecoder().raw_decode


def rewritten(
    text: str, entry: Change, value: Change, words: Collection[str] = ()
) -> tuple[str, int]:
    """The text of an object after changes, and where in it the object ends.

    Args:
        text: Of a file.  What follows the object stays as it is.
        entry: Is called for every entry of every list of the object.
        value: Is called for every value of the object that is no list.
        words: What an entry must hold one of, as a text or part of one, to be worth a call; none
            if every entry is.

    Raises:
        ValueError: It is not JSON, or no object.
        RecursionError: It nests too deep.
    """
    return _Rewriting(text, entry, value, words).run()


class _Rewriting:
    """One run through a text."""

    def __init__(self, text: str, entry: Change, value: Change, words: Collection[str]) -> None:
        self._text = text
        self._words = words if len(words) <= FEW else ()
        self._changed_entry = entry
        self._changed_value = value
        self._at = len(_BOM) if text.startswith(_BOM) else 0
        self._copied = 0
        self._pieces: list[str] = []

    def run(self) -> tuple[str, int]:
        self._demand("{")
        for _ in self._sequence("}"):
            key = self._value()
            if not isinstance(key, str):
                raise ValueError(f"found {key!r} at character {self._at}, expected a key")
            self._demand(":")
            self._member(key)
        end = sum(map(len, self._pieces)) + self._at - self._copied
        return "".join([*self._pieces, self._text[self._copied :]]), end

    def _member(self, key: str) -> None:
        start = self._blank()
        if self._text.startswith("[", start):
            self._list(key)
            return
        value = self._value()
        new = self._changed_value(key, value)
        if new is not value:
            self._replace(start, self._at, "null" if new is GONE else dumps(new, "  "))

    def _list(self, key: str) -> None:
        """Pass a list.  Nothing is remembered of its entries: there may be very many."""
        self._demand("[")
        opened = self._at
        first = stays = -1  # where the first entry begins, and the last one that stays ends
        for _ in self._sequence("]"):
            start = self._at
            first = start if first < 0 else first
            new = self._entry(key, start)
            if new is GONE:
                if stays >= 0:
                    self._replace(stays, self._at, "")
                continue
            if stays < 0 and first < start:
                self._replace(first, start, "")
            if new is not UNCHANGED:
                self._replace(start, self._at, dumps(new, "    "))
            stays = self._at
        if first >= 0 and stays < 0:
            self._replace(opened, self._at - 1, "")

    def _entry(self, key: str, start: int) -> object:
        """What shall be there instead of the entry that begins at `start`."""
        value = self._value()
        if self._words:
            text = self._text[start : self._at]
            if "\\" not in text and not any(word in text for word in self._words):
                return UNCHANGED
        new = self._changed_entry(key, value)
        return UNCHANGED if new is value else new

    def _replace(self, start: int, end: int, new: str) -> None:
        """Put another text for a part, perhaps a longer one than the last part was."""
        self._pieces += (self._text[self._copied : start], new)
        self._copied = end

    def _sequence(self, closing: str) -> Iterator[None]:
        """Stop at the beginning of each item up to a closing bracket, and pass the commas."""
        if self._text.startswith(closing, self._blank()):
            self._at += 1
            return
        while True:
            yield
            if self._text.startswith(closing, self._blank()):
                self._at += 1
                return
            self._demand(",")
            self._blank()

    def _value(self) -> object:
        """The value that begins here."""
        value: object
        value, self._at = _raw_decode(self._text, self._at)
        return value

    def _demand(self, sign: str) -> None:
        if not self._text.startswith(sign, self._blank()):
            raise ValueError(f"no {sign} at character {self._at}")
        self._at += 1

    def _blank(self) -> int:
        """Pass blanks; where that leads."""
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at
