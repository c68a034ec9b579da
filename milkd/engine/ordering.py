"""In which order percepts come back: hits, then score, what updates before what it updates.

ADR-90, "Weighing": the number of hits is the primary key.  Everything here is lazy:
who needs five percepts has five worked out, and a few.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from milkd.engine.ranking import Ranking, freshness, recency_scale
from milkd.engine.text import jaccard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from milkd.engine.commands import Now
    from milkd.engine.hits import Hits
    from milkd.engine.memory import Memory
    from milkd.engine.scope import Scope


class Entry(NamedTuple):
    """A row on its way to the caller."""

    scope: Scope
    slot: int
    hits: int
    """Distinct terms of the query that the percept has."""
    score: float
    """order_score, among rows of equal hits."""
    superseded_by: str | None = None

    @property
    def id(self) -> str:
        """The percept's id."""
        return self.scope.text(self.slot).id


class Gate(NamedTuple):
    """Which rows may come back at all.

    Attributes:
        min_w: Rows of less weight may not.
        consumer: The asker; None is nobody in particular, to whom every row may.
    """

    min_w: float
    consumer: str | None

    def passes(self, scope: Scope, slot: int) -> bool:
        """Whether a row may."""
        return scope.columns.w[slot] >= self.min_w and passes_consumer(scope, slot, self.consumer)


OPEN = Gate(-math.inf, None)
"""Every row may come back."""


def ordered(
    memory: Memory, hits: Hits, gate: Gate, now: Now, *, by_hits: bool, at_first: int = 8
) -> Iterator[Entry]:
    """The rows that pass the gate, best first.

    By falling weight of hits, then by score, then global before the session and the older
    in the store first.

    Args:
        by_hits: Whether the hits come before the score.
        at_first: As many are probably wanted; who goes on gets the others too.
    """
    if hits.words is None:
        yield from _told(memory, hits, gate, now, by_hits=by_hits)
        return
    rankings = [ranking(memory, scope, hits, gate, now, by_hits=by_hits) for scope in hits.scopes]
    given, wanted = 0, max(1, at_first)
    while True:
        tops = [
            scope.lookup.terms.top(hits.words, wanted, each)
            for scope, each in zip(hits.scopes, rankings, strict=True)
        ]
        # As long as one of the scopes has more, only the first so many are known.
        entries = _merged(hits, tops, by_hits=by_hits)
        yield from entries[given:wanted]
        if all(len(top) < wanted for top in tops):
            yield from entries[max(given, wanted) :]
            return
        given, wanted = wanted, wanted * 8


def ranking(
    memory: Memory, scope: Scope, hits: Hits, gate: Gate, now: Now, *, by_hits: bool
) -> Ranking:
    """How the rows of a scope are put in order."""
    columns, params = scope.columns, memory.params
    return Ranking(
        columns.w,
        columns.evidence,
        columns.u,
        columns.updated_at,
        columns.importance,
        columns.consumer,
        gate.min_w,
        columns.asked_by(gate.consumer),
        recency_scale(now.wall, params),
        now.wall,
        freshness(now.wall, params),
        params.importance_weight,
        hits.weights,
        by_hits,
        hits.rest,
    )


def _merged(hits: Hits, tops: list[list[tuple[int, float, int]]], *, by_hits: bool) -> list[Entry]:
    """The best rows of each scope in one order."""
    entries = [
        (-hits.level(rank, slot, count) if by_hits else 0.0, -score, rank, slot, count)
        for rank, top in enumerate(tops)
        for count, score, slot in top
    ]
    if sum(map(bool, tops)) > 1:
        entries.sort()
    return [
        Entry(hits.scopes[rank], slot, count, -negative)
        for _, negative, rank, slot, count in entries
    ]


def _told(memory: Memory, hits: Hits, gate: Gate, now: Now, *, by_hits: bool) -> Iterator[Entry]:
    """The rows that were told one by one, in the same order."""
    c = recency_scale(now.wall, memory.params)
    entries = [
        Entry(scope, slot, count, memory.row_score(scope, slot, now.wall, c))
        for rank, scope in enumerate(hits.scopes)
        for slot, count in sorted(hits.counts[rank].items())
        if gate.passes(scope, slot)
    ]
    # Stable: of equals the one in the earlier scope, and then the older one, stays first.
    yield from sorted(entries, key=lambda e: (-e.hits if by_hits else 0, -e.score))


