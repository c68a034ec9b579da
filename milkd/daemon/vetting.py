"""What an import asks of an entry beyond what a file must hold.

A file may hold what a person or another program wrote, and is taken as it is.  An
import is a statement of a client, who can mend it: what would mean nothing here is
refused, by the name of its key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, Consumer, Producer, Relation
from milkd.store.fields import wrong
from milkd.store.records import ROLES, edge_from_json, engram_from_json, percept_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from milkd.engine.percept import Edge, Engram, Percept

ID = re.compile("[A-Za-z0-9-]{4,64}")


def percept(value: object, scope: str) -> Percept:
    """A percept for a scope.

    Raises:
        ValueError: Names the key, what was found and what was expected.
    """
    made = percept_from_json(value)
    _check_id("id", made.id)
    if made.producer not in list(Producer):
        raise wrong("producer", made.producer or None, _one_of(Producer))
    if made.consumer is not None and made.consumer not in list(Consumer):
        raise wrong("consumer", made.consumer, f"{_one_of(Consumer)}, or none")
    _check_roles(made.roles)
    if scope != ARCHIVE:
        _check_not_archived(made)
    return made


def engram(value: object) -> Engram:
    """An engram.  Raises as `percept` does."""
    made = engram_from_json(value)
    _check_id("id", made.id)
    return made


def edge(value: object) -> Edge:
    """An edge.  Raises as `percept` does."""
    made = edge_from_json(value)
    if made.relation not in list(Relation):
        raise wrong("relation", made.relation, _one_of(Relation))
    if made.source == made.target:
        raise ValueError("to: found the percept itself, expected another one")
    return made


def _check_id(key: str, found: str) -> None:
    if not ID.fullmatch(found):
        raise wrong(key, found, "4 to 64 of the characters A-Z a-z 0-9 -")


def _check_roles(roles: Mapping[str, object]) -> None:
    for key, item in roles.items():
        if key not in ROLES:
            raise ValueError(f"roles: found the key {key!r:.40}, expected {_one_of(ROLES)}")
        if not isinstance(item, str):
            raise wrong(f"roles.{key}", item, "a string")


def _check_not_archived(made: Percept) -> None:
    for key in ("archived_at", "archived_reason"):
        if getattr(made, key) is not None:
            raise ValueError(f"{key}: found one, expected none outside the archive")


def _one_of(names: Iterable[str]) -> str:
    *others, last = sorted(names)
    return f"{', '.join(others)} or {last}"
