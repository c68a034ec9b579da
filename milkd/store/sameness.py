"""When two versions of a percept or engram say the same, however a file spells it.

Times are compared as a file can hold them: another program writes an equal moment in
its own way, and that is no change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from milkd.engine.percept import Engram, Percept, Wording
from milkd.store.exact import ENGRAM_TIMES, PERCEPT_TIMES

MOMENT = 2e-6  # seconds; a file holds microseconds, the memory a little more
V = TypeVar("V", Percept, Engram)
Same = Callable[[Any, Any], bool]


def same_value(one: object, other: object) -> bool:
    """Whether two JSON values are the same: the order of keys says nothing, and 1 is not true."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def same_time(one: float | None, other: float | None) -> bool:
    """Whether two times are the same moment, as far as a file can tell."""
    if one is None or other is None:
        return one is other
    return abs(one - other) < MOMENT


def _equal(one: object, other: object) -> bool:
    return one == other


def _same_wordings(one: tuple[Wording, ...], other: tuple[Wording, ...]) -> bool:
    return len(one) == len(other) and all(
        a.content == b.content and same_time(a.at, b.at) and same_value(a.extra, b.extra)
        for a, b in zip(one, other, strict=True)
    )


UNKNOWN_TO_MILK = (
    *("evidence", "idle_seconds", "last_used_at", "importance", "recall_count"),
    *("bad_recall_count", "last_confirmed_use_at", "wordings", "content_at"),
    *("archived_at", "archived_reason"),
)
"""Fields that milk drops when it saves."""
_PLAIN = ("content", "producer", "consumer", "w", "core", "engram_id")
_TELLING = tuple(n for n in UNKNOWN_TO_MILK if n not in PERCEPT_TIMES and n != "wordings")
PERCEPT: Mapping[str, Same] = {
    **dict.fromkeys((*_PLAIN, *_TELLING), _equal),
    **dict.fromkeys(PERCEPT_TIMES, same_time),
    "wordings": _same_wordings,
    **dict.fromkeys(("roles", "extra"), same_value),
}
"""How two values of each field compare; the id is what makes them versions of one."""
_plain = attrgetter(*_PLAIN, *_TELLING)
_INTRICATE = {name: same for name, same in PERCEPT.items() if same is not _equal}
ENGRAM: Mapping[str, Same] = {
    **dict.fromkeys(("subject_label", "composite_w"), _equal),
    **dict.fromkeys(ENGRAM_TIMES, same_time),
    "extra": same_value,
}
"""The same for engrams; who is in one is another matter."""
STATED = ("updated_at", "content", "producer", "consumer", "core", "roles", "wordings")
"""Fields that change when somebody says something, and never by themselves."""


def same_percept(one: Percept, other: Percept) -> bool:
    """Whether two versions of a percept say the same, however they spell it."""
    # Most percepts of a file are as they were: what `==` can tell comes first, and in one go.
    return one is other or (_plain(one) == _plain(other) and not differing(_INTRICATE, one, other))


def is_restated(base: Percept, ours: Percept) -> bool:
    """Whether somebody here said or edited it since; decay and use are no such thing."""
    changed = [n for n in STATED if not PERCEPT[n](getattr(base, n), getattr(ours, n))]
    if changed == ["updated_at"]:
        # Content that base has too, and that was dated here: an edit of theirs, merged before.
        return not same_time(ours.updated_at, ours.content_at)
    return bool(changed)


def differing(fields: Mapping[str, Same], one: V, other: V) -> list[str]:
    """The names of the fields in which two versions differ."""
    if one is other:
        return []
    return [
        name for name, same in fields.items() if not same(getattr(one, name), getattr(other, name))
    ]
