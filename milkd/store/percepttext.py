"""A percept's place in a scope's file, written at once.

A pass changes every percept of a scope, and then all of them are written anew: this is
what that costs.  The text is the one that `dumps(percept_to_json(percept), INDENT)`
gives, which a test holds it to, in a third of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.store.fields import format_time, stamped
from milkd.store.gojson import dumps, quoted
from milkd.store.records import percept_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.engine.percept import Percept

INDENT = "    "
"""What the line of an entry starts with."""
NEXT = ",\n      "


def percept_text(percept: Percept) -> str:
    """The JSON text of a percept as an entry of a file's list."""
    if percept.extra or percept.wordings:
        return dumps(percept_to_json(percept), INDENT)
    stamps = percept.stamps
    members = [
        f'"id": {quoted(percept.id)}',
        f'"content": {quoted(percept.content)}',
        f'"producer": {quoted(percept.producer)}',
    ]
    if percept.consumer:
        members.append(f'"consumer": {quoted(percept.consumer)}')
    members.append(f'"w": {_number(percept.w)}')
    members.append(f'"roles": {_roles(percept.roles)}')
    if percept.engram_id:
        members.append(f'"engram_id": {quoted(percept.engram_id)}')
    members.append(f'"created_at": {_time(stamps, "created_at", percept.created_at)}')
    members.append(f'"updated_at": {_time(stamps, "updated_at", percept.updated_at)}')
    if percept.core:
        members.append('"core": true')
    members += _use(percept, stamps)
    members += _history(percept, stamps)
    return f"{{\n      {NEXT.join(members)}\n    }}"


def _use(percept: Percept, stamps: Mapping[str, str]) -> list[str]:
    """The members that tell how the percept has been used."""
    members = []
    if percept.evidence:
        members.append(f'"evidence": {percept.evidence}')
    if percept.idle_seconds:
        members.append(f'"idle_seconds": {_number(percept.idle_seconds)}')
    if percept.last_used_at is not None:
        members.append(f'"last_used_at": {_time(stamps, "last_used_at", percept.last_used_at)}')
    if percept.importance:
        members.append(f'"importance": {_number(percept.importance)}')
    if percept.recall_count:
        members.append(f'"recall_count": {percept.recall_count}')
    if percept.bad_recall_count:
        members.append(f'"bad_recall_count": {percept.bad_recall_count}')
    if percept.last_confirmed_use_at is not None:
        key = "last_confirmed_use_at"
        members.append(f'"{key}": {_time(stamps, key, percept.last_confirmed_use_at)}')
    return members


def _history(percept: Percept, stamps: Mapping[str, str]) -> list[str]:
    """The members that tell when its words changed, and when and why it was archived."""
    members = []
    if percept.content_at is not None:
        members.append(f'"content_at": {_time(stamps, "content_at", percept.content_at)}')
    if percept.archived_at is not None:
        members.append(f'"archived_at": {_time(stamps, "archived_at", percept.archived_at)}')
    if percept.archived_reason:
        members.append(f'"archived_reason": {quoted(percept.archived_reason)}')
    return members


def _number(value: float) -> str:
    # Most weights are no whole numbers; those and what JSON does not know go the long way.
    return repr(value) if 0.0 < value < 1.0 else dumps(value)


def _roles(roles: Mapping[str, object]) -> str:
    if not roles:
        return "{}"
    if len(roles) == 1:
        ((key, value),) = roles.items()
        if isinstance(value, str):
            return f"{{\n        {quoted(key)}: {quoted(value)}\n      }}"
    return dumps(roles, INDENT + "  ")


def _time(stamps: Mapping[str, str], key: str, at: float) -> str:
    # Neither way of writing a time has a character that JSON would want escaped.
    return f'"{stamped(stamps, key, at) if stamps else format_time(at)}"'
