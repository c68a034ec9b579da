"""Which percept a text restates: the most similar one that is not distinct (ADR-53, 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.engine.distinctness import OFF, apart, distinct
from milkd.engine.ranking import recency_scale
from milkd.engine.results import Alike, Decision, Likeness, Match

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
    memory: Memory,
    text: str,
    scopes: Iterable[Scope],
    leave_out: Collection[str] = (),
    wanted: Words | None = None,
) -> Search:
    """The near-duplicate of a text, and its look-alike; exact at any size.

    Of equally similar ones the earlier scope comes first (global before the session), then
    the older in the store.  The ids in `leave_out` do not count.  `wanted` are the
    features of the text, where they were read already.
    """
    scopes = [scope for scope in scopes if len(scope)]
    found, guard = Search(), _Guard(memory, text)
    if not scopes:
        return found
    if wanted is None:
        wanted = memory.analyzer.vocabulary.features(text)
    for scope in scopes:
        # Whom nothing may refuse, the best is enough.
        rows = _similar_enough(memory, wanted, scope, only=guard.is_off and not leave_out)
        if leave_out:
            rows = [row for row in rows if scope.text(row[1]).id not in leave_out]
        best = guard.first_granted(scope, rows, found.similarity)
        if best is not None:
            found.similarity, found.place = best[0], (scope, best[1])
    found.look_alike = guard.look_alike()
    return found


class _Guard:
    """Tells the rows apart from one text, and remembers the most similar that it refused."""

    def __init__(self, memory: Memory, text: str) -> None:
        self._analyzer = memory.analyzer
        self._text = text
        self._level = memory.params.distinctness_guard
        self._marks: Marks | None = None  # taken when there is something to compare them with
        self._refused: Place | None = None
        self._similarity = 0.0  # of the refused one
        self.is_off = self._level == OFF

    def first_granted(
        self, scope: Scope, rows: list[tuple[float, int]], least: float
    ) -> tuple[float, int] | None:
        """The first row that is no other fact, if it is more similar than `least`.

        Args:
            rows: (similarity, slot), the most similar first.  There may be ten thousand, each
                of them refused.
        """
        if self.is_off or not rows:
            return rows[0] if rows and rows[0][0] > least else None
        mine = self._marks = self._marks or self._analyzer.marks(self._text)
        known_marks, level, stem = scope.lookup.known_marks, self._level, self._analyzer.stem
        numbers, polarity, count = mine.numbers, mine.polarity, len(mine.numbers)
        granted, refused = None, self._similarity
        for similarity, slot in rows:
            if similarity <= least and similarity <= refused:
                break
            known = known_marks.get(slot) or scope.marks(slot)
            # `apart`, told at once where texts of one template differ in a number: neither of
            # two sets of one size that are not equal is within the other.
            theirs = known.numbers
            crossed = len(theirs) == count and theirs != numbers
            if (crossed and polarity is known.polarity) or apart(mine, known, level, stem):
                if similarity > refused:
                    self._refused, refused = (scope, slot), similarity
            elif similarity > least:
                granted, least = (similarity, slot), similarity
        self._similarity = refused
        return granted

    def look_alike(self) -> Match | None:
        """The most similar percept that was refused, with the reason."""
        if self._refused is None or self._marks is None:
            return None
        scope, slot = self._refused
        percept = scope.percept(slot)
        reason = distinct(self._marks, scope.marks(slot), self._level, self._analyzer.stem)
        return Match(percept.id, percept.content, percept.w, self._similarity, reason)


def similar(memory: Memory, command: Similar, now: Now) -> Decision:
    """What a text resembles, and which percept stating it would reinforce."""
    scopes = memory.visible(command.session)
    wanted = memory.analyzer.vocabulary.features(command.text)
    ranked = sorted(
        (-similarity, rank, slot)
        for rank, scope in enumerate(scopes)
        for similarity, slot in scope.lookup.tokens.nearest(wanted, command.limit)
    )
    c = recency_scale(now.wall, memory.params)
    likenesses = tuple(
        Likeness(memory.view(scopes[rank], slot, now.wall, c), -negative)
        for negative, rank, slot in ranked[: command.limit]
    )
    if memory.params.distinctness_guard != OFF:
        found = search(memory, command.text, scopes, wanted=wanted)
        return Decision((), Alike(likenesses, found.id, found.look_alike))
    # Whom nothing may refuse, the most similar one is it.
    best = likenesses[0] if likenesses else None
    restated = best is not None and best.similarity >= memory.params.duplicate_threshold
    return Decision((), Alike(likenesses, best.view.known.id if best and restated else None, None))


def _similar_enough(
    memory: Memory, wanted: Words, scope: Scope, *, only: bool
) -> list[tuple[float, int]]:
    """(similarity, row) over the threshold, the most similar and then the oldest first."""
    index, threshold = scope.lookup.tokens, memory.params.duplicate_threshold
    if not only:
        return index.alike(wanted, threshold)
    best = index.most_alike(wanted, threshold)
    return [] if best is None else [best]
