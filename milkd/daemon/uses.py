"""Uses of percepts that wait to be written, one a percept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import Used

if TYPE_CHECKING:
    from collections.abc import Iterable


class Uses:
    """Collects `Used` changes; only the last use of a percept is kept."""

    def __init__(self) -> None:
        self._at: dict[tuple[str, str], float] = {}
        self.scopes: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._at)

    def add(self, changes: Iterable[Used]) -> None:
        """Take note of uses, later ones after earlier ones."""
        for change in changes:
            self.scopes.add(change.scope)
            self._at.update(dict.fromkeys(((change.scope, used) for used in change.ids), change.at))

    def take(self) -> list[Used]:
        """The uses collected, as few changes as will do; none are left."""
        groups: dict[tuple[str, float], list[str]] = {}
        for (scope, used), at in self._at.items():
            groups.setdefault((scope, at), []).append(used)
        self._at.clear()
        self.scopes.clear()
        return [Used(scope, tuple(ids), at) for (scope, at), ids in groups.items()]
