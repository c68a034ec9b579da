"""In which order percepts come back: hits, then score, what updates before what it updates.

ADR-90, "Weighing": the number of hits is the primary key.  Everything here is lazy:
who needs five percepts has five worked out, and a few.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from milkd.engine.ranking import recency_scale
from milkd.engine.text import fold, jaccard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from milkd.engine.commands import Now
    from milkd.engine.memory import Memory
    from milkd.engine.scope import Scope

    Gate = Callable[[Scope, int], bool]
    """Whether a row may come back at all."""


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


class Hits:
    """The visible rows that share terms with a text, with the number of hits and its weight."""

    def __init__(self, scopes: tuple[Scope, ...], counts: list[Counter[int]]) -> None:
        self.scopes = scopes
        self.counts = counts
        self.weights: list[Mapping[int, float]] = list(counts)

    @classmethod
    def of(cls, memory: Memory, text: str, session: str | None) -> Hits:
        """Look a text up.

        An empty text fits every row without a hit; one of signs alone is looked for as it
        stands.
        """
        scopes = memory.visible(session)
        terms, plain = memory.analyzer.terms(text), fold(text).strip()
        if not terms:
            return cls(scopes, [_literally(memory, scope, plain) for scope in scopes])
        hits = cls(scopes, [scope.lookup.terms.hits(terms) for scope in scopes])
        if memory.params.hit_weight == "idf":
            hits.weigh(terms)
        return hits

    @classmethod
    def nothing(cls, memory: Memory, session: str | None) -> Hits:
        """No row at all."""
        scopes = memory.visible(session)
        return cls(scopes, [Counter() for _ in scopes])

    @classmethod
    def everything(cls, memory: Memory, text: str, session: str | None) -> Hits:
        """Look a text up, and take the rows that share nothing with it as well."""
        hits = cls.of(memory, text, session)
        for rank, scope in enumerate(hits.scopes):
            rest = dict.fromkeys(scope.slots.values(), 0)
            hits.weights[rank] = {**rest, **hits.weights[rank]}
            hits.counts[rank] = Counter({**rest, **hits.counts[rank]})
        return hits

    def weigh(self, terms: frozenset[str]) -> None:
        """Let a rare term count for more: log(1 + N/df) over what is visible."""
        total = sum(len(scope) for scope in self.scopes)
        weights: list[dict[int, float]] = [{} for _ in self.scopes]
        for term in sorted(terms):  # in a fixed order: sums of floats depend on it
            postings = [scope.lookup.terms.rows(term) for scope in self.scopes]
            frequency = sum(map(len, postings))
            weight = math.log1p(total / frequency) if frequency else 0.0
            for found, posting in zip(weights, postings, strict=True):
                for slot in posting:
                    found[slot] = found.get(slot, 0.0) + weight
        self.weights = list(weights)

    def __len__(self) -> int:
        return sum(map(len, self.counts))


def ordered(memory: Memory, hits: Hits, gate: Gate, now: Now, *, by_hits: bool) -> Iterator[Entry]:
    """The rows that pass the gate, best first.

    By falling weight of hits, then by score, then global before the session and the older
    in the store first.
    """
    weights = hits.weights if by_hits else [dict.fromkeys(counts, 0) for counts in hits.counts]
    levels = [_by_level(found) for found in weights]
    scorers = [
        _scorer(memory, scope, len(counts), now)
        for scope, counts in zip(hits.scopes, hits.counts, strict=True)
    ]
    for weight in sorted({weight for level in levels for weight in level}, reverse=True):
        entries = [
            Entry(scope, slot, hits.counts[rank][slot], scorers[rank](slot))
            for rank, scope in enumerate(hits.scopes)
            for slot in sorted(levels[rank].get(weight, ()))
            if gate(scope, slot)
        ]
        yield from sorted(entries, key=lambda entry: -entry.score)  # stable


def updates_first(
    memory: Memory, hits: Hits, entries: Iterable[Entry], gate: Gate, now: Now
) -> Iterator[Entry]:
    """Let what updates a percept take its place before it (knob `superseded`).

    It counts if it is visible and passes the same gate; it need not share a word itself.
    """
    placed: set[str] = set()
    for entry in entries:
        if entry.id not in placed:
            yield from _with_updaters(memory, hits, entry, gate, now, placed)


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
        features = entry.scope.lookup.tokens.features(entry.slot)
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


def _literally(memory: Memory, scope: Scope, plain: str) -> Counter[int]:
    """The rows that have the text as it stands; all, without a hit, for no text."""
    if not plain:
        return Counter(dict.fromkeys(scope.slots.values(), 0))
    searched = memory.analyzer.searched
    return Counter(
        slot
        for slot in scope.slots.values()
        if any(plain in fold(text) for text in searched(scope.text(slot)))
    )


def _by_level(weights: Mapping[int, float]) -> dict[float, list[int]]:
    levels: dict[float, list[int]] = {}
    for slot, weight in weights.items():
        levels.setdefault(weight, []).append(slot)
    return levels


def _scorer(memory: Memory, scope: Scope, rows: int, now: Now) -> Callable[[int], float]:
    """The order_score of a row: looked up in a column where many are wanted, else worked out."""
    if rows > len(scope) // 8:
        return memory.column_scores(scope, now.wall).__getitem__
    c = recency_scale(now.wall, memory.params)
    return lambda slot: memory.row_score(scope, slot, now.wall, c)


def _updaters(memory: Memory, hits: Hits, percept_id: str, gate: Gate, now: Now) -> Iterator[Entry]:
    """The visible percepts that update one and pass the gate, the latest stated first."""
    ids = [i for scope in hits.scopes for i in scope.updaters.get(percept_id, ())]
    c = recency_scale(now.wall, memory.params)
    for updater in reversed(ids):
        for rank, scope in enumerate(hits.scopes):
            slot = scope.slots.get(updater)
            if slot is not None and gate(scope, slot):
                score = memory.row_score(scope, slot, now.wall, c)
                yield Entry(scope, slot, hits.counts[rank][slot], score)
