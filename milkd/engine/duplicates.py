"""Which percept a text restates: the most similar one that is not distinct (ADR-53, 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.engine.distinctness import OFF, apart, distinct
from milkd.engine.results import Alike, Decision, Likeness, Match, View

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from milkd.engine.commands import Now, Similar
    from milkd.engine.kernels import Words
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
    memory: Memory, text: str, scopes: Iterable[Scope], leave_out: Collection[str] = ()
) -> Search:
    """The near-duplicate of a text, and its look-alike; exact at any size.

    Of equally similar ones the earlier scope comes first (global before the session), then
    the older in the store.  The ids in `leave_out` do not count.
    """
    scopes = [scope for scope in scopes if len(scope)]
    found, guard = Search(), _Guard(memory, text)
    if not scopes:
        return found
    wanted = memory.analyzer.vocabulary.features(text)
    for scope in scopes:
        # Whom nothing may refuse, the best is enough.
        only = guard.is_off and not leave_out
        for similarity, slot in _similar_enough(memory, wanted, scope, only=only):
            if similarity <= found.similarity and similarity <= guard.similarity:
                break
            if leave_out and scope.text(slot).id in leave_out:
                continue
            if guard.objects(scope, slot, similarity):
                continue
            if similarity > found.similarity:
                found.place, found.similarity = (scope, slot), similarity
    found.look_alike = guard.look_alike()
    return found


class _Guard:
    """Tells the rows apart from one text, and remembers the most similar that it refused.

    Attributes:
        similarity: Of that row; 0 for none, 1 where nothing is refused.
    """

    def __init__(self, memory: Memory, text: str) -> None:
        self._analyzer = memory.analyzer
        self._text = text
        self._level = memory.params.distinctness_guard
        self._marks: Marks | None = None  # taken when there is something to compare them with
        self._refused: Place | None = None
        self.is_off = self._level == OFF
        self.similarity = 1.0 if self.is_off else 0.0

    def objects(self, scope: Scope, slot: int, similarity: float) -> bool:
        """Whether the row is another fact.  There may be ten thousand of them."""
        if self.is_off:
            return False
        if self._marks is None:
            self._marks = self._analyzer.marks(self._text)
        known = scope.lookup.known_marks.get(slot) or scope.marks(slot)
        if not apart(self._marks, known, self._level, self._analyzer.stem):
            return False
        if similarity > self.similarity:
            self._refused, self.similarity = (scope, slot), similarity
        return True

    def look_alike(self) -> Match | None:
        """The most similar percept that was refused, with the reason."""
        if self._refused is None or self._marks is None:
            return None
        scope, slot = self._refused
        percept = scope.percept(slot)
        reason = distinct(self._marks, scope.marks(slot), self._level, self._analyzer.stem)
        return Match(percept.id, percept.content, percept.w, self.similarity, reason)


def similar(memory: Memory, command: Similar, now: Now) -> Decision:
    """What a text resembles, and which percept stating it would reinforce."""
    scopes = memory.visible(command.session)
    wanted = memory.analyzer.vocabulary.features(command.text)
    ranked = sorted(
        (-similarity, rank, slot)
        for rank, scope in enumerate(scopes)
        for similarity, slot in scope.lookup.tokens.nearest(wanted, command.limit)
    )
    likenesses = []
    for negative, rank, slot in ranked[: command.limit]:
        scope = scopes[rank]
        percept = scope.percept(slot)
        view = View(percept, scope.name, memory.rank_score(percept, now.wall))
        likenesses.append(Likeness(view, -negative))
    found = search(memory, command.text, scopes)
    return Decision((), Alike(tuple(likenesses), found.id, found.look_alike))


def _similar_enough(
    memory: Memory, wanted: Words, scope: Scope, *, only: bool
) -> list[tuple[float, int]]:
    """(similarity, row) over the threshold, the most similar and then the oldest first."""
    index, threshold = scope.lookup.tokens, memory.params.duplicate_threshold
    if not only:
        return index.alike(wanted, threshold)
    best = index.most_alike(wanted, threshold)
    return [] if best is None else [best]
