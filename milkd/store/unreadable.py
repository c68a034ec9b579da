"""Entries of a file that are not used, and which of them go back into it.

Two entries of a list are the same if they have the same key; the second of them is
as good as unreadable.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from milkd.engine.percept import Edge, Engram, Percept
from milkd.store.gojson import dumps, to_bytes
from milkd.store.percepttext import INDENT
from milkd.store.records import edge_from_json, engram_from_json, percept_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from milkd.engine.percept import ScopeImage

Entry = Percept | Engram | Edge
LISTS = ("percepts", "engrams", "edges")
TOP_KEYS = frozenset(LISTS)
READERS: Mapping[str, Callable[[object], Entry]] = {
    "percepts": percept_from_json,
    "engrams": engram_from_json,
    "edges": edge_from_json,
}
Kept = deque[tuple[int, bytes]]
"""Positions in a list, in order, and the texts that belong there."""


def key_of(entry: Entry) -> object:
    """By what two entries of a list are the same."""
    return entry if isinstance(entry, Edge) else (type(entry), entry.id)


def kept_of(image: ScopeImage) -> dict[str, Kept]:
    """Entries to write back as they were read, by list: their positions and texts.

    A valid one was left out because another has its id.  It goes when that other goes, or it
    would come back as the one of that id at the next start.
    """
    kept: dict[str, Kept] = {where: deque() for where in LISTS}
    keys = [_raw_key(where, raw) for where, _, raw in image.unreadable]
    wanted = {key for key in keys if key is not None}
    there = {None} | (_present(image, wanted) if wanted else set())
    for key, (where, position, raw) in sorted(
        zip(keys, image.unreadable, strict=True), key=lambda each: each[1][1]
    ):
        if key in there:
            kept[where].append((position, to_bytes(dumps(raw, INDENT))))
    return kept


def _raw_key(where: str, raw: object) -> object:
    """By what a valid entry is told from others; None for one that is not valid."""
    try:
        return key_of(READERS[where](raw))
    except ValueError:
        return None


def _present(image: ScopeImage, wanted: set[object]) -> set[object]:
    """Which of some keys entries of the image have."""
    lists: tuple[tuple[Entry, ...], ...] = (image.percepts, image.engrams, image.edges)
    return {key for entries in lists for entry in entries if (key := key_of(entry)) in wanted}
