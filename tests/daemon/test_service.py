"""Requests and their answers: methods, faults, repeated operations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from daemon.doubles import HeldDisk, MemoryStore, Peer, Refused, open_house
from milkd.daemon.batches import at_once
from milkd.daemon.limits import Limits
from milkd.daemon.replays import Replays, operation
from milkd.daemon.requests import COMMANDS
from milkd.daemon.service import METHODS
from milkd.engine.commands import Command, Now, Query, Record
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.engine.percept import Percept, ScopeImage
from milkd.errors import StorageFull
from milkd.rpc import schema

if TYPE_CHECKING:
    from milkd.engine.results import Decision


class Mined(Engine):
    """An engine that fails on one content, and otherwise is the real one."""

    def decide(self, command: Command, now: Now) -> Decision:
        if isinstance(command, Record) and command.content == "step here":
            raise RuntimeError("the mine says: step here")
        return super().decide(command, now)


async def test_a_fault_in_the_engine_costs_one_request(caplog: pytest.LogCaptureFixture) -> None:
    async with open_house(engine=Mined(DEFAULT)) as house:
        peer = await house.connect()
        await peer.call("record", content="safe ground")
        before = house.core.engine.image("global")
        assert (await peer.refusal("record", content="step here")).startswith("internal: ")
        assert house.core.engine.image("global") == before
        assert (await peer.call("record", content="more of it elsewhere"))["status"] == "inserted"
        assert "RuntimeError" in caplog.text
        assert "step here" not in caplog.text


class Misread(Engine):
    """An engine whose answers to queries nobody can make anything of."""

    def decide(self, command: Command, now: Now) -> Decision:
        decision = super().decide(command, now)
        return replace(decision, result=7) if isinstance(command, Query) else decision  # type: ignore[arg-type]  # on purpose


async def test_a_fault_in_making_an_answer_costs_one_request() -> None:
    async with open_house(engine=Misread(DEFAULT)) as house:
        peer = await house.connect()
        assert (await peer.refusal("query", text="anything")).startswith("internal: ")
        assert await peer.call("ping") == {}


async def test_nothing_is_begun_while_the_daemon_stops() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        peer, late = await house.connect(), await house.connect()
        loading = await late.ask("record", content="too late", session="s1")
        await trio.testing.wait_all_tasks_blocked()
        house.service.stopping = True
        disk.let_go()
        assert (await peer.refusal("record", content="too late")).startswith("shutting_down: ")
        with pytest.raises(Refused, match=r"^shutting_down: "):
            await late.result(loading)
        assert not house.store.commits


async def test_a_session_that_will_not_load_is_waited_for_in_vain(
    autojump_clock: trio.testing.MockClock,
) -> None:
    disk = HeldDisk()
    async with open_house(disk=disk, limits=Limits(request_s=30.0)) as house:
        first, second = await house.connect(), await house.connect()
        await first.ask("list", session="s1")
        await trio.testing.wait_all_tasks_blocked()
        assert (await second.refusal("list", session="s2")).startswith("timeout: session s2 ")
        assert trio.current_time() >= 30.0
        assert await second.call("ping") == {}
        disk.let_go()


def test_the_oldest_operations_are_forgotten() -> None:
    replays = Replays(2)
    done = [operation(f"op{n}", "record", {"content": str(n)}) for n in range(3)]
    for each in done:
        replays.remember(each, at_once({}))
    assert replays.find(done[0]) is None
    assert replays.find(done[1]) is not None
    assert replays.find(None) is None


def test_every_method_of_the_table_is_served() -> None:
    assert schema.METHODS.keys() == METHODS.keys() | COMMANDS.keys()


async def fact(peer: Peer, content: str, **more: object) -> str:
    return str((await peer.call("record", content=content, **more))["id"])


async def test_a_life_of_a_fact() -> None:
    async with open_house() as house:
        peer = await house.connect()
        tabs = await fact(peer, "the user indents with tabs", session="s1", producer="user")
        again = await peer.call("record", content="the user indents with tabs", session="s1")
        assert (again["status"], again["id"], again["similarity"]) == ("reinforced", tabs, 1.0)
        assert again["existing"]["id"] == tabs
        (hit,) = (await peer.call("query", text="tabs?", session="s1"))["percepts"]
        assert (hit["id"], hit["hits"], hit["scope"], hit["session"]) == (tabs, 1, "session", "s1")
        shown = await peer.call("show", ref=f"#{tabs[:8]}", session="s1")
        assert (shown["content"], shown["edges"]) == ("the user indents with tabs", [])
        spaces = await fact(
            peer, "now four spaces", session="s1", relation="updates", related_to=tabs
        )
        edge = {"from": spaces, "to": tabs, "relation": "updates"}
        assert (await peer.call("show", ref=spaces, session="s1"))["edges"] == [edge]
        ends = {"from": spaces, "to": tabs, "relation": "updates", "session": "s1"}
        assert await peer.call("relate", **ends) == {"edge": edge, "created": False}
        assert await peer.call("unrelate", **ends) == {"edge": edge, "removed": True}
        edited = await peer.call("edit", ref=spaces, content="two spaces", session="s1")
        assert edited["content"] == "two spaces"
        assert (await peer.call("list", session="s1"))["total"] == 2
        explained = await peer.call("explain", ref=tabs, session="s1")
        assert explained["percept"]["id"] == tabs
        assert explained["holds"]
        gone = await peer.call("forget", ref=spaces, session="s1")
        assert gone == {"id": spaces, "content": "two spaces", "others": 0}
        report = await peer.call("consolidate", session="s1")
        assert (report["promoted"], report["sessions"]["s1"]["promoted"]) == (1, 1)
        (percept,) = (await peer.call("resolve", ref="TABS"))["percepts"]
        assert (percept["id"], percept["scope"]) == (tabs, "global")


async def test_what_is_learned_is_global_and_known_the_second_time() -> None:
    async with open_house() as house:
        peer = await house.connect()
        first = await peer.call("learn", content="deploys happen on Mondays", session="s1")
        again = await peer.call("learn", content="deploys happen on Mondays")
        assert (first["scope"], first["w"], first["message"]) == ("global", 1.0, "learned")
        assert (again["id"], again["message"]) == (first["id"], "already known — reinforced")


async def test_a_restatement_tells_the_words_that_differ_and_keeps_them() -> None:
    async with open_house() as house:
        peer = await house.connect()
        known = await fact(peer, "deploys go through the west cluster")
        again = await peer.call("record", content="deploys go through the west cluster on Mondays")
        assert again["differs"] == {"new": ["Mondays"], "old": []}
        assert again["existing"]["content"] == "deploys go through the west cluster"
        shown = await peer.call("show", ref=known)
        (wording,) = shown["wordings"]
        assert wording["content"] == "deploys go through the west cluster on Mondays"
        assert wording["at"] == shown["updated_at"]
        equal = await peer.call("record", content="Deploys go through the west cluster!")
        assert "differs" not in equal
        (found,) = (await peer.call("query", text="mondays"))["percepts"]
        assert (found["id"], found["wordings"]) == (known, [wording])


async def test_a_look_alike_is_named_with_the_reason() -> None:
    async with open_house() as house:
        peer = await house.connect()
        known = await fact(peer, "the build needs Python 3.11 or newer")
        made = await peer.call("record", content="the build needs Python 3.12 or newer")
        assert made["status"] == "inserted"
        look_alike = made["look_alike"]
        assert (look_alike["id"], look_alike["w"]) == (known, 0.7)
        assert look_alike["reason"] == "numbers differ: 3.12 / 3.11"
        alike = await peer.call("similar", text="the build never needs Python 3.11 or newer")
        assert alike["look_alike"]["reason"] == "negated: never"
        assert "duplicate" not in alike


async def test_what_was_archived_is_revived_when_it_is_stated_again() -> None:
    gone = Percept(
        id="a" * 8,
        content="the old office was in Graz",
        producer="primary",
        w=0.25,
        created_at=1.0,
        updated_at=1.0,
        archived_at=2.0,
        archived_reason="stale",
    )
    store = MemoryStore({"archive": ScopeImage(name="archive", percepts=(gone,))})
    async with open_house(store) as house:
        peer = await house.connect()
        back = await peer.call("record", content=gone.content, session="s1")
        assert (back["status"], back["id"], back["scope"]) == ("revived", gone.id, "global")
        assert (await peer.call("archive_list"))["total"] == 0


async def test_what_is_superseded_follows_what_updates_it() -> None:
    async with open_house() as house:
        peer = await house.connect()
        old = await fact(peer, "the user indents with tabs")
        new = await fact(peer, "spaces it is from now on", relation="updates", related_to=old)
        first, second = (await peer.call("query", text="tabs?"))["percepts"]
        assert (first["id"], second["id"]) == (new, old)
        assert (second["superseded_by"], "superseded_by" in first) == (new, False)
        assert (await peer.call("inject", prompt="tabs?"))["ids"] == [new]


async def test_reports_count_what_was_merged() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await fact(peer, "the user is called Ada", producer="user", session="s1")
        await fact(peer, "the user is called Ada")
        report = await peer.call("consolidate", session="s1")
        assert (report["merged"], report["sessions"]["s1"]["merged"]) == (1, 1)


async def test_injections_are_numbered_by_session() -> None:
    async with open_house() as house:
        peer, other = await house.connect(), await house.connect()
        await peer.call("learn", content="deploys happen on Mondays")
        first = await peer.call("inject", prompt="when are deploys?", session="s1", explain=True)
        assert first["turn"] == 1
        assert "deploys happen on Mondays" in first["text"]
        assert first["bytes"] == len(first["text"].encode())
        assert first["candidates"][0]["in"] is True
        assert (await other.call("inject", prompt="hm", session="s1"))["turn"] == 2
        assert (await other.call("inject", prompt="hm"))["turn"] == 1
        assert (await peer.call("inject", prompt="hm"))["turn"] == 1


async def test_lists_come_in_pages() -> None:
    async with open_house() as house:
        peer = await house.connect()
        for number in range(5):
            await fact(peer, f"thing{number} is called {number * 11} and nothing{number} else")
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = await peer.call("list", limit=2, sort="created_at", **cursor)
            assert page["total"] == 5
            seen += [percept["id"] for percept in page["percepts"]]
            if "next" not in page:
                break
            cursor = {"cursor": page["next"]}
        assert len(seen) == len(set(seen)) == 5
        for bad in ("x", "o", "o-1", "o٣", "o" + "9" * 60):
            assert (await peer.refusal("list", cursor=bad)).startswith("invalid_params: cursor: ")


async def test_the_scope_of_no_session_cannot_be_listed() -> None:
    async with open_house() as house:
        peer = await house.connect()
        refusal = await peer.refusal("list", scope="session")
        assert refusal.startswith("invalid_params: session: ")


async def test_the_archive_is_listed_and_restored_from() -> None:
    engine = Engine(replace(DEFAULT, running_time="open"))
    async with open_house(engine=engine) as house:
        peer = await house.connect()
        old = await fact(peer, "the old office was in Graz")
        await peer.call("session_open", session="s1")
        for _ in range(15):
            house.clock.turn(86_400)
            await peer.call("consolidate")
        listed = await peer.call("archive_list")
        assert [(p["id"], p["scope"]) for p in listed["percepts"]] == [(old, "archive")]
        assert (await peer.call("restore", ref=old))["scope"] == "global"
        assert (await peer.call("archive_list"))["total"] == 0


# Operations that are repeated


async def test_an_operation_repeated_changes_nothing_and_answers_the_same() -> None:
    async with open_house() as house:
        peer, other = await house.connect(), await house.connect()
        first = await peer.call("record", content="said once", op_id="op")
        assert await peer.call("record", content="said once", op_id="op") == first
        assert await other.call("record", content="said once", op_id="op") == first
        assert (await peer.call("show", ref=first["id"]))["w"] == 0.7


async def test_another_request_under_the_same_op_id_is_a_conflict() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content="said once", op_id="op")
        for method in ("record", "learn"):
            refusal = await peer.refusal(method, content="said twice", op_id="op")
            assert refusal.startswith("conflict: ")


async def test_an_operation_that_was_refused_may_be_tried_again() -> None:
    async with open_house() as house:
        peer = await house.connect()
        assert (await peer.refusal("forget", ref="a fact", op_id="op")).startswith("not_found: ")
        await peer.call("record", content="a fact")
        assert (await peer.call("forget", ref="a fact", op_id="op"))["content"] == "a fact"


async def test_an_operation_that_the_disk_refused_may_be_tried_again() -> None:
    async with open_house() as house:
        peer = await house.connect()
        house.store.failures.append(StorageFull("no room"))
        refusal = await peer.refusal("record", content="a fact", op_id="op")
        assert refusal.startswith("storage_full: ")
        assert (await peer.call("record", content="a fact", op_id="op"))["status"] == "inserted"


async def test_a_repetition_waits_for_the_disk_as_the_first_one_does() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        peer, other = await house.connect(), await house.connect()
        first = await peer.ask("record", content="said once", op_id="op")
        await trio.testing.wait_all_tasks_blocked()
        again = await other.ask("record", content="said once", op_id="op")
        await trio.testing.wait_all_tasks_blocked()
        assert not other.order
        disk.let_go()
        assert await other.result(again) == await peer.result(first)
        assert len(house.store.commits) == 1


async def test_every_changing_method_can_be_repeated() -> None:
    async with open_house() as house:
        peer = await house.connect()
        keep = await fact(peer, "keep this one for good", session="s1")
        await fact(peer, "quite another matter", session="s1")
        ends: dict[str, object] = {"from": keep, "to": "quite another matter"}
        ends |= {"relation": "extends"}
        record: dict[str, object] = {
            "scope": "global",
            "kind": "percept",
            "id": "new-id",
            "content": "came in",
        }
        times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
        record |= times | {"producer": "user", "w": 0.5}
        calls: list[tuple[str, dict[str, object]]] = [
            ("record", {"content": "yet another"}),
            ("learn", {"content": "core matters"}),
            ("edit", {"ref": keep, "content": "kept this one", "session": "s1"}),
            ("relate", ends | {"session": "s1"}),
            ("unrelate", ends | {"session": "s1"}),
            ("consolidate", {}),
            ("turn_end", {"response": "I kept this one", "session": "s1", "consolidate": True}),
            (
                "tool_call",
                {"name": "record_memory", "arguments": {"content": "a"}, "session": "s1"},
            ),
            ("confirm", {"ref": keep, "session": "s1"}),
            ("reject", {"ref": keep, "session": "s1"}),
            ("forget", {"ref": keep, "session": "s1", "all": True}),
            ("import", {"records": [record], "final": True}),
            ("session_close", {"session": "s1"}),
            ("session_drop", {"session": "s1"}),
        ]
        for number, (method, arguments) in enumerate(calls):
            first = await peer.call(method, op_id=f"op{number}", **arguments)
            assert await peer.call(method, op_id=f"op{number}", **arguments) == first, method
        untried = {name for name, method in schema.METHODS.items() if method.changes}
        assert untried - {method for method, _ in calls} == {"restore"}
