"""Percepts, edges and engrams taken in as they are, from another store or a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.draft import Draft
from milkd.engine.results import Decision, Imported
from milkd.engine.text import check_content
from milkd.errors import InvalidParams

if TYPE_CHECKING:
    from milkd.engine.commands import Import, Now
    from milkd.engine.memory import Memory
    from milkd.engine.percept import Percept, ScopeImage


def take_in(memory: Memory, command: Import, now: Now) -> Decision:
    """Add what the images hold; a percept that can't be taken is refused with the reason."""
    draft = Draft(memory, now)
    taken: set[str] = set()
    refused: list[tuple[str, str]] = []
    for image in command.images:
        for percept in image.percepts:
            problem = _problem(memory, percept, taken)
            if problem is None:
                taken.add(percept.id)
                draft.put(image.name, percept, touched=True)
            else:
                refused.append((percept.id, problem))
        _take_structure(draft, image)
    return Decision(tuple(draft.changes), Imported(len(taken), tuple(refused)))


def _take_structure(draft: Draft, image: ScopeImage) -> None:
    here = draft.scope(image.name)
    for engram in image.engrams:
        if engram.id not in here.engrams:
            draft.put_engram(image.name, engram)
    for edge in image.edges:
        if edge not in here.edges:
            draft.put_edge(image.name, edge)


def _problem(memory: Memory, percept: Percept, taken: set[str]) -> str | None:
    if percept.id in taken or memory.exists(percept.id):
        return "id: a percept of this id exists already"
    try:
        check_content(percept.content, memory.params.percept_max_bytes)
    except InvalidParams as error:
        return str(error)
    return None
