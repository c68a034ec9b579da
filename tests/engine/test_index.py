"""Both indexes answer as a scan over the rows would, and the same to the last bit."""

from __future__ import annotations

import random
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.ranking import Ranking, rank_score
from milkd.engine.text import jaccard, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conftest import Indexing
    from milkd.engine._index_py import TokenIndex
    from milkd.engine._words_py import Vocabulary, Words

Pairs = list[tuple[float, int]]
Triples = list[tuple[int, float, int]]

SLOTS = 600
NAMES = [f"w{n}" for n in range(12)] + ["é0", "é1"]
THRESHOLDS = [0.05, 0.25, 0.5, 0.6, 2 / 3, 0.75, 1.0]


class Table:
    """The rows as they are; every question is answered by going through all of them."""

    def __init__(self) -> None:
        self.rows: dict[int, frozenset[str]] = {}

    def hits(self, wanted: frozenset[str]) -> dict[int, int]:
        return {slot: len(wanted & row) for slot, row in self.rows.items() if wanted & row}

    def frequencies(self, wanted: frozenset[str]) -> list[int]:
        return [sum(word in row for row in self.rows.values()) for word in sorted(wanted)]

    def nearest(self, wanted: frozenset[str]) -> Pairs:
        found = [(jaccard(wanted, row), slot) for slot, row in self.rows.items() if wanted & row]
        return sorted(found, key=lambda p: (-p[0], p[1]))

    def top(self, wanted: frozenset[str], k: int, by: Ranking) -> Triples:
        entries = []
        for slot, row in self.rows.items():
            count = len(wanted & row)
            if (not count and not by.rest) or by.w[slot] < by.min_w:
                continue
            if by.asked_by != -1 and by.consumer[slot] not in (0, by.asked_by):
                continue
            fresh = by.u_now if by.updated_at[slot] > by.wall else by.u[slot]
            score = rank_score(by.w[slot], by.evidence[slot], fresh, by.c)
            score *= 1.0 + by.importance_weight * (by.importance[slot] - 0.5)
            level = 0.0
            for word, weight in zip(sorted(wanted), by.weights or [1.0] * len(wanted), strict=True):
                level += weight if by.by_hits and word in row else 0.0
            entries.append((-level, -score, slot, count))
        return [(count, -score, slot) for _, score, slot, count in sorted(entries)[:k]]


class Both:
    """An index beside the table; what is done to one is done to the other."""

    def __init__(self, indexing: Indexing, stem: Any = None) -> None:
        self.vocabulary: Vocabulary = indexing.Vocabulary(tokens, stem)
        self.index: TokenIndex = indexing.TokenIndex(self.vocabulary)
        self.table = Table()

    def words(self, names: frozenset[str]) -> Words:
        return self.vocabulary.terms([" ".join(sorted(names))])

    def file(self, slot: int, names: frozenset[str] | None) -> None:
        if names is None:
            self.index.remove(slot)
            self.table.rows.pop(slot, None)
        else:
            self.index.add(slot, self.words(names))
            self.table.rows[slot] = names

    def agree_on(self, wanted: frozenset[str]) -> None:
        """Whatever needs no ranking."""
        index, table, words = self.index, self.table, self.words(wanted)
        assert index.hits(words) == table.hits(wanted)
        assert index.frequencies(words) == table.frequencies(wanted)
        nearest = table.nearest(wanted)
        for k in (0, 1, 3, SLOTS):
            assert index.nearest(words, k) == nearest[:k]
        for threshold in THRESHOLDS:
            expected = [pair for pair in nearest if pair[0] >= threshold]
            assert index.alike(words, threshold) == expected
            assert index.most_alike(words, threshold) == next(iter(expected), None)

    def agree_on_top(self, wanted: frozenset[str], k: int, by: Ranking) -> None:
        assert printed(self.index.top(self.words(wanted), k, by)) == printed(
            self.table.top(wanted, k, by)
        )

    def agree_on_rows(self) -> None:
        index, rows, some = self.index, self.table.rows, frozenset(NAMES[:4])
        assert len(index) == len(rows)
        for slot in range(SLOTS):
            assert (slot in index) == (slot in rows)
            assert index.shared(slot, self.words(some)) == len(some & rows.get(slot, frozenset()))
            if slot in rows:
                assert index.strings(slot) == rows[slot]


def printed(found: Triples) -> list[tuple[int, str, int]]:
    """Equal only if the scores are, bit by bit."""
    return [(count, score.hex(), slot) for count, score, slot in found]


