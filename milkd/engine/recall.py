"""What comes back: by words for a query, by reference or page for a look.

ADR-90, "Weighing": token hits first, then the rank score; gates read raw w.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Percept
from milkd.engine.ranking import recency_scale
from milkd.engine.references import Place, matches, resolve, shown
from milkd.engine.results import Candidate, Decision, Detail, Hit, Page, Recalled, View
from milkd.engine.text import fold, tokens
from milkd.engine.usage import used

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from milkd.engine.commands import List, Now, Query, Resolve, Show
    from milkd.engine.memory import Memory
    from milkd.engine.scope import Scope

Ranked = tuple[tuple[int, float, int, int], Place]
"""Sort key (-hits, -score, 0 for global and 1 for the session, row) and place."""


def query(memory: Memory, command: Query, now: Now) -> Decision:
    """Recall the percepts that share most words with a text."""
    found = [(scope, hits) for scope, hits in hits_by_scope(memory, command.text, command.session)]
    gate = _gate(command)
    ranked = ranking(memory, found, gate, now, atleast=command.max_results)
    chosen = ranked[: command.max_results]
    places = [place for _, place in chosen]
    result = Recalled(
        tuple(_hit(memory, entry, now) for entry in chosen),
        tuple(_candidates(memory, command, now, found)) if command.explain else None,
    )
    return Decision(used(places, now), result)


def hits_by_scope(
    memory: Memory, text: str, session: str | None
) -> list[tuple[Scope, Counter[int]]]:
    """How many of a text's tokens each visible row has.

    An empty text fits every row without a hit; one of signs alone is looked for as it stands.
    """
    wanted, plain = tokens(text), fold(text).strip()
    found = []
    for scope in memory.visible(session):
        if wanted:
            hits = scope.index.hits(wanted)
        elif plain:
            hits = Counter(
                slot for slot in scope.slots.values() if plain in fold(scope.text(slot).content)
            )
        else:
            hits = Counter(dict.fromkeys(scope.slots.values(), 0))
        found.append((scope, hits))
    return found


def ranking(
    memory: Memory,
    found: list[tuple[Scope, Counter[int]]],
    gate: Callable[[Scope, int], bool],
    now: Now,
    *,
    atleast: int,
    by_hits: bool = True,
) -> list[Ranked]:
    """The rows that pass the gate, best first; complete as far as the `atleast` first go.

    Rows are taken by falling number of hits, until there are enough: one with fewer hits
    can't come before them, whatever its score.
    """
    levels = [_by_level(counts, by_hits=by_hits) for _, counts in found]
    scorers = [_scorer(memory, scope, len(counts), now) for scope, counts in found]
    ranked: list[Ranked] = []
    for hits in sorted({hits for level in levels for hits in level}, reverse=True):
        for rank, (scope, _) in enumerate(found):
            score = scorers[rank]
            ranked += [
                ((-hits, -score(slot), rank, slot), (scope, slot))
                for slot in levels[rank].get(hits, ())
                if gate(scope, slot)
            ]
        if len(ranked) >= atleast:
            break
    return sorted(ranked, key=lambda entry: entry[0])


def _by_level(counts: Counter[int], *, by_hits: bool) -> dict[int, list[int]]:
    """Rows by number of hits; all on one level where hits don't count."""
    if not by_hits:
        return {0: list(counts)}
    levels: dict[int, list[int]] = {}
    for slot, hits in counts.items():
        levels.setdefault(hits, []).append(slot)
    return levels


def _scorer(memory: Memory, scope: Scope, rows: int, now: Now) -> Callable[[int], float]:
    """The score of a row: looked up in a column where many are wanted, else worked out."""
    if rows > len(scope) // 8:
        return memory.column_scores(scope, now.wall).__getitem__
    c = recency_scale(now.wall, memory.params)
    return lambda slot: memory.row_score(scope, slot, now.wall, c)


def passes_consumer(scope: Scope, slot: int, consumer: str | None) -> bool:
    """Whether a percept is for the asker: for all, for it, or the asker is nobody in particular."""
    return consumer is None or scope.text(slot).consumer in (None, consumer)


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


def _gate(command: Query) -> Callable[[Scope, int], bool]:
    def passes(scope: Scope, slot: int) -> bool:
        strong = scope.columns.w[slot] >= command.min_confidence
        return strong and passes_consumer(scope, slot, command.consumer)

    return passes


def _hit(memory: Memory, entry: Ranked, now: Now) -> Hit:
    (negative_hits, negative_score, _, _), (scope, slot) = entry
    percept = scope.percept(slot)
    score = memory.rank_score(percept, now.wall)
    return Hit(View(percept, scope.name, score), -negative_hits, -negative_score)


def _candidates(
    memory: Memory, command: Query, now: Now, found: list[tuple[Scope, Counter[int]]]
) -> Iterator[Candidate]:
    """Every row with a hit, and why it is in or out."""
    total = sum(len(hits) for _, hits in found)
    everything = ranking(memory, found, lambda _scope, _slot: True, now, atleast=total)
    included = 0
    for (negative_hits, negative_score, _, _), (scope, slot) in everything:
        percept = scope.percept(slot)
        if percept.w < command.min_confidence:
            reason = f"w {shown(percept.w)} is below min_confidence {command.min_confidence:g}"
        elif not passes_consumer(scope, slot, command.consumer):
            reason = f"meant for {percept.consumer}, asked by {command.consumer}"
        elif included >= command.max_results:
            reason = f"after the first {command.max_results}"
        else:
            included += 1
            reason = "among the best"
        yield Candidate(
            id=percept.id,
            included=reason == "among the best",
            reason=reason,
            hits=-negative_hits,
            score=-negative_score,
            bytes=len(percept.content.encode()),
        )
