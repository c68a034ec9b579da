"""Facts chosen for a prompt, within a budget of facts and bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.engine.hits import Hits
from milkd.engine.ordering import Entry, Gate, diverse, ordered, updates_first
from milkd.engine.references import shown as shown_weight
from milkd.engine.rendering import FRAME_BYTES, line_of, render
from milkd.engine.results import Candidate, Decision, Injection
from milkd.engine.usage import put_before, turn_of, used

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.engine.commands import Inject, Now
    from milkd.engine.memory import Memory
    from milkd.engine.references import Place

MIN_W = 0.4
"""Raw strength from which a fact is injected (model.md, Injection)."""
FITS = "fits the budget"


def inject(memory: Memory, command: Inject, now: Now) -> Decision:
    """The block for a prompt; empty when nothing new bears on it."""
    budget = _Budget.of(memory, command)
    hits = _relevant(memory, command)
    candidates: list[Candidate] = []
    for entry in _in_order(memory, command, hits, now):
        if budget.is_spent() and not command.explain:
            break
        candidates.append(_consider(memory, command, entry, budget))
    if command.explain:
        candidates += _never_considered(memory, command, hits, candidates, now)
    text = render(list(budget.lines.values()))
    seen = put_before(memory, budget.lines, command.prompt, command.session, command.caller)
    result = Injection(
        text=text,
        ids=tuple(budget.lines),
        bytes=len(text.encode()),
        candidates=tuple(candidates) if command.explain else None,
        turn=turn_of(seen),
    )
    return Decision(used(budget.places, now) + seen, result)


@dataclass(slots=True)
class _Budget:
    """What has been taken so far, and what more may be."""

    max_facts: int
    max_bytes: int
    lines: dict[str, str] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)
    size: int = FRAME_BYTES

    @classmethod
    def of(cls, memory: Memory, command: Inject) -> _Budget:
        """The budget that the command sets, or the knobs."""
        params = memory.params
        return cls(
            params.percept_inject_max if command.max_facts is None else command.max_facts,
            params.percept_inject_max_bytes if command.max_bytes is None else command.max_bytes,
        )

    def is_spent(self) -> bool:
        """Whether no further fact can fit, not even one of a single letter."""
        shortest = len("- x\n")
        return len(self.lines) >= self.max_facts or self.size + shortest > self.max_bytes

    def take(self, entry: Entry, line: str) -> str:
        """Take a fact if it fits; gives the reason why it is in or out."""
        cost = len(line.encode()) + 1
        if len(self.lines) >= self.max_facts:
            return f"after the first {self.max_facts} facts"
        if self.size + cost > self.max_bytes:
            return f"{cost} bytes do not fit, {max(0, self.max_bytes - self.size)} are left"
        self.lines[entry.id] = line
        self.places.append((entry.scope, entry.slot))
        self.size += cost
        return FITS


def _relevant(memory: Memory, command: Inject) -> Hits:
    """The visible rows that share a word with the prompt, or all where the gate is off.

    A prompt without any word asks for nothing; under `strict` it passes everything.
    """
    if memory.analyzer.terms(command.prompt):
        rest = not memory.params.percept_relevance_gate
        return Hits.of(memory, command.prompt, command.session, rest=rest)
    everything = memory.params.profile == "strict" or not memory.params.percept_relevance_gate
    if everything:
        return Hits.of(memory, "", command.session)
    return Hits.nothing(memory, command.session)


def _in_order(memory: Memory, command: Inject, hits: Hits, now: Now) -> Iterator[Entry]:
    params, gate = memory.params, Gate(MIN_W, command.consumer)
    by_hits, most = params.inject_order == "hits", _Budget.of(memory, command).max_facts
    entries = ordered(memory, hits, gate, now, by_hits=by_hits, at_first=2 * most)
    if params.superseded:
        entries = updates_first(memory, hits, entries, gate, now)
    if params.diversity in ("inject", "both"):
        entries = diverse(memory, entries, most, superseded=False)
    return entries


def _consider(memory: Memory, command: Inject, entry: Entry, budget: _Budget) -> Candidate:
    """Offer one fact to the budget, if it is news."""
    line = line_of(entry.scope.text(entry.slot), memory.analyzer)
    reason = _old_news(memory, command, entry, line) or budget.take(entry, line)
    return Candidate(
        id=entry.id,
        included=reason == FITS,
        reason=reason,
        hits=entry.hits,
        score=entry.score,
        bytes=len(line.encode()) + 1,
    )


def _old_news(memory: Memory, command: Inject, entry: Entry, line: str) -> str:
    """Why a relevant fact need not be shown; nothing if it does."""
    if entry.superseded_by is not None:
        return f"superseded by {entry.superseded_by}"
    turns = memory.params.inject_repeat_turns
    audience = memory.audiences.get(command.session or command.caller or "")
    if not command.repeat and audience and audience.repeats(entry.id, line, turns):
        return f"shown within the last {turns} turns"
    return ""


def _never_considered(
    memory: Memory, command: Inject, hits: Hits, candidates: list[Candidate], now: Now
) -> Iterator[Candidate]:
    """The visible percepts that never came before the budget, and why."""
    considered = {candidate.id for candidate in candidates}
    for scope, counts in zip(hits.scopes, hits.counts, strict=True):
        for slot in scope.slots.values():
            percept = scope.percept(slot)
            if percept.id in considered:
                continue
            if slot not in counts:
                reason = "shares no word with the prompt"
            elif percept.w < MIN_W:
                reason = f"w {shown_weight(percept.w)} is below {MIN_W:g}"
            else:
                reason = f"meant for {percept.consumer}, asked by {command.consumer}"
            score = memory.rank_score(percept, now.wall)
            size = len(line_of(percept, memory.analyzer).encode()) + 1
            yield Candidate(percept.id, False, reason, counts.get(slot, 0), score, size)
