"""What use facts were, from the socket to the files and back."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.doubles import House, MemoryStore, Peer, Refused, open_house

FACTS = ("the site is served by make serve_local", "the site of the fair is muddy in autumn")
PROMPT = "show me the site"
USED = "I start it with make serve_local."
UNUSED = "I had a look at the colours of the sky and found them pleasing."


async def told(house: House) -> tuple[Peer, list[str]]:
    """Somebody who knows the facts, and their ids."""
    peer = await house.connect()
    ids = [(await peer.call("record", content=text, session="s1"))["id"] for text in FACTS]
    return peer, [str(each) for each in ids]


async def show(peer: Peer, ref: str) -> dict[str, Any]:
    return dict(await peer.call("show", ref=ref, session="s1"))


def untouched(fact: dict[str, Any]) -> tuple[object, ...]:
    return fact["w"], fact.get("evidence"), fact["updated_at"], fact["scope"]


async def test_a_turn_from_prompt_to_reply() -> None:
    async with open_house() as house:
        peer, (used, unused) = await told(house)
        before = [untouched(await show(peer, each)) for each in (used, unused)]
        injected = await peer.call("inject", prompt=PROMPT, session="s1")
        assert set(injected["ids"]) == {used, unused}
        ended = await peer.call(
            "turn_end", response=USED, session="s1", turn=injected["turn"], user_reply="Exactly!"
        )
        assert ended["turn"] == injected["turn"] == 1
        verdicts = {each["id"]: each for each in ended["judged"]}
        assert verdicts[used]["verdict"] == "confirmed"
        assert verdicts[used]["importance"] == pytest.approx(0.65)
        assert verdicts[unused] == {
            "id": unused,
            "verdict": "unused",
            "importance": 0.5,
            "recall_count": 1,
            "step": 0.0,
        }
        known = await show(peer, used)
        assert known["recall_count"] == 1
        assert "last_confirmed_use_at" in known
        assert [untouched(await show(peer, each)) for each in (used, unused)] == before


async def test_what_was_judged_outlives_the_daemon() -> None:
    store = MemoryStore()
    async with open_house(store=store) as house:
        peer, (used, _) = await told(house)
        await peer.call("inject", prompt=PROMPT, session="s1")
        await peer.call("turn_end", response=USED, session="s1")
    async with open_house(store=store) as house:
        peer = await house.connect()
        known = await show(peer, used)
        assert (known["importance"], known["recall_count"]) == (0.55, 1)
        again = await peer.call("turn_end", response=USED, session="s1")
        assert again == {"judged": []}


async def test_thirty_turns_in_vain_change_no_strength() -> None:
    async with open_house() as house:
        peer, ids = await told(house)
        before = [untouched(await show(peer, each)) for each in ids]
        for _ in range(30):
            assert (await peer.call("inject", prompt=PROMPT, session="s1", repeat=True))["ids"]
            await peer.call("turn_end", response=UNUSED, session="s1")
        assert [untouched(await show(peer, each)) for each in ids] == before
        for each in ids:
            known = await show(peer, each)
            assert known["importance"] == pytest.approx(0.47)  # one step a run
            assert known["bad_recall_count"] == known["recall_count"] == 30


async def test_two_turns_in_a_row_are_two_judgements() -> None:
    async with open_house() as house:
        peer, (used, _) = await told(house)
        for turn in (1, 2):
            given = await peer.call("inject", prompt=PROMPT, session="s1", repeat=True)
            assert given["turn"] == turn
        for turn in (1, 2):
            ended = await peer.call("turn_end", response=USED, session="s1")
            assert ended["turn"] == turn
        assert (await show(peer, used))["recall_count"] == 2
        with pytest.raises(Refused, match="turn: found 2"):
            await peer.call("turn_end", response=USED, session="s1", turn=2)


async def test_an_agent_that_records_what_it_used_corroborates_nothing() -> None:
    async with open_house() as house:
        peer, (used, _) = await told(house)
        await peer.call("inject", prompt=PROMPT, session="s1")
        await peer.call("turn_end", response=USED, session="s1")
        before = untouched(await show(peer, used))
        said = await peer.call("record", content=FACTS[0], session="s1")
        assert said["status"] == "echoed"
        assert untouched(await show(peer, used)) == before


async def test_a_pass_goes_with_it_and_is_told() -> None:
    async with open_house() as house:
        peer, watcher = await house.connect(), await house.connect()
        await watcher.call("subscribe", topics=["passes"])
        said = await peer.call("record", content=FACTS[0], session="s1", producer="user")
        await peer.call("inject", prompt=PROMPT, session="s1")
        ended = await peer.call("turn_end", response=USED, session="s1", consolidate=True)
        assert ended["report"]["promoted"] == 1
        known = await show(peer, said["id"])
        assert (known["scope"], known["importance"]) == ("global", 0.55)
        event = await watcher.event()
        assert (event["event"], event["session"], event["promoted"]) == ("passed", "s1", 1)


async def test_a_connection_has_turns_of_its_own_and_may_pass_over_all() -> None:
    async with open_house() as house:
        peer, _ = await told(house)
        await peer.call("learn", content="the site has a wiki")
        given = await peer.call("inject", prompt=PROMPT)
        assert len(given["ids"]) == 1
        other = await house.connect()
        assert await other.call("turn_end", response=USED) == {"judged": []}
        ended = await peer.call("turn_end", response=USED, consolidate=True)
        assert ended["turn"] == given["turn"]
        assert ended["report"]["sessions"].keys() == {"s1"}


async def test_what_the_user_says_of_a_fact_is_told_to_subscribers() -> None:
    async with open_house() as house:
        peer, (used, _) = await told(house)
        watcher = await house.connect()
        await watcher.call("subscribe", topics=["percepts"])
        said = await peer.call("confirm", ref=used, session="s1")
        assert (said["verdict"], said["step"]) == ("confirmed", pytest.approx(0.15))
        await peer.call("reject", ref=f"#{used[:8]}", session="s1")
        events = [await watcher.event() for _ in range(2)]
        assert [event["event"] for event in events] == ["confirmed", "rejected"]
        assert {event["id"] for event in events} == {used}
        with pytest.raises(Refused, match="not_found"):
            await peer.call("confirm", ref="zebra")


async def test_repeated_by_its_id_a_turn_is_judged_once() -> None:
    async with open_house() as house:
        peer, (used, _) = await told(house)
        await peer.call("inject", prompt=PROMPT, session="s1")
        first = await peer.call("turn_end", response=USED, session="s1", op_id="one")
        assert await peer.call("turn_end", response=USED, session="s1", op_id="one") == first
        assert (await show(peer, used))["recall_count"] == 1
