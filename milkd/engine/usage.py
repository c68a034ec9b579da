"""The side effects of a read: percepts handed out count as used, and as shown to the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import Change, Shown, Used

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from milkd.engine.commands import Now
    from milkd.engine.memory import Memory
    from milkd.engine.references import Place


def used(places: Iterable[Place], now: Now) -> tuple[Change, ...]:
    """One note of use for each scope that something came from."""
    ids: dict[str, list[str]] = {}
    for scope, slot in places:
        ids.setdefault(scope.name, []).append(scope.text(slot).id)
    return tuple(Used(scope, tuple(found), now.wall) for scope, found in ids.items())


def put_before(
    memory: Memory, lines: Mapping[str, str], prompt: str, session: str | None, caller: str | None
) -> tuple[Change, ...]:
    """A prompt begins a turn, in which these lines are shown; nothing for a nameless caller."""
    who = session or caller
    if who is None:
        return ()
    audience = memory.audiences.get(who)
    return (Shown(session, who, lines, prompt, 1 + (audience.turn if audience else 0)),)


def handed_out(
    memory: Memory, places: Iterable[Place], session: str | None, caller: str | None
) -> tuple[Change, ...]:
    """What a caller asked for itself: it belongs to the present turn, or begins one.

    Nothing for a caller that nobody can tell from others, and nothing for no percepts.
    """
    who, seen = session or caller, {scope.text(slot).id: "" for scope, slot in places}
    if who is None or not seen:
        return ()
    return (Shown(session, who, seen, turn=_present(memory, who)),)


def _present(memory: Memory, who: str) -> int:
    """The caller's turn; after one that was judged already, the next."""
    audience = memory.audiences.get(who)
    if audience is None:
        return 1
    return audience.turn if audience.turn in audience.waiting else audience.turn + 1


def turn_of(changes: Iterable[Change]) -> int | None:
    """The number of the turn in which changes show something; None: in none."""
    return next((change.turn for change in changes if isinstance(change, Shown)), None)
