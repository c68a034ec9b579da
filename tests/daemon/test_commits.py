"""The way to the disk: batches, waiting, and undoing."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from daemon.doubles import HeldDisk, House, InlineDisk, MemoryStore, Refused, open_house
from milkd.daemon.fatal import EXIT_SOFTWARE, Fatal
from milkd.daemon.limits import Limits
from milkd.daemon.uses import Uses
from milkd.engine.changes import Shown, Used
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.errors import ReadOnly, StorageFailed, StorageFull
from milkd.store.store import Poisoned

PROVERBS = [
    "silence is golden",
    "haste makes waste",
    "barking dogs seldom bite",
    "rolling stones gather no moss",
    "still waters run deep",
    "cold hands warm heart",
]


async def test_what_waits_goes_to_the_disk_together() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        peers = [await house.connect() for _ in PROVERBS]
        first = await peers[0].ask("record", content=PROVERBS[0])
        await trio.testing.wait_all_tasks_blocked()
        asked = [
            (peer, await peer.ask("record", content=content))
            for peer, content in zip(peers[1:], PROVERBS[1:], strict=True)
        ]
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go()
        await peers[0].result(first)
        for peer, msgid in asked:
            await peer.result(msgid)
        assert [len(entries) for entries in house.store.commits] == [1, 5]
        assert len(house.store.files["global"].percepts) == 6


async def test_no_reply_leaves_before_what_it_tells_is_durable() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        writer, reader = await house.connect(), await house.connect()
        written = await writer.ask("record", content=PROVERBS[0])
        await trio.testing.wait_all_tasks_blocked()
        read = await reader.ask("query", text="silence")
        with trio.move_on_after(0.05) as waited:
            await reader.response(read)
        assert waited.cancelled_caught
        disk.let_go()
        assert (await writer.result(written))["status"] == "inserted"
        assert len((await reader.result(read))["percepts"]) == 1


async def test_a_read_of_an_idle_store_does_not_wait() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        peer = await house.connect()
        assert await peer.call("query", text="silence") == {"percepts": []}


async def test_uses_go_along_with_the_next_change() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content=PROVERBS[0])
        for _ in range(5):
            await peer.call("query", text="golden silence")
        await trio.testing.wait_all_tasks_blocked()
        assert len(house.store.commits) == 1
        await peer.call("record", content=PROVERBS[1])
        assert [entry.kind for entry in house.store.commits[-1]] == ["uses", "record"]
        used, _ = house.store.files["global"].percepts
        assert used.last_used_at == house.clock.wall


async def test_uses_alone_are_written_after_a_while(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house(limits=Limits(linger_s=1.0)) as house:
        peer = await house.connect()
        await peer.call("record", content=PROVERBS[0])
        began = trio.current_time()
        await peer.call("query", text="golden silence")
        assert trio.current_time() == began
        await trio.sleep(1.5)
        assert len(house.store.commits) == 2
        assert house.store.files["global"].percepts[0].last_used_at is not None


async def test_uses_that_cannot_be_written_trouble_nobody() -> None:
    async with open_house(limits=Limits(linger_s=0.0)) as house:
        peer = await house.connect()
        await peer.call("record", content=PROVERBS[0])
        house.store.failures.append(StorageFull("no room"))
        await peer.call("query", text="golden silence")
        await trio.testing.wait_all_tasks_blocked(0.02)
        assert (await peer.call("health"))["status"] == "degraded"
        assert (await peer.call("list"))["total"] == 1
        await peer.call("record", content=PROVERBS[1])
        assert (await peer.call("health"))["status"] == "ok"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StorageFull("no room"), "degraded"),
        (StorageFailed("bad block"), "degraded"),
        (ReadOnly("mounted so"), "read_only"),
    ],
)
async def test_a_change_that_the_disk_refuses_is_undone(error: Exception, status: str) -> None:
    async with open_house() as house:
        peer = await house.connect()
        kept = await peer.call("record", content=PROVERBS[0], session="s1")
        before = house.core.engine.image("s1"), house.core.engine.image("global")
        house.store.failures.append(error)
        text = await peer.refusal("record", content=PROVERBS[1], session="s1")
        assert text == f"{error.code}: {error}"  # type: ignore[attr-defined]  # a WireError
        after = house.core.engine.image("s1"), house.core.engine.image("global")
        assert [image.percepts for image in after] == [image.percepts for image in before]
        health = await peer.call("health")
        assert health["status"] == status
        assert str(error) in health["reasons"][0]
        assert (await peer.call("record", content=PROVERBS[1], session="s1"))["id"] != kept["id"]
        assert (await peer.call("health"))["status"] == "ok"


async def test_everything_that_rests_on_a_refused_change_fails_with_it() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        a, b, c = [await house.connect() for _ in range(3)]
        disk.let_go()
        await a.call("record", content=PROVERBS[0])
        disk.hold()
        house.store.failures.append(StorageFull("no room"))
        doomed = [(a, await a.ask("record", content=PROVERBS[1]))]
        await trio.testing.wait_all_tasks_blocked()
        doomed.append((b, await b.ask("record", content=PROVERBS[2])))
        doomed.append((c, await c.ask("query", text="haste makes waste")))
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go()
        for peer, msgid in doomed:
            with pytest.raises(Refused, match=r"^storage_full: "):
                await peer.result(msgid)
        assert [p["content"] for p in (await a.call("list"))["percepts"]] == [PROVERBS[0]]
        assert len(house.store.commits) == 1


async def test_undoing_asks_nothing_of_the_disk() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content=PROVERBS[0])
        await peer.call("record", content=PROVERBS[1], session="s1")
        for scope in ("global", "archive", "s1"):
            house.store.damaged[scope] = OSError("gone")
        house.store.failures.append(StorageFailed("gone"))
        text = await peer.refusal("record", content=PROVERBS[2], session="s1")
        assert text == "storage_failed: gone"
        kept = (await peer.call("list", session="s1"))["percepts"]
        assert {percept["content"] for percept in kept} == set(PROVERBS[:2])
        await peer.call("record", content=PROVERBS[2], session="s1")
        saved = house.store.files["s1"].percepts
        assert [percept.content for percept in saved] == [PROVERBS[1], PROVERBS[2]]


async def test_undoing_goes_back_to_the_last_commit_not_to_the_loading() -> None:
    async with open_house() as house:
        peer = await house.connect()
        for content in PROVERBS[:3]:
            await peer.call("record", content=content, session="s1")
        await peer.call("session_close", session="s1")
        await peer.call("session_open", session="s1")
        await peer.call("record", content=PROVERBS[3], session="s1")
        for method in ("session_close", "session_drop", "consolidate"):
            house.store.failures.append(StorageFull("no room"))
            assert (await peer.refusal(method, session="s1")).startswith("storage_full: ")
            kept = house.core.engine.image("s1").percepts
            assert [percept.content for percept in kept] == PROVERBS[:4]


async def test_a_dropped_session_that_begins_again_goes_back_to_nothing() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content=PROVERBS[0], session="s1")
        await peer.call("session_drop", session="s1")
        house.store.failures.append(StorageFull("no room"))
        await peer.refusal("record", content=PROVERBS[1], session="s1")
        assert house.core.engine.count("s1") == 0


async def test_evidence_that_was_undone_can_be_earned_in_the_same_run() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content=PROVERBS[0])
        house.store.failures.append(StorageFull("no room"))
        await peer.refusal("record", content=PROVERBS[0])
        assert (await peer.call("record", content=PROVERBS[0]))["evidence"] == 1
        house.store.failures.append(StorageFull("no room"))
        await peer.refusal("record", content=PROVERBS[0])
        assert (await peer.call("record", content=PROVERBS[0]))["evidence"] == 1


async def test_after_a_failed_sync_nothing_is_acknowledged_any_more() -> None:
    async with open_house() as house:
        peer = await house.connect()
        house.store.failures.append(Poisoned("fsync"))
        assert (await peer.refusal("record", content=PROVERBS[0])).startswith("storage_failed: ")
        assert (await peer.refusal("record", content=PROVERBS[1])).startswith("storage_failed: ")
        assert (await peer.refusal("list")).startswith("storage_failed: ")
        assert (await peer.call("health"))["status"] == "read_only"


class Clumsy(Engine):
    """An engine that drops what it is handed."""

    def apply(self, change: object) -> None:
        raise RuntimeError("a secret")


async def _run_into(house: House, fault: str) -> None:
    peer = await house.connect()
    await peer.ask("record", content=fault)
    await trio.sleep_forever()


async def test_a_fault_while_applying_ends_the_process() -> None:
    with pytest.RaisesGroup(
        pytest.RaisesExc(Fatal, check=lambda error: error.code == EXIT_SOFTWARE),
        flatten_subgroups=True,
    ) as caught:
        async with open_house(engine=Clumsy(DEFAULT)) as house:
            await _run_into(house, PROVERBS[0])
    (fatal,) = caught.value.exceptions
    while isinstance(fatal, BaseExceptionGroup):
        (fatal,) = fatal.exceptions
    assert "RuntimeError" in str(fatal)
    assert "secret" not in str(fatal)


async def test_a_fault_in_the_store_ends_the_process() -> None:
    store = MemoryStore(failures=[RuntimeError("a bug")])
    with pytest.RaisesGroup(
        pytest.RaisesExc(Fatal, check=lambda error: error.code == EXIT_SOFTWARE),
        flatten_subgroups=True,
    ):
        async with open_house(store) as house:
            await _run_into(house, PROVERBS[0])


async def test_a_change_is_given_up_on_when_the_disk_hangs(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house(disk=InlineDisk(3_600.0), limits=Limits(request_s=30.0)) as house:
        peer = await house.connect()
        msgid = await peer.ask("record", content=PROVERBS[0])
        with pytest.raises(Refused, match=r"^timeout: "):
            await peer.result(msgid)


def test_of_what_was_shown_only_the_ids_wait() -> None:
    uses = Uses()
    uses.add([Shown("s1", "s1", {"a": "- a line", "b": ""}, "a prompt")])
    uses.add([Shown("s1", "s1", {"b": "", "c": ""}), Shown("s2", "s2", {}, "a prompt")])
    uses.add([Shown(None, "connection 1", {"a": "- a line"}, "a prompt")])
    assert uses.scopes == {"s1"}
    assert uses.take() == [Shown("s1", "s1", {"a": "", "b": "", "c": ""})]
    assert not uses


async def test_a_run_forgets_the_awards_of_what_the_disk_refused() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content=PROVERBS[0])
        house.store.failures.append(StorageFull("no room"))
        await peer.refusal("record", content=PROVERBS[0])
        again = await peer.call("record", content=PROVERBS[0])
        assert (again["w"], again["evidence"]) == (0.75, 1)


async def test_a_run_forgets_the_edges_that_acted_in_what_the_disk_refused() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content=PROVERBS[0])
        await peer.call("record", content=PROVERBS[1], relation="extends", related_to=PROVERBS[0])
        house.store.failures.append(StorageFull("no room"))
        await peer.refusal("consolidate")
        assert (await peer.call("consolidate"))["edges_applied"] == 1
        assert (await peer.call("consolidate"))["edges_applied"] == 0


async def test_what_was_awarded_before_stays_awarded_when_the_disk_refuses() -> None:
    async with open_house() as house:
        peer = await house.connect()
        for _ in range(2):
            await peer.call("record", content=PROVERBS[0])
        house.store.failures.append(StorageFull("no room"))
        await peer.refusal("record", content=PROVERBS[0])
        assert (await peer.call("record", content=PROVERBS[0]))["evidence"] == 1


def test_a_use_is_kept_once_a_percept() -> None:
    uses = Uses()
    uses.add([Used("global", ("a", "b"), 1.0), Used("s1", ("c",), 1.0)])
    uses.add([Used("global", ("b",), 2.0)])
    assert uses.scopes == {"global", "s1"}
    assert uses.take() == [
        Used("global", ("a",), 1.0),
        Used("global", ("b",), 2.0),
        Used("s1", ("c",), 1.0),
    ]
    assert not uses
    assert uses.take() == []


async def test_a_fault_after_a_commit_takes_nothing_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_house() as house:
        peer = await house.connect()
        told: list[object] = []

        def fail(*_: object) -> None:
            raise KeyError(PROVERBS[0])

        batch = house.core.commits.add([Used("global", (), 1.0)], "test")
        batch.hooks += [fail, told.append]
        house.core.commits.settled = fail
        await batch.done.wait()
        assert (await peer.call("record", content=PROVERBS[1]))["status"] == "inserted"
        assert told == [None]
        assert "what follows a commit failed" in caplog.text
        assert PROVERBS[0] not in caplog.text
