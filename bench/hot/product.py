"""milkd itself, as it takes part: its index over a corpus, compiled or pure."""

from __future__ import annotations

import importlib
from array import array
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.hot.contest import Entrant, Index
from bench.hot.corpus import ALIKE, NOW

if TYPE_CHECKING:
    from bench.hot.corpus import Corpus
    from milkd.engine.ranking import Ranking

COMPILED, PURE = "milkd, compiled", "milkd, pure"
STEMMED = "milkd, compiled, stems"
PURE_STEMMED = "milkd, pure, stems"
LIMIT = 10
"""Facts asked for in a recall."""
MIN_W = 0.4


class Kit(NamedTuple):
    """What reads texts and what files them."""

    vocabulary: Any
    index: Any


def core() -> Any:
    """The compiled module.

    Raises:
        ImportError: It is not there, or was built of other sources.
    """
    module: Any = importlib.import_module("milkd._fastcore")
    if module.ABI != importlib.import_module("milkd.engine._kernels_py").ABI:
        raise ImportError("milkd._fastcore was built of other sources")
    return module


def is_compiled() -> bool:
    """Whether the compiled module is there."""
    try:
        core()
    except ImportError:
        return False
    return True


def kit(*, compiled: bool, stems: bool = False) -> Kit:
    """An empty index with a vocabulary of its own.

    Raises:
        ImportError: The compiled one is asked for and not there.
    """
    from milkd.engine.analysis import Analyzer
    from milkd.engine.params import DEFAULT

    analyzer = Analyzer(DEFAULT if stems else replace(DEFAULT, stemmer="none"))
    words, indexes = _modules(compiled=compiled)
    vocabulary = words.Vocabulary(analyzer.tokens, analyzer.stem if stems else None)
    return Kit(vocabulary, indexes.TokenIndex(vocabulary))


def _modules(*, compiled: bool) -> tuple[Any, Any]:
    if not compiled:
        pure = ("milkd.engine._words_py", "milkd.engine._index_py")
        return importlib.import_module(pure[0]), importlib.import_module(pure[1])
    module = core()
    return module, module


def ranking(facts: Corpus) -> Ranking:
    """The order of recall over a corpus: hits, then score, of w >= 0.4."""
    from milkd.engine.params import DEFAULT
    from milkd.engine.ranking import Ranking, freshness, recency_scale

    size = len(facts)
    return Ranking(
        w=facts.w,
        evidence=facts.evidence,
        u=array("d", [freshness(time, DEFAULT) for time in facts.updated_at]),
        updated_at=facts.updated_at,
        importance=array("d", [0.5]) * size,
        consumer=array("I", [0]) * size,
        min_w=MIN_W,
        asked_by=-1,
        c=recency_scale(NOW, DEFAULT),
        wall=NOW,
        u_now=freshness(NOW, DEFAULT),
        importance_weight=DEFAULT.importance_weight,
    )


def scores(order: Ranking) -> list[float]:
    """What orders facts of equal hits, for programs that keep it in a column."""
    from milkd.engine.ranking import rank_score

    rows = zip(order.w, order.evidence, order.u, strict=True)
    return [rank_score(w, evidence, u, order.c) for w, evidence, u in rows]


def alike(*, compiled: bool) -> Entrant:
    """Near-duplicates from raw text."""

    def build(facts: Corpus) -> Index:
        vocabulary, index = kit(compiled=compiled)
        slots = count()
        features, most_alike = vocabulary.features, index.most_alike

        def insert(text: str) -> None:
            index.add(next(slots), features(text))

        for text in facts.texts:
            insert(text)
        most_alike(features(facts.texts[0]), ALIKE)
        return Index(lambda text: most_alike(features(text), ALIKE), insert=insert)

    return Entrant(COMPILED if compiled else PURE, build, ("milkd.engine.analysis",))


def recall(*, compiled: bool, stems: bool = False) -> Entrant:
    """The first ten by hits and score, from raw text."""

    def build(facts: Corpus) -> Index:
        vocabulary, index = kit(compiled=compiled, stems=stems)
        for slot, text in enumerate(facts.texts):
            index.add(slot, vocabulary.terms([text]))
        order, terms, top = ranking(facts), vocabulary.terms, index.top
        top(terms([facts.texts[0]]), LIMIT, order)
        return Index(lambda text: top(terms([text]), LIMIT, order))

    names = {(True, False): COMPILED, (True, True): STEMMED, (False, False): PURE}
    name = names.get((compiled, stems), PURE_STEMMED)
    return Entrant(name, build, ("milkd.engine.analysis",))
