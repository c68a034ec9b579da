"""The side effects of a read: percepts handed out count as used, and as shown to the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import Change, Shown, Used

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from milkd.engine.commands import Now
    from milkd.engine.references import Place


def used(places: Iterable[Place], now: Now) -> tuple[Change, ...]:
    """One note of use for each scope that something came from."""
    ids: dict[str, list[str]] = {}
    for scope, slot in places:
        ids.setdefault(scope.name, []).append(scope.text(slot).id)
    return tuple(Used(scope, tuple(found), now.wall) for scope, found in ids.items())


def shown(
    places: Iterable[Place],
    session: str | None,
    caller: str | None,
    *,
    lines: Mapping[str, str] | None = None,
    prompt: str | None = None,
) -> tuple[Change, ...]:
    """One note of what a caller saw; none for a caller that nobody can tell from others."""
    who = session or caller
    seen = {scope.text(slot).id: "" for scope, slot in places} | dict(lines or {})
    if who is None or not (seen or prompt is not None):
        return ()
    return (Shown(session, who, seen, prompt),)
