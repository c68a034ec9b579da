"""Which percepts bear on a prompt at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.hits import Hits
from milkd.engine.ordering import Gate, ordered

if TYPE_CHECKING:
    from milkd.engine.commands import Inject, Now
    from milkd.engine.memory import Memory

MIN_W = 0.4
"""Raw strength from which a fact is injected (model.md, Injection)."""
MANY = 100
"""So many visible facts share one word with any longer prompt by chance."""
CHANCE = "shares one word only, as some fact does with any prompt so long"


def relevant(memory: Memory, command: Inject) -> Hits:
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


def by_chance(memory: Memory, command: Inject, hits: Hits, now: Now) -> bool:
    """Whether what was found says no more than that the store is large (`inject_chance_words`).

    A store of many facts shares some word with any long prompt.  Where none of them shares
    two, it knows nothing about what is asked.
    """
    words, least = hits.words, memory.params.inject_chance_words
    if not least or hits.rest or words is None or len(words) < least:
        return False
    if sum(map(len, hits.scopes)) < MANY:
        return False
    gate = Gate(MIN_W, command.consumer)
    plain = Hits(hits.scopes, words)  # rarity apart: what counts is the number of words
    best = next(ordered(memory, plain, gate, now, by_hits=True, at_first=1), None)
    return best is None or best.hits < 2
