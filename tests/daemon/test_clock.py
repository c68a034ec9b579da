"""The running clocks: what counts, and from when to when."""

from __future__ import annotations

import pytest

from daemon.doubles import TurnedClock
from milkd.daemon.clock import ActivityClocks, OpenClocks, SwitchedClocks


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def clocks(clock: TurnedClock) -> OpenClocks:
    running = OpenClocks(lambda: clock.mono)
    running.start_global(100.0)
    return running


def test_nothing_runs_while_no_session_is_open(clock: TurnedClock, clocks: OpenClocks) -> None:
    clock.turn(3_600.0)
    assert clocks.reading() == {"global": 100.0}


def test_a_session_runs_from_its_opening_to_its_close(
    clock: TurnedClock, clocks: OpenClocks
) -> None:
    clocks.start("a", 50.0)
    clock.turn(8.0)
    assert clocks.reading() == {"a": 58.0, "global": 108.0}
    clocks.stop("a")
    clock.turn(8.0)
    assert clocks.reading() == {"global": 108.0}


def test_global_runs_while_any_session_is_open(clock: TurnedClock, clocks: OpenClocks) -> None:
    clocks.start("a", 0.0)
    clock.turn(8.0)
    clocks.start("b", 0.0)
    clock.turn(4.0)
    clocks.stop("a")
    clock.turn(2.0)
    assert clocks.reading() == {"b": 6.0, "global": 114.0}
    clocks.stop("b")
    clock.turn(1.0)
    clocks.start("a", 12.0)
    clock.turn(16.0)
    assert clocks.reading() == {"a": 28.0, "global": 130.0}


def test_the_wall_clock_may_jump(clock: TurnedClock, clocks: OpenClocks) -> None:
    clocks.start("a", 0.0)
    clock.wall -= 1e9
    clock.mono += 2.0
    assert clocks.reading() == {"a": 2.0, "global": 102.0}


def test_calls_make_no_difference(clock: TurnedClock, clocks: OpenClocks) -> None:
    clocks.called("a")
    clocks.called(None)
    clocks.stop("a")
    clock.turn(8.0)
    assert clocks.reading() == {"global": 100.0}


# Activity: from one call to the next

LEASE = 900.0


@pytest.fixture
def calls(clock: TurnedClock) -> ActivityClocks:
    running = ActivityClocks(lambda: clock.mono, LEASE)
    running.start_global(100.0)
    return running


def test_the_gap_between_two_calls_of_a_session_counts(
    clock: TurnedClock, calls: ActivityClocks
) -> None:
    calls.start("a", 50.0)
    calls.called("a")
    assert calls.reading() == {"a": 50.0, "global": 100.0}
    clock.turn(8.0)
    assert calls.reading() == {"a": 50.0, "global": 100.0}
    calls.called("a")
    assert calls.reading() == {"a": 58.0, "global": 108.0}


@pytest.mark.parametrize(("gap", "counted"), [(LEASE, LEASE), (LEASE + 0.5, 0.0)])
def test_a_gap_that_is_longer_than_a_lease_counts_not_at_all(
    clock: TurnedClock, calls: ActivityClocks, gap: float, counted: float
) -> None:
    calls.called(None)
    clock.turn(gap)
    calls.called(None)
    assert calls.reading() == {"global": 100.0 + counted}
    clock.turn(1.0)
    calls.called(None)
    assert calls.reading() == {"global": 101.0 + counted}


def test_calls_of_anybody_let_the_global_clock_run(
    clock: TurnedClock, calls: ActivityClocks
) -> None:
    calls.start("a", 0.0)
    calls.start("b", 0.0)
    calls.called("a")
    for _ in range(10):
        clock.turn(512.0)
        calls.called("b")
    clock.turn(1.0)
    calls.called("a")
    assert calls.reading() == {"a": 0.0, "b": 9 * 512.0, "global": 100.0 + 10 * 512.0 + 1.0}


def test_a_session_that_closed_has_no_clock(clock: TurnedClock, calls: ActivityClocks) -> None:
    calls.start("a", 0.0)
    calls.called("a")
    calls.stop("a")
    clock.turn(8.0)
    calls.called("a")
    calls.stop("a")
    assert calls.reading() == {"global": 108.0}


# Either, as the knob says


def test_the_clocks_may_be_exchanged_and_the_totals_stay(clock: TurnedClock) -> None:
    clocks = SwitchedClocks("activity", lambda: clock.mono, LEASE)
    clocks.start_global(100.0)
    clocks.start("a", 50.0)
    clocks.called("a")
    clock.turn(8.0)
    clocks.choose("open")
    assert clocks.reading() == {"a": 50.0, "global": 100.0}
    clock.turn(4_096.0)
    clocks.choose("open")
    assert clocks.reading() == {"a": 4_146.0, "global": 4_196.0}
    clocks.choose("activity")
    clock.turn(2.0)
    clocks.called("a")
    assert clocks.reading() == {"a": 4_146.0, "global": 4_196.0}
    clock.turn(2.0)
    clocks.called("a")
    assert clocks.reading() == {"a": 4_148.0, "global": 4_198.0}
    clocks.stop("a")
    assert clocks.reading() == {"global": 4_198.0}
