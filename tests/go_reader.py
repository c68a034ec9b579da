"""Milk's view of a store's file: a test double of the rules of Go's `encoding/json`.

Key names match whatever their case and the last one wins, unknown keys are dropped,
null leaves a field at its zero, a wrong type refuses the whole file, times are
RFC 3339.  It shares no code with milkd.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:(Z)|([+-])(\d\d):(\d\d))",
    re.ASCII,
)
SURROGATES = re.compile("[\ud800-\udfff]")


class GoError(ValueError):
    """Go refuses to unmarshal the file."""


@dataclass(frozen=True)
class Time:
    """An instant to the nanosecond, and the offset it was written with."""

    nanoseconds: int = -62_135_596_800 * 10**9
    offset_s: int = 0


@dataclass
class Roles:
    action: str = ""
    agent: str = ""
    recipient: str = ""
    theme: str = ""
    when: str = ""
    where: str = ""


@dataclass
class Percept:
    id: str = ""
    content: str = ""
    producer: str = ""
    consumer: str = ""
    w: float = 0.0
    roles: Roles = field(default_factory=Roles)
    engram_id: str = ""
    created_at: Time = field(default_factory=Time)
    updated_at: Time = field(default_factory=Time)
    core: bool = False


@dataclass
class Engram:
    id: str = ""
    subject_label: str = ""
    composite_w: float = 0.0
    percept_ids: list[str] = field(default_factory=list)
    created_at: Time = field(default_factory=Time)
    updated_at: Time = field(default_factory=Time)


@dataclass
class Edge:
    source: str = field(default="", metadata={"key": "from"})
    target: str = field(default="", metadata={"key": "to"})
    relation: str = ""


@dataclass
class Store:
    percepts: list[Percept] = field(default_factory=list)
    engrams: list[Engram] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


OMITTED_WHEN_EMPTY = {"consumer", "engram_id", "core", *(f.name for f in dataclasses.fields(Roles))}
LISTS: dict[str, Callable[[], Any]] = {"percepts": Percept, "engrams": Engram, "edges": Edge}


def read(data: bytes) -> Store:
    """What milk would have in memory.

    Raises:
        GoError: It would refuse the file.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise GoError("invalid character at the beginning")
    text = data.decode("utf-8", "replace")
    try:
        pairs = json.loads(text, object_pairs_hook=_Object, parse_constant=_refuse)
    except ValueError as error:
        raise GoError(str(error)) from error
    store = Store()
    _fill(store, pairs)
    return store


def write(store: Store) -> bytes:
    """The file as milk would save it: an empty list is a nil slice, hence null."""
    return _text(store, "").encode()


class _Object(list[tuple[str, Any]]):
    """The members of an object in the order of the file."""


def _refuse(literal: str) -> None:
    raise GoError(f"invalid character in {literal}")


def _fold(name: str) -> str:
    return name.lower().replace("\u017f", "s")


def _fill(target: Any, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, _Object):
        raise GoError(f"cannot unmarshal into {type(target).__name__}")
    names = {f.metadata.get("key", f.name): f.name for f in dataclasses.fields(target)}
    folded = {_fold(key): name for key, name in names.items()}
    for key, item in value:
        name = names.get(key) or folded.get(_fold(key))
        if name and item is not None:
            setattr(target, name, _converted(name, getattr(target, name), item))


def _converted(name: str, present: Any, value: Any) -> Any:
    if name in LISTS or name == "percept_ids":
        if not isinstance(value, list) or isinstance(value, _Object):
            raise GoError(f"cannot unmarshal into {name}")
        return [_element(name, item) for item in value]
    if isinstance(present, Roles):
        _fill(present, value)
        return present
    if isinstance(present, Time):
        return _time(value)
    if isinstance(present, float):
        if type(value) not in (int, float) or not math.isfinite(value):
            raise GoError(f"cannot unmarshal into {name}")
        return float(value)
    if type(value) is not type(present):
        raise GoError(f"cannot unmarshal into {name}")
    return SURROGATES.sub("\ufffd", value) if isinstance(value, str) else value


def _element(name: str, item: Any) -> Any:
    if name == "percept_ids":
        return _converted("", "", item) if item is not None else ""
    element = LISTS[name]()
    _fill(element, item)
    return element


def _time(value: Any) -> Time:
    found = TIME.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise GoError(f"cannot parse {value!r} as a time")
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    if hour > 23 or minute > 59 or second > 59:
        raise GoError(f"{value!r}: out of range")
    try:
        days = date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError as error:
        raise GoError(f"{value!r}: {error}") from error
    offset = 0
    if not found[8]:
        offset = (int(found[10]) * 3600 + int(found[11]) * 60) * (1 if found[9] == "+" else -1)
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
    fraction = int((found[7] or "0")[:9].ljust(9, "0"))
    return Time(seconds * 10**9 + fraction, offset)


def _text(value: Any, indent: str) -> str:
    if isinstance(value, Time):
        return json.dumps(_time_text(value))
    if isinstance(value, str):
        quoted = json.dumps(value, ensure_ascii=False)
        return re.sub("[<>&\u2028\u2029]", lambda m: f"\\u{ord(m[0]):04x}", quoted)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    deeper = indent + "  "
    if isinstance(value, list):
        items = [_text(item, deeper) for item in value]
        return _bracketed("[", items, "]", indent) if items else "null"
    members = {f.metadata.get("key", f.name): f.name for f in dataclasses.fields(value)}
    items = [
        f'"{key}": {_text(getattr(value, name), deeper)}'
        for key, name in members.items()
        if getattr(value, name) or name not in OMITTED_WHEN_EMPTY
    ]
    return _bracketed("{", items, "}", indent)


def _bracketed(opening: str, items: list[str], closing: str, indent: str) -> str:
    if not items:
        return opening + closing
    separator = f",\n{indent}  "
    return f"{opening}\n{indent}  {separator.join(items)}\n{indent}{closing}"


def _number(value: float) -> str:
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return f"{value:.17f}".rstrip("0").rstrip(".") if "e" in repr(value) else _plain(value)
    return re.sub(r"e([+-])0", r"e\1", repr(value))


def _plain(value: float) -> str:
    return repr(value).removesuffix(".0")


def _time_text(at: Time) -> str:
    seconds, fraction = divmod(at.nanoseconds + at.offset_s * 10**9, 10**9)
    days, second = divmod(seconds, 86_400)
    day = date.fromordinal(date(1970, 1, 1).toordinal() + days)
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    digits = f".{fraction:09}".rstrip("0").rstrip(".")
    minutes = abs(at.offset_s) // 60
    sign = "+" if at.offset_s >= 0 else "-"
    zone = f"{sign}{minutes // 60:02}:{minutes % 60:02}" if minutes else "Z"
    return f"{day.isoformat()}T{clock}{digits}{zone}"
