"""JSON as milk writes it and as strictly as a store needs it read.

milk is written in Go: its `encoding/json` escapes `<`, `>` and `&`, writes `1` for
1.0, and matches key names whatever their case.  Reading here refuses what JSON does
not know (NaN) or a float cannot hold (1e999), says where a text is broken, and
reports what it could not take as it was.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring

from milkd.errors import StoreDamaged

MAX_DEPTH = 24  # brackets within brackets; the wire's limit too
EXACT_INTEGERS = 2.0**53
BOM = b"\xef\xbb\xbf"
HTML = re.compile("[<>&\u2028\u2029]")
SURROGATE = re.compile("[\ud800-\udfff]")
SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
STRING_OR_BRACKET = re.compile(STRING.pattern + r"|[\[\]{}]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A JSON text as a value, and a sentence for each thing in it that got lost on the way."""

    value: object
    losses: tuple[str, ...] = ()


class _Refused(ValueError):
    """A number that JSON or a float does not know; the argument is as it was written."""


def parse(name: str, data: bytes) -> Parsed:
    """Read the JSON text of a file.

    What follows a complete value is a loss, not damage: it is how a file looks after a
    shorter text was written over a longer one.

    Args:
        name: The file, for messages.
        data: UTF-8, with or without a byte order mark.

    Raises:
        StoreDamaged: Names the file, the place and what is wrong there.
    """
    text = _decoded(name, data)
    losses: list[str] = []
    strict = decoder(losses)
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        value, end = strict.raw_decode(text, start)
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at {_place(data, text, error.pos)}"
        raise StoreDamaged(f"{name} is not valid JSON: {problem}") from error
    except _Refused as error:
        place = _place(data, text, _number_position(text, str(error)))
        raise StoreDamaged(f"{name}: the number {str(error)[:40]} at {place} is refused") from error
    except RecursionError as error:
        raise _too_deep(name, data, text) from error
    except ValueError as error:
        raise StoreDamaged(f"{name}: {error}") from error
    if deeper_than(value, MAX_DEPTH):
        raise _too_deep(name, data, text)
    rest = text[end:].lstrip(" \t\r\n")
    if rest:
        losses.append(f"what follows {_place(data, text, len(text) - len(rest))} is left out")
    if SURROGATE_ESCAPE.search(text):
        value = _without_surrogates(value, losses)
    return Parsed(value, tuple(f"{name}: {loss}" for loss in dict.fromkeys(losses)))


def dumps(value: object, indent: str = "") -> str:
    """The text that Go's `MarshalIndent` would give for a value, two spaces a level.

    Args:
        value: What JSON knows, and mappings and tuples.
        indent: What the line of the value's first character starts with.
    """
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int):
        return str(value)
    deeper = indent + "  "
    if isinstance(value, Mapping):
        items = [f"{quoted(key)}: {dumps(item, deeper)}" for key, item in value.items()]
        return _bracketed("{", items, "}", indent)
    if isinstance(value, list | tuple):
        return _bracketed("[", [dumps(item, deeper) for item in value], "]", indent)
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def quoted(text: str) -> str:
    """A string as Go writes it: `<`, `>`, `&` and the two line separators are escaped."""
    written = encode_basestring(text)
    if HTML.search(written) is None:
        return written
    return HTML.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def to_bytes(text: str) -> bytes:
    """UTF-8; what UTF-8 cannot hold becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return SURROGATE.sub("\ufffd", text).encode()


def fold(key: str) -> str:
    """A key name as Go compares it: simple case folding, which knows the long s."""
    return key.lower().replace("\u017f", "s")


def shown(value: object) -> str:
    """A value in a message: as JSON has it, but short."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _decoded(name: str, data: bytes) -> str:
    if not data.strip(b"\0 \t\r\n"):
        what = f"holds nothing but {len(data)} blank bytes" if data else "is empty"
        raise StoreDamaged(f"{name} {what}, expected a JSON object")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        offset = error.start + (len(BOM) if data.startswith(BOM) else 0)
        raise StoreDamaged(f"{name} is not UTF-8: {error.reason} at byte {offset}") from error


def decoder(losses: list[str]) -> json.JSONDecoder:
    """Reads as strictly as a store needs it; what could not be taken is added to `losses`."""

    def refuse(literal: str) -> object:
        raise _Refused(literal)

    def finite(literal: str) -> float:
        value = float(literal)
        if math.isinf(value):
            raise _Refused(literal)
        return value

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice = next(key for key, count in counts.items() if count > 1)
            losses.append(f"the key {shown(twice)} occurs twice in an object; the last one counts")
        return found

    return json.JSONDecoder(parse_constant=refuse, parse_float=finite, object_pairs_hook=unique)


def _place(data: bytes, text: str, position: int) -> str:
    before = text[:position]
    line = before.count("\n") + 1
    column = position - (before.rfind("\n") + 1) + 1
    offset = len(before.encode()) + (len(BOM) if data.startswith(BOM) else 0)
    return f"line {line}, column {column} (byte {offset})"


def _number_position(text: str, literal: str) -> int:
    blanked = STRING.sub(lambda match: " " * len(match[0]), text)
    return max(blanked.find(literal), 0)


def _too_deep(name: str, data: bytes, text: str) -> StoreDamaged:
    depth = position = 0
    for match in STRING_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > MAX_DEPTH:
            position = match.start()
            break
    place = _place(data, text, position)
    return StoreDamaged(f"{name} nests more than {MAX_DEPTH} levels deep at {place}")


def deeper_than(value: object, room: int) -> bool:
    """Whether a value nests brackets more levels deep than there is room for."""
    if not isinstance(value, dict | list):
        return False
    if room == 0:
        return True
    # No comprehension or generator: this is asked of every entry of a file.
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list) and deeper_than(item, room - 1):
            return True
    return False


def _without_surrogates(value: object, losses: list[str]) -> object:
    if isinstance(value, str):
        cleaned = SURROGATE.sub("\ufffd", value)
        if cleaned != value:
            losses.append("half of a surrogate pair is replaced by U+FFFD")
        return cleaned
    if isinstance(value, list):
        return [_without_surrogates(item, losses) for item in value]
    if isinstance(value, dict):
        return {
            str(_without_surrogates(key, losses)): _without_surrogates(item, losses)
            for key, item in value.items()
        }
    return value


def _number(value: float) -> str:
    if value.is_integer() and abs(value) < EXACT_INTEGERS:
        return str(int(value))
    if not math.isfinite(value):
        raise ValueError(f"{value} has no place in JSON")
    return repr(value)


def _bracketed(opening: str, items: list[str], closing: str, indent: str) -> str:
    if not items:
        return opening + closing
    deeper = f",\n{indent}  "
    return f"{opening}\n{indent}  {deeper.join(items)}\n{indent}{closing}"
