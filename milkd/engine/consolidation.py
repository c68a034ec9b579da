"""One pass: decay, edges, prune, archive, promote, evict, in this order (ADR-90, "Pass").

Each step is a function over the draft; `let_all_pass` is their order.  The
seventh step, persisting, is the store's.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

from milkd.engine import engrams, kernels
from milkd.engine.changes import AudienceLeft, EdgeActed
from milkd.engine.draft import Draft, ScopeDraft
from milkd.engine.merging import Twins, merge
from milkd.engine.moving import delete, move
from milkd.engine.params import DAY_S
from milkd.engine.percept import ARCHIVE, GLOBAL, POSITIVE, Edge, Percept, Relation
from milkd.engine.promotion import Verdict, contradicted, judge
from milkd.engine.results import Decision, Report

if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkd.engine.commands import Consolidate, Now
    from milkd.engine.memory import Memory
    from milkd.engine.params import Params

EDGE_BOOST = 0.05  # ADR-53, 3
CONTRADICTION_PENALTY = 0.10  # ADR-53, 3


def consolidate(memory: Memory, command: Consolidate, now: Now) -> Decision:
    """One pass over global and the session, or over global and every open session."""
    draft = Draft(memory, now)
    report = let_all_pass(draft, command.session)
    if command.ending and command.session is not None:
        draft.changes.append(AudienceLeft(command.session))
    return Decision(tuple(draft.changes), report)


def let_all_pass(draft: Draft, session: str | None) -> Report:
    """The steps of a pass, as parts of a decision; nothing may be in the draft yet."""
    sessions = draft.memory.sessions() if session is None else (session,)
    report = Report(sessions={name: Report() for name in sessions})
    decay(draft, sessions, report)
    apply_edges(draft, sessions, report)
    prune(draft, sessions, report)
    archive_stale(draft, report)
    promote(draft, sessions, report)
    evict(draft, report)
    for name in (*sessions, GLOBAL):
        engrams.weigh(draft, name)
    report.global_total = len(draft.scope(GLOBAL))
    return report


def decay(draft: Draft, sessions: Iterable[str], report: Report) -> None:
    """Step 1: strength falls and idle time accrues with the running time since the last pass."""
    for name in sessions:
        part = report.sessions[name]
        part.decayed, part.running_seconds = draft.let_pass(name)
        report.decayed += part.decayed
    report.global_decayed, report.running_seconds = draft.let_pass(GLOBAL)


def apply_edges(draft: Draft, sessions: Iterable[str], report: Report) -> None:
    """Step 2: positive edges lift their target, contradictions lower both ends.

    An edge moves only percepts of its own scope, never core ones, and only while both ends
    are live; one with an end that is nowhere any more is dropped.
    """
    for name in (*sessions, GLOBAL):
        for edge in list(draft.scope(name).edges.values()):
            if not (draft.memory.exists(edge.source) and draft.memory.exists(edge.target)):
                draft.drop_edge(name, edge)
            elif _may_act(draft, edge) and _act(draft, name, edge):
                if edge not in draft.memory.acted:
                    draft.changes.append(EdgeActed(edge))
                report.edges_applied += 1
                if name in report.sessions:
                    report.sessions[name].edges_applied += 1


def prune(draft: Draft, sessions: Iterable[str], report: Report) -> None:
    """Step 3: session percepts at or below the threshold go.

    One that updates a live global stays, or the old truth would come back.
    """
    kept = updating_a_global(draft) if draft.params.keep_updates else set()
    for name in sessions:
        faded = [
            percept
            for percept in rows_at_most(draft.scope(name), draft.params.prune_threshold)
            if percept.id not in kept
        ]
        delete(draft, [(name, percept) for percept in faded])
        report.sessions[name].pruned = len(faded)
        report.pruned += len(faded)


def archive_stale(draft: Draft, report: Report) -> None:
    """Step 4: globals that nobody used for long enough go to the archive (ADR-56)."""
    limit_s = draft.params.global_archive_after_days * DAY_S
    for percept in rows_idle(draft.scope(GLOBAL), limit_s):
        archive(draft, percept, "stale")
        report.archived += 1


def promote(draft: Draft, sessions: Iterable[str], report: Report) -> None:
    """Step 5: session percepts that are strong and corroborated become global.

    After the decay of global, so that a promoted percept does not decay twice.
    """
    blocked, twins = contradicted(draft), Twins(draft)
    for name in sessions:
        here, part = draft.scope(name), report.sessions[name]
        for percept_id in strong(here, draft.params):
            percept = here.get(percept_id)
            assert percept is not None
            verdict = judge(percept, draft.params, blocked=percept_id in blocked)
            if verdict is Verdict.PROMOTED:
                _let_in(draft, name, percept, twins, part)
            elif verdict is Verdict.DEFERRED:
                part.promotion_deferred += 1
        report.merged += part.merged
        report.promoted += part.promoted
        report.promotion_deferred += part.promotion_deferred


def _let_in(draft: Draft, session: str, percept: Percept, twins: Twins, part: Report) -> None:
    """Move a percept to global, or into the one there that says the same."""
    twin = twins.find(percept) if draft.params.merge_on_promote else None
    if twin is None:
        twins.note(move(draft, replace(percept, idle_seconds=0.0), session, GLOBAL))
        part.promoted += 1
    else:
        merge(draft, session, percept, twin)
        twins.forget_edges()
        part.merged += 1


def evict(draft: Draft, report: Report) -> None:
    """Step 6: over the size cap, the lowest ranks go; core stays whatever the cap."""
    here, limit = draft.scope(GLOBAL), draft.params.percept_store_max
    excess = len(here) - limit if limit else 0
    if excess <= 0:
        return
    lowest = _lowest(draft, here, excess)
    if draft.params.evict_to_archive:
        for percept in lowest:
            archive(draft, percept, "evicted")
    else:
        delete(draft, [(GLOBAL, percept) for percept in lowest])
    report.evicted = len(lowest)


def archive(draft: Draft, percept: Percept, reason: str) -> None:
    """Move a global to the archive, with the edges from it."""
    percept = replace(percept, archived_at=draft.now.wall, archived_reason=reason)
    move(draft, percept, GLOBAL, ARCHIVE)


def _may_act(draft: Draft, edge: Edge) -> bool:
    """Whether both ends are live, and the edge has not had its turn in this run."""
    if draft.params.edge_cadence == "run" and edge in draft.memory.acted:
        return False
    return draft.is_live(edge.source) and draft.is_live(edge.target)


def _act(draft: Draft, scope: str, edge: Edge) -> bool:
    """Let one edge act; gives whether some strength changed."""
    if edge.relation == Relation.UPDATES and not draft.params.updates_boosts:
        return False
    if edge.relation in POSITIVE:
        return _shift(draft, scope, edge.target, EDGE_BOOST)
    if edge.relation == Relation.CONTRADICTS:
        changed = [
            _shift(draft, scope, end, -CONTRADICTION_PENALTY) for end in (edge.source, edge.target)
        ]
        return any(changed)
    return False  # a relation that a later version of milk may know


def _shift(draft: Draft, scope: str, percept_id: str, by: float) -> bool:
    """Move one weight within [0, 1]; one that rose was corroborated.

    A contradiction weakens and blocks, it does not delete: it stops at a floor of its own.
    """
    percept = draft.scope(scope).get(percept_id)
    if percept is None or percept.core:
        return False
    w = min(1.0, max(0.0, percept.w + by))
    if by < 0:
        w = max(w, min(percept.w, draft.params.contradiction_floor))
    if w == percept.w:
        return False
    moved = replace(percept, w=w)
    draft.put(scope, draft.award(moved) if w > percept.w else moved)
    return True


def updating_a_global(draft: Draft) -> set[str]:
    """The percepts that update one in global, at first or at second hand."""
    updaters: dict[str, list[str]] = {}
    for scope in draft.live_scopes():
        for edge in scope.edges.values():
            if edge.relation == Relation.UPDATES:
                updaters.setdefault(edge.target, []).append(edge.source)
    shared = draft.scope(GLOBAL)
    found: set[str] = set()
    to_visit = [target for target in updaters if target in shared]
    while to_visit:
        new = [source for source in updaters.get(to_visit.pop(), ()) if source not in found]
        found.update(new)
        to_visit += new
    return found


def rows_at_most(here: ScopeDraft, threshold: float) -> list[Percept]:
    """Non-core percepts of a scope whose strength, with the draft's changes, is that low."""
    assert here.passed is not None
    w, _ = here.passed
    rows = kernels.at_most(w, here.base.columns.exempt, threshold)
    unchanged = {here.base.text(slot).id for slot in rows} - here.puts.keys()
    lowered = {i for i, p in here.puts.items() if not p.core and p.w <= threshold}
    return _in_order(here, unchanged | lowered)


