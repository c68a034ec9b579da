"""Percepts that leave, return or change their scope, with what hangs on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine import engrams
from milkd.engine.changes import ScopeDropped
from milkd.engine.draft import Draft
from milkd.engine.percept import ARCHIVE, GLOBAL, Percept
from milkd.engine.references import resolve, resolve_archived
from milkd.engine.relating import unlink_all
from milkd.engine.results import Decision, Dropped, Forgotten, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.engine.commands import DropSession, Forget, Now, Restore
    from milkd.engine.memory import Memory


def move(
    draft: Draft, percept: Percept, source: str, target: str, *, touched: bool = False
) -> Percept:
    """Move a percept with these values; its engram label and the edges from it go along."""
    label = engrams.leave(draft, source, percept)
    draft.drop(source, percept.id)
    if label is not None:
        percept = engrams.join(draft, target, percept, label)
    draft.put(target, percept, touched=touched)
    for edge in list(draft.scope(source).edges.values()):
        if edge.source == percept.id:
            draft.drop_edge(source, edge)
            draft.put_edge(target, edge)
    return percept


def delete(draft: Draft, placed: Sequence[tuple[str, Percept]]) -> None:
    """Take percepts out of their scopes, with their edges and their places in engrams."""
    if placed:
        unlink_all(draft, {percept.id for _, percept in placed})
    for scope, percept in placed:
        engrams.leave(draft, scope, percept)
        draft.drop(scope, percept.id)


def forget(memory: Memory, command: Forget, now: Now) -> Decision:
    """Delete one percept, and with `everywhere` all loaded ones of the same text."""
    scope, row = resolve(memory, command.ref, command.session)
    percept = scope.percept(row)
    twins = [
        (other.name, twin)
        for other in memory.scopes.values()
        for twin in other.percepts()
        if twin.content == percept.content and twin is not percept
    ]
    draft = Draft(memory, now)
    delete(draft, [(scope.name, percept), *(twins if command.everywhere else ())])
    others = len(twins) + _dormant_twins(memory, percept.content)
    return Decision(tuple(draft.changes), Forgotten(percept.id, percept.content, others))


def restore(memory: Memory, command: Restore, now: Now) -> Decision:
    """Bring a percept back from the archive into global, as if just used."""
    archive, row = resolve_archived(memory, command.ref)
    percept = archive.percept(row)
    draft = Draft(memory, now)
    percept = replace(
        percept, idle_seconds=0.0, last_used_at=now.wall, archived_at=None, archived_reason=None
    )
    percept = move(draft, percept, ARCHIVE, GLOBAL, touched=True)
    view = View(percept, GLOBAL, memory.rank_score(percept, now.wall))
    return Decision(tuple(draft.changes), view)


def drop_session(memory: Memory, command: DropSession, now: Now) -> Decision:
    """Delete a session with all that is in it."""
    scope = memory.scopes[command.session]
    draft = Draft(memory, now)
    for other in memory.scopes.values():
        for edge in other.edges:
            if other is not scope and (edge.source in scope or edge.target in scope):
                draft.drop_edge(other.name, edge)
    draft.changes.append(ScopeDropped(scope.name))
    return Decision(tuple(draft.changes), Dropped(len(scope)))


def _dormant_twins(memory: Memory, content: str) -> int:
    return sum(
        text == content for contents in memory.dormant.values() for text in contents.values()
    )
