"""What the files' form of a percept or engram rounds off, beside it and back.

A file has times to the microsecond, and keeps a time's old spelling only while it
is that time.  The journal must give back the very value that was put.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from milkd.engine.percept import Engram, Percept, Wording
from milkd.store.fields import filled_string, number, parse_time, wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from milkd.store.fields import Fields

ENGRAM_TIMES = ("created_at", "updated_at")
PERCEPT_TIMES = (
    "created_at",
    "updated_at",
    "last_used_at",
    "last_confirmed_use_at",
    "content_at",
    "archived_at",
)
V = TypeVar("V", Percept, Engram)


def exact_of(value: Percept | Engram, obj: Fields) -> dict[str, object]:
    """What a reader of `obj`, the value's form in a file, would not get as it is."""
    exact: dict[str, object] = {}
    for key in PERCEPT_TIMES if isinstance(value, Percept) else ENGRAM_TIMES:
        at = getattr(value, key)
        if at is not None and parse_time(str(obj[key])) != at:
            exact[key] = at
    if isinstance(value, Percept) and value.wordings:
        exact["wordings"] = [wording.at for wording in value.wordings]
    if value.stamps:
        exact["stamps"] = dict(value.stamps)
    return exact


def with_exact(read: Callable[[object], V], times: Sequence[str], obj: Fields, exact: Fields) -> V:
    """The value as it was.

    Args:
        read: Gives the value of its form in a file.
        times: The names of its times.
        obj: That form.
        exact: What `exact_of` gave.

    Raises:
        ValueError: Names the key.
    """
    if not exact:
        return read(obj)
    # Any, since `replace` takes whatever fields there are.
    fields: dict[str, Any] = {key: real(exact, key) for key in times if key in exact}
    # Null, not gone, or a key of the file that differs by case alone would stand in for it.
    value = read({**obj, **dict.fromkeys(fields)})
    if "stamps" in exact:
        fields["stamps"] = _stamps(member(exact, "stamps"))
    if isinstance(value, Percept) and "wordings" in exact:
        fields["wordings"] = _wordings(value, exact["wordings"])
    return replace(value, **fields)


def member(fields: Fields, key: str) -> Fields:
    """The object of a key that must be there."""
    value = fields.get(key)
    if not isinstance(value, dict):
        raise wrong(key, value, "an object")
    return value


def real(fields: Fields, key: str) -> float:
    """The number of a key that must be there."""
    value = fields.get(key)
    if isinstance(value, float):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(key, value, "a number")
    return number(fields, key, -math.inf, math.inf)


def _stamps(stamps: Fields) -> dict[str, str]:
    found = {key: filled_string(stamps, key) for key in stamps}
    for text in found.values():
        parse_time(text)
    return found


def _wordings(percept: Percept, value: object) -> tuple[Wording, ...]:
    if not isinstance(value, list) or len(value) != len(percept.wordings):
        raise wrong("wordings", value, f"a list of {len(percept.wordings)} times")
    times = [real({"wordings": at}, "wordings") for at in value]
    pairs = zip(percept.wordings, times, strict=True)
    return tuple(replace(wording, at=at) for wording, at in pairs)
