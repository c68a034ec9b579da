"""What is there, how strong it is by now, and what the next passes have in store for it.

The rules are those of the pass itself: its decay, its thresholds, its verdicts.
"""

from __future__ import annotations

import math
from heapq import nsmallest
from typing import TYPE_CHECKING

from milkd.engine.consolidation import rows_at_most, rows_idle, strong, updating_a_global
from milkd.engine.draft import Draft
from milkd.engine.params import DAY_S, Params
from milkd.engine.percept import GLOBAL
from milkd.engine.promotion import Verdict, contradicted, judge
from milkd.engine.results import Decision, Due, Outlook, Shelf, View
from milkd.engine.strength import MAX_ELAPSED_S, half_life_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from milkd.engine.commands import LookAhead, Now
    from milkd.engine.memory import Memory

HORIZON_S = MAX_ELAPSED_S
"""Running seconds ahead: no single pass accounts for more."""
MANY = 64.0  # halvings take the strongest fact below any threshold, and more may overflow
BINS = 10  # of the histogram of strengths, each a tenth wide


def look_ahead(memory: Memory, command: LookAhead, now: Now) -> Decision:
    """The strongest facts of what is visible, and whatever is due before long."""
    draft = Draft(memory, now)
    names = [scope.name for scope in memory.visible(command.session)]
    for name in names:
        draft.let_pass(name)
    due = [each for name in names for each in _due(draft, name)]
    due.sort(key=lambda each: math.inf if each.in_seconds is None else each.in_seconds)
    shelves = tuple(_shelf(draft, name, command.limit) for name in names)
    return Decision((), Outlook(shelves, tuple(due[: command.limit]), len(due)))


def until_pruned(w: float, scope: str, params: Params) -> float:
    """Running seconds that decay takes to bring a strength down to `prune_threshold`."""
    if w <= params.prune_threshold:
        return 0.0
    if not params.prune_threshold:
        return math.inf
    return half_life_s(scope, params) * math.log2(w / params.prune_threshold)


def until_archived(idle_s: float, params: Params) -> float:
    """Running seconds without use that are left to a global one."""
    return max(0.0, params.global_archive_after_days * DAY_S - idle_s)


def _shelf(draft: Draft, name: str, limit: int) -> Shelf:
    """A scope by its strengths of this moment, its highest ranks first."""
    here, memory = draft.scope(name), draft.memory
    assert here.passed is not None
    w, base = here.passed[0], here.base
    scores = memory.column_scores(base, draft.now.wall, w=w)
    slots = base.slots.values()
    # Of many, few are wanted; and like sorted(), this leaves equals in the order of the store.
    highest = nsmallest(limit, slots, key=lambda slot: -scores[slot])
    views = [
        View(base.text(slot), name, scores[slot], base.columns.live(slot)._replace(w=w[slot]))
        for slot in highest
    ]
    core = sum(base.columns.exempt[slot] for slot in slots)
    return Shelf(name, len(slots), core, histogram([w[slot] for slot in slots]), tuple(views))


def histogram(weights: Sequence[float]) -> tuple[int, ...]:
    """How many weights lie in each tenth of [0, 1]; the last one has its upper end too.

    They count as they are read, in hundredths: what is 0.70 is so a second later, too.
    """
    counts = [0] * BINS
    for w in weights:
        counts[min(round(w * 100) * BINS // 100, BINS - 1)] += 1
    return tuple(counts)


def _due(draft: Draft, name: str) -> Iterator[Due]:
    return _due_in_global(draft) if name == GLOBAL else _due_in_session(draft, name)


def _due_in_session(draft: Draft, name: str) -> Iterator[Due]:
    """What of a session goes or rises."""
    here, params = draft.scope(name), draft.params
    kept = updating_a_global(draft) if params.keep_updates else set()
    halvings = min(HORIZON_S / half_life_s(name, params), MANY)
    reach = params.prune_threshold * math.exp2(halvings)
    going = [percept for percept in rows_at_most(here, reach) if percept.id not in kept]
    for percept in going:
        view = View(percept, name, draft.memory.rank_score(percept, draft.now.wall))
        yield Due(view, "pruned", until_pruned(percept.w, name, params))
    blocked, gone = contradicted(draft), {percept.id for percept in going}
    for percept_id in strong(here, params):
        if (known := here.get(percept_id)) is None or percept_id in gone:
            continue
        view = View(known, name, draft.memory.rank_score(known, draft.now.wall))
        verdict = judge(known, params, blocked=percept_id in blocked)
        if verdict is Verdict.PROMOTED:
            yield Due(view, "promoted", 0.0)
        elif verdict is Verdict.DEFERRED:
            yield Due(view, "held_back", None)


def _due_in_global(draft: Draft) -> Iterator[Due]:
    """What of global is about to be archived."""
    params = draft.params
    limit_s = params.global_archive_after_days * DAY_S
    for percept in rows_idle(draft.scope(GLOBAL), max(0.0, limit_s - HORIZON_S)):
        view = View(percept, GLOBAL, draft.memory.rank_score(percept, draft.now.wall))
        yield Due(view, "archived", until_archived(percept.idle_seconds, params))
