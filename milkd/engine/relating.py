"""Edges: declared, idempotent, stored with the percept they start from (ADR-53, 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.draft import Draft
from milkd.engine.percept import Edge, Relation
from milkd.engine.references import resolve
from milkd.engine.results import Decision, Related
from milkd.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Set

    from milkd.engine.commands import Now, Relate, Unrelate
    from milkd.engine.memory import Memory


def relate(memory: Memory, command: Relate, now: Now) -> Decision:
    """Add an edge between two percepts that the caller sees."""
    draft = Draft(memory, now)
    edge, scope = _edge(memory, command)
    changed = link(draft, scope, edge)
    return Decision(tuple(draft.changes), Related(edge, changed))


def unrelate(memory: Memory, command: Unrelate, now: Now) -> Decision:
    """Remove an edge between two percepts that the caller sees."""
    draft = Draft(memory, now)
    edge, _ = _edge(memory, command)
    holders = [scope for scope in memory.scopes.values() if edge in scope.edges]
    for scope in holders:
        draft.drop_edge(scope.name, edge)
    return Decision(tuple(draft.changes), Related(edge, bool(holders)))


def link(draft: Draft, scope: str, edge: Edge) -> bool:
    """Add an edge to the scope of its source; gives whether it was new.

    What is said to update now takes the place of the opposite statement.
    """
    if edge in draft.scope(scope).edges:
        return False
    draft.put_edge(scope, edge)
    if edge.relation == Relation.UPDATES:
        reverse = Edge(edge.target, edge.source, edge.relation)
        for other in list(draft.memory.scopes):
            if reverse in draft.scope(other).edges:
                draft.drop_edge(other, reverse)
    return True


def unlink_all(draft: Draft, ids: Set[str]) -> None:
    """Remove every edge that has one of the percepts as an end, in every loaded scope."""
    for scope in list(draft.memory.scopes):
        for edge in list(draft.scope(scope).edges):
            if edge.source in ids or edge.target in ids:
                draft.drop_edge(scope, edge)


def _edge(memory: Memory, command: Relate | Unrelate) -> tuple[Edge, str]:
    """The edge that is meant, and the scope of its source."""
    scope, row = resolve(memory, command.source, command.session)
    other, other_row = resolve(memory, command.target, command.session)
    source, target = scope.text(row).id, other.text(other_row).id
    if source == target:
        raise InvalidParams("to", "found the percept itself, expected another one")
    return Edge(source, target, command.relation), scope.name
