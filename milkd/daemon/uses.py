"""What reading does on the side: percepts were used, and shown to a session.

It waits to be written until something else is, and it waits without any text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import Shown, Used

if TYPE_CHECKING:
    from collections.abc import Iterable

Use = Used | Shown


class Uses:
    """Collects uses; of a percept only the last, and of what was shown only the ids."""

    def __init__(self) -> None:
        self._at: dict[tuple[str, str], float] = {}
        self._shown: dict[str, dict[str, None]] = {}
        self.scopes: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self.scopes)

    def add(self, changes: Iterable[Use]) -> None:
        """Take note of uses, later ones after earlier ones."""
        for change in changes:
            if isinstance(change, Used):
                self.scopes.add(change.scope)
                self._at |= dict.fromkeys(((change.scope, used) for used in change.ids), change.at)
            elif change.scope is not None and change.lines:
                self.scopes.add(change.scope)
                self._shown.setdefault(change.scope, {}).update(dict.fromkeys(change.lines))

    def take(self) -> list[Use]:
        """The uses collected, as few changes as will do; none are left."""
        groups: dict[tuple[str, float], list[str]] = {}
        for (scope, used), at in self._at.items():
            groups.setdefault((scope, at), []).append(used)
        taken: list[Use] = [Used(scope, tuple(ids), at) for (scope, at), ids in groups.items()]
        taken += [Shown(s, s, dict.fromkeys(ids, "")) for s, ids in self._shown.items()]
        self._at.clear()
        self._shown.clear()
        self.scopes.clear()
        return taken
