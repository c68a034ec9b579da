"""Events: told to subscribers, once what they tell is certain."""

from __future__ import annotations

import trio.testing

from daemon.doubles import HeldDisk, open_house
from milkd.daemon.events import Hub
from milkd.errors import StorageFull


async def test_a_subscriber_learns_what_happens_to_percepts() -> None:
    async with open_house() as house:
        watcher, peer = await house.connect(), await house.connect()
        assert await watcher.call("subscribe", topics=["percepts"]) == {}
        one = (await peer.call("record", content="the sky is blue", session="s1"))["id"]
        await peer.call("record", content="the sky is blue", session="s1")
        await peer.call("edit", ref=one, content="the sky is grey", session="s1")
        two = (await peer.call("learn", content="rain is wet"))["id"]
        await peer.call("relate", **{"from": one, "to": two, "relation": "extends"}, session="s1")
        await peer.call("forget", ref=one, session="s1")
        told = [await watcher.event() for _ in range(6)]
        assert [event["event"] for event in told] == [
            "inserted",
            "reinforced",
            "edited",
            "inserted",
            "related",
            "forgotten",
        ]
        assert told[0] == {"topic": "percepts", "event": "inserted", "id": one, "session": "s1"}
        assert told[3] == {"topic": "percepts", "event": "inserted", "id": two}
        assert (told[4]["from"], told[4]["to"]) == (one, two)
        assert not any("sky" in str(event) for event in told)


async def test_a_subscriber_hears_of_an_echo_too() -> None:
    async with open_house() as house:
        watcher, peer = await house.connect(), await house.connect()
        one = (await peer.call("record", content="the sky is blue", session="s1"))["id"]
        await peer.call("query", text="sky", session="s1")
        await watcher.call("subscribe", topics=["percepts"])
        await peer.call("record", content="the sky is blue", session="s1")
        told = await watcher.event()
        assert told == {"topic": "percepts", "event": "echoed", "id": one, "session": "s1"}


async def test_a_subscriber_learns_of_passes_and_sessions_and_health() -> None:
    async with open_house() as house:
        watcher, peer = await house.connect(), await house.connect()
        await watcher.call("subscribe", topics=["passes"])
        await watcher.call("subscribe", topics=["sessions", "health"])
        await peer.call("record", content="the user is called Ada", producer="user", session="s1")
        assert await watcher.event() == {"topic": "sessions", "event": "opened", "session": "s1"}
        await peer.call("session_close", session="s1")
        passed = await watcher.event()
        assert (passed["topic"], passed["event"], passed["promoted"]) == ("passes", "passed", 1)
        assert await watcher.event() == {"topic": "sessions", "event": "closed", "session": "s1"}
        house.store.failures.append(StorageFull("no room"))
        await peer.refusal("record", content="no room for it")
        assert await watcher.event() == {
            "topic": "health",
            "event": "changed",
            "status": "degraded",
        }


async def test_nothing_is_told_that_is_not_certain() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        watcher, peer = await house.connect(), await house.connect()
        await watcher.call("subscribe", topics=["percepts", "health"])
        house.store.failures.append(StorageFull("no room"))
        asked = await peer.ask("record", content="no room for it")
        await trio.testing.wait_all_tasks_blocked()
        await watcher.call("ping")
        assert watcher.notifications == []
        disk.let_go()
        await peer.response(asked)
        assert (await watcher.event())["topic"] == "health"
        await watcher.call("ping")
        assert watcher.notifications == []


async def test_topics_can_be_given_up() -> None:
    async with open_house() as house:
        watcher, peer = await house.connect(), await house.connect()
        assert await watcher.call("unsubscribe", topics=["passes"]) == {}
        await watcher.call("subscribe", topics=["percepts", "sessions"])
        await watcher.call("unsubscribe", topics=["percepts"])
        await peer.call("record", content="nobody hears this")
        await peer.call("session_open", session="s1")
        assert (await watcher.event())["topic"] == "sessions"
        await watcher.call("unsubscribe", topics=["sessions"])
        await peer.call("session_open", session="s2")
        await watcher.call("ping")
        assert watcher.notifications == []
        await watcher.call("subscribe", topics=["percepts"])
        await peer.call("record", content="something else altogether")
        assert (await watcher.event())["event"] == "inserted"


async def test_a_slow_subscriber_loses_the_oldest_and_is_told_how_many() -> None:
    hub = Hub(capacity=3)
    subscription = hub.subscribe(None, ["percepts"])
    for number in range(8):
        hub.publish("percepts", "inserted", id=str(number))
    assert subscription.take() == {"lost": 5}
    assert [(subscription.take() or {})["id"] for _ in range(3)] == ["5", "6", "7"]


async def test_a_subscriber_that_left_is_forgotten() -> None:
    async with open_house() as house:
        watcher, peer = await house.connect(), await house.connect()
        await watcher.call("subscribe", topics=["percepts"])
        await watcher.stream.aclose()
        await trio.testing.wait_all_tasks_blocked(0.01)
        await peer.call("record", content="nobody hears this")
        assert house.core.hub._subscriptions == set()