def updates_first(
    memory: Memory, hits: Hits, entries: Iterable[Entry], gate: Gate, now: Now
) -> Iterator[Entry]:
    """Let what updates a percept take its place before it (knob `superseded`).

    It counts if it is visible and passes the same gate; it need not share a word itself.
    """
    if any(scope.updaters for scope in hits.scopes):
        return _updates_first(memory, hits, entries, gate, now)
    return iter(entries)


def _updates_first(
    memory: Memory, hits: Hits, entries: Iterable[Entry], gate: Gate, now: Now
) -> Iterator[Entry]:
    placed: set[str] = set()
    for entry in entries:
        here = entry.id
        if here in placed:
            continue
        if any(scope.updaters.get(here) for scope in hits.scopes):
            yield from _with_updaters(memory, hits, entry, gate, now, placed)
        else:
            placed.add(here)
            yield entry


def _with_updaters(
    memory: Memory, hits: Hits, entry: Entry, gate: Gate, now: Now, placed: set[str]
) -> Iterator[Entry]:
    """An entry after all that update it, those that update these first, and so on.

    Where facts update each other in a circle, the one that is reached last comes first and
    counts as updated by none: it waits for nobody who doesn't wait for it.
    """
    waiting = {entry.id: list(_updaters(memory, hits, entry.id, gate, now))}
    trail = [entry]
    while trail:
        top = trail[-1]
        others = [other for other in waiting[top.id] if other.id not in waiting]
        missing = next((other for other in others if other.id not in placed), None)
        if missing is not None:
            waiting[missing.id] = list(_updaters(memory, hits, missing.id, gate, now))
            trail.append(missing)
            continue
        trail.pop()
        del waiting[top.id]
        placed.add(top.id)
        yield top._replace(superseded_by=others[0].id) if others else top


def is_superseded(scopes: Sequence[Scope], percept_id: str, gate: Gate) -> bool:
    """Whether something that updates a percept is visible and passes the gate."""
    ids = {i for scope in scopes for i in scope.updaters.get(percept_id, ())}
    return any(
        updater in scope and gate.passes(scope, scope.slots[updater])
        for updater in ids
        for scope in scopes
    )


def diverse(
    memory: Memory, entries: Iterable[Entry], places: int, *, superseded: bool
) -> Iterator[Entry]:
    """Let a percept that is much like one before it wait behind the others (MMR of a kind).

    Only among the first so many places; it is deferred, not dropped.  Where superseded ones
    are not in the answer, nobody waits behind them.
    """
    threshold = memory.params.diversity_threshold
    chosen: list[frozenset[str]] = []
    deferred: list[Entry] = []
    for entry in entries:
        if entry.superseded_by is not None and not superseded:
            yield entry
            continue
        features = entry.scope.lookup.tokens.strings(entry.slot)
        if any(jaccard(features, other) > threshold for other in chosen):
            deferred.append(entry)
            continue
        if len(chosen) < places:
            chosen.append(features)
        yield entry
    yield from deferred


def passes_consumer(scope: Scope, slot: int, consumer: str | None) -> bool:
    """Whether a percept is for the asker: for all, for it, or the asker is nobody in particular."""
    return consumer is None or scope.text(slot).consumer in (None, consumer)


def _updaters(memory: Memory, hits: Hits, percept_id: str, gate: Gate, now: Now) -> Iterator[Entry]:
    """The visible percepts that update one and pass the gate, the latest stated first."""
    ids = [i for scope in hits.scopes for i in scope.updaters.get(percept_id, ())]
    c = recency_scale(now.wall, memory.params)
    for updater in reversed(ids):
        for rank, scope in enumerate(hits.scopes):
            slot = scope.slots.get(updater)
            if slot is not None and gate.passes(scope, slot):
                score = memory.row_score(scope, slot, now.wall, c)
                yield Entry(scope, slot, hits.of_row(rank, slot), score)
