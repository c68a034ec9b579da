"""Whether an agent used what it was shown, each percept judged on its own words (RFC, proposal A).

In a coding agent use shows in what it does, `pnpm test`, more than in what it says.  What
several percepts of a turn have in common, or have from the prompt, tells nothing about any
of them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from milkd.engine.literals import literals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from milkd.engine.memory import Memory
    from milkd.engine.percept import Percept
    from milkd.engine.scope import Scope

_CITED = re.compile(r"(?<![0-9a-f-])[0-9a-f]{8}(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{12})?(?![0-9a-f])")
"""An id as it is printed, or the beginning of one."""


class Verdict(StrEnum):
    """What a turn says of one percept's use."""

    USED = "used"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    UNUSED = "unused"
    UNKNOWN = "unknown"


class Jury:
    """Judges the percepts of one turn.

    Args:
        percepts: All that were shown.
        prompt: What they were shown before; empty if it is not known.
        response: What the agent said and did.
        scopes: What its caller sees: a word that is rare there tells more.
    """

    def __init__(
        self,
        memory: Memory,
        percepts: Sequence[Percept],
        prompt: str,
        response: str,
        scopes: Iterable[Scope],
    ) -> None:
        self._params = memory.params
        self._analyzer = memory.analyzer
        self._text = response.casefold()
        self._length = len(response.strip())
        self._said = self._analyzer.terms(response)
        self._cited = set(_CITED.findall(self._text))
        self._terms = {each.id: self._analyzer.percept_terms(each) for each in percepts}
        self._names = {each.id: _names(each) for each in percepts}
        self._told = self._analyzer.terms(prompt), prompt.casefold()
        self._shared = _repeated(self._terms.values()), _repeated(self._names.values())
        self._weights = _weights(memory, percepts, tuple(scopes))

    def verdict(self, percept: Percept) -> Verdict:
        """What the turn says of one of them."""
        if any(percept.id.startswith(cited) for cited in self._cited):
            return Verdict.USED
        own_names = self._names[percept.id] - self._shared[1]
        if any(_stands_in(n, self._text) and not _stands_in(n, self._told[1]) for n in own_names):
            return Verdict.USED
        share = self._share(self._terms[percept.id] - self._shared[0] - self._told[0])
        if share is None:
            return Verdict.UNKNOWN
        if share >= self._params.feedback_used_share:
            return Verdict.USED
        enough = self._length >= self._params.feedback_min_response
        if share < self._params.feedback_unused_share and enough:
            return Verdict.UNUSED
        return Verdict.UNKNOWN

    def _share(self, own: frozenset[str]) -> float | None:
        """Of the weight of some terms, the share that occurs; None if there are none."""
        total = math.fsum(self._weights[term] for term in own)
        return math.fsum(self._weights[term] for term in own & self._said) / total if own else None


def _names(percept: Percept) -> frozenset[str]:
    """The identifier-like tokens of what was shown of a percept."""
    texts = (percept.content, *(wording.content for wording in percept.wordings))
    return frozenset(name for text in texts for name in literals(text).identifiers)


def _repeated(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """What is in more than one of some sets."""
    counts = Counter(each for found in sets for each in found)
    return frozenset(each for each, count in counts.items() if count > 1)


def _stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text by itself, not within a longer word."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (_continues(before) or _continues(after)):
            return True
        at = text.find(name, at + 1)
    return False


def _continues(char: str) -> bool:
    return char.isalnum() or char == "_"


def _weights(
    memory: Memory, percepts: Iterable[Percept], scopes: tuple[Scope, ...]
) -> Mapping[str, float]:
    """A rare term counts for more: log(1 + N/df) over what is visible, as for `hit_weight: idf`."""
    texts = [text for percept in percepts for text in memory.analyzer.searched(percept)]
    words = memory.analyzer.vocabulary.terms(texts)
    total = sum(map(len, scopes))
    found = [scope.lookup.terms.frequencies(words) for scope in scopes]
    rows = map(sum, zip(*found, strict=True))
    terms = zip(sorted(words.strings()), rows, strict=True)
    # What was archived meanwhile may be the only one that had a term.
    return {term: math.log1p(total / max(1, df)) for term, df in terms}
