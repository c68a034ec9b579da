"""Sessions: opened by a call, held by connections, closed by request or lease."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from daemon.doubles import (
    HeldDisk,
    House,
    MemoryStore,
    Peer,
    eventually,
    open_house,
)
from milkd.daemon.limits import Limits
from milkd.daemon.session_calls import watch_leases
from milkd.engine.commands import Command, Consolidate, Now
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.engine.percept import Percept, ScopeImage
from milkd.errors import StorageFailed, StorageFull, StoreDamaged

if TYPE_CHECKING:
    from milkd.engine.results import Decision


def percept(number: int, content: str, **more: object) -> Percept:
    values = {"producer": "primary", "w": 0.7, "created_at": 1.0, "updated_at": 1.0}
    id_ = f"{number:08x}-aaaa-4000-8000-000000000000"
    return Percept(id=id_, content=content, **(values | more))  # type: ignore[arg-type]


def stored(*sessions: ScopeImage) -> MemoryStore:
    return MemoryStore({image.name: image for image in sessions})


async def listed(peer: Peer) -> dict[str, bool]:
    page = await peer.call("session_list")
    return {session["session"]: session["open"] for session in page["sessions"]}


async def test_the_first_call_opens_a_session_with_what_it_holds() -> None:
    before = ScopeImage(name="s1", percepts=(percept(1, "from last week"),), running_seconds=64.0)
    async with open_house(stored(before)) as house:
        peer = await house.connect()
        assert await listed(peer) == {"s1": False}
        (found,) = (await peer.call("query", text="last week", session="s1"))["percepts"]
        assert found["content"] == "from last week"
        assert await listed(peer) == {"s1": True}
        opened = await peer.call("session_open", session="s1")
        assert opened == {"session": "s1", "percepts": 1, "running_seconds": 64.0}


async def test_one_session_does_not_see_another() -> None:
    async with open_house() as house:
        peer = await house.connect()
        made = await peer.call("record", content="seen here only", session="s1")
        assert (await peer.call("query", text="seen", session="s2"))["percepts"] == []
        assert (await peer.call("query", text="seen"))["percepts"] == []
        refusal = await peer.refusal("show", ref=made["id"], session="s2")
        assert refusal.startswith("not_found: ")


async def test_the_same_session_is_loaded_once_for_all() -> None:
    disk = HeldDisk()
    before = ScopeImage(name="s1", percepts=(percept(1, "from last week"),))
    async with open_house(stored(before), disk=disk) as house:
        a, b = await house.connect(), await house.connect()
        first = await a.ask("record", content="quite new", session="s1")
        second = await b.ask("list", session="s1")
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go()
        assert (await a.result(first))["status"] == "inserted"
        assert (await b.result(second))["total"] in (1, 2)
        assert (await b.call("list", session="s1"))["total"] == 2


async def test_closing_makes_a_pass_and_keeps_the_facts() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content="the user is called Ada", producer="user", session="s1")
        await peer.call("record", content="it rains today", session="s1")
        house.clock.turn(512.0)
        report = await peer.call("session_close", session="s1")
        assert (report["promoted"], report["running_seconds"]) == (1, 512.0)
        assert not house.core.engine.is_loaded("s1")
        assert await listed(peer) == {"s1": False}
        assert [p.content for p in house.store.files["s1"].percepts] == ["it rains today"]
        opened = await peer.call("session_open", session="s1")
        assert (opened["percepts"], opened["running_seconds"]) == (1, 512.0)


async def test_a_session_that_is_closed_stays_so_when_closed_again() -> None:
    async with open_house(stored(ScopeImage(name="s1", percepts=(percept(1, "x"),)))) as house:
        peer = await house.connect()
        report = await peer.call("session_close", session="s1")
        assert (report["decayed"], report["global_total"]) == (0, 0)
        assert not house.store.commits
        assert (await peer.refusal("session_close", session="s2")).startswith("not_found: session")


async def test_a_session_without_facts_leaves_nothing() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("session_open", session="s1")
        assert await listed(peer) == {"s1": True}
        await peer.call("session_close", session="s1")
        assert await listed(peer) == {}


async def test_a_dropped_session_is_gone_with_its_file() -> None:
    before = ScopeImage(name="s1", percepts=(percept(1, "a"), percept(2, "b")))
    async with open_house(stored(before)) as house:
        peer = await house.connect()
        assert await peer.call("session_drop", session="s1") == {"dropped": 2}
        assert "s1" not in house.store.files
        assert await listed(peer) == {}
        assert (await peer.refusal("session_drop", session="s1")).startswith("not_found: ")
        await peer.call("record", content="begun anew", session="s1")
        assert await peer.call("session_drop", session="s1") == {"dropped": 1}
        assert not house.core.engine.is_loaded("s1")


async def test_a_session_may_be_used_again_while_it_is_being_closed() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        a, b = await house.connect(), await house.connect()
        disk.let_go()
        await a.call("record", content="first of all", session="s1")
        disk.hold()
        closing = await a.ask("session_close", session="s1")
        await trio.testing.wait_all_tasks_blocked()
        again = await b.ask("record", content="one more thing", session="s1")
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go()
        await a.result(closing)
        await b.result(again)
        assert await listed(a) == {"s1": True}
        assert (await a.call("list", session="s1"))["total"] == 2
        assert len(house.store.files["s1"].percepts) == 2


async def test_a_session_may_be_begun_anew_while_it_is_being_dropped() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        a, b = await house.connect(), await house.connect()
        disk.let_go()
        await a.call("record", content="first of all", session="s1")
        disk.hold()
        dropping = await a.ask("session_drop", session="s1")
        await trio.testing.wait_all_tasks_blocked()
        again = await b.ask("record", content="one more thing", session="s1")
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go()
        assert await a.result(dropping) == {"dropped": 1}
        await b.result(again)
        assert [p.content for p in house.store.files["s1"].percepts] == ["one more thing"]


@pytest.mark.parametrize("method", ["session_close", "session_drop"])
@pytest.mark.parametrize("is_open", [True, False])
async def test_a_session_whose_going_the_disk_refuses_is_as_before(
    method: str, is_open: bool
) -> None:
    before = ScopeImage(name="s1", percepts=(percept(1, "still here", producer="user", w=0.9),))
    async with open_house(stored(before)) as house:
        peer = await house.connect()
        if is_open:
            await peer.call("session_open", session="s1")
        if is_open or method == "session_drop":
            house.store.failures.append(StorageFull("no room"))
            assert (await peer.refusal(method, session="s1")).startswith("storage_full: ")
        assert await listed(peer) == {"s1": is_open}
        assert house.core.engine.is_loaded("s1") == is_open
        assert (await peer.call("list", session="s1"))["total"] == 1


async def test_a_damaged_session_troubles_only_those_who_name_it() -> None:
    store = stored()
    store.damaged["s1"] = StoreDamaged("s1.json: not JSON at byte 7")
    async with open_house(store) as house:
        peer = await house.connect()
        for method in ("session_open", "session_drop"):
            refusal = await peer.refusal(method, session="s1")
            assert refusal == "store_damaged: s1.json: not JSON at byte 7"
        assert (await peer.call("record", content="fine here", session="s2"))["id"]
        health = await peer.call("health")
        assert health["status"] == "degraded"
        assert "byte 7" in health["reasons"][0]
        assert await listed(peer) == {"s2": True, "s1": False}


async def test_a_session_that_was_mended_is_no_trouble_any_more() -> None:
    store = stored()
    store.damaged["s1"] = StoreDamaged("s1.json: not JSON at byte 7")
    async with open_house(store) as house:
        peer = await house.connect()
        await peer.refusal("session_open", session="s1")
        store.files["s1"] = ScopeImage(name="s1", percepts=(percept(1, "mended"),))
        del store.damaged["s1"]
        assert (await peer.call("session_open", session="s1"))["percepts"] == 1
        assert (await peer.call("health"))["status"] == "ok"


async def test_a_disk_that_fails_to_give_a_session_is_named() -> None:
    async with open_house() as house:
        peer = await house.connect()
        house.store.damaged["s1"] = StorageFailed("cannot read s1.json")
        assert (await peer.refusal("list", session="s1")).startswith("storage_failed: ")


# Leases


async def leave(house: House, peer: Peer) -> None:
    await peer.stream.aclose()
    await eventually(lambda: not house.core.callers)


async def test_a_session_that_all_have_left_is_closed_after_its_lease(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house(limits=Limits(lease_s=900.0)) as house:
        house.start_task(watch_leases, house.core)
        peer = await house.connect()
        await peer.call("record", content="the user is called Ada", producer="user", session="s1")
        await leave(house, peer)
        await trio.sleep(880)
        assert house.core.sessions.names() == ("s1",)
        await trio.sleep(40)
        assert house.core.sessions.names() == ()
        assert not house.core.engine.is_loaded("s1")
        assert [p.content for p in house.store.files["global"].percepts] == [
            "the user is called Ada"
        ]


async def test_a_connection_holds_the_sessions_that_it_named(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house(limits=Limits(lease_s=900.0)) as house:
        house.start_task(watch_leases, house.core)
        peer = await house.connect()
        await peer.call("session_open", session="s1")
        await trio.sleep(10_000)
        assert house.core.sessions.names() == ("s1",)
        (session,) = (await peer.call("stats"))["sessions"]
        assert session["connections"] == 1


async def test_a_call_renews_the_lease(autojump_clock: trio.testing.MockClock) -> None:
    async with open_house(limits=Limits(lease_s=900.0)) as house:
        house.start_task(watch_leases, house.core)
        for _ in range(4):
            peer = await house.connect()
            await peer.call("list", session="s1")
            await leave(house, peer)
            await trio.sleep(600)
            assert house.core.sessions.names() == ("s1",)


async def test_a_lease_that_cannot_be_ended_is_tried_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house(limits=Limits(lease_s=900.0)) as house:
        house.start_task(watch_leases, house.core)
        peer = await house.connect()
        await peer.call("record", content="first of all", session="s1")
        await leave(house, peer)
        house.store.failures.append(StorageFull("no room"))
        await trio.sleep(3_600)
        assert not house.store.failures
        assert house.core.sessions.names() == ()


async def test_a_lease_whose_pass_fails_is_no_end_of_the_daemon(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class NoPass(Engine):
        def decide(self, command: Command, now: Now) -> Decision:
            if isinstance(command, Consolidate):
                raise RuntimeError("a secret")
            return super().decide(command, now)

    async with open_house(engine=NoPass(DEFAULT), limits=Limits(lease_s=900.0)) as house:
        house.start_task(watch_leases, house.core)
        peer = await house.connect()
        await peer.call("record", content="first of all", session="s1")
        await leave(house, peer)
        await trio.sleep(1_000)
        assert house.core.sessions.names() == ("s1",)
        assert "session s1 could not be closed" in caplog.text
        assert "secret" not in caplog.text


async def test_who_leaves_while_a_closing_fails_holds_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    disk = HeldDisk()
    disk.let_go()
    async with open_house(disk=disk, limits=Limits(lease_s=900.0, request_s=5.0)) as house:
        house.start_task(watch_leases, house.core)
        peer = await house.connect()
        await peer.call("record", content="first of all", session="s1")
        disk.hold()
        house.store.failures.append(StorageFull("no room"))
        await peer.ask("session_close", session="s1")
        await trio.sleep(1)
        await leave(house, peer)
        disk.let_go()
        await trio.sleep(1)
        assert house.core.sessions.names() == ("s1",)
        await trio.sleep(1_000)
        assert house.core.sessions.names() == ()


# Closed sessions that are needed for a moment


async def test_forgetting_everywhere_reaches_closed_sessions() -> None:
    secret = "the old password was swordfish"
    store = stored(
        ScopeImage(name="s1", percepts=(percept(1, secret), percept(2, "keep"))),
        ScopeImage(name="s2", percepts=(percept(3, secret),)),
        ScopeImage(name="s3", percepts=(percept(4, "keep this too"),)),
    )
    async with open_house(store) as house:
        peer = await house.connect()
        await peer.call("record", content=secret, session="s4")
        gone = await peer.call("forget", ref=secret, session="s4", all=True)
        assert gone["others"] == 2
        assert [p.content for p in store.files["s1"].percepts] == ["keep"]
        assert store.files["s2"].percepts == ()
        assert await listed(peer) == {"s4": True, "s1": False, "s3": False}
        assert house.core.engine.sessions() == ("s4",)


async def test_a_pass_over_all_leaves_closed_sessions_alone() -> None:
    disk = HeldDisk()
    secret = "the old password was swordfish"
    promotable = percept(2, "the user is called Ada", producer="user", w=0.9)
    store = stored(ScopeImage(name="s1", percepts=(percept(1, secret), promotable)))
    async with open_house(store, disk=disk) as house:
        a, b, c = [await house.connect() for _ in range(3)]
        disk.let_go()
        await a.call("record", content=secret, session="s2")
        disk.hold()
        forgetting = await a.ask("forget", ref=secret, session="s2", all=True)
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go_one()
        await trio.testing.wait_all_tasks_blocked()
        assert house.core.engine.sessions() == ("s2", "s1")  # until it is on disk
        passing = [(peer, await peer.ask("consolidate")) for peer in (b, c)]
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go()
        await a.result(forgetting)
        for peer, msgid in passing:
            report = await peer.result(msgid)
            assert report["promoted"] == 0
            assert list(report["sessions"]) == ["s2"]


async def test_sessions_are_listed_in_pages() -> None:
    images = [ScopeImage(name=f"s{n}", percepts=(percept(n, f"fact {n}"),)) for n in range(5)]
    async with open_house(stored(*images)) as house:
        peer = await house.connect()
        first = await peer.call("session_list", limit=3)
        rest = await peer.call("session_list", limit=3, cursor=first["next"])
        names = [each["session"] for each in first["sessions"] + rest["sessions"]]
        assert names == ["s0", "s1", "s2", "s3", "s4"]
        assert "next" not in rest


async def test_running_time_is_counted_from_call_to_call() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("session_open", session="s1")
        house.clock.turn(128.0)
        await peer.call("session_open", session="s2")
        house.clock.turn(64.0)
        await peer.call("list", session="s1")
        house.clock.turn(3_600.0)
        await peer.call("list", session="s2")
        house.clock.turn(32.0)
        stats = await peer.call("stats")
        assert stats["running_seconds"] == 192.0
        assert [s["running_seconds"] for s in stats["sessions"]] == [192.0, 0.0]


async def test_a_client_that_stays_connected_for_a_fortnight_ages_nothing() -> None:
    async with open_house() as house:
        peer = await house.connect()
        made = await peer.call("record", content="it rains today", session="s1")
        for _ in range(14 * 24):
            house.clock.turn(3_600.0)
            await peer.call("ping")
            await peer.call("stats")
            await peer.call("health")
        assert (await peer.call("session_close", session="s1"))["running_seconds"] == 0.0
        (kept,) = house.store.files["s1"].percepts
        assert (kept.id, kept.w) == (made["id"], 0.7)


async def test_running_time_may_be_counted_while_sessions_are_open() -> None:
    engine = Engine(replace(DEFAULT, running_time="open"))
    async with open_house(engine=engine) as house:
        peer = await house.connect()
        await peer.call("session_open", session="s1")
        house.clock.turn(128.0)
        opened = await peer.call("session_open", session="s2")
        assert opened["running_seconds"] == 0.0
        house.clock.turn(64.0)
        stats = await peer.call("stats")
        assert stats["running_seconds"] == 192.0
        assert [s["running_seconds"] for s in stats["sessions"]] == [192.0, 64.0]
