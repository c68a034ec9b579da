"""Both kernels do what the model says, and the same to the last bit."""

from __future__ import annotations

import random
import subprocess
import sys
from array import array
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine import _kernels_py, ranking

if TYPE_CHECKING:
    from types import ModuleType

ROWS = 10_000
weights = st.floats(0.0, 1.0)
any_float = st.floats(width=64)
flags = st.sampled_from([0, 1, 255])


def test_one_half_life_halves_the_distance_to_the_floor(kernels: ModuleType) -> None:
    w = array("d", [1.0, 0.75])
    assert kernels.decay(w, array("B", [0, 0]), 0.5, 0.5) == 2
    assert w.tolist() == [0.75, 0.625]


def test_decay_towards_nothing_is_a_product(kernels: ModuleType) -> None:
    w = array("d", [1.0, 0.5])
    kernels.decay(w, array("B", [0, 0]), 0.25, 0.0)
    assert w.tolist() == [0.25, 0.125]


def test_decay_passes_by_what_is_exempt_and_what_is_not_above_the_floor(
    kernels: ModuleType,
) -> None:
    w = array("d", [1.0, 1.0, 0.5, 0.25, 1.0])
    assert kernels.decay(w, array("B", [1, 255, 0, 0, 0]), 0.5, 0.5) == 1
    assert w.tolist() == [1.0, 1.0, 0.5, 0.25, 0.75]


def test_no_time_makes_no_weight_smaller(kernels: ModuleType) -> None:
    w = array("d", [1.0, 0.5])
    assert kernels.decay(w, array("B", [0, 0]), 1.0, 0.25) == 0
    assert w.tolist() == [1.0, 0.5]


def test_idle_seconds_accrue_where_a_row_was_not_used(kernels: ModuleType) -> None:
    idle_s = array("d", [0.0, 10.0, 20.0])
    kernels.accrue(idle_s, array("B", [0, 1, 0]), 2.5)
    assert idle_s.tolist() == [2.5, 10.0, 22.5]


def test_a_score_is_the_product_of_strength_evidence_and_freshness(kernels: ModuleType) -> None:
    scores = kernels.rank_scores(
        array("d", [0.5, 0.5, 0.0]), array("I", [0, 0, 3]), array("d", [0.0, 2.0, 1.0]), 0.25
    )
    assert scores.typecode == "d"
    assert scores.tolist() == [0.5, 0.75, 0.0]


def test_evidence_counts_up_to_four_times(kernels: ModuleType) -> None:
    evidence = array("I", [1, 4, 5, 2**32 - 1])
    scores = kernels.rank_scores(array("d", [1.0] * 4), evidence, array("d", [0.0] * 4), 0.0)
    assert scores.tolist() == [1.05, 1.2, 1.2, 1.2]


def test_a_column_of_scores_is_the_score_of_every_row(kernels: ModuleType) -> None:
    draw = random.Random(3)
    w = array("d", [draw.random() for _ in range(ROWS)])
    evidence = array("I", [draw.randrange(7) for _ in range(ROWS)])
    u = array("d", [2.0 ** draw.uniform(-40, 40) for _ in range(ROWS)])
    scores = kernels.rank_scores(w, evidence, u, 0.1)
    expected = array("d", map(ranking.rank_score, w, evidence, u, [0.1] * ROWS))
    assert printed(scores) == printed(expected)


def test_the_rows_at_a_threshold_are_on_both_sides_of_it(kernels: ModuleType) -> None:
    w = array("d", [0.25, 0.5, 0.75, 0.5, 0.0, 1.0])
    exempt = array("B", [0, 0, 0, 9, 1, 0])
    assert kernels.at_most(w, exempt, 0.5) == [0, 1]
    assert kernels.at_least(w, exempt, 0.5) == [1, 2, 5]


def test_nothing_is_at_a_threshold_that_is_not_a_number(kernels: ModuleType) -> None:
    w = array("d", [0.5, float("nan")])
    exempt = array("B", [0, 0])
    assert kernels.at_most(w, exempt, float("nan")) == []
    assert kernels.at_least(w, exempt, 0.0) == [0]


