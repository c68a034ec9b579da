"""A file's JSON read an entry at a time.

Parsed at one stroke, a large file would keep all other threads from the interpreter for
as long, and be in memory as plain objects beside what is made of them.  Here only what
is usual is read; of anything else `gojson.parse` tells what it is and where.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from milkd.store.gojson import MAX_DEPTH, SURROGATE_ESCAPE, decoder, deeper_than

if TYPE_CHECKING:
    from collections.abc import Iterator

UNUSUAL = (ValueError, IndexError, RecursionError)
"""What a walk raises where the text is not as it should be, or not as it usually is."""
_blanks = re.compile(r"[ \t\r\n]*").match
_between = re.compile(r"[ \t\r\n]*([],])[ \t\r\n]*").match


class Walk:
    """One way through the text of an object whose members may be long lists.

    Raises:
        UNUSUAL: In all methods.
    """

    def __init__(self, data: bytes) -> None:
        self._text = data.decode()
        self._at = 0
        self._losses: list[str] = []
        self._scan = decoder(self._losses).scan_once  # type: ignore[attr-defined]  # undocumented
        if "\\u" in self._text and SURROGATE_ESCAPE.search(self._text):
            raise ValueError("there may be half of a surrogate pair")

    def members(self) -> Iterator[str]:
        """The keys of the object; the value of each is to be taken before the next one."""
        known: set[str] = set()
        self._take("{")
        while True:
            self._skip()
            key = self._value()
            if not isinstance(key, str) or key in known:
                raise ValueError("a key that is none, or one that came before")
            known.add(key)
            self._take(":")
            self._skip()
            yield key
            if self._take(",}") == "}":
                break
        self._skip()
        if self._at < len(self._text) or self._losses:
            raise ValueError("something that is left out")

    def value(self) -> object:
        """The value of the key just given."""
        return self._shallow(MAX_DEPTH - 1)

    def entries(self) -> Iterator[object]:
        """The entries of the list that is the value of the key just given."""
        self._take("[")
        self._skip()
        if self._text[self._at] == "]":
            self._at += 1
            return
        more = True
        while more:
            yield self._shallow(MAX_DEPTH - 2)
            between = _between(self._text, self._at)
            if between is None:
                raise ValueError("neither another entry nor the end of the list")
            self._at, more = between.end(), between[1] == ","

    def _shallow(self, room: int) -> object:
        value = self._value()
        if deeper_than(value, room):
            raise ValueError("too deep")
        return value

    def _value(self) -> object:
        try:
            value, self._at = self._scan(self._text, self._at)
        except StopIteration:
            raise ValueError("no value") from None
        return value

    def _take(self, expected: str) -> str:
        self._skip()
        found = self._text[self._at]
        if found not in expected:
            raise ValueError(f"found {found}, expected one of {expected}")
        self._at += 1
        return found

    def _skip(self) -> None:
        found = _blanks(self._text, self._at)
        assert found is not None
        self._at = found.end()
