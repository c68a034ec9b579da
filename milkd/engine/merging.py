"""Two percepts that turn out to be one: the promoted one joins the global of its meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine import engrams
from milkd.engine.changes import EdgeActed, Shown
from milkd.engine.columns import NEUTRAL_IMPORTANCE
from milkd.engine.distinctness import apart
from milkd.engine.percept import GLOBAL, Edge, Percept, Producer, Wording
from milkd.engine.text import jaccard
from milkd.engine.wordings import with_wording

if TYPE_CHECKING:
    from milkd.engine.draft import Draft


def merge(draft: Draft, session: str, percept: Percept) -> bool:
    """Merge a percept into its near-duplicate in global, if there is one; gives whether.

    Its id and content stay, the other words become a wording.  Percepts for different
    consumers, or with an edge between them, are not merged.
    """
    if not draft.params.merge_on_promote:
        return False
    twin = _twin(draft, percept)
    if twin is None:
        return False
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
    return True


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


def _twin(draft: Draft, percept: Percept) -> Percept | None:
    """The global percept that this one restates, as the draft leaves it."""
    related = {
        end
        for scope in draft.live_scopes()
        for edge in scope.edges.values()
        if percept.id in (edge.source, edge.target)
        for end in (edge.source, edge.target)
    }
    best: tuple[float, Percept] | None = None
    for similarity, other in _global_alike(draft, percept):
        if other.id in related or other.consumer != percept.consumer:
            continue
        if best is None or similarity > best[0]:
            best = (similarity, other)
    return None if best is None else best[1]


def _global_alike(draft: Draft, percept: Percept) -> list[tuple[float, Percept]]:
    """Globals similar enough that the guard does not reject, the oldest first."""
    here, params, analyzer = draft.scope(GLOBAL), draft.params, draft.memory.analyzer
    wanted, marks = analyzer.features(percept.content), analyzer.marks(percept.content)
    rows = here.base.lookup.tokens.alike(wanted, params.duplicate_threshold)
    ids = [here.base.text(slot).id for _, slot in sorted(rows, key=lambda row: row[1])]
    ids += [i for i in here.puts if i not in here.base]  # promoted in this very pass
    found = []
    for other in (other for i in ids if (other := here.get(i)) is not None):
        similarity = jaccard(wanted, analyzer.features(other.content))
        if similarity < params.duplicate_threshold:
            continue
        theirs = analyzer.marks(other.content)
        if not apart(marks, theirs, params.distinctness_guard, analyzer.stem):
            found.append((similarity, other))
    return found


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
