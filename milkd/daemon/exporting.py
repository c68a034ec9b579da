"""The whole store as records, a page at a time.

A record is an object with `scope` and `kind`: `meta`, `percept`, `engram`, `edge`,
`unreadable` for an entry that milkd keeps and cannot use, `damaged` for what is not
in the export.  Scopes come in the order global, archive, sessions by name, and the
entries of one in the order of its file.  What is loaded when the export begins is
exported as it is then, whatever happens meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import InvalidParams
from milkd.rpc.values import MAX_DEPTH, deeper_than
from milkd.store.own import OWN_KEY
from milkd.store.records import edge_to_json, engram_to_json, percept_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from milkd.engine.percept import ScopeImage

Record = dict[str, object]
OURS = frozenset({"scope", "kind", "session", "rank_score", "shadowed"})
"""Keys of a record that say where an entry is, not what it is.

An entry's own unknown keys of these names are in `shadowed`.
"""
MAX_RECORD = 4 << 20  # bytes, about; a longer record may not fit into an answer
ROOM = MAX_DEPTH - 4  # levels of a record: what is exported must fit into an import's message


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page begins: which scope, which record of it."""

    scope: int = 0
    record: int = 0


class Export:
    """An export under way.

    Args:
        number: Tells its cursors from those of another export.
        scopes: All scopes.
        images: What was loaded at the beginning.
    """

    def __init__(self, number: int, scopes: Sequence[str], images: dict[str, ScopeImage]) -> None:
        self.number = number
        self.scopes = sorted(scopes, key=_rank)
        self.images = images

    def cursor(self, position: Position) -> str:
        """The cursor of a page."""
        return f"e{self.number}.{position.scope}.{position.record}"

    def position(self, cursor: str) -> Position:
        """The page of a cursor.

        Raises:
            InvalidParams: It is not one of this export.
        """
        number, *rest = cursor.removeprefix("e").split(".")
        plain = all(part.isascii() and part.isdigit() and len(part) <= 12 for part in rest)
        if number != str(self.number) or len(rest) != 2 or not plain:
            raise unknown_cursor()
        position = Position(int(rest[0]), int(rest[1]))
        if position.scope >= len(self.scopes):
            raise unknown_cursor()
        return position


def unknown_cursor() -> InvalidParams:
    """The refusal of a cursor from another export, or from another connection."""
    return InvalidParams(
        "cursor", "of no export on this connection, expected the `next` of the page before"
    )


def page(image: ScopeImage, start: int, limit: int, max_bytes: int) -> list[Record]:
    """Records of a scope from a position on: at most `limit`, and about `max_bytes`."""
    records: list[Record] = []
    for record in islice(_records(image, start), limit):
        size = 2 * len(repr(record))
        max_bytes -= size
        if records and max_bytes < 0:
            break
        problem = _problem(record, size)
        records.append(record if problem is None else _damaged(record, problem))
    return records


def entry_of(record: Mapping[str, object]) -> Record:
    """What a record says of its entry, without what it says of where that is."""
    entry = {key: item for key, item in record.items() if key not in OURS}
    shadowed = record.get("shadowed")
    if isinstance(shadowed, Mapping):
        entry |= {key: item for key, item in shadowed.items() if key in OURS}
    return entry


def count(image: ScopeImage) -> int:
    """How many records a scope has."""
    return sum(len(items) for _, items, _ in _sections(image))


def _records(image: ScopeImage, start: int) -> Iterator[Record]:
    for kind, items, render in _sections(image):
        for item in items[start:]:
            entry = render(item)
            record: Record = {"scope": image.name, "kind": kind}
            if entry.keys() & OURS:
                record["shadowed"] = {key: entry.pop(key) for key in OURS & entry.keys()}
            yield record | entry
        start = max(0, start - len(items))


def _sections(
    image: ScopeImage,
) -> tuple[tuple[str, Sequence[Any], Callable[[Any], Record]], ...]:
    return (
        ("meta", (image,), _meta),
        ("percept", image.percepts, percept_to_json),
        ("engram", image.engrams, engram_to_json),
        ("edge", image.edges, edge_to_json),
        ("unreadable", image.unreadable, _unreadable),
    )


def _rank(scope: str) -> tuple[int, str]:
    return (GLOBAL, ARCHIVE, scope).index(scope), scope


def _meta(image: ScopeImage) -> Record:
    meta: Record = {"running_seconds": image.running_seconds}
    extra = {key: item for key, item in image.extra.items() if key != OWN_KEY}
    return meta | {"extra": extra} if extra else meta


def _unreadable(entry: tuple[str, int, object]) -> Record:
    where, position, value = entry
    return {"list": where, "position": position, "value": value}


def _problem(record: Record, size: int) -> str | None:
    """Why a record has no place in an answer."""
    if size > MAX_RECORD:
        return f"about {size:,} bytes, at most {MAX_RECORD:,} can be exported"
    if deeper_than(ROOM, record):
        return f"nested deeper than the {ROOM} levels that can be exported"
    return None


def _damaged(record: Record, problem: str) -> Record:
    what = f"{record['kind']} {str(record.get('id', ''))[:64]}".strip()
    return {"scope": record["scope"], "kind": "damaged", "reason": f"{what}: {problem}"}