def ranking(draw: random.Random, slots: int = SLOTS, *, ties: bool = False) -> Ranking:
    """Columns as a store has them, or with few distinct values."""
    some = [0.25, 0.5, 1.0]
    scales = [2.0**n for n in (-3, 0)] if ties else [2.0 ** (n / 7) for n in range(-60, 20)]
    weights = some if ties else [n / 1000 for n in range(1001)]
    return Ranking(
        w=array("d", draw.choices(weights, k=slots)),
        evidence=array("I", draw.choices([0, 0, 1, 4, 9], k=slots)),
        u=array("d", draw.choices(scales, k=slots)),
        updated_at=array("d", draw.choices([1.0, 2.0, 3.0], k=slots)),
        importance=array("d", draw.choices([0.5] if ties else weights, k=slots)),
        consumer=array("I", draw.choices([0, 0, 1, 2], k=slots)),
        min_w=0.5,
        asked_by=-1,
        c=0.1,
        wall=2.0,
        u_now=1.5,
        importance_weight=0.2,
    )


def variants(by: Ranking, wanted: frozenset[str], draw: random.Random) -> list[Ranking]:
    """The same columns, asked in every manner."""
    weights = array("d", [draw.choice([0.0, 0.1, 0.7, 1.3, 1.3, 2.9]) for _ in wanted])
    rare = [by._replace(min_w=0.999), by._replace(min_w=float("-inf"), c=0.0)]
    asked = [by, by._replace(asked_by=1), by._replace(asked_by=0), *rare]
    manners = [asked, [each._replace(weights=weights) for each in asked]]
    return [
        each._replace(by_hits=by_hits, rest=rest)
        for each in manners[0] + manners[1]
        for by_hits in (True, False)
        for rest in (True, False)
    ]


names = st.frozensets(st.sampled_from(NAMES), max_size=9)
# A row is filed, filed anew or taken out, most of them among the last; or there is a question.
steps = st.lists(
    st.tuples(st.integers(0, 40) | st.integers(0, SLOTS - 1), st.none() | names) | names,
    max_size=30,
)


@given(steps, names, st.integers(0, 2), st.integers(0, 400), st.sampled_from([1, 3, 50]))
def test_any_steps_leave_the_answers_of_a_scan(
    indexing: Indexing,
    steps: Sequence[tuple[int, frozenset[str] | None] | frozenset[str]],
    wanted: frozenset[str],
    seed: int,
    filled: int,
    k: int,
) -> None:
    draw, both = random.Random(seed), Both(indexing)
    by = ranking(draw, ties=seed == 0)
    for slot in range(filled):
        both.file(slot, frozenset(draw.sample(NAMES, draw.randint(1, 7))))
    for step in [*steps, wanted]:
        if isinstance(step, tuple):
            both.file(*step)
        else:
            both.agree_on(step)
            each = draw.choice(variants(by, step, draw))
            both.agree_on_top(step, k, each)
    both.agree_on_rows()


@pytest.mark.parametrize("ties", [False, True])
def test_every_manner_of_asking_gives_the_order_of_a_scan(indexing: Indexing, ties: bool) -> None:
    draw, both = random.Random(5), Both(indexing)
    by = ranking(draw, ties=ties)
    for slot in range(SLOTS):
        both.file(slot, frozenset(draw.sample(NAMES, draw.randint(0, 7))))
    for size in (0, 1, 2, 4, 6, len(NAMES)):
        wanted = frozenset(draw.sample(NAMES, size))
        for each in variants(by, wanted, draw):
            for k in (1, 7, 70, SLOTS):
                both.agree_on_top(wanted, k, each)


def facts(draw: random.Random, words: int, exponent: float, count: int) -> list[frozenset[str]]:
    """Facts of 6 to 14 words drawn by Zipf's law, one in ten much like an earlier one."""
    cumulated = list(accumulate((rank + 3.7) ** -exponent for rank in range(words)))
    made: list[frozenset[str]] = []
    for _ in range(count):
        drawn = draw.choices(range(words), cum_weights=cumulated, k=draw.randint(6, 14))
        fact = {f"v{n}" for n in drawn}
        if made and draw.random() < 0.1:
            fact = set(draw.choice(made)) | set(list(fact)[:2])
        made.append(frozenset(fact))
    return made


@pytest.mark.parametrize(
    ("words", "exponent", "rows"), [(4_000, 1.0, 10_000), (300, 0.5, 10_000), (40, 0.2, 1_500)]
)
def test_many_rows_are_found_as_by_a_scan(
    indexing: Indexing, words: int, exponent: float, rows: int
) -> None:
    draw, both = random.Random(words), Both(indexing)
    by = ranking(draw, rows)
    made = facts(draw, words, exponent, rows + 60)
    for slot, fact in enumerate(made[:rows]):
        both.file(slot, fact)
    for turn, wanted in enumerate(made[rows:]):
        for slot in draw.sample(range(rows), 40):
            both.file(slot, draw.choice(made) if turn % 3 else None)
        if turn % 6 == 0:
            few = frozenset(draw.sample(sorted(wanted), min(len(wanted), 4)))
            for each in (few, wanted, draw.choice(made)):
                both.agree_on(each)
                for manner in draw.sample(variants(by, each, draw), 4):
                    both.agree_on_top(each, 10, manner)


