"""The running clocks: what counts, and from when to when."""

from __future__ import annotations

import pytest

from daemon.doubles import TurnedClock
from milkd.daemon.clock import OpenClocks


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
