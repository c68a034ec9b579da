"""The methods about the daemon itself."""

from __future__ import annotations

from daemon.doubles import MemoryStore, open_house
from milkd.engine import kernels
from milkd.engine.percept import Percept, ScopeImage
from milkd.store.interface import Theirs

CORE = {"core": kernels.DESCRIPTION} | (
    {"why_pure": kernels.WHY_PURE} if kernels.WHY_PURE is not None else {}
)


async def test_hello_tells_who_is_there_and_what_is_accepted() -> None:
    async with open_house() as house:
        peer = await house.connect()
        hello = await peer.call("hello", client="a test", version="7")
        limits = hello.pop("limits")
        assert hello == {
            "server": "milkd 0",
            "version": "0",
            "protocol": 1,
            "run_id": "run",
            "pid": 1,
            "store": "/store",
            "socket": "/socket",
            **CORE,
        }
        assert limits["max_message"] == 1 << 20
        assert limits["in_flight"] == 32


async def test_health_tells_what_others_did_to_the_store() -> None:
    store = MemoryStore(warnings=["s9.json was changed by another program"])
    async with open_house(store) as house:
        health = await (await house.connect()).call("health")
        assert health["status"] == "degraded"
        assert health["reasons"] == ["s9.json was changed by another program"]


async def test_health_tells_what_others_are_doing_until_it_is_over() -> None:
    async with open_house() as house:
        peer = await house.connect()
        broken = Theirs((1, 2, 3, 4, 5), problem="global.json: not valid JSON")
        house.store.edits["global"] = broken
        await peer.call("session_open", session="s1")
        house.store.edits["s1"] = Theirs(None)
        reasons = (await peer.call("health"))["reasons"]
        assert [reason.split(";")[0] for reason in reasons] == [
            "global.json: not valid JSON",
            "s1.json was removed by another program",
        ]
        house.store.edits.clear()
        health = await peer.call("health")
        assert (health["status"], health["reasons"]) == ("ok", [])


async def test_health_counts_what_ought_to_be_found_and_says_why_it_is_not() -> None:
    asleep = Percept(
        id="p1", content="asleep", producer="user", w=0.5, created_at=1.0, updated_at=1.0
    )
    odd = (("percepts", 1, {"id": "p2"}), ("edges", 0, "?"), ("percepts", 2, 7))
    store = MemoryStore(
        {
            "s1": ScopeImage(name="s1", percepts=(asleep,)),
            "s2": ScopeImage(name="s2", percepts=(asleep,), unreadable=odd),
        }
    )
    async with open_house(store) as house:
        peer = await house.connect()
        await peer.call("record", content="awake")
        await peer.call("session_open", session="s1")
        health = await peer.call("health")
        assert health == {"status": "ok", "reasons": [], "indexed": 2, "total": 2, **CORE}
        await peer.call("session_open", session="s2")
        health = await peer.call("health")
        assert (health["status"], health["indexed"], health["total"]) == ("degraded", 3, 5)
        assert health["reasons"] == [
            "2 entries of s2.json cannot be read as facts: kept in the file, but never found"
        ]


async def test_stats_count_what_is_there() -> None:
    async with open_house() as house:
        peer, other = await house.connect(), await house.connect()
        await other.call("record", content="in a session", session="s1")
        await other.call("learn", content="for good")
        house.clock.turn(32.0)
        await other.call("list", session="s1")
        house.clock.turn(32.0)
        stats = await peer.call("stats")
        assert (stats["global"], stats["archive"], stats["connections"]) == (1, 0, 2)
        assert stats["sessions"] == [
            {"session": "s1", "percepts": 1, "running_seconds": 32.0, "connections": 1}
        ]
        assert stats["uptime_seconds"] == 64.0


async def test_onlookers_are_no_activity() -> None:
    async with open_house() as house:
        peer = await house.connect()
        house.core.active_at = 0.0
        for method in ("hello", "ping", "health", "stats", "outlook"):
            await peer.call(method)
        await peer.call("subscribe", topics=["health"])
        assert house.core.active_at == 0.0
        await peer.call("list")
        assert house.core.active_at > 0.0


async def test_to_look_ahead_opens_no_session_and_holds_none() -> None:
    async with open_house() as house:
        peer, other = await house.connect(), await house.connect()
        made = await other.call("record", content="it rains", session="s1", producer="user")
        own = (await peer.call("outlook", session="s1"))["scopes"][1]
        assert (own["session"], own["total"], own["core"]) == ("s1", 1, 0)
        assert own["weights"] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        (due,) = (await peer.call("outlook", session="s1"))["due"]
        assert (due["id"], due["what"], due["in_seconds"]) == (made["id"], "promoted", 0.0)
        (session,) = (await peer.call("stats"))["sessions"]
        assert session["connections"] == 1
        await other.call("session_close", session="s1")
        seen = await peer.call("outlook", session="s1")
        assert [shelf["scope"] for shelf in seen["scopes"]] == ["global"]
        assert (await peer.call("stats"))["sessions"] == []