def test_ten_thousand_equal_rows_come_in_their_order(indexing: Indexing) -> None:
    both, fact = Both(indexing), frozenset({"w1", "w2", "w3"})
    for slot in reversed(range(0, 20_000, 2)):
        both.file(slot, fact)
    same = ranking(random.Random(1), 20_000, ties=True)._replace(w=array("d", [0.5]) * 20_000)
    words = both.words(frozenset({"w1", "w2", "w3", "w4"}))
    assert both.index.most_alike(words, 0.6) == (0.75, 0)
    assert both.index.alike(words, 0.6) == [(0.75, slot) for slot in range(0, 20_000, 2)]
    assert both.index.nearest(words, 2) == [(0.75, 0), (0.75, 2)]
    both.agree_on_top(fact, 20, same)


def test_one_long_row_is_found_among_short_ones(indexing: Indexing) -> None:
    both = Both(indexing)
    book = frozenset(f"v{n}" for n in range(700))
    both.file(3, book)
    both.file(1, frozenset({"v1"}))
    both.file(2, book - {"v1"})
    for wanted in (book, book | {"x1"}, frozenset({"v1", "v2"})):
        both.agree_on(wanted)
        both.agree_on_top(wanted, 3, ranking(random.Random(1)))


def test_a_row_filed_anew_is_found_under_its_new_words_only(indexing: Indexing) -> None:
    vocabulary = indexing.Vocabulary(tokens, None)
    index = indexing.TokenIndex(vocabulary)
    index.add(0, vocabulary.features("tabs"))
    index.add(0, vocabulary.features("spaces"))
    assert index.hits(vocabulary.features("tabs spaces")) == {0: 1}
    assert index.strings(0) == {"spaces"}


def test_a_text_without_words_is_alike_to_itself_only(indexing: Indexing) -> None:
    vocabulary = indexing.Vocabulary(tokens, None)
    index = indexing.TokenIndex(vocabulary)
    index.add(0, vocabulary.features("→"))
    index.add(1, vocabulary.features("!!!"))
    assert index.alike(vocabulary.features(" → "), 0.6) == [(1.0, 0)]
    assert len(vocabulary.terms(["→"])) == 0


def test_terms_are_stems_and_features_are_not(indexing: Indexing) -> None:
    vocabulary = indexing.Vocabulary(tokens, lambda word: word.rstrip("s"))
    assert vocabulary.terms(["Three TABS", "one tab"]).strings() == {"three", "tab", "one"}
    assert vocabulary.features("Three TABS, Füße").strings() == {"three", "tabs", "füsse"}
    index = indexing.TokenIndex(vocabulary)
    index.add(0, vocabulary.terms(["three tabs"]))
    assert index.hits(vocabulary.terms(["a tab"])) == {0: 1}


def test_removing_what_is_not_there_is_no_error(indexing: Indexing) -> None:
    index = indexing.TokenIndex(indexing.Vocabulary(tokens, None))
    index.remove(7)
    assert 7 not in index
    with pytest.raises(KeyError):
        index.strings(7)


def test_words_of_another_vocabulary_are_refused(indexing: Indexing) -> None:
    mine, theirs = indexing.Vocabulary(tokens, None), indexing.Vocabulary(tokens, None)
    index, words = indexing.TokenIndex(mine), theirs.features("tabs")
    calls: list[Any] = [
        lambda: index.add(0, words),
        lambda: index.shared(0, words),
        lambda: index.hits(words),
        lambda: index.frequencies(words),
        lambda: index.alike(words, 0.6),
        lambda: index.most_alike(words, 0.6),
        lambda: index.nearest(words, 1),
        lambda: index.top(words, 1, ranking(random.Random(1))),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="another vocabulary"):
            call()
    assert len(index) == 0


@pytest.mark.parametrize(
    "field", ["w", "evidence", "u", "updated_at", "importance", "consumer", "weights"]
)
@pytest.mark.parametrize("rest", [False, True])
def test_columns_that_do_not_fit_are_refused(indexing: Indexing, field: str, rest: bool) -> None:
    vocabulary = indexing.Vocabulary(tokens, None)
    index, words = indexing.TokenIndex(vocabulary), vocabulary.terms(["tabs"])
    index.add(9, words)
    fitting = ranking(random.Random(1), 10)._replace(weights=array("d", [1.0]), rest=rest)
    assert index.top(words, 1, fitting._replace(min_w=0.0))
    column = getattr(fitting, field)
    with pytest.raises(ValueError, match=field):
        index.top(words, 1, fitting._replace(**{field: column[:-1]}))
    wrong: Any
    for wrong in (array("f", [0.5] * 10), [0.5] * 10):
        with pytest.raises(TypeError, match=f"^{field}: expected array"):
            index.top(words, 1, fitting._replace(**{field: wrong}))
