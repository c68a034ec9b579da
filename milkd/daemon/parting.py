"""Large operations in several entries: one record of the journal must not grow without end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import PerceptPut

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from milkd.engine.changes import Change

MAX_PART = 1 << 20  # bytes of an entry, about
ESCAPED = 6  # bytes of a character in the journal, at most but for rare ones
OTHER = 400  # bytes of a change besides its texts, about


def parts(changes: Sequence[Change], limit: int = MAX_PART) -> Iterator[tuple[Change, ...]]:
    """The changes in order, in as many parts as are needed; at least one."""
    part: list[Change] = []
    size = 0
    for change in changes:
        weight = _weight(change)
        if part and size + weight > limit:
            yield tuple(part)
            part, size = [], 0
        part.append(change)
        size += weight
    yield tuple(part)


def _weight(change: Change) -> int:
    if not isinstance(change, PerceptPut):
        return OTHER
    percept = change.percept
    texts = len(percept.content) + sum(len(wording.content) for wording in percept.wordings)
    return OTHER + ESCAPED * texts