def test_empty_columns_are_no_work(kernels: ModuleType) -> None:
    numbers, exempt = array("d"), array("B")
    assert kernels.decay(numbers, exempt, 0.5, 0.0) == 0
    assert kernels.accrue(numbers, exempt, 1.0) is None
    assert kernels.rank_scores(numbers, array("I"), numbers, 0.1) == array("d")
    assert kernels.at_most(numbers, exempt, 1.0) == []
    assert kernels.at_least(numbers, exempt, 0.0) == []
    assert kernels.lowest(numbers, exempt, 3) == []


def test_the_lowest_come_first_and_of_equals_the_lower_row(kernels: ModuleType) -> None:
    scores = array("d", [0.5, 0.25, 0.75, 0.25, 0.0, -1.0])
    exempt = array("B", [0, 0, 0, 0, 255, 0])
    assert kernels.lowest(scores, exempt, 2) == [5, 1]
    assert kernels.lowest(scores, exempt, 3) == [5, 1, 3]
    assert kernels.lowest(scores, exempt, 9) == [5, 1, 3, 0, 2]
    assert kernels.lowest(scores, exempt, 0) == []


@pytest.mark.parametrize("ties", [False, True])
def test_the_lowest_of_many_are_the_first_of_all_in_order(kernels: ModuleType, ties: bool) -> None:
    draw = random.Random(7)
    scores = array("d", [draw.randrange(20) if ties else draw.random() for _ in range(ROWS)])
    exempt = array("B", [draw.random() < 0.1 for _ in range(ROWS)])
    in_order = sorted((score, row) for row, score in enumerate(scores) if not exempt[row])
    for k in (1, 10, 1_000, ROWS // 2, ROWS):
        assert kernels.lowest(scores, exempt, k) == [row for _, row in in_order[:k]]


TWO, THREE, FLAGS, COUNTS = array("d", [1, 1]), array("d", [1] * 3), array("B", [0, 0]), array("I")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("decay", (THREE, FLAGS, 0.5, 0.0)),
        ("accrue", (THREE, FLAGS, 1.0)),
        ("rank_scores", (TWO, COUNTS, TWO, 0.1)),
        ("rank_scores", (TWO, array("I", [0, 0]), THREE, 0.1)),
        ("at_most", (THREE, FLAGS, 0.5)),
        ("at_least", (THREE, FLAGS, 0.5)),
        ("lowest", (THREE, FLAGS, 1)),
    ],
)
def test_columns_of_different_lengths_are_refused(
    kernels: ModuleType, name: str, arguments: tuple[object, ...]
) -> None:
    with pytest.raises(ValueError, match=r"^columns of \d and \d.* rows, all must have the same"):
        getattr(kernels, name)(*arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("decay", (array("f"), FLAGS, 0.5, 0.0), "w: expected array('d'), found array('f')"),
        ("decay", (TWO, [0, 0], 0.5, 0.0), "exempt: expected array('B'), found list"),
        ("accrue", (None, FLAGS, 1.0), "idle_s: expected array('d'), found NoneType"),
        ("accrue", (TWO, TWO, 1.0), "used: expected array('B'), found array('d')"),
        ("rank_scores", (TWO, FLAGS, TWO, 0.1), "evidence: expected array('I'), found array('B')"),
        ("rank_scores", (TWO, COUNTS, FLAGS, 0.1), "u: expected array('d'), found array('B')"),
        ("at_most", (COUNTS, FLAGS, 0.5), "w: expected array('d'), found array('I')"),
        ("at_least", (b"", FLAGS, 0.5), "values: expected array('d'), found bytes"),
        ("lowest", (FLAGS, FLAGS, 1), "scores: expected array('d'), found array('B')"),
        ("lowest", (TWO, None, 1), "exempt: expected array('B'), found NoneType"),
    ],
)
def test_a_column_of_the_wrong_type_is_refused(
    kernels: ModuleType, name: str, arguments: tuple[object, ...], problem: str
) -> None:
    with pytest.raises(TypeError) as refusal:
        getattr(kernels, name)(*arguments)
    assert str(refusal.value) == problem


