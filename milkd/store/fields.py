"""The members of a JSON object, read one at a time and strictly.

Each reader takes the object's known members and the name of one, and returns its
value or raises a ValueError that names it, says what was found and what was
expected.  Absent and null are the same, as they are to Go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from milkd.engine.percept import NOTHING
from milkd.store.gojson import fold, shown

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAIVE_EPOCH = datetime(1970, 1, 1)
GO_ZERO_TIME = -62_135_596_800.0  # 0001-01-01T00:00:00Z: what Go has where a time is missing
RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)
CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z", re.ASCII).fullmatch
"""Matches a time that is spelled as `format_time` would."""
EXACT_TIME = 2.0**32  # seconds from the epoch up to which a float tells all microseconds apart
MAX_COUNT = 2**32 - 1  # what a column of counts can hold
Fields = Mapping[str, object]
V = TypeVar("V")


def parse_time(text: str) -> float:
    """Seconds since the Unix epoch of an RFC 3339 time; digits beyond the microsecond are cut.

    Raises:
        ValueError: It is no such time.
    """
    if not RFC3339.fullmatch(text):
        raise ValueError(f"found {shown(text)}, expected a time like 2026-05-24T10:11:12.123Z")
    try:
        return (datetime.fromisoformat(text.upper()) - EPOCH).total_seconds()
    except ValueError as error:
        raise ValueError(f"found {shown(text)}, which is no time: {error}") from error


def format_time(at: float) -> str:
    """RFC 3339 in UTC, to the microsecond; beyond the years 1 to 9999 the nearest there is."""
    try:
        moment = NAIVE_EPOCH + timedelta(seconds=at)
    except OverflowError:
        moment = datetime.max if at > 0 else datetime.min
    text = moment.isoformat()
    return (text.rstrip("0") if moment.microsecond else text) + "Z"


def matched(obj: Fields, known: frozenset[str]) -> tuple[dict[str, object], dict[str, object]]:
    """The known keys of an object by their proper names, and the others as they are.

    As Go does it, names match whatever their case; an exact match wins, then the last one.
    """
    fields = {key: value for key, value in obj.items() if key in known}
    others = [(key, value) for key, value in obj.items() if key not in known]
    extra = []
    for key, value in reversed(others):
        name = fold(key)
        if name in known and name not in fields:
            fields[name] = value
        else:
            extra.append((key, value))
    return fields, dict(reversed(extra))


def joined(fields: Mapping[str, V], extra: Mapping[str, V], known: frozenset[str]) -> dict[str, V]:
    """Known keys and others in one object, so that Go reads the known ones.

    Go takes the last of several keys that match, so one that a known key outdid stands first.
    """
    if not extra:
        return dict(fields)
    outdone = {key: value for key, value in extra.items() if fold(key) in known}
    return {**outdone, **fields, **{k: v for k, v in extra.items() if k not in outdone}}


def split(obj: object, known: frozenset[str]) -> tuple[Fields, Fields]:
    if not isinstance(obj, Mapping):
        raise ValueError(f"found {shown(obj)}, expected an object")
    if obj.keys() <= known:
        return obj, NOTHING
    fields, extra = matched(obj, known)
    return fields, extra or NOTHING


def wrong(key: str, value: object, expected: str) -> ValueError:
    found = "nothing" if value is None else shown(value)
    return ValueError(f"{key}: found {found}, expected {expected}")


def string(fields: Fields, key: str) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(key, value, "a string")
    return value


def filled_string(fields: Fields, key: str) -> str:
    value = string(fields, key)
    if not value:
        raise wrong(key, fields.get(key), "a string that is not empty")
    return value


def strings(fields: Fields, key: str) -> tuple[str, ...]:
    value = fields.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise wrong(key, value, "a list of strings")
    return tuple(value)


def flag(fields: Fields, key: str) -> bool:
    value = fields.get(key)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise wrong(key, value, "true or false")
    return value


def number(fields: Fields, key: str, low: float, high: float) -> float:
    """The number of a key, 0 where there is none."""
    value = fields.get(key)
    if value is None:
        return 0.0
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        most = f" to {high:g}" if high < math.inf else " or more"
        raise wrong(key, value, f"a number, {low:g}{most}")
    try:
        return float(value)
    except OverflowError:
        raise wrong(key, value, "a number that a float can hold") from None


def count(fields: Fields, key: str) -> int:
    value = number(fields, key, 0.0, MAX_COUNT)
    if not value.is_integer():
        raise wrong(key, value, "a whole number")
    return int(value)


def optional_time(fields: Fields, key: str, stamps: dict[str, str]) -> float | None:
    text = fields.get(key)
    if text is None:
        return None
    if not isinstance(text, str):
        raise wrong(key, text, "a time like 2026-05-24T10:11:12.123Z")
    try:
        at = _canonical_time(text)
        if at is None:
            at = parse_time(text)
            if format_time(at) != text:
                stamps[key] = text
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error
    return at


def _canonical_time(text: str) -> float | None:
    """The time, if it is one that `format_time` writes so; most are, and this is quicker."""
    if not CANONICAL(text):
        return None
    try:
        at = (datetime.fromisoformat(text[:-1]) - NAIVE_EPOCH).total_seconds()
    except ValueError:
        return None  # no day or second that there is
    return at if 0.0 <= at < EXACT_TIME else None


def time_or_zero(fields: Fields, key: str, stamps: dict[str, str]) -> float:
    at = optional_time(fields, key, stamps)
    return GO_ZERO_TIME if at is None else at


def stamped(stamps: Mapping[str, str], key: str, at: float | None) -> str | None:
    """A time as the file spelled it, if it still is that time."""
    if at is None:
        return None
    text = stamps.get(key)
    if text is not None and parse_time(text) == at:
        return text
    return format_time(at)
