"""Whether the answers are right: those of both indexes against a look at every fact.

After filling, after edits and removals all over, and after the rest moved together into a
new index, as compaction does it.
"""

from __future__ import annotations

import random
from contextlib import suppress
from heapq import nsmallest
from typing import TYPE_CHECKING

from bench.hot.corpus import ALIKE, SEED, questions
from bench.hot.product import COMPILED, LIMIT, PURE, kit, ranking, scores

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.hot.corpus import Corpus, Questions
    from bench.hot.product import Kit
    from milkd.engine.ranking import Ranking

    Rows = dict[int, str]
    """The texts that are filed, by slot."""


def compare(facts: Corpus, count: int) -> dict[str, dict[str, float]]:
    """Answers compared and differences found, for each index.

    Args:
        count: So many questions of each kind, three times.
    """
    kits = {PURE: kit(compiled=False)}
    with suppress(ImportError):
        kits[COMPILED] = kit(compiled=True)
    asked, order = questions(facts, count), ranking(facts)
    found = {name: {"answers": 0.0, "differences": 0.0} for name in kits}
    rows: Rows = {}
    _file(kits.values(), rows, dict(enumerate(facts.texts)))
    _judge(kits, rows, asked, order, found)
    _edit(kits.values(), rows, asked)
    _judge(kits, rows, asked, order, found)
    kept = [text for _, text in sorted(rows.items())]
    again = {name: kit(compiled=name == COMPILED) for name in kits}
    _file(again.values(), rows := {}, dict(enumerate(kept)))
    _judge(again, rows, asked, order, found)
    return found


def _file(kits: Iterable[Kit], rows: Rows, texts: Rows) -> None:
    rows.update(texts)
    for vocabulary, index in kits:
        for slot, text in texts.items():
            index.add(slot, vocabulary.features(text))


def _edit(kits: Iterable[Kit], rows: Rows, asked: Questions) -> None:
    """Give some rows other words, and take a quarter of them out."""
    chance = random.Random(SEED)
    edited = chance.sample(sorted(rows), len(asked.match))
    gone = chance.sample(sorted(rows), len(rows) // 4)
    _file(kits, rows, dict(zip(edited, asked.match, strict=True)))
    for slot in gone:
        del rows[slot]
        for _, index in kits:
            index.remove(slot)


def _judge(
    kits: dict[str, Kit],
    rows: Rows,
    asked: Questions,
    order: Ranking,
    found: dict[str, dict[str, float]],
) -> None:
    judge = _Judge(rows, order)
    for text in (*asked.match, *asked.novel):
        right = judge.alike(text)
        for name, (vocabulary, index) in kits.items():
            words = vocabulary.features(text)
            best = right[0] if right else None
            differs = index.alike(words, ALIKE) != right or index.most_alike(words, ALIKE) != best
            _note(found[name], differs=differs)
    for text in (*asked.mixed, *asked.frequent, *asked.rare):
        top = judge.top(text)
        for name, (vocabulary, index) in kits.items():
            _note(found[name], differs=index.top(vocabulary.terms([text]), LIMIT, order) != top)


def _note(found: dict[str, float], *, differs: bool) -> None:
    found["answers"] += 1
    found["differences"] += differs


class _Judge:
    """Looks at every fact."""

    def __init__(self, rows: Rows, order: Ranking) -> None:
        from milkd.engine.text import features, tokens

        self._features, self._tokens = features, tokens
        self._known = [(slot, features(text)) for slot, text in sorted(rows.items())]
        self._order = order
        self._scores = scores(order)

    def alike(self, text: str) -> list[tuple[float, int]]:
        wanted, near = self._features(text), []
        for slot, words in self._known:
            shared = len(wanted & words)
            similarity = shared / (len(wanted) + len(words) - shared)
            if similarity >= ALIKE:
                near.append((-similarity, slot))
        return [(-negative, slot) for negative, slot in sorted(near)]

    def top(self, text: str) -> list[tuple[int, float, int]]:
        wanted, entries = self._tokens(text), []
        for slot, words in self._known:
            hits = len(wanted & words)
            if hits and self._order.w[slot] >= self._order.min_w:
                entries.append((-hits, -self._scores[slot], slot))
        return [(-hits, -score, slot) for hits, score, slot in nsmallest(LIMIT, entries)]
