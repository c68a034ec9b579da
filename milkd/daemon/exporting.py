"""The whole store as records, a page at a time.

A record is an object with `scope` and `kind` (`meta`, `percept`, `engram`, `edge`,
or `unreadable` for what a file holds and milkd cannot read).  What is loaded when
the export begins is exported as it is then, whatever happens meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from milkd.errors import InvalidParams
from milkd.store.records import edge_to_json, engram_to_json, percept_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from milkd.engine.percept import ScopeImage

Record = dict[str, object]
RECORD_BYTES = 512  # of a record besides its content, about


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page begins: which scope, which record of it."""

    scope: int = 0
    record: int = 0


class Export:
    """An export under way.

    Args:
        number: Tells its cursors from those of another export.
        scopes: All scopes, in the order in which they are exported.
        images: What was loaded at the beginning.
    """

    def __init__(self, number: int, scopes: Sequence[str], images: dict[str, ScopeImage]) -> None:
        self.number = number
        self.scopes = scopes
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
        max_bytes -= RECORD_BYTES + 2 * len(str(record.get("content", "")))
        if records and max_bytes < 0:
            break
        records.append({"scope": image.name} | record)
    return records


def count(image: ScopeImage) -> int:
    """How many records a scope has."""
    return sum(len(items) for _, items, _ in _sections(image))


def _records(image: ScopeImage, start: int) -> Iterator[Record]:
    for kind, items, render in _sections(image):
        for item in items[start:]:
            yield {"kind": kind} | render(item)
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


def _meta(image: ScopeImage) -> Record:
    meta: Record = {"running_seconds": image.running_seconds}
    return meta | {"extra": dict(image.extra)} if image.extra else meta


def _unreadable(entry: tuple[str, int, object]) -> Record:
    where, position, value = entry
    return {"list": where, "position": position, "value": value}
