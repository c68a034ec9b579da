"""Why a percept is what it is, and what comes next, in sentences with the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.consolidation import CONTRADICTION_PENALTY, updating_a_global
from milkd.engine.draft import Draft
from milkd.engine.looking import edges_of
from milkd.engine.outlook import until_archived, until_pruned
from milkd.engine.params import DAY_S, Params
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Percept, Producer, Relation
from milkd.engine.promotion import RUNS_NEEDED, qualifies
from milkd.engine.references import resolve, short, shown
from milkd.engine.relevance import MIN_W
from milkd.engine.results import Decision, Explanation, View
from milkd.engine.strength import elapsed, floor, half_life_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.engine.commands import Explain, Now
    from milkd.engine.memory import Memory


def explain(memory: Memory, command: Explain, now: Now) -> Decision:
    """What holds for one percept and what comes next."""
    scope, slot = resolve(memory, command.ref, command.session)
    draft = Draft(memory, now)
    percept = scope.percept(slot)
    current = draft.current(scope.name, percept)
    edges = edges_of(memory, percept.id)
    view = View(percept, scope.name, memory.rank_score(percept, now.wall))
    holds = (*_holds(memory, current, scope.name, now), *_edge_sentences(percept, edges))
    ahead = tuple(_next(draft, scope.name, current, edges))
    return Decision((), Explanation(view, edges, current.w, holds, ahead))


def _holds(memory: Memory, percept: Percept, scope: str, now: Now) -> Iterator[str]:
    where = scope if scope in (GLOBAL, ARCHIVE) else f"session {scope}"
    yield f"It is in {where}, stated by {percept.producer}, for {percept.consumer or 'all'}."
    if percept.core:
        yield "It is core: its strength stays 1, and no pass removes it."
    else:
        yield f"Its strength is {shown(percept.w)} now."
    yield f"It was corroborated in {_runs(percept.evidence)}."
    if percept.id in memory.awarded:
        yield "This run has been counted; restating it again in this run adds no evidence."
    score = memory.rank_score(percept, now.wall)
    yield f"Its rank score is {score:.3f}: strength, recency and evidence together."
    yield from _usefulness(percept, now)
    for wording in percept.wordings:
        yield f"It was also stated as: {wording.content}"
    updaters = [i for here in memory.live() for i in here.updaters.get(percept.id, ())]
    if memory.params.superseded and any(map(memory.is_live, updaters)):
        yield "Where the one that updates it is seen, it comes after it and is not injected."
    if percept.w < MIN_W:
        yield f"Below {MIN_W:g} it is neither injected nor recalled by default."


def _usefulness(percept: Percept, now: Now) -> Iterator[str]:
    """What turns that were judged say of it."""
    if percept.recall_count:
        vain = percept.bad_recall_count
        row = f", and not used in the last {vain}" if vain else ""
        yield f"It was shown in {_turns(percept.recall_count)} that were judged{row}."
    if percept.last_confirmed_use_at is not None:
        days = max(0.0, now.wall - percept.last_confirmed_use_at) / DAY_S
        yield f"It was last made use of {days:.1f} days ago."
    if percept.importance is not None:
        yield (
            f"Its importance is {percept.importance:.2f} (0.50 is neutral): it moves it forward or "
            "back among what comes with it, and bears on nothing else."
        )


def _edge_sentences(percept: Percept, edges: tuple[Edge, ...]) -> Iterator[str]:
    for edge in edges:
        if edge.source == percept.id:
            yield f"It {edge.relation} {short(edge.target)}."
        else:
            yield f"{short(edge.source)} {edge.relation} it."


def _next(draft: Draft, scope: str, percept: Percept, edges: tuple[Edge, ...]) -> Iterator[str]:
    params = draft.params
    if scope == ARCHIVE:
        yield f"It was archived as {percept.archived_reason or 'stale'}; `restore` brings it back."
    elif percept.core:
        yield "It stays until it is forgotten."
    elif scope == GLOBAL:
        yield from _next_in_global(draft, percept)
    else:
        yield from _next_in_session(draft, scope, percept)
    rivals = [_other_end(edge, percept.id) for edge in edges if _contradicts(draft, edge)]
    if scope != ARCHIVE:
        yield from _contradictions(draft, scope, rivals)
    if scope not in (GLOBAL, ARCHIVE) and not percept.core:
        yield from _promotion(percept, params, blocked=bool(rivals))


def _contradictions(draft: Draft, scope: str, rivals: list[str]) -> Iterator[str]:
    """What comes of contradicting global facts, and of contradicting those of sessions."""
    shared = [rival for rival in rivals if rival in draft.scope(GLOBAL)]
    others = [rival for rival in rivals if rival not in shared]
    if shared and scope == GLOBAL:
        yield (
            f"It and {_listed(shared)} contradict: each pass takes {CONTRADICTION_PENALTY:g} from "
            "both (from core ones nothing), until one of them is forgotten."
        )
    elif shared:
        listed = _listed(shared)
        yield f"Until it or {listed} is forgotten, it can't become global: they contradict."
    if others and scope == GLOBAL:
        listed = _listed(others)
        yield (
            f"It and {listed} contradict: {listed} can't become global until one of them is "
            "forgotten."
        )
    elif others:
        yield (
            f"Until it or {_listed(others)} is forgotten, neither can become global: they "
            "contradict."
        )


def _listed(ids: list[str]) -> str:
    return ", ".join(map(short, ids))


def _next_in_session(draft: Draft, scope: str, percept: Percept) -> Iterator[str]:
    params = draft.params
    days = half_life_s(scope, params) / DAY_S
    left = until_pruned(percept.w, scope, params) / DAY_S
    if params.keep_updates and percept.id in updating_a_global(draft):
        yield "It updates a global fact, and so it is not removed while that one lives."
    elif percept.w <= params.prune_threshold:
        yield f"At or below {params.prune_threshold:g} it is removed at the next pass."
    else:
        yield (
            f"Unrestated it is removed after {left:.2f} more running days of its session "
            f"(half-life {days:g}, removed at {params.prune_threshold:g})."
        )


def _next_in_global(draft: Draft, percept: Percept) -> Iterator[str]:
    params = draft.params
    days = half_life_s(GLOBAL, params) / DAY_S
    yield (
        f"It sinks towards {floor(GLOBAL, params):g} with a half-life of {days:g} running days, "
        "and not below."
    )
    here = draft.memory.scopes[GLOBAL]
    slot = here.slots[percept.id]
    idle = percept.idle_seconds
    if not (here.columns.used[slot] or here.is_touched(slot)):
        idle += elapsed(here.passed_at, draft.running(GLOBAL))
    left = until_archived(idle, params) / DAY_S
    yield f"Unused it is archived after {left:.2f} more running days."


def _promotion(percept: Percept, params: Params, *, blocked: bool) -> Iterator[str]:
    """What is missing for the percept to become global."""
    if qualifies(percept, params):
        held = "held back by the contradiction" if blocked else "promoted at the next pass"
        yield f"It qualifies for global and is {held}."
    elif percept.producer == Producer.USER:
        yield f"It becomes global at strength {params.promote_threshold:g}, being the user's word."
    else:
        yield (
            f"To become global it needs strength {params.promote_corroborated_threshold:g} (it has "
            f"{shown(percept.w)}) and restatements in {RUNS_NEEDED} runs: it has "
            f"{_runs(percept.evidence)}, needs {RUNS_NEEDED}."
        )


def _turns(count: int) -> str:
    return f"{count} turn" if count == 1 else f"{count} turns"


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def _contradicts(draft: Draft, edge: Edge) -> bool:
    live = draft.is_live(edge.source) and draft.is_live(edge.target)
    return edge.relation == Relation.CONTRADICTS and live


def _other_end(edge: Edge, percept_id: str) -> str:
    return edge.target if edge.source == percept_id else edge.source
