"""A look at the memory that is no use of it: by page or by reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Percept
from milkd.engine.references import matches, resolve
from milkd.engine.results import Decision, Detail, Page, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.engine.commands import List, Now, Resolve, Show
    from milkd.engine.memory import Memory


def list_page(memory: Memory, command: List, now: Now) -> Decision:
    """A page of what is visible, the highest or newest first."""
    scopes = {
        None: memory.visible(command.session),
        "global": (memory.scopes[GLOBAL],),
        "session": memory.visible(command.session)[1:],
        "archive": (memory.scopes[ARCHIVE],),
    }[command.scope]
    scored = [(scope, memory.column_scores(scope, now.wall)) for scope in scopes]
    views = [
        View(percept, scope.name, scores[slot])
        for scope, scores in scored
        for slot in scope.slots.values()
        if _listed(percept := scope.percept(slot), command)
    ]
    views.sort(key=lambda view: -_SORTS[command.sort](view))  # stable: older in the store first
    end = command.offset + command.limit
    page = tuple(views[command.offset : end])
    return Decision((), Page(page, len(views), end if end < len(views) else None))


def show(memory: Memory, command: Show, now: Now) -> Decision:
    """One percept with every loaded edge that it is an end of."""
    scope, slot = resolve(memory, command.ref, command.session)
    percept = scope.percept(slot)
    view = View(percept, scope.name, memory.rank_score(percept, now.wall))
    return Decision((), Detail(view, edges_of(memory, percept.id)))


def resolve_all(memory: Memory, command: Resolve, now: Now) -> Decision:
    """Every percept that a reference could mean; none is no error."""
    percepts = [
        (scope.name, scope.percept(slot))
        for scope, slot in matches(memory, command.ref, command.session)
    ]
    return Decision((), tuple(View(p, s, memory.rank_score(p, now.wall)) for s, p in percepts))


def edges_of(memory: Memory, percept_id: str) -> tuple[Edge, ...]:
    """Every loaded edge that has the percept as an end."""
    return tuple(
        edge
        for scope in memory.scopes.values()
        for edge in scope.edges.values()
        if percept_id in (edge.source, edge.target)
    )


_SORTS: dict[str, Callable[[View], float]] = {
    "score": lambda view: view.rank_score,
    "w": lambda view: view.percept.w,
    "updated_at": lambda view: view.percept.updated_at,
    "created_at": lambda view: view.percept.created_at,
}


def _listed(percept: Percept, command: List) -> bool:
    wanted = (command.pattern or "").casefold()
    return (
        command.producer in (None, percept.producer)
        and (command.consumer is None or percept.consumer in (None, command.consumer))
        and (command.min_w is None or percept.w >= command.min_w)
        and command.core in (None, percept.core)
        and wanted in percept.content.casefold()
    )
