from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.kernels import TokenIndex, Vocabulary, Words
from milkd.engine.text import jaccard, tokens

TOKENS = st.frozensets(st.sampled_from("bcdefghj"), min_size=1)
VOCABULARY = Vocabulary(tokens, None)
STEPS = st.lists(st.tuples(st.integers(0, 9), st.none() | TOKENS), max_size=60)


def words(found: frozenset[str]) -> Words:
    return VOCABULARY.features(" ".join(found))


def filled(
    steps: list[tuple[int, frozenset[str] | None]],
) -> tuple[TokenIndex, dict[int, set[str]]]:
    index = TokenIndex(VOCABULARY)
    rows: dict[int, set[str]] = {}
    for slot, features in steps:
        if features is None:
            index.remove(slot)
            rows.pop(slot, None)
        else:
            index.add(slot, words(features))
            rows[slot] = set(features)
    return index, rows


@given(STEPS, TOKENS)
def test_hits_are_those_of_a_count_by_hand(
    steps: list[tuple[int, frozenset[str] | None]], wanted: frozenset[str]
) -> None:
    index, rows = filled(steps)
    expected = {slot: len(wanted & row) for slot, row in rows.items() if wanted & row}
    assert index.hits(words(wanted)) == expected


@given(STEPS, TOKENS, st.sampled_from([0.05, 0.25, 0.5, 0.6, 2 / 3, 0.75, 1.0]))
def test_alike_rows_are_those_of_a_scan(
    steps: list[tuple[int, frozenset[str] | None]], wanted: frozenset[str], threshold: float
) -> None:
    index, rows = filled(steps)
    expected = {
        slot: jaccard(wanted, frozenset(row))
        for slot, row in rows.items()
        if jaccard(wanted, frozenset(row)) >= threshold
    }
    assert {slot: s for s, slot in index.alike(words(wanted), threshold)} == expected


def test_a_row_filed_anew_is_found_under_its_new_tokens_only() -> None:
    index = TokenIndex(VOCABULARY)
    index.add(0, VOCABULARY.features("tabs"))
    index.add(0, VOCABULARY.features("spaces"))
    assert index.hits(VOCABULARY.features("tabs spaces")) == {0: 1}
    assert index.strings(0) == {"spaces"}
