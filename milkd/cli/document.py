"""A memory as one JSON document: what `export` writes and `import` reads.

    {
      "milkd_export": 1,
      "scopes": {
        "global": {"percepts": […], "engrams": […], "edges": […]},
        "archive": …, "SESSION": …
      }
    }

The entries are those of the store's own files.  A scope may also have `extra`, the
keys of its file that are another program's, and `unreadable`, the entries that
milkd keeps and cannot use; and a document `damaged`, what could not be exported.
"""

from __future__ import annotations

import json
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["LISTS", "MARK", "OURS", "VERSION", "Record", "gather", "lines", "text_of"]

T = TypeVar("T")
MARK = "milkd_export"
VERSION = 1
LISTS = {"percepts": "percept", "engrams": "engram", "edges": "edge", "unreadable": "unreadable"}
NAMES = {kind: name for name, kind in LISTS.items()}
OURS = frozenset({"scope", "kind", "session", "rank_score", "shadowed"})
"""Keys with a meaning of their own in a record; an entry's are in its `shadowed`."""
Record = dict[str, Any]


def gather(records: Iterable[Mapping[str, Any]]) -> Record:
    """The document of the records of an export; scopes without anything in them are left out."""
    scopes: dict[str, Record] = {}
    damaged: list[Record] = []
    for record in records:
        scope, kind = record["scope"], record["kind"]
        if kind in NAMES:
            scopes.setdefault(scope, {}).setdefault(NAMES[kind], []).append(_entry(record))
        elif kind != "meta":
            reason = record.get("reason", f"milkctl knows no entries of the kind {kind!a}")
            damaged.append({"scope": scope, "reason": reason})
        elif "extra" in record:
            scopes.setdefault(scope, {})["extra"] = record["extra"]
    made: Record = {MARK: VERSION, "scopes": scopes}
    return made | {"damaged": damaged} if damaged else made


def lines(made: Record) -> Iterator[str]:
    """The text of a document, an entry a line, so that grep and diff can be used on it."""
    yield f'{{\n  "{MARK}": {VERSION},\n  "scopes": {{'
    for comma, (scope, members) in _with_commas(made["scopes"].items()):
        yield f"{comma}\n    {text_of(scope)}: {{"
        for between, (name, value) in _with_commas(members.items()):
            yield f"{between}\n      {text_of(name)}: {_value(value)}"
        yield "\n    }"
    yield "\n  }"
    if "damaged" in made:
        yield f',\n  "damaged": {text_of(made["damaged"])}'
    yield "\n}\n"


def text_of(value: object) -> str:
    """A value on one line."""
    return json.dumps(value, ensure_ascii=False)


def _entry(record: Mapping[str, Any]) -> Record:
    """The entry of a record; of two keys of a name, the entry's own is in `shadowed`."""
    entry = {key: value for key, value in record.items() if key not in OURS}
    shadowed: Record = record.get("shadowed", {})
    return entry | shadowed


def _value(value: object) -> str:
    if not isinstance(value, list):
        return text_of(value)
    return "[\n        " + ",\n        ".join(map(text_of, value)) + "\n      ]"


def _with_commas(items: Iterable[T]) -> Iterator[tuple[str, T]]:
    """The items with what stands before each: a comma, but nothing before the first."""
    return zip(chain([""], repeat(",")), items, strict=False)
