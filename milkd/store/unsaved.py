"""Which scopes have entries in the journal that their files do not hold yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import scope_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkd.store.entries import Entry

OPERATIONS = ""
"""Stands for the file of operations; no scope has this name."""


class Unsaved:
    """The first and the last entry of each scope that is not in its file."""

    def __init__(self) -> None:
        self._spans: dict[str, tuple[int, int]] = {}

    def add(self, entries: Iterable[Entry]) -> None:
        """Take note of entries that were appended, or found in a journal."""
        for entry in entries:
            scopes = {scope for change in entry.changes if (scope := scope_of(change)) is not None}
            if entry.done is not None:
                scopes.add(OPERATIONS)
            for scope in scopes:
                first, _ = self._spans.get(scope, (entry.seq, 0))
                self._spans[scope] = (first, entry.seq)

    def __contains__(self, scope: str) -> bool:
        return scope in self._spans

    def saved(self, scope: str, seq: int) -> None:
        """The scope's file holds all up to this entry."""
        first, last = self._spans.get(scope, (0, 0))
        if last <= seq:
            self._spans.pop(scope, None)
        else:
            self._spans[scope] = (max(first, seq + 1), last)

    def covered(self, newest: int) -> int:
        """Every entry up to this one is in the files; `newest` if all are."""
        return min((first - 1 for first, _ in self._spans.values()), default=newest)
