"""Which percept a text restates: the most similar one that the caller sees (ADR-53, 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.results import Alike, Decision, Likeness, View
from milkd.engine.text import features, jaccard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.engine.commands import Now, Similar
    from milkd.engine.memory import Memory
    from milkd.engine.references import Place


def nearest(
    memory: Memory, text: str, session: str | None, leave_out: str | None = None
) -> tuple[Place, float] | None:
    """The near-duplicate of a text, with its similarity; exact at any size.

    Of equally similar ones global comes before the session, then the older in the store.
    `leave_out` is the id of one that does not count.
    """
    best: tuple[Place, float] | None = None
    wanted = features(text)
    for scope in memory.visible(session):
        found = scope.index.alike(wanted, memory.params.duplicate_threshold)
        for similarity, slot in sorted(found, key=lambda pair: (-pair[0], pair[1])):
            if scope.text(slot).id == leave_out:
                continue
            if best is None or similarity > best[1]:
                best = ((scope, slot), similarity)
            break
    return best


def similar(memory: Memory, command: Similar, now: Now) -> Decision:
    """What a text resembles, and which percept stating it would reinforce."""
    ranked = sorted(_resembling(memory, command), key=lambda found: found[0])
    likenesses = []
    for (negative, _, _), (scope, slot) in ranked[: command.limit]:
        percept = scope.percept(slot)
        view = View(percept, scope.name, memory.rank_score(percept, now.wall))
        likenesses.append(Likeness(view, -negative))
    duplicate = nearest(memory, command.text, command.session)
    return Decision((), Alike(tuple(likenesses), duplicate and _id(duplicate[0])))


def _resembling(memory: Memory, command: Similar) -> Iterator[tuple[tuple[float, int, int], Place]]:
    wanted = features(command.text)
    for rank, scope in enumerate(memory.visible(command.session)):
        for slot in scope.index.hits(wanted):
            similarity = jaccard(wanted, scope.index.features(slot))
            yield (-similarity, rank, slot), (scope, slot)


def _id(place: Place) -> str:
    scope, slot = place
    return scope.text(slot).id
