"""What is said to be ahead is what the passes then do."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine import commands as ask
from milkd.engine.outlook import BINS, histogram
from milkd.engine.params import Params
from milkd.engine.percept import GLOBAL
from sitting import DAY, Sitting, percept

if TYPE_CHECKING:
    from milkd.engine import results

HOUR = 3_600.0


def ahead(sitting: Sitting, session: str | None = "mine", limit: int = 100) -> results.Outlook:
    command = ask.LookAhead(session=session, limit=limit)
    return cast("results.Outlook", sitting.do(command))


def due(sitting: Sitting) -> dict[str, tuple[str, float | None]]:
    return {each.view.percept.content: (each.what, each.in_seconds) for each in ahead(sitting).due}


def test_a_fact_goes_when_it_was_said_to_and_not_before() -> None:
    sitting = Sitting("mine", session_half_life_days=1.0)
    sitting.hold("mine", percept("the linter runs", w=0.3), percept("tabs indent", 2, w=0.5))
    (what, left) = due(sitting)["the linter runs"]
    assert what == "pruned"
    assert left is not None
    assert "tabs indent" not in due(sitting)
    sitting.run(left - 1)
    assert sitting.consolidate("mine").pruned == 0
    sitting.run(2)
    assert due(sitting)["the linter runs"] == ("pruned", 0.0)
    assert sitting.consolidate("mine").pruned == 1


def test_a_global_that_nobody_uses_is_said_to_be_archived_when_it_is() -> None:
    sitting = Sitting("mine", global_archive_after_days=2.0)
    sitting.hold(GLOBAL, percept("the linter runs", idle_seconds=1.5 * DAY))
    (what, left) = due(sitting)["the linter runs"]
    assert (what, left) == ("archived", 0.5 * DAY)
    sitting.run(0.5 * DAY - 1)
    assert sitting.consolidate("mine").archived == 0
    sitting.run(1)
    assert sitting.consolidate("mine").archived == 1


def test_what_waits_for_more_than_time_is_held_back() -> None:
    sitting = Sitting("mine")
    user = sitting.record("the linter runs", "mine", producer="user")
    assert due(sitting) == {"the linter runs": ("promoted", 0.0)}
    sitting.record("no linting", "mine", relation="contradicts", related_to=user.id)
    assert due(sitting)["the linter runs"] == ("held_back", None)


def test_what_updates_a_global_is_not_said_to_go() -> None:
    sitting = Sitting("mine", base=Params())
    old = sitting.record("the linter is flake8", core=True)
    new = sitting.record("ruff is it now", "mine", relation="updates", related_to=old.id)
    sitting.hold("mine", percept("ruff is it now", w=0.2, producer="system"))
    assert due(sitting)["ruff is it now"] == ("pruned", 0.0)
    (faded,) = sitting.engine.image("mine").percepts
    sitting.do(ask.Relate(source=faded.id, target=old.id, relation="updates", session="mine"))
    assert new.id != faded.id
    assert "ruff is it now" not in due(sitting)


def test_strengths_are_those_of_the_moment_and_nothing_is_touched() -> None:
    sitting = Sitting("mine", session_half_life_days=0.5)
    sitting.hold("mine", percept("the linter runs", w=0.5))
    before = sitting.engine.image("mine")
    sitting.run(DAY / 2)
    shared, own = ahead(sitting).shelves
    assert (shared.scope, shared.total, shared.views) == (GLOBAL, 0, ())
    assert [view.percept.w for view in own.views] == [0.25]
    assert own.weights == (0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
    assert sitting.engine.image("mine") == before


def test_the_soonest_comes_first_and_the_rest_is_counted() -> None:
    sitting = Sitting("mine", session_half_life_days=1.0)
    weak = [percept(f"w{n}x of v{n}x", n, w=0.21 + n / 100) for n in range(9, 0, -1)]
    sitting.hold("mine", *weak)
    seen = ahead(sitting, limit=4)
    assert [each.view.percept.content[:3] for each in seen.due] == ["w1x", "w2x", "w3x", "w4x"]
    assert seen.total_due == 9
    assert seen.shelves[1].total == 9
    assert [view.percept.content[:3] for view in seen.shelves[1].views] == [
        "w9x",
        "w8x",
        "w7x",
        "w6x",
    ]


def test_without_a_session_only_what_is_global_is_seen() -> None:
    sitting = Sitting("mine")
    sitting.learn("the user prefers tabs")
    sitting.record("the linter runs", "mine")
    (shared,) = ahead(sitting, None).shelves
    assert (shared.total, shared.core) == (1, 1)


def test_a_half_life_of_seconds_overflows_nothing() -> None:
    sitting = Sitting("mine", session_half_life_days=1e-4)
    sitting.record("the linter runs", "mine")
    assert due(sitting)["the linter runs"][0] == "pruned"


@given(st.lists(st.floats(0.0, 1.0)))
def test_every_weight_is_in_one_bin(weights: list[float]) -> None:
    counts = histogram(weights)
    assert len(counts) == BINS
    assert sum(counts) == len(weights)


@pytest.mark.parametrize(
    ("w", "bin_"), [(0.0, 0), (0.25, 2), (0.5, 5), (0.6999, 7), (0.69, 6), (1.0, 9)]
)
def test_a_bin_begins_with_its_tenth(w: float, bin_: int) -> None:
    assert histogram([w]).index(1) == bin_


@given(
    st.lists(
        st.tuples(
            st.floats(0.0, 1.0),
            st.sampled_from(["user", "primary"]),
            st.integers(0, 3),
            st.booleans(),
        ),
        max_size=12,
    ),
    st.floats(0.0, 20 * HOUR),
)
def test_what_is_due_now_is_what_a_pass_does_now(
    facts: list[tuple[float, str, int, bool]], running: float
) -> None:
    sitting = Sitting("mine")
    sitting.hold(
        "mine",
        *(
            percept(f"w{n}x of v{n}x", n, w=1.0 if core else w, producer=who, evidence=e, core=core)
            for n, (w, who, e, core) in enumerate(facts)
        ),
    )
    sitting.run(running)
    said = [each.what for each in ahead(sitting).due if each.in_seconds == 0.0]
    held = [each for each in ahead(sitting).due if each.what == "held_back"]
    report = sitting.consolidate("mine")
    assert said.count("pruned") == report.pruned
    assert said.count("promoted") == report.promoted
    assert len(held) == report.promotion_deferred
