"""Which percept a text restates: the most similar one that is not distinct (ADR-53, 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.engine.distinctness import apart, distinct
from milkd.engine.results import Alike, Decision, Likeness, Match, View
from milkd.engine.text import jaccard

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from milkd.engine.commands import Now, Similar
    from milkd.engine.marks import Marks
    from milkd.engine.memory import Memory
    from milkd.engine.references import Place
    from milkd.engine.scope import Scope


@dataclass(slots=True)
class Search:
    """What a search for duplicates found."""

    place: Place | None = None
    """The near-duplicate: the most similar percept that the guard does not reject."""
    similarity: float = 0.0
    look_alike: Match | None = None
    """The most similar one that it rejects."""

    @property
    def id(self) -> str | None:
        """The near-duplicate's id."""
        return None if self.place is None else self.place[0].text(self.place[1]).id


def search(
    memory: Memory, text: str, scopes: Iterable[Scope], leave_out: Container[str] = ()
) -> Search:
    """The near-duplicate of a text, and its look-alike; exact at any size.

    Of equally similar ones the earlier scope comes first (global before the session), then
    the older in the store.  The ids in `leave_out` do not count.
    """
    found = Search()
    scopes = [scope for scope in scopes if len(scope)]
    if not scopes:
        return found
    analyzer = memory.analyzer
    wanted, level = analyzer.features(text), memory.params.distinctness_guard
    marks: Marks | None = None  # taken when there is something to compare them with
    rejected: tuple[float, Place] | None = None
    for scope in scopes:
        for similarity, slot in _similar_enough(memory, wanted, scope):
            if scope.text(slot).id in leave_out:
                continue
            restated = similarity > found.similarity
            resembled = level != "off" and (rejected is None or similarity > rejected[0])
            if not (restated or resembled):
                break
            marks = marks or analyzer.marks(text)
            if level != "off" and apart(marks, scope.marks(slot), level, analyzer.stem):
                if resembled:
                    rejected = similarity, (scope, slot)
            elif restated:
                found.place, found.similarity = (scope, slot), similarity
    if rejected is not None and marks is not None:
        found.look_alike = _look_alike(memory, marks, *rejected)
    return found


def _look_alike(memory: Memory, marks: Marks, similarity: float, place: Place) -> Match:
    """A percept that the guard rejected, with the reason."""
    scope, slot = place
    percept, level = scope.percept(slot), memory.params.distinctness_guard
    reason = distinct(marks, scope.marks(slot), level, memory.analyzer.stem)
    return Match(percept.id, percept.content, percept.w, similarity, reason)


def similar(memory: Memory, command: Similar, now: Now) -> Decision:
    """What a text resembles, and which percept stating it would reinforce."""
    scopes = memory.visible(command.session)
    ranked = sorted(_resembling(memory, command.text, scopes), key=lambda found: found[0])
    likenesses = []
    for (negative, _, _), (scope, slot) in ranked[: command.limit]:
        percept = scope.percept(slot)
        view = View(percept, scope.name, memory.rank_score(percept, now.wall))
        likenesses.append(Likeness(view, -negative))
    found = search(memory, command.text, scopes)
    return Decision((), Alike(tuple(likenesses), found.id, found.look_alike))


def _similar_enough(
    memory: Memory, wanted: frozenset[str], scope: Scope
) -> list[tuple[float, int]]:
    """(similarity, row) over the threshold, the most similar and then the oldest first."""
    found = scope.lookup.tokens.alike(wanted, memory.params.duplicate_threshold)
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))


def _resembling(
    memory: Memory, text: str, scopes: Iterable[Scope]
) -> Iterator[tuple[tuple[float, int, int], Place]]:
    wanted = memory.analyzer.features(text)
    for rank, scope in enumerate(scopes):
        for slot in scope.lookup.tokens.hits(wanted):
            similarity = jaccard(wanted, scope.lookup.tokens.features(slot))
            yield (-similarity, rank, slot), (scope, slot)
