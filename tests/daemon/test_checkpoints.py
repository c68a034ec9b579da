"""When the files are written, and what happens when they cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import pytest
import trio
import trio.testing

from daemon.doubles import HeldDisk, House, InlineDisk, MemoryStore, Refused, open_house
from milkd.daemon.limits import Limits
from milkd.errors import Failure, ReadOnly, StorageFailed, StorageFull
from milkd.store.interface import Opened, Published

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from milkd.engine.capture import Capture
    from milkd.engine.percept import ScopeImage
    from milkd.store.checkpoint import Checkpoint
    from milkd.store.entries import Done

T = TypeVar("T")
FACTS = ["silence is golden", "haste makes waste", "still waters run deep", "cold hands warm heart"]


@dataclass
class NotingStore(MemoryStore):
    """Notes at what time it is asked for what."""

    steps: list[tuple[float, str]] = field(default_factory=list)
    unpublished: list[Failure] = field(default_factory=list)
    """What the next publications end with, one each."""
    always_overtaken: bool = False

    def note(self, step: str) -> None:
        self.steps.append((trio.current_time(), step))

    def rotate(self) -> int:
        self.note("rotate")
        return super().rotate()

    def write(
        self,
        parts: Sequence[Capture | ScopeImage],
        seq: int,
        operations: Sequence[Done],
        pause: Callable[[], None],
    ) -> Checkpoint:
        self.note("write")
        return super().write(parts, seq, operations, pause)

    def publish(self, written: Checkpoint) -> Published:
        self.note("publish")
        if self.always_overtaken:
            self.overtaken = [new.image.name for new in written.files]
        published = super().publish(written)
        if self.unpublished:
            return Published(error=self.unpublished.pop(0))
        return published

    def scrub(self, texts: Mapping[str, Collection[str]], live: Callable[[str], bool]) -> None:
        self.note("scrub")
        super().scrub(texts, live)

    def retire(self, *, keep: bool) -> None:
        self.note("retire" if keep else "delete")
        super().retire(keep=keep)

    def finish(self) -> None:
        self.note("finish")
        super().finish()

    def times(self, step: str = "rotate") -> list[float]:
        return [at for at, name in self.steps if name == step]

    def order(self) -> list[str]:
        return [name for _, name in self.steps]


WHOLE = ["rotate", "write", "publish", "retire"]


async def record(house: House, count: int = 1) -> None:
    peer = await house.connect()
    for content in FACTS[:count]:
        await peer.call("record", content=content)


def is_dirty(house: House) -> bool:
    return bool(house.core.commits.kept.dirty())


async def test_when_nothing_changes_any_more_the_files_are_written(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore()
    async with open_house(store) as house:
        await record(house)
        await trio.sleep(20)
        await record(house)
        await trio.sleep(29)
        assert store.order() == []
        await trio.sleep(100)
        assert store.order() == WHOLE
        assert store.times() == [trio.current_time() - 99]
        assert not is_dirty(house)
        assert [new.image.name for new in store.published[0].files] == ["global"]


async def test_a_daemon_without_changes_writes_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore()
    async with open_house(store):
        await trio.sleep(10_000)
    assert store.order() == []


async def test_after_so_many_entries_the_files_are_written(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore()
    async with open_house(store, limits=Limits(checkpoint_entries=3)) as house:
        await record(house, 2)
        await trio.sleep(1)
        assert store.order() == []
        await record(house)
        await trio.sleep(1)
        assert store.order() == WHOLE


async def test_when_the_journal_has_grown_the_files_are_written(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore()
    async with open_house(store, limits=Limits(checkpoint_bytes=1_000)) as house:
        await record(house)
        await trio.sleep(1)
        assert store.order() == []
        store.unsaved = 1_000
        await record(house)
        await trio.sleep(1)
        assert store.order() == WHOLE


async def test_a_journal_that_could_not_go_is_not_growth(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Sticky(NotingStore):
        def retire(self, *, keep: bool) -> None:
            self.note("retire")

    store = Sticky()
    async with open_house(store, limits=Limits(checkpoint_bytes=1_000)) as house:
        store.unsaved = 5_000
        await record(house)
        await trio.sleep(10)
        assert store.order() == WHOLE
        store.unsaved += 999
        await record(house)
        await trio.sleep(10)
        assert store.order() == WHOLE * 2


async def test_when_the_journal_was_lost_the_files_are_written_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore()
    async with open_house(store) as house:
        store.all_at_risk = True
        await record(house)
        await trio.sleep(0.5)
        assert store.order() == WHOLE
        assert not store.all_at_risk


async def test_whoever_asks_is_told_when_it_is_done(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore()
    async with open_house(store) as house:
        await record(house)
        one, other = house.core.checkpoints.ask(), house.core.checkpoints.ask()
        assert one is other
        await one.done.wait()
        assert one.error is None
        assert store.order() == WHOLE
        assert house.core.checkpoints.ask() is not one


async def test_whoever_asks_is_told_why_not(autojump_clock: trio.testing.MockClock) -> None:
    store = NotingStore(refusals=[StorageFull("no room")])
    async with open_house(store) as house:
        peer = await house.connect()
        with pytest.raises(Refused, match="storage_full: no room"):
            await peer.call("snapshot")
        assert (await peer.call("health"))["status"] == "degraded"
        await peer.call("snapshot")
        assert (await peer.call("health"))["status"] == "ok"


async def test_a_snapshot_of_a_store_that_waits_for_repair_is_refused() -> None:
    store = NotingStore(opened=Opened(refusal="it is damaged"))
    async with open_house(store) as house:
        refused = house.core.checkpoints.ask()
        assert isinstance(refused.error, ReadOnly)
        assert not await house.core.checkpoints.take()
        await house.core.checkpoints.finish()
        assert store.order() == []


async def test_after_a_failure_it_is_tried_again_later_and_later(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    failures: list[Failure] = [StorageFailed("bad block") for _ in range(12)]
    store = NotingStore(refusals=failures)
    async with open_house(store) as house:
        await record(house)
        await trio.sleep(31)
        (reason,) = house.core.health.reasons
        assert "storage_failed: bad block" in reason
        assert "nothing is lost, the journal has it" in reason
        await trio.sleep(3_000)
        times = store.times()
        pauses = [round(b - a) for a, b in pairwise(times)]
        assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
        assert store.order()[-4:] == WHOLE
        assert house.core.health.reasons == []
        assert not is_dirty(house)


async def test_whoever_asks_meanwhile_has_it_tried_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore(refusals=[StorageFailed("bad block") for _ in range(9)])
    async with open_house(store) as house:
        await record(house)
        await trio.sleep(30 + 256)
        store.refusals.clear()
        began = trio.current_time()
        asked = house.core.checkpoints.ask()
        await asked.done.wait()
        assert asked.error is None
        assert trio.current_time() == began


async def test_a_failed_publication_keeps_the_journal_and_is_tried_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore(unpublished=[StorageFailed("bad block")])
    async with open_house(store) as house:
        await record(house)
        await trio.sleep(30.5)
        assert store.order() == WHOLE[:3]
        assert is_dirty(house)
        await trio.sleep(1)
        assert store.order() == [*WHOLE[:3], *WHOLE]
        assert not is_dirty(house)


async def test_files_that_others_wrote_are_told_and_tried_again_without_haste(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore(always_overtaken=True)
    told: list[Sequence[str]] = []
    async with open_house(store) as house:
        house.core.checkpoints.overtaken = told.append
        await record(house)
        await trio.sleep(40)
        assert 2 <= len(told) <= 12
        assert told[0] == ["global"]
        assert "retire" not in store.order()
        assert is_dirty(house)
        store.always_overtaken = False
        await trio.sleep(2)
        assert store.order()[-1] == "retire"
        assert not is_dirty(house)


async def test_a_fault_of_milkd_is_told_and_tried_again(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty(NotingStore):
        broken = True

        def rotate(self) -> int:
            super().rotate()
            if self.broken:
                self.broken = False
                raise KeyError("the alarm code is swordfish")
            return self.newest

    store = Faulty()
    async with open_house(store) as house:
        await record(house)
        await trio.sleep(30.5)
        assert "a fault of milkd: KeyError" in house.core.health.reasons[0]
        assert "swordfish" not in caplog.text
        await trio.sleep(1)
        assert house.core.health.reasons == []
        assert not is_dirty(house)


async def test_what_is_forgotten_leaves_no_trace_before_the_journal_goes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore()
    async with open_house(store) as house:
        peer = await house.connect()
        made = await peer.call("record", content=FACTS[0])
        await peer.call("forget", ref=made["id"])
        await trio.sleep(0.5)
        assert store.order() == ["rotate", "write", "publish", "scrub", "delete"]
        assert [dict(texts) for texts in store.scrubbed] == [{made["id"]: {FACTS[0]}}]
        assert house.core.checkpoints.forgotten == {}
        await trio.sleep(1_000)
        assert len(store.scrubbed) == 1
        assert list(house.core.checkpoints.gone) == [made["id"]]


async def test_of_what_was_forgotten_the_latest_is_remembered_without_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("milkd.daemon.checkpoints.MOST_GONE", 3)
    async with open_house() as house:
        checkpoints = house.core.checkpoints
        gone = checkpoints.gone
        for number in range(9):
            checkpoints.forget({f"p{number}": {"tea at four"}})
        assert checkpoints.gone is gone  # a day of forgetting must not grow dearer by the hour
        assert list(gone) == ["p6", "p7", "p8"]


async def test_a_scrub_that_failed_is_done_again_with_the_texts(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Stubborn(NotingStore):
        stuck = 2

        def scrub(self, texts: Mapping[str, Collection[str]], live: Callable[[str], bool]) -> None:
            super().scrub(texts, live)
            self.stuck -= 1
            if self.stuck >= 0:
                raise StorageFailed("bad block")

    store = Stubborn()
    async with open_house(store) as house:
        peer = await house.connect()
        made = await peer.call("record", content=FACTS[0])
        await peer.call("forget", ref=made["id"])
        await trio.sleep(100)
        assert [dict(texts) for texts in store.scrubbed] == [{made["id"]: {FACTS[0]}}] * 3
        assert store.order().count("delete") == 1
        assert "retire" not in store.order()
        assert house.core.checkpoints.forgotten == {}


async def test_what_was_forgotten_before_a_crash_is_scrubbed_at_the_next_start(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore(opened=Opened(scrub={"x": 0}))
    async with open_house(store):
        await trio.sleep(0.5)
    assert [dict(texts) for texts in store.scrubbed] == [{"x": set()}]
    assert store.order()[-1] == "delete"


async def test_what_is_forgotten_during_a_checkpoint_waits_for_the_next_one() -> None:
    disk, store = HeldDisk(), NotingStore()
    async with open_house(store, disk=disk) as house:
        peer = await house.connect()
        disk.let_go()
        made = await peer.call("record", content=FACTS[0])
        disk.hold()
        asked = house.core.checkpoints.ask()
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go_one()  # the journal is begun anew
        await trio.testing.wait_all_tasks_blocked()
        forgetting = await peer.ask("forget", ref=made["id"])
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go()
        await peer.result(forgetting)
        await asked.done.wait()
        await trio.testing.wait_all_tasks_blocked()
        first, second = store.published
        assert [p.id for p in first.files[0].image.percepts] == [made["id"]]
        assert [p.id for p in second.files[0].image.percepts] == []
        assert len(store.scrubbed) == 1
        assert store.order().index("scrub") > len(WHOLE)


class Tickets:
    """A disk whose calls are let go one by one, in any order."""

    def __init__(self) -> None:
        self.waiting: list[trio.Event] = []
        self.is_open = True

    async def run(self, call: Callable[[], T]) -> T:
        if not self.is_open:
            ticket = trio.Event()
            self.waiting.append(ticket)
            await ticket.wait()
        return call()

    async def slow(self, call: Callable[[Callable[[], None]], T]) -> T:
        return await self.run(lambda: call(lambda: None))

    async def look(self, call: Callable[[], T]) -> T | None:
        return call()

    async def let_go(self, number: int) -> None:
        self.waiting.pop(number).set()
        await trio.testing.wait_all_tasks_blocked()


async def test_nothing_is_published_that_is_not_durable() -> None:
    disk, store = Tickets(), NotingStore()
    async with open_house(store, disk=disk) as house:
        peer = await house.connect()
        await peer.call("record", content=FACTS[0])
        disk.is_open = False
        asked = house.core.checkpoints.ask()
        await trio.testing.wait_all_tasks_blocked()
        adding = await peer.ask("record", content=FACTS[1])
        await trio.testing.wait_all_tasks_blocked()
        await disk.let_go(0)  # the journal is begun anew, and all is captured
        await disk.let_go(1)  # it is written down
        assert store.order() == ["rotate", "write"]
        assert not asked.done.is_set()
        store.failures.append(StorageFull("no room"))
        await disk.let_go(0)  # what was captured is not durable
        with pytest.raises(Refused, match="storage_full"):
            await peer.result(adding)
        assert "had to be undone" in str(asked.error)
        assert store.published == []
        assert is_dirty(house)
        disk.is_open = True
        asked = house.core.checkpoints.ask()
        await asked.done.wait()
        (published,) = store.published
        assert [p.content for p in published.files[0].image.percepts] == FACTS[:1]


async def test_what_becomes_durable_in_time_is_published() -> None:
    disk, store = Tickets(), NotingStore()
    async with open_house(store, disk=disk) as house:
        peer = await house.connect()
        await peer.call("record", content=FACTS[0])
        disk.is_open = False
        asked = house.core.checkpoints.ask()
        await trio.testing.wait_all_tasks_blocked()
        await peer.ask("record", content=FACTS[1])
        await trio.testing.wait_all_tasks_blocked()
        for number in (0, 1, 0):
            await disk.let_go(number)
        disk.is_open = True
        await disk.let_go(0)
        await asked.done.wait()
        (published,) = store.published
        assert published.seq == 2
        assert [p.content for p in published.files[0].image.percepts] == FACTS[:2]
        assert not is_dirty(house)


async def test_frozen_scopes_are_left_alone(autojump_clock: trio.testing.MockClock) -> None:
    store = NotingStore(frozen={"archive": "it is damaged"})
    async with open_house(store) as house:
        peer = await house.connect()
        await peer.call("snapshot")
        (published,) = store.published
        assert [new.image.name for new in published.files] == ["global"]


async def test_the_last_one_puts_the_journal_away(autojump_clock: trio.testing.MockClock) -> None:
    store = NotingStore()
    async with open_house(store) as house:
        await record(house)
        await house.core.checkpoints.finish()
        assert store.order() == [*WHOLE, "finish"]
        assert not is_dirty(house)


async def test_when_the_last_one_fails_the_journal_stays(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = NotingStore(refusals=[StorageFull("no room")])
    async with open_house(store) as house:
        await record(house)
        await house.core.checkpoints.finish()
        assert store.order() == ["rotate"]
        assert not store.finished


async def test_a_journal_that_cannot_be_put_away_is_no_failure(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Stuck(NotingStore):
        def finish(self) -> None:
            raise StorageFailed("bad block")

    async with open_house(Stuck()) as house:
        await record(house)
        await house.core.checkpoints.finish()
        assert "the journal is left: bad block" in caplog.text


async def test_one_checkpoint_at_a_time(autojump_clock: trio.testing.MockClock) -> None:
    store = NotingStore()
    async with open_house(store, disk=InlineDisk(0.5)) as house:
        await record(house)
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(house.core.checkpoints.take)
        assert store.order() == WHOLE * 3