def strong(here: ScopeDraft, params: Params) -> list[str]:
    """The percepts of a scope that may be promoted or deferred, and some others, in order."""
    assert here.passed is not None
    w, _ = here.passed
    least = min(params.promote_threshold, params.promote_corroborated_threshold)
    rows = kernels.at_least(w, array("B", bytes(len(w))), least)
    rows += compress(range(len(w)), here.base.columns.exempt)
    known = here.base.live_ids(rows)
    return here.among(known | here.puts.keys())


def rows_idle(here: ScopeDraft, limit_s: float) -> list[Percept]:
    """Non-core percepts of a scope that were idle that long."""
    assert here.passed is not None
    _, idle_s = here.passed
    rows = kernels.at_least(idle_s, here.base.columns.exempt, limit_s)
    return _in_order(here, {here.base.text(slot).id for slot in rows})


def _in_order(here: ScopeDraft, ids: set[str]) -> list[Percept]:
    found = [here.get(percept_id) for percept_id in here.among(ids)]
    return [percept for percept in found if percept is not None]


def _lowest(draft: Draft, here: ScopeDraft, count: int) -> list[Percept]:
    """The non-core percepts of the lowest ranks, the lowest first; of equals the older one."""
    assert here.passed is not None
    base, wall = here.base, draft.now.wall
    scores = draft.memory.column_scores(base, wall, w=here.passed[0])
    exempt = base.columns.exempt[:]
    for percept_id in here.dropped:
        exempt[base.slots[percept_id]] = 1
    added: list[Percept] = []
    for percept_id, percept in here.puts.items():
        score = draft.memory.rank_score(percept, wall)
        if percept_id in base and percept_id not in here.dropped:
            slot = base.slots[percept_id]
            scores[slot], exempt[slot] = score, percept.core
        else:
            scores.append(score)
            exempt.append(percept.core)
            added.append(percept)
    rows = kernels.lowest(scores, exempt, count)
    last = len(base.columns)
    ids = [base.text(row).id if row < last else added[row - last].id for row in rows]
    found = [here.get(percept_id) for percept_id in ids]
    return [percept for percept in found if percept is not None]
