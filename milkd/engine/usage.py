"""The side effect of a read: percepts that were handed out count as used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import Change, Used

if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkd.engine.commands import Now
    from milkd.engine.references import Place


def used(places: Iterable[Place], now: Now) -> tuple[Change, ...]:
    """One note of use for each scope that something came from."""
    ids: dict[str, list[str]] = {}
    for scope, slot in places:
        ids.setdefault(scope.name, []).append(scope.text(slot).id)
    return tuple(Used(scope, tuple(found), now.wall) for scope, found in ids.items())