def test_a_refused_call_changes_nothing(kernels: ModuleType) -> None:
    w = array("d", [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="rows"):
        kernels.decay(w, FLAGS, 0.5, 0.0)
    assert w.tolist() == [1.0, 1.0, 1.0]


# A fused multiply-add changes the last bit of one row in sixty; a hundred small
# examples can miss that, a long column of fixed draws cannot.
@pytest.mark.parametrize("seed", range(4))
def test_long_columns_agree_to_the_last_bit(kernels: ModuleType, seed: int) -> None:
    draw = random.Random(seed)
    w = array("d", [draw.random() for _ in range(ROWS)])
    exempt = array("B", [draw.random() < 0.1 for _ in range(ROWS)])
    evidence = array("I", [draw.randrange(7) for _ in range(ROWS)])
    u = array("d", [2.0 ** draw.uniform(-60, 20) for _ in range(ROWS)])
    for factor, floor in [(0.999, 0.2), (0.7, 0.2), (2.0**-0.1, 0.0)]:
        agree(kernels, w, exempt, evidence, u, factor, floor)


@given(
    st.lists(st.tuples(weights, flags, st.integers(0, 2**32 - 1), weights), max_size=30),
    weights,
    weights,
)
def test_columns_of_weights_agree_to_the_last_bit(
    kernels: ModuleType, rows: list[tuple[float, int, int, float]], factor: float, floor: float
) -> None:
    agree(kernels, *columns(rows), factor, floor)


@given(
    st.lists(st.tuples(any_float, flags, st.integers(0, 2**32 - 1), any_float), max_size=10),
    any_float,
    any_float,
)
def test_columns_of_any_numbers_agree(
    kernels: ModuleType, rows: list[tuple[float, int, int, float]], factor: float, floor: float
) -> None:
    agree(kernels, *columns(rows), factor, floor)


def columns(
    rows: list[tuple[float, int, int, float]],
) -> tuple[array[float], array[int], array[int], array[float]]:
    return (
        array("d", [row[0] for row in rows]),
        array("B", [row[1] for row in rows]),
        array("I", [row[2] for row in rows]),
        array("d", [row[3] for row in rows]),
    )


def agree(
    kernels: ModuleType,
    w: array[float],
    exempt: array[int],
    evidence: array[int],
    u: array[float],
    factor: float,
    floor: float,
) -> None:
    """Assert that every kernel does to these columns what the reference does."""
    for name, arguments in [
        ("decay", (w, exempt, factor, floor)),
        ("accrue", (w, exempt, factor)),
        ("rank_scores", (w, evidence, u, factor)),
        ("at_most", (w, exempt, floor)),
        ("at_least", (w, exempt, floor)),
    ]:
        ours = tuple(a[:] if isinstance(a, array) else a for a in arguments)
        theirs = tuple(a[:] if isinstance(a, array) else a for a in arguments)
        result = getattr(kernels, name)(*ours)
        expected = getattr(_kernels_py, name)(*theirs)
        assert printed(result) == printed(expected), name
        assert list(map(printed, ours)) == list(map(printed, theirs)), name


def printed(value: object) -> str:
    """A text that two values share only if they are equal bit by bit, any NaN being one."""
    if isinstance(value, array):
        return " ".join(float(number).hex() for number in value)
    return repr(value)


def test_both_speak_the_same_abi(kernels: ModuleType) -> None:
    assert kernels.ABI == _kernels_py.ABI


@pytest.mark.skipif(
    getattr(sys, "_is_gil_enabled", lambda: True)(), reason="the interpreter has a global lock"
)
def test_the_extension_does_not_bring_the_global_lock_back(
    pytestconfig: pytest.Config,
) -> None:
    if pytestconfig.getoption("--no-extension"):
        pytest.skip("--no-extension")
    run = [sys.executable, "-Pc", "import sys, milkd._fastcore; sys.exit(sys._is_gil_enabled())"]
    assert subprocess.run(run, check=False).returncode == 0
