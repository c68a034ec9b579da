"""Percepts, engrams and edges as JSON objects, and back.

The keys, their order and which are left out when empty: model.md, "Percept".  A
reader here either returns a valid value or raises a ValueError that names the key;
what it does not know it keeps.  So a file that is read and written again has lost
nothing, not even the way its times were spelled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from sys import intern
from typing import Any

from milkd.engine.percept import NO_STAMPS, NOTHING, Edge, Engram, Percept, Wording
from milkd.store.fields import (
    Fields,
    count,
    filled_string,
    flag,
    format_time,
    joined,
    matched,
    number,
    optional_time,
    parse_time,
    split,
    stamped,
    string,
    strings,
    time_or_zero,
    wrong,
)
from milkd.store.gojson import fold

__all__ = [
    "edge_from_json",
    "edge_to_json",
    "engram_from_json",
    "engram_to_json",
    "format_time",
    "parse_time",
    "percept_from_json",
    "percept_to_json",
]

OLD_PRODUCERS = {"local": "primary", "claude": "escalation"}
ROLES = frozenset({"action", "agent", "recipient", "theme", "when", "where"})
WORDING_KEYS = frozenset({"content", "at"})
EDGE_KEYS = frozenset({"from", "to", "relation"})
ENGRAM_ALWAYS = frozenset(
    {"id", "subject_label", "composite_w", "percept_ids", "created_at", "updated_at"}
)
PERCEPT_ALWAYS = frozenset({"id", "content", "producer", "w", "roles", "created_at", "updated_at"})
PERCEPT_KEYS = PERCEPT_ALWAYS | {
    "consumer",
    "engram_id",
    "core",
    "evidence",
    "idle_seconds",
    "last_used_at",
    "importance",
    "recall_count",
    "bad_recall_count",
    "last_confirmed_use_at",
    "wordings",
    "content_at",
    "archived_at",
    "archived_reason",
}


def percept_from_json(obj: object) -> Percept:
    """Read a percept.

    Raises:
        ValueError: Names the key, what was found and what was expected.
    """
    fields, extra = split(obj, PERCEPT_KEYS)
    stamps: dict[str, str] = {}
    producer = string(fields, "producer")
    created_at = time_or_zero(fields, "created_at", stamps)
    updated_at = created_at
    # Most facts were never touched again; to read the same text twice is a tenth of all this.
    if stamps or fields.get("updated_at") != fields.get("created_at"):
        updated_at = time_or_zero(fields, "updated_at", stamps)
    optional = _optional(fields, stamps)
    return Percept(
        id=filled_string(fields, "id"),
        content=filled_string(fields, "content"),
        producer=intern(OLD_PRODUCERS.get(producer, producer)),
        w=_weight(fields),
        roles=_roles(fields),
        created_at=created_at,
        # Most are equal, and one number for both is less to keep.
        updated_at=created_at if updated_at == created_at else updated_at,
        extra=extra,
        stamps=stamps or NO_STAMPS,
        **optional,
    )


def _optional(fields: Fields, stamps: dict[str, str]) -> dict[str, Any]:
    """What most percepts have nothing of, by the names of the fields."""
    if len(fields) <= len(PERCEPT_ALWAYS) and fields.keys() <= PERCEPT_ALWAYS:
        return {}
    return {key: read(fields, key, stamps) for key, read in OPTIONAL.items() if key in fields}


def percept_to_json(percept: Percept) -> dict[str, object]:
    """The object of a percept, for the file and for the wire."""
    stamps = percept.stamps
    fields = {
        "id": percept.id,
        "content": percept.content,
        "producer": percept.producer,
        "consumer": percept.consumer,
        "w": percept.w,
        "roles": dict(percept.roles),
        "engram_id": percept.engram_id,
        "created_at": stamped(stamps, "created_at", percept.created_at),
        "updated_at": stamped(stamps, "updated_at", percept.updated_at),
        "core": percept.core,
        "evidence": percept.evidence,
        "idle_seconds": percept.idle_seconds,
        "last_used_at": stamped(stamps, "last_used_at", percept.last_used_at),
        "importance": percept.importance,
        "recall_count": percept.recall_count,
        "bad_recall_count": percept.bad_recall_count,
        "last_confirmed_use_at": stamped(
            stamps, "last_confirmed_use_at", percept.last_confirmed_use_at
        ),
        "wordings": [
            _wording_to_json(wording, stamped(stamps, f"wordings[{n}].at", wording.at))
            for n, wording in enumerate(percept.wordings)
        ],
        "content_at": stamped(stamps, "content_at", percept.content_at),
        "archived_at": stamped(stamps, "archived_at", percept.archived_at),
        "archived_reason": percept.archived_reason,
    }
    # A key that the file holds in another case too is never left out: that one would count then.
    always = PERCEPT_ALWAYS.union(map(fold, percept.extra)) if percept.extra else PERCEPT_ALWAYS
    kept = {key: value for key, value in fields.items() if value or key in always}
    return joined(kept, percept.extra, PERCEPT_KEYS)


def engram_from_json(obj: object) -> Engram:
    """Read an engram.

    Raises:
        ValueError: Names the key, what was found and what was expected.
    """
    fields, extra = split(obj, ENGRAM_ALWAYS)
    stamps: dict[str, str] = {}
    return Engram(
        id=filled_string(fields, "id"),
        subject_label=filled_string(fields, "subject_label"),
        composite_w=number(fields, "composite_w", 0.0, 1.0),
        percept_ids=strings(fields, "percept_ids"),
        created_at=time_or_zero(fields, "created_at", stamps),
        updated_at=time_or_zero(fields, "updated_at", stamps),
        extra=extra,
        stamps=stamps or NO_STAMPS,
    )


def engram_to_json(engram: Engram) -> dict[str, object]:
    """The object of an engram."""
    fields = {
        "id": engram.id,
        "subject_label": engram.subject_label,
        "composite_w": engram.composite_w,
        "percept_ids": list(engram.percept_ids),
        "created_at": stamped(engram.stamps, "created_at", engram.created_at),
        "updated_at": stamped(engram.stamps, "updated_at", engram.updated_at),
    }
    return joined(fields, engram.extra, ENGRAM_ALWAYS)


def edge_from_json(obj: object) -> Edge:
    """Read an edge.

    Raises:
        ValueError: Names the key, what was found and what was expected.
    """
    fields, extra = split(obj, EDGE_KEYS)
    return Edge(
        source=filled_string(fields, "from"),
        target=filled_string(fields, "to"),
        relation=intern(filled_string(fields, "relation")),
        extra=extra,
    )


def edge_to_json(edge: Edge) -> dict[str, object]:
    """The object of an edge."""
    fields: dict[str, object] = {
        "from": edge.source,
        "to": edge.target,
        "relation": edge.relation,
    }
    return joined(fields, edge.extra, EDGE_KEYS)


def _shared_string(fields: Fields, key: str, _: dict[str, str]) -> str | None:
    """One of a few that many percepts have."""
    return intern(string(fields, key)) or None


def _weight(fields: Fields) -> float:
    if fields.get("w") is None:
        raise wrong("w", None, "a number, 0 to 1")
    return number(fields, "w", 0.0, 1.0)


def _importance(fields: Fields, key: str, _: dict[str, str]) -> float | None:
    """Absent and 0 are the same: not judged yet."""
    low = 0.1 if fields.get(key) != 0 else 0.0
    return number(fields, key, low, 1.0) or None


def _roles(fields: Fields) -> Fields:
    value = fields.get("roles")
    if value is None or value == {}:
        return NOTHING
    if not isinstance(value, Mapping):
        raise wrong("roles", value, "an object")
    if all(key in ROLES for key in value):
        return {intern(key): item for key, item in value.items()}
    known, extra = matched(value, ROLES)
    return joined(known, extra, ROLES)


def _wordings(fields: Fields, key: str, stamps: dict[str, str]) -> tuple[Wording, ...]:
    value = fields.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong(key, value, "a list")
    return tuple(_wording(item, f"{key}[{n}]", stamps) for n, item in enumerate(value))


def _wording(obj: object, place: str, stamps: dict[str, str]) -> Wording:
    if not isinstance(obj, Mapping):
        raise wrong(place, obj, "an object with content and at")
    fields, extra = matched(obj, WORDING_KEYS)
    named = {f"{place}.{key}": value for key, value in fields.items()}
    content = filled_string(named, f"{place}.content")
    return Wording(content, time_or_zero(named, f"{place}.at", stamps), extra or NOTHING)


def _wording_to_json(wording: Wording, at: str | None) -> dict[str, object]:
    return joined({"content": wording.content, "at": at}, wording.extra, WORDING_KEYS)


OPTIONAL: Mapping[str, Callable[[Fields, str, dict[str, str]], object]] = {
    "consumer": _shared_string,
    "engram_id": _shared_string,
    "core": lambda fields, key, _: flag(fields, key),
    "evidence": lambda fields, key, _: count(fields, key),
    "idle_seconds": lambda fields, key, _: number(fields, key, 0.0, math.inf),
    "last_used_at": optional_time,
    "importance": _importance,
    "recall_count": lambda fields, key, _: count(fields, key),
    "bad_recall_count": lambda fields, key, _: count(fields, key),
    "last_confirmed_use_at": optional_time,
    "wordings": _wordings,
    "content_at": optional_time,
    "archived_at": optional_time,
    "archived_reason": _shared_string,
}
"""How the fields are read that a file may leave out."""
