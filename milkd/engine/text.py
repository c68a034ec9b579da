"""From text to tokens, and how alike two token sets are.

For ASCII this is milk's own rule: lower-case runs of `[a-z0-9]` minus a stop
list.  Beyond ASCII, text is folded (NFKC, case) first, words keep their
combining marks, and scripts written without spaces give character bigrams.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from milkd.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Iterator

# milk's list.
_STOP_LIST = """
a an and are as at be been but by do for from has have he her his i if in is it its me my no not of
on or our out so that the their them then there they this to up us was we when which who will with
you your
"""
STOP_WORDS = frozenset(_STOP_LIST.split())
_ASCII_WORD = re.compile("[a-z0-9]+")
_SEPARATOR, _WORD, _UNSPACED, _MARK = range(4)

# Han, kana, Thai, Lao, Khmer, Myanmar: blocks of scripts written without spaces.
_UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3041, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)


def fold(text: str) -> str:
    """The text as comparisons see it: compatibility forms and case made one."""
    if text.isascii():
        return text.lower()
    # Folding case can undo the normal form, so it is restored.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def tokens(text: str, *, ascii_only: bool = False) -> frozenset[str]:
    """The distinct tokens of a text; none if it has no letter or digit of substance.

    With `ascii_only` they are milk's own whatever the script.
    """
    plain = ascii_only or text.isascii()
    words = _ASCII_WORD.findall(text.lower()) if plain else _words(fold(text))
    return frozenset(words) - STOP_WORDS


def features(text: str, *, ascii_only: bool = False) -> frozenset[str]:
    """The token set by which duplicates are judged.

    A text without tokens gets one that no other text can have unless it is equal when
    folded, so that "→" restated is the same fact and "!!!" is another.
    """
    return tokens(text, ascii_only=ascii_only) or frozenset({"\0" + fold(text).strip()})


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared tokens as a share of all tokens, in [0, 1] (ADR-53)."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def check_content(content: str, max_bytes: int) -> None:
    """Refuse what can't be a percept; everything else is kept byte for byte.

    Raises:
        InvalidParams: Empty, too long, or not storable as text.
    """
    if not any(map(_is_visible, content)):
        raise InvalidParams("content", "found no text, expected a sentence")
    if "\0" in content:
        raise InvalidParams("content", "found a NUL character, expected text")
    try:
        size = len(content.encode())
    except UnicodeEncodeError:
        raise InvalidParams(
            "content", "found half of a surrogate pair, expected valid Unicode"
        ) from None
    if size > max_bytes:
        raise InvalidParams(
            "content", f"found {size} bytes, expected at most {max_bytes} (percept_max_bytes)"
        )


def _words(folded: str) -> Iterator[str]:
    run, kind = "", _SEPARATOR
    for char in folded:
        found = _kind(char)
        if found == _MARK:
            found = kind
        if found != kind:
            yield from _tokens_of_run(run, kind)
            run, kind = "", found
        run += char
    yield from _tokens_of_run(run, kind)


def _tokens_of_run(run: str, kind: int) -> Iterator[str]:
    if kind == _WORD or (kind == _UNSPACED and len(run) == 1):
        yield run
    elif kind == _UNSPACED:
        yield from (run[i : i + 2] for i in range(len(run) - 1))


def _is_visible(char: str) -> bool:
    """Whether a character shows; spaces, controls, joiners and the like do not."""
    return unicodedata.category(char)[0] not in "ZC"


@lru_cache(maxsize=65_536)
def _kind(char: str) -> int:
    category = unicodedata.category(char)[0]
    if category in "LNM" and any(low <= ord(char) <= high for low, high in _UNSPACED_BLOCKS):
        return _UNSPACED
    if category in "LN":
        return _WORD
    return _MARK if category == "M" else _SEPARATOR
