"""Two percepts that turn out to be one: the promoted one joins the global of its meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine import engrams
from milkd.engine.changes import EdgeActed, Shown
from milkd.engine.columns import NEUTRAL_IMPORTANCE
from milkd.engine.distinctness import apart
from milkd.engine.kernels import TokenIndex
from milkd.engine.percept import GLOBAL, Edge, Percept, Producer, Wording
from milkd.engine.wordings import with_wording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.engine.draft import Draft


class Twins:
    """Finds, for what one pass promotes, the global percept that says the same.

    Exact like any search for duplicates, over global as the draft leaves it: the index of
    its rows, and one of what the pass has promoted so far.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._promoted: list[str] = []
        self._index = TokenIndex(draft.memory.analyzer.vocabulary)
        self._related: dict[str, set[str]] | None = None

    def note(self, percept: Percept) -> None:
        """The percept is in global from now on."""
        features = self._draft.memory.analyzer.vocabulary.features(percept.content)
        self._index.add(len(self._promoted), features)
        self._promoted.append(percept.id)

    def forget_edges(self) -> None:
        """Edges have changed."""
        self._related = None

    def find(self, percept: Percept) -> Percept | None:
        """The most similar one that the guard does not reject; of equals the oldest.

        It is for the same consumer, and no edge joins the two.
        """
        draft, analyzer = self._draft, self._draft.memory.analyzer
        marks, level = analyzer.marks(percept.content), draft.params.distinctness_guard
        related = self._joined_to(percept.id)
        for other in self._alike(percept):
            if other.id in related or other.consumer != percept.consumer:
                continue
            if not apart(marks, analyzer.marks(other.content), level, analyzer.stem):
                return other
        return None

    def _alike(self, percept: Percept) -> Iterator[Percept]:
        """Globals that are similar enough, the most similar and then the oldest first."""
        here, threshold = self._draft.scope(GLOBAL), self._draft.params.duplicate_threshold
        wanted = self._draft.memory.analyzer.vocabulary.features(percept.content)
        rows = here.base.lookup.tokens.alike(wanted, threshold)
        found = [(-likeness, 0, slot, here.base.text(slot).id) for likeness, slot in rows]
        fresh = self._index.alike(wanted, threshold)
        found += [(-likeness, 1, n, self._promoted[n]) for likeness, n in fresh]
        for _, _, _, percept_id in sorted(found):
            other = here.get(percept_id)
            if other is not None:  # it may have been archived in this very pass
                yield other

    def _joined_to(self, percept_id: str) -> set[str]:
        """The percepts that an edge joins to this one."""
        if self._related is None:
            self._related = {}
            for scope in self._draft.live_scopes():
                for edge in scope.edges.values():
                    self._related.setdefault(edge.source, set()).add(edge.target)
                    self._related.setdefault(edge.target, set()).add(edge.source)
        return self._related.get(percept_id, set())


def merge(draft: Draft, session: str, percept: Percept, twin: Percept) -> None:
    """Merge a session's percept into the global one that says the same.

    The global id and content stay, the other words become a wording.
    """
    merged = _with_all_wordings(draft, _merged(twin, percept), percept)
    label = engrams.leave(draft, session, percept)
    if label is not None and merged.engram_id is None:
        merged = engrams.join(draft, GLOBAL, merged, label)
    draft.drop(session, percept.id)
    draft.put(GLOBAL, merged)
    if draft.is_awarded(percept.id):
        draft.mark_awarded(twin.id)
    if draft.memory.was_shown(session, percept.id):
        draft.changes.append(Shown(session, session, {twin.id: ""}))
    _redirect(draft, percept.id, twin.id)


def _merged(twin: Percept, percept: Percept) -> Percept:
    """The two as one: the stronger of each, the sum of counts, the user's if either is."""
    by_user = Producer.USER in (twin.producer, percept.producer)
    return replace(
        twin,
        w=max(twin.w, percept.w),
        evidence=max(twin.evidence, percept.evidence),
        updated_at=max(twin.updated_at, percept.updated_at),
        created_at=min(twin.created_at, percept.created_at),
        producer=Producer.USER.value if by_user else twin.producer,
        core=twin.core or percept.core,
        recall_count=twin.recall_count + percept.recall_count,
        bad_recall_count=twin.bad_recall_count + percept.bad_recall_count,
        # Like any promoted percept it begins with no idle time.
        idle_seconds=0.0,
        last_used_at=_latest(twin.last_used_at, percept.last_used_at),
        last_confirmed_use_at=_latest(twin.last_confirmed_use_at, percept.last_confirmed_use_at),
        importance=max(twin.importance, percept.importance, key=_usefulness),
        roles={**percept.roles, **{k: v for k, v in twin.roles.items() if v}},
    )


def _with_all_wordings(draft: Draft, merged: Percept, percept: Percept) -> Percept:
    """The latest of what either was called, in the order in which it was said."""
    if not draft.params.wordings:
        return merged
    stated = Wording(percept.content, percept.updated_at)
    wordings = sorted((*merged.wordings, *percept.wordings, stated), key=lambda w: w.at)
    merged = replace(merged, wordings=())
    for wording in wordings:
        merged = with_wording(merged, wording, draft.memory.analyzer)
    return merged


def _usefulness(importance: float | None) -> float:
    return NEUTRAL_IMPORTANCE if importance is None else importance


def _latest(one: float | None, other: float | None) -> float | None:
    return max((at for at in (one, other) if at is not None), default=None)


def _redirect(draft: Draft, old: str, new: str) -> None:
    """Let every edge of one percept be the other's; one to itself is dropped.

    An edge that had its turn in this run has had it under its new ends, too.
    """
    acted = draft.memory.acted.union(
        change.edge for change in draft.changes if isinstance(change, EdgeActed)
    )
    for name in list(draft.memory.scopes):
        for edge in list(draft.scope(name).edges.values()):
            if old not in (edge.source, edge.target):
                continue
            draft.drop_edge(name, edge)
            source = new if edge.source == old else edge.source
            target = new if edge.target == old else edge.target
            home = GLOBAL if source == new else name
            moved = Edge(source, target, edge.relation, edge.extra)
            if source != target and moved not in draft.scope(home).edges:
                draft.put_edge(home, moved)
                if edge in acted:
                    draft.changes.append(EdgeActed(moved))
