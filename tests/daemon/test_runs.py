"""Runs: one a process, and a new one after a long rest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from daemon.doubles import House, Peer, open_house
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600.0
FACT = "the linter runs nightly"


async def evidence(peer: Peer) -> int:
    """The runs in which the fact was corroborated, after saying it once more."""
    return int((await peer.call("record", content=FACT, session="s1"))["evidence"])


async def run_id(house: House, peer: Peer) -> str:
    told = (await peer.call("hello"))["run_id"]
    assert (await peer.call("stats"))["run_id"] == told
    return str(told)


async def test_a_new_run_begins_with_the_first_call_after_a_long_rest() -> None:
    async with open_house() as house:
        peer = await house.connect()
        assert [await evidence(peer) for _ in range(3)] == [0, 1, 1]
        house.clock.turn(5.9 * HOUR)
        assert await evidence(peer) == 1
        before = await run_id(house, peer)
        house.clock.turn(6 * HOUR)
        assert await run_id(house, peer) == before
        assert await evidence(peer) == 2
        assert await run_id(house, peer) != before
        assert (await peer.call("consolidate", session="s1"))["promoted"] == 1


async def test_a_night_with_the_lid_closed_is_a_rest() -> None:
    async with open_house() as house:
        peer = await house.connect()
        assert [await evidence(peer) for _ in range(2)] == [0, 1]
        house.clock.sleep(9 * HOUR)
        assert await evidence(peer) == 2


async def test_onlookers_neither_begin_a_run_nor_keep_one_going() -> None:
    async with open_house() as house:
        peer = await house.connect()
        assert [await evidence(peer) for _ in range(2)] == [0, 1]
        for _ in range(7):
            house.clock.turn(HOUR)
            await peer.call("ping")
        assert await run_id(house, peer) == "run"
        assert await evidence(peer) == 2


async def test_the_first_call_of_a_daemon_begins_no_second_run() -> None:
    async with open_house() as house:
        peer = await house.connect()
        house.clock.turn(100 * HOUR)
        await peer.call("list")
        assert await run_id(house, peer) == "run"


async def test_subscribers_are_told_of_a_run() -> None:
    async with open_house() as house:
        watcher, peer = await house.connect(), await house.connect()
        await peer.call("list")
        await watcher.call("subscribe", topics=["sessions"])
        house.clock.turn(6 * HOUR)
        await peer.call("list")
        told = await watcher.event()
        assert (told["topic"], told["event"]) == ("sessions", "run_began")
        assert told["run_id"] == await run_id(house, peer)


async def test_without_a_gap_a_run_lasts_as_long_as_the_process() -> None:
    async with open_house(engine=Engine(replace(DEFAULT, run_gap_hours=0.0))) as house:
        peer = await house.connect()
        assert [await evidence(peer) for _ in range(2)] == [0, 1]
        house.clock.turn(1_000 * HOUR)
        assert await evidence(peer) == 1


async def test_the_gap_and_the_clocks_follow_the_config_file(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    async with open_house(config=str(file)) as house:
        peer = await house.connect()
        assert [await evidence(peer) for _ in range(2)] == [0, 1]
        house.clock.turn(2 * HOUR)
        file.write_text(json.dumps({"memory": {"run_gap_hours": 2, "running_time": "open"}}))
        await peer.call("reload")
        house.clock.turn(2 * HOUR)
        assert await evidence(peer) == 2
        opened = await peer.call("session_open", session="s1")
        assert opened["running_seconds"] == 2 * HOUR
