"""What a file says, however it spells it.

In JSON any character may be escaped, and each writer escapes others: Go `<`, `>` and
`&`, Python all that is not ASCII.  A damaged file cannot be parsed, but its escapes
can be resolved.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ESCAPE = re.compile(
    r"\\(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u(?P<unit>[0-9a-fA-F]{4})|(?P<sign>.))",
    re.DOTALL,
)
SIGNS: Mapping[str, str] = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
LONGEST_ESCAPE = 12  # bytes that one character may take: two escapes
NEAR = 64  # bytes
PART = 1 << 18  # bytes looked at in one go, so that other threads need not wait for long
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def readings(data: bytes, longest: int, part: int = PART) -> Iterator[str]:
    """The text of a file as it stands, and with its escapes resolved; of a large file in parts.

    What is no UTF-8 does not hide the rest.  An editor may have made UTF-16 of it.

    Args:
        data: The file.
        longest: Characters that are found in one part, wherever they are.
        part: Bytes of a part, about.
    """
    if data.startswith(UTF16):
        yield from _with_escapes(data.decode("utf-16", "replace"))
    start = 0
    while start < len(data):
        end = _cut(data, start + part)
        found = data[start : end + longest * LONGEST_ESCAPE]
        yield from _with_escapes(found.decode("utf-8", "surrogateescape"))
        start = end


def _cut(data: bytes, end: int) -> int:
    """A place near `end` where no escape is under way, if there is one."""
    for place in range(end, end - NEAR, -1):
        before = data[place - LONGEST_ESCAPE : place]
        begins = data[place : place + 1] == b"\\" != before[-1:]
        if begins or b"\\" not in before:
            return place
    return end


def _with_escapes(text: str) -> Iterator[str]:
    yield text
    if "\\" in text:
        yield ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    high, low, unit, sign = match.group("high", "low", "unit", "sign")
    if high is not None:
        return chr(0x10000 + (int(high, 16) - 0xD800) * 0x400 + int(low, 16) - 0xDC00)
    return chr(int(unit, 16)) if unit is not None else SIGNS.get(sign, sign)
