"""Who was shown what: by session or by connection, across closings and restarts."""

from __future__ import annotations

import math

import trio
import trio.testing

from daemon.doubles import House, MemoryStore, Peer, eventually, open_house
from milkd.daemon.limits import Limits
from milkd.daemon.session_calls import watch_leases

FACT = "the linter runs nightly"


async def learn_it(house: House) -> None:
    await (await house.connect()).call("learn", content=FACT)


async def status(peer: Peer, **place: str) -> str:
    return str((await peer.call("record", content=FACT, **place))["status"])


async def leave(house: House, peer: Peer) -> None:
    left = len(house.core.callers) - 1
    await peer.stream.aclose()
    await eventually(lambda: len(house.core.callers) == left)


async def test_a_connection_without_a_session_is_an_audience_of_its_own() -> None:
    async with open_house() as house:
        await learn_it(house)
        peer, other = await house.connect(), await house.connect()
        await peer.call("query", text="linter")
        assert await status(peer) == "echoed"
        assert await status(other) == "reinforced"
        assert await status(peer, session="s1") == "reinforced"


async def test_what_a_connection_was_shown_goes_with_it() -> None:
    async with open_house() as house:
        await learn_it(house)
        peer = await house.connect()
        await peer.call("inject", prompt="what about the linter?")
        assert house.core.engine._memory.audiences
        await leave(house, peer)
        assert not house.core.engine._memory.audiences


async def test_a_session_is_one_audience_whoever_speaks_for_it() -> None:
    async with open_house() as house:
        await learn_it(house)
        peer, other = await house.connect(), await house.connect()
        assert (await peer.call("inject", prompt="the linter?", session="s1"))["ids"]
        assert (await other.call("inject", prompt="the linter?", session="s1"))["ids"] == []
        again = await other.call("inject", prompt="the linter?", session="s1", repeat=True)
        assert again["ids"]
        assert await status(other, session="s1") == "echoed"


async def test_a_session_that_was_ended_begins_anew() -> None:
    async with open_house() as house:
        await learn_it(house)
        peer = await house.connect()
        await peer.call("query", text="linter", session="s1")
        await peer.call("session_close", session="s1")
        assert "s1" not in house.store.files or not house.store.files["s1"].shown
        assert await status(peer, session="s1") == "reinforced"


async def test_a_lease_that_ran_out_ends_no_audience(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house(limits=Limits(lease_s=900.0)) as house:
        house.start_task(watch_leases, house.core)
        await learn_it(house)
        peer = await house.connect()
        await peer.call("query", text="linter", session="s1")
        await leave(house, peer)
        await trio.sleep(1_000)
        assert not house.core.engine.is_loaded("s1")
        assert await status(await house.connect(), session="s1") == "echoed"


async def test_a_session_whose_lease_ran_out_can_be_ended_all_the_same(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house(limits=Limits(lease_s=900.0)) as house:
        house.start_task(watch_leases, house.core)
        await learn_it(house)
        peer = await house.connect()
        await peer.call("query", text="linter", session="s1")
        await leave(house, peer)
        await trio.sleep(1_000)
        peer = await house.connect()
        await peer.call("session_close", session="s1")
        assert not house.core.engine.is_loaded("s1")
        assert (await peer.call("session_list"))["sessions"] == []
        assert await status(peer, session="s1") == "reinforced"


async def test_what_a_session_was_shown_outlasts_the_daemon() -> None:
    store = MemoryStore()
    async with open_house(store) as house:
        await learn_it(house)
        peer = await house.connect()
        await peer.call("query", text="linter", session="s1")
        await peer.call("consolidate")
    async with open_house(store) as house:
        assert await status(await house.connect(), session="s1") == "echoed"


async def test_what_was_shown_is_written_by_id_and_without_hurry(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house(limits=Limits(linger_s=1.0)) as house:
        await learn_it(house)
        peer = await house.connect()
        before = len(house.store.commits)
        shown = await peer.call("inject", prompt="a secret: the linter?", session="s1")
        assert len(house.store.commits) == before
        await trio.sleep(1.5)
        assert len(house.store.commits) == before + 1
        assert house.store.files["s1"].shown == tuple(shown["ids"])


async def test_what_was_shown_goes_along_with_the_next_change() -> None:
    async with open_house(limits=Limits(linger_s=math.inf)) as house:
        await learn_it(house)
        peer = await house.connect()
        shown = await peer.call("inject", prompt="the linter?", session="s1")
        await peer.call("record", content="lunch is at noon")
        assert house.store.files["s1"].shown == tuple(shown["ids"])


async def test_an_empty_injection_writes_nothing(autojump_clock: trio.testing.MockClock) -> None:
    async with open_house(limits=Limits(linger_s=1.0)) as house:
        peer = await house.connect()
        await peer.call("inject", prompt="what is for lunch?", session="s1")
        await trio.sleep(5)
        assert house.store.commits == []
