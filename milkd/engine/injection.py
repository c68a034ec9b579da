"""Facts chosen for a prompt, within a budget of facts and bytes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from milkd.engine.budget import FITS, Budget
from milkd.engine.candidates import MOST, NO_WORD, beside, candidate, kept_out
from milkd.engine.neighbours import Neighbourhood, may_be_any
from milkd.engine.ordering import Entry, Gate, diverse, ordered, updates_first
from milkd.engine.percept import Relation
from milkd.engine.ranking import recency_scale
from milkd.engine.relevance import CHANCE, MIN_W, by_chance, relevant
from milkd.engine.rendering import line_of
from milkd.engine.results import Beside, Decision, Injection
from milkd.engine.usage import put_before, turn_of, used

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.engine.commands import Inject, Now
    from milkd.engine.hits import Hits
    from milkd.engine.memory import Memory
    from milkd.engine.neighbours import Neighbour
    from milkd.engine.references import Place
    from milkd.engine.results import Candidate

CONFLICT = " (in conflict with the fact above)"
"""Stands behind what contradicts a result, which comes right after that one."""


def inject(memory: Memory, command: Inject, now: Now) -> Decision:
    """The block for a prompt; empty when nothing new bears on it."""
    budget, hits = Budget.of(memory, command), relevant(memory, command)
    candidates: list[Candidate] = []
    places: list[Place] = []
    chance = by_chance(memory, command, hits, now)
    for entry in islice(_in_order(memory, command, hits, now), MOST if command.explain else None):
        if (chance or budget.is_spent()) and not command.explain:
            break
        reason = CHANCE if chance else _consider(memory, command, entry, budget)
        if reason == FITS:
            places.append((entry.scope, entry.slot))
        if command.explain:
            candidates.append(candidate(memory, entry, reason, included=reason == FITS))
    ids = tuple(budget.lines)
    neighbours = _take_neighbours(memory, command, hits, budget, candidates, now)
    if command.explain:
        rest = _never_considered(memory, command, hits, candidates, now)
        candidates += islice(rest, max(0, MOST - len(candidates)))
    text = budget.rendered()
    seen = put_before(memory, budget.lines, command.prompt, command.session, command.caller)
    result = Injection(
        text=text,
        ids=ids,
        bytes=len(text.encode()),
        neighbours=neighbours,
        candidates=tuple(candidates) if command.explain else None,
        turn=turn_of(seen),
    )
    return Decision(used(places, now) + seen, result)


def _in_order(memory: Memory, command: Inject, hits: Hits, now: Now) -> Iterator[Entry]:
    params, gate = memory.params, Gate(MIN_W, command.consumer)
    by_hits, most = params.inject_order == "hits", Budget.of(memory, command).max_facts
    entries = ordered(memory, hits, gate, now, by_hits=by_hits, at_first=2 * most)
    if params.superseded:
        entries = updates_first(memory, hits, entries, gate, now)
    if params.diversity in ("inject", "both"):
        entries = diverse(memory, entries, most, superseded=False)
    return entries


def _consider(memory: Memory, command: Inject, entry: Entry, budget: Budget) -> str:
    """Offer one fact to the budget, if it is news; the reason why it is in or out."""
    if entry.superseded_by is not None:
        return f"superseded by {entry.superseded_by}"
    line = line_of(entry.scope.text(entry.slot), memory.analyzer)
    return _old_news(memory, command, entry.id, line) or budget.take(entry.id, line)


def _old_news(memory: Memory, command: Inject, percept_id: str, line: str) -> str:
    """Why a relevant fact need not be shown; nothing if it does."""
    turns = memory.params.inject_repeat_turns
    audience = memory.audiences.get(command.session or command.caller or "")
    if not command.repeat and audience and audience.repeats(percept_id, line, turns):
        return f"shown within the last {turns} turns"
    return ""


def _take_neighbours(
    memory: Memory,
    command: Inject,
    hits: Hits,
    budget: Budget,
    candidates: list[Candidate],
    now: Now,
) -> tuple[Beside, ...]:
    """What the results left of the budget goes to their neighbours."""
    taken: list[Beside] = []
    if memory.params.neighbours not in ("inject", "both") or not may_be_any(memory, hits.scopes):
        return ()
    budget.begin_neighbours()
    if budget.is_spent():
        return ()
    gate, results = Gate(MIN_W, command.consumer), tuple(budget.lines)
    for each in Neighbourhood(memory, hits.scopes, gate, results, now).all():
        reason = _offer(memory, command, each, budget)
        if reason == FITS:
            taken.append(Beside(each.id, each.of, each.via, each.overlap))
        if command.explain:
            candidates[:] = [known for known in candidates if known.id != each.id]
            candidates.append(beside(memory, each, reason, included=reason == FITS))
        elif budget.is_spent():
            break
    return tuple(taken)


def _offer(memory: Memory, command: Inject, each: Neighbour, budget: Budget) -> str:
    line = line_of(each.scope.text(each.slot), memory.analyzer)
    if each.via == Relation.CONTRADICTS:
        line += CONFLICT
    return _old_news(memory, command, each.id, line) or budget.take(each.id, line, of=each.of)


def _never_considered(
    memory: Memory, command: Inject, hits: Hits, candidates: list[Candidate], now: Now
) -> Iterator[Candidate]:
    """The visible percepts that never came before the budget, and why."""
    considered = {candidate.id for candidate in candidates}
    gate, c = Gate(MIN_W, command.consumer), recency_scale(now.wall, memory.params)
    for scope, counts in zip(hits.scopes, hits.counts, strict=True):
        for percept_id, slot in scope.slots.items():
            if percept_id in considered:
                continue
            late = f"after the first {MOST:,} that bear on it"
            reason = (kept_out(scope, slot, gate) or late) if slot in counts else NO_WORD
            score = memory.row_score(scope, slot, now.wall, c)
            entry = Entry(scope, slot, counts.get(slot, 0), score)
            yield candidate(memory, entry, reason, included=False)
