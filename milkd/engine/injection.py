"""Facts rendered for a prompt, within a budget of facts and bytes.

The block is the only thing an agent sees of the memory, so it must not be
possible to write a fact that closes it, forges another, or starts a line.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.engine.recall import Ranked, passes_consumer, ranking
from milkd.engine.references import shown
from milkd.engine.results import Candidate, Decision, Injection
from milkd.engine.text import tokens
from milkd.engine.usage import used

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.engine.commands import Inject, Now
    from milkd.engine.memory import Memory
    from milkd.engine.references import Place
    from milkd.engine.scope import Scope

HEADER = "[Remembered facts]"
FOOTER = "[End of remembered facts]"
MIN_W = 0.4
"""Raw strength from which a fact is injected (model.md, Injection)."""
_FRAME_BYTES = len(f"{HEADER}\n{FOOTER}\n".encode())
_FORGERY = re.compile(r"\[(\s*(?:end\s+of\s+)?remembered\s+facts\s*)\]", re.IGNORECASE)
# Line and paragraph ends, control and invisible format characters (bidi overrides among them).
_NEUTRALISED = {"Cc", "Cf", "Zl", "Zp"}
# Joiners are format characters that spell words and emoji: harmless, and lost they change both.
_JOINERS = {"\u200c", "\u200d"}


def inject(memory: Memory, command: Inject, now: Now) -> Decision:
    """The block for a prompt; empty when nothing bears on it."""
    params = memory.params
    budget = _Budget(
        params.percept_inject_max if command.max_facts is None else command.max_facts,
        params.percept_inject_max_bytes if command.max_bytes is None else command.max_bytes,
    )
    found = _relevant(memory, command)
    total = sum(len(hits) for _, hits in found)

    def gate(scope: Scope, slot: int) -> bool:
        return scope.columns.w[slot] >= MIN_W and passes_consumer(scope, slot, command.consumer)

    ranked = ranking(memory, found, gate, now, atleast=total, by_hits=False)
    candidates: list[Candidate] = []
    for entry in ranked:
        if budget.is_spent() and not command.explain:
            break
        candidates.append(_consider(entry, budget, found))
    if command.explain:
        candidates += _refused(memory, command, found, now)
    text = render(budget.lines)
    result = Injection(
        text=text,
        ids=tuple(scope.text(slot).id for scope, slot in budget.places),
        bytes=len(text.encode()),
        candidates=tuple(candidates) if command.explain else None,
    )
    return Decision(used(budget.places, now), result)


def render(lines: list[str]) -> str:
    """The delimited block; nothing at all for no lines."""
    return "\n".join((HEADER, *lines, FOOTER, "")) if lines else ""


def neutralised(content: str) -> str:
    """A fact as one harmless line: no control characters, no delimiter of the block."""
    flat = "".join(" " if _is_control(char) else char for char in content)
    return _FORGERY.sub(r"(\1)", " ".join(flat.split()))


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in _NEUTRALISED and char not in _JOINERS


@dataclass(slots=True)
class _Budget:
    """What has been taken so far, and what more may be."""

    max_facts: int
    max_bytes: int
    lines: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    size: int = _FRAME_BYTES

    def is_spent(self) -> bool:
        """Whether no further fact can fit, not even one of a single letter."""
        shortest = len("- x\n")
        return len(self.lines) >= self.max_facts or self.size + shortest > self.max_bytes

    def take(self, place: Place, line: str) -> str:
        """Take a fact if it fits; gives the reason why it is in or out."""
        cost = len(line.encode()) + 1
        if len(self.lines) >= self.max_facts:
            return f"after the first {self.max_facts} facts"
        if self.size + cost > self.max_bytes:
            return f"{cost} bytes do not fit, {max(0, self.max_bytes - self.size)} are left"
        self.lines.append(line)
        self.places.append(place)
        self.size += cost
        return ""


def _relevant(memory: Memory, command: Inject) -> list[tuple[Scope, Counter[int]]]:
    """The visible rows that share a word with the prompt, or all where the gate is off.

    Strict: a prompt without any word passes everything.
    """
    wanted = tokens(command.prompt)
    found = []
    for scope in memory.visible(command.session):
        hits = scope.index.hits(wanted)
        if not wanted or not memory.params.percept_relevance_gate:
            hits = Counter({slot: hits[slot] for slot in scope.slots.values()})
        found.append((scope, hits))
    return found


def _consider(entry: Ranked, budget: _Budget, found: list[tuple[Scope, Counter[int]]]) -> Candidate:
    """Offer one fact to the budget."""
    (_, negative_score, rank, _), (scope, slot) = entry
    line = "- " + neutralised(scope.text(slot).content)
    refusal = budget.take((scope, slot), line)
    return Candidate(
        id=scope.text(slot).id,
        included=not refusal,
        reason=refusal or "fits the budget",
        hits=found[rank][1][slot],
        score=-negative_score,
        bytes=len(line.encode()) + 1,
    )


def _refused(
    memory: Memory, command: Inject, found: list[tuple[Scope, Counter[int]]], now: Now
) -> Iterator[Candidate]:
    """The visible percepts that never came before the budget, and why."""
    for scope, hits in found:
        for slot in scope.slots.values():
            percept = scope.percept(slot)
            if slot not in hits:
                reason = "shares no word with the prompt"
            elif percept.w < MIN_W:
                reason = f"w {shown(percept.w)} is below {MIN_W:g}"
            elif not passes_consumer(scope, slot, command.consumer):
                reason = f"meant for {percept.consumer}, asked by {command.consumer}"
            else:
                continue
            score = memory.rank_score(percept, now.wall)
            size = len(percept.content.encode())
            yield Candidate(percept.id, False, reason, hits.get(slot, 0), score, size)
