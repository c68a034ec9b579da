"""What an import asks of an entry beyond what a file must hold.

A file may hold what a person or another program wrote, and is taken as it is.  An
import is a statement of a client, who can mend it: what would mean nothing here is
refused, by the name of its key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, Consumer, Producer, Relation
from milkd.rpc.facts import SHORT_BYTES
from milkd.store.fields import matched, wrong
from milkd.store.gojson import fold
from milkd.store.own import OWN_KEY
from milkd.store.records import ROLES, edge_from_json, engram_from_json, percept_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkd.engine.percept import Edge, Engram, Percept

ID = re.compile("[A-Za-z0-9-]{4,64}")
MOST_WORDINGS = 100  # the most that the knob `wordings` allows
REASONS = frozenset({"stale", "evicted"})
READERS: Mapping[str, Callable[[object], object]] = {
    "percepts": percept_from_json,
    "engrams": engram_from_json,
    "edges": edge_from_json,
}
TIME = "a time like 2026-05-24T10:11:12.123Z"


def percept(value: Mapping[str, object], scope: str) -> Percept:
    """A percept for a scope.

    Raises:
        ValueError: Names the key, what was found and what was expected.
    """
    made = percept_from_json(value)
    _check_id("id", made.id)
    _check_times(value)
    if made.producer not in list(Producer):
        raise wrong("producer", made.producer or None, _one_of(Producer))
    if made.consumer is not None and made.consumer not in list(Consumer):
        raise wrong("consumer", made.consumer, f"{_one_of(Consumer)}, or none")
    if _given(value, "importance") == 0:
        raise wrong("importance", 0, "a number, 0.1 to 1, or nothing")
    _check_roles(made.roles)
    _check_wordings(value)
    _check_archived(made, scope)
    return made


def engram(value: Mapping[str, object]) -> Engram:
    """An engram.  Raises as `percept` does."""
    made = engram_from_json(value)
    _check_id("id", made.id)
    _check_times(value)
    _check_short("subject_label", made.subject_label)
    return made


def edge(value: Mapping[str, object]) -> Edge:
    """An edge.  Raises as `percept` does."""
    made = edge_from_json(value)
    if made.relation not in list(Relation):
        raise wrong("relation", made.relation, _one_of(Relation))
    if made.source == made.target:
        raise ValueError("to: found the percept itself, expected another one")
    return made


def extra(value: object) -> Mapping[str, object]:
    """Keys of a file that milkd does not know.  Raises as `percept` does."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong("extra", value, "an object")
    for key in value:
        if fold(key) in READERS or key == OWN_KEY:
            raise ValueError(f"extra: found the key {key[:40]!a}, which is milkd's own")
    return value


def unreadable(value: Mapping[str, object]) -> ValueError:
    """Why an entry cannot be taken that its own store could not read."""
    read = READERS.get(str(value.get("list")))
    problem = f"the list {value.get('list')!a} is not known"
    if read is not None:
        try:
            read(value.get("value"))
            problem = "it is the same as another one"
        except ValueError as error:
            problem = str(error)
    return ValueError(f"the store that it comes from could not use it: {problem}")


def _check_id(key: str, found: str) -> None:
    if not ID.fullmatch(found):
        raise wrong(key, found, "4 to 64 of the characters A-Z a-z 0-9 -")


def _check_times(value: Mapping[str, object]) -> None:
    """Both must be there: a file may lack them, and has the year 1 then."""
    for key in ("created_at", "updated_at"):
        if _given(value, key) is None:
            raise wrong(key, None, TIME)


def _check_short(key: str, text: str) -> None:
    if (size := len(text.encode())) > SHORT_BYTES:
        raise ValueError(f"{key}: found {size:,} bytes, expected at most {SHORT_BYTES:,}")
    if "\0" in text:
        raise ValueError(f"{key}: found a NUL character, expected text")


def _check_roles(roles: Mapping[str, object]) -> None:
    for key, item in roles.items():
        if key not in ROLES:
            raise ValueError(f"roles: found the key {key!r:.40}, expected {_one_of(ROLES)}")
        if not isinstance(item, str):
            raise wrong(f"roles.{key}", item, "a string")
        _check_short(f"roles.{key}", item)


def _check_wordings(value: Mapping[str, object]) -> None:
    """Their texts are looked at like the content; here, how many they are and their times."""
    given = _given(value, "wordings")
    wordings = given if isinstance(given, list) else []
    if len(wordings) > MOST_WORDINGS:
        raise ValueError(f"wordings: found {len(wordings):,}, expected at most {MOST_WORDINGS}")
    for position, wording in enumerate(wordings):
        if _given(wording, "at") is None:
            raise wrong(f"wordings[{position}].at", None, TIME)


def _check_archived(made: Percept, scope: str) -> None:
    for key in ("archived_at", "archived_reason"):
        if scope != ARCHIVE and getattr(made, key) is not None:
            raise ValueError(f"{key}: found one, expected none outside the archive")
    if made.archived_reason is not None and made.archived_reason not in REASONS:
        raise wrong("archived_reason", made.archived_reason, f"{_one_of(REASONS)}, or none")


def _given(value: Mapping[str, object], key: str) -> object:
    """The value of a key, whatever its case, as the reader of the entry found it."""
    return matched(value, frozenset({key}))[0].get(key)


def _one_of(names: Iterable[str]) -> str:
    *others, last = sorted(names)
    return f"{', '.join(others)} or {last}"
