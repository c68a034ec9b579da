"""T16: the wall clock of a whole daemon jumps by days and years, and runs backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torture.household import Household

DAY = 86_400.0
JUMPS = (DAY, -2 * DAY, 10 * 365 * DAY, -20 * 365 * DAY, 10 * 365 * DAY, -3_600.0, -3_600.0)

pytestmark = pytest.mark.lasting


class WallClock:
    """What the daemons of a household see on the wall."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0.0
        self.jump(0.0)

    def jump(self, seconds: float) -> None:
        self._offset += seconds
        told = int(self._offset * 1e9).to_bytes(8, "little", signed=True)
        with self.path.open("r+b" if self.path.exists() else "wb", buffering=0) as file:
            file.write(told)


@pytest.fixture
def clock(household: Household, shim: Path) -> Iterator[WallClock]:
    """The clock on the wall of the household; its daemons are to be started after this."""
    wall = WallClock(household.home / "clock")
    household.env |= {"LD_PRELOAD": str(shim), "SHIM_CLOCK": str(wall.path)}
    yield wall
    household.stop()
    household.env.pop("LD_PRELOAD")  # the file goes before all that might look at it are gone


def weights(household: Household) -> dict[str, float]:
    return {fact["content"]: fact["w"] for fact in household.facts()}


def check_facts(facts: list[dict[str, Any]]) -> None:
    for fact in facts:
        assert 0.0 < fact["w"] <= 1.0
        assert fact.get("idle_seconds", 0.0) >= 0.0


def test_nothing_goes_and_nothing_grows_because_the_clock_jumps(
    household: Household, clock: WallClock
) -> None:
    household.start()
    stated: list[str] = []
    for number, seconds in enumerate(JUMPS):
        with household.client(session="s1") as client:
            stated.append(f"dock{number} is kept by guard{number} of gate{number}")
            client.record(stated[-1], session=None if number % 2 else "s1")
            before = weights(household)
            clock.jump(seconds)
            client.query(f"who keeps dock{number}?")
            client.consolidate()
        after = weights(household)
        assert sorted(after) == sorted(stated)
        assert {fact for fact in before if after[fact] > before[fact] + 1e-9} == set()
        check_facts(household.facts())


def test_what_is_durable_does_not_depend_on_the_clock(
    household: Household, clock: WallClock
) -> None:
    household.start()
    stated: list[str] = []
    for number, seconds in enumerate(JUMPS):
        with household.client() as client:
            stated.append(f"mill{number} grinds grain{number} by wheel{number}")
            client.record(stated[-1])
            if len(stated) > 2:
                client.forget(stated.pop(0))
        clock.jump(seconds)
        household.kill()
        household.start()
        assert household.contents() == sorted(stated)
    with household.client() as client:
        assert client.archive_list()["total"] == 0
    assert household.end() == 0
    household.check_tidy()


def test_the_latest_statement_wins_although_the_clock_went_back(
    household: Household, clock: WallClock
) -> None:
    household.start()
    with household.client() as client:
        old = client.record("birch listens on port 22", producer="user")["id"]
        clock.jump(-10 * 365 * DAY)
        client.record(
            "birch listens on port 49222", producer="user", relation="updates", related_to=old
        )
        first = client.query("birch port")["percepts"][0]["content"]
    assert first == "birch listens on port 49222"
    household.kill()
    household.start()
    with household.client() as client:
        assert client.query("birch port")["percepts"][0]["content"] == first
