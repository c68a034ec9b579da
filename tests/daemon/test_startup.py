"""How a daemon brings back what is on disk."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest
import trio.testing

from daemon.doubles import MemoryStore, open_house
from daemon.homes import (
    Home,
    HomeFiles,
    contents,
    edge,
    engram,
    holding,
    ids,
    journals,
    lay,
    names,
    open_home,
    percept,
    read,
    write,
)
from milkd.engine.changes import (
    AudienceLeft,
    EdgePut,
    EngramPut,
    Passed,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
    Shown,
    Used,
)
from milkd.engine.commands import Forget
from milkd.errors import StorageFailed, StorageFull, StoreDamaged, VersionMismatch
from milkd.store.entries import Done
from milkd.store.interface import Opened

if TYPE_CHECKING:
    from pathlib import Path

    from milkd.engine.percept import ScopeImage

DONE = Done("op", "00ff", "record", {"id": "a"})


def put(name: str, scope: str = "global") -> PerceptPut:
    return PerceptPut(scope, percept(name))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


class Failing(HomeFiles):
    """A disk that takes no files of scopes, but a journal."""

    failing = True

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        if self.failing and path.endswith(".tmp"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().open(path, flags, mode)


class Clinging(HomeFiles):
    """A disk that deletes nothing."""

    def unlink(self, path: str) -> None:
        raise OSError(errno.EIO, "Input/output error")


async def lived(home: Home) -> dict[str, ScopeImage]:
    """Something of everything; what there is then."""
    await home.enter("s1")
    await home.put(put("a"), put("b"), EngramPut("global", engram("e", "a")))
    await home.put(put("x", "s1"), put("y", "s1"), EdgePut("s1", edge("x", "a")))
    await home.put(Passed("global", 500.0, 400.0, 604_800.0, 0.125))
    await home.put(Used("global", ("b",), 12.0), Shown("s1", "s1", {"a": "", "b": ""}))
    await home.put(PerceptDropped("s1", "y"), PerceptPut("archive", percept("old")))
    await home.put(PerceptPut("global", percept("b", w=0.75), 700.0))
    return {name: home.image(name) for name in ("global", "archive", "s1")}


@pytest.mark.parametrize("stopped", [False, True])
async def test_everything_comes_back_as_it_was(directory: Path, *, stopped: bool) -> None:
    async with open_home(directory) as home:
        images = await lived(home)
        if stopped:
            await home.stop()
    for _ in range(2):
        async with open_home(directory) as home:
            await home.enter("s1")
            assert {name: home.image(name) for name in images} == images
            assert home.core.commits.seq == home.core.commits.durable == 6
            assert home.core.health.reasons == []


async def test_after_a_crash_the_files_are_written_and_the_journal_is_put_away(
    directory: Path,
) -> None:
    async with open_home(directory) as home:
        await lived(home)
    (journal,) = journals(directory)
    assert "global.json" not in names(directory)

    async with open_home(directory) as home:
        assert ids(directory / "global.json") == ["a", "b"]
        assert ids(directory / "s1.json") == ["x"]
        assert ids(directory / "archive.json") == ["old"]
        assert journals(directory) == []
        assert journal.name in names(directory / ".milkd" / "backup")
        await home.put(put("c"))
        (begun,) = journals(directory)
        assert begun.name > journal.name


async def test_a_clean_start_writes_nothing(directory: Path) -> None:
    async with open_home(directory) as home:
        await lived(home)
        await home.stop()
    before = contents(directory)
    async with open_home(directory):
        pass
    assert contents(directory) == before


async def test_if_the_files_cannot_be_written_the_journal_has_everything(
    directory: Path,
) -> None:
    async with open_home(directory) as home:
        images = await lived(home)
    files = Failing()
    async with open_home(directory, files=files) as home:
        assert home.image() == images["global"]
        assert "nothing is lost, the journal has it" in home.core.health.reasons[0]
        await home.put(put("c"))
        assert len(journals(directory)) == 2
    async with open_home(directory, files=files) as home:
        assert home.ids() == ["a", "b", "c"]
        files.failing = False
        assert await home.save()
        assert home.core.health.reasons == []
        assert len(journals(directory)) == 0
        assert ids(directory / "global.json") == ["a", "b", "c"]
        assert ids(directory / "s1.json") == ["x"]


async def test_numbers_of_entries_are_not_used_again(directory: Path) -> None:
    for number in range(1, 4):
        async with open_home(directory) as home:
            await home.put(put(f"p{number}"))
            assert home.core.commits.durable == number
            if number == 2:
                await home.stop()


async def test_operations_come_back(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(put("a"), done=DONE)
    async with open_home(directory) as home:
        assert home.core.replays.dones() == [DONE]


async def test_running_time_goes_on(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(put("a"), Passed("global", 500.0, 400.0, 604_800.0, 0.0))
        await home.put(PerceptPut("global", percept("b"), 730.0))
    async with open_home(directory) as home:
        assert home.core.clocks.reading()["global"] == 730.0


async def test_a_session_in_the_journal_alone_is_listed_and_opens(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.enter("s1", "s2")
        await home.put(put("x", "s1"), Shown("s1", "s1", {"x": ""}))
        await home.put(put("z", "s2"), ScopeDropped("s2"))
    async with open_home(directory) as home:
        assert home.core.sessions.closed_names() == ("s1",)
        assert home.core.engine.sessions() == ()
        assert home.core.sessions.is_adjourned("s1")
        assert home.core.engine.exists("x")
        assert not home.core.engine.exists("z")
        await home.enter("s1")
        assert home.image("s1").shown == ("x",)


async def test_what_a_session_was_shown_before_it_ended_is_not_shown_any_more(
    directory: Path,
) -> None:
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(put("x", "s1"), Shown("s1", "s1", {"x": ""}), AudienceLeft("s1"))
    async with open_home(directory) as home:
        await home.enter("s1")
        assert home.image("s1").shown == ()


async def test_a_session_that_cannot_be_read_keeps_nobody_out(directory: Path) -> None:
    lay(directory, holding("s1", "a"), holding("s2", "b"))
    write(directory / "s1.json", b"[")
    async with open_home(directory) as home:
        assert home.core.sessions.closed_names() == ("s1", "s2")
        (reason,) = home.core.health.reasons
        assert reason.startswith("session s1 cannot be opened: s1.json")
        with pytest.raises(StoreDamaged):
            await home.enter("s1")
        await home.enter("s2")
    assert read(directory / "s1.json") == b"["


@pytest.mark.parametrize(
    "error", [StoreDamaged("bad"), VersionMismatch("new"), StorageFailed("block")]
)
async def test_no_session_keeps_the_daemon_from_starting(error: Exception) -> None:
    async with open_house(MemoryStore(damaged={"s1": error})) as house:
        assert house.core.sessions.closed_names() == ("s1",)


async def test_a_newer_global_does(directory: Path) -> None:
    lay(directory)
    write(directory / "global.json", b'{"_milkd": {"format": 9, "min_reader": 9}}')
    with pytest.raises(VersionMismatch):
        async with open_home(directory):
            pass


async def test_what_is_odd_is_told() -> None:
    store = MemoryStore(opened=Opened(notes=("one thing", "another")))
    async with open_house(store) as house:
        assert house.core.health.reasons == ["one thing", "another"]
        assert house.core.health.status == "degraded"


async def test_a_store_that_waits_for_repair_is_read_only() -> None:
    store = MemoryStore({"global": holding("global", "a")}, opened=Opened(refusal="a gap"))
    async with open_house(store) as house:
        assert house.core.health.status == "read_only"
        assert house.core.commits.refusal == "a gap"
        assert store.published == []


async def test_a_frozen_scope_is_served_and_not_written() -> None:
    store = MemoryStore({"global": holding("global", "a")}, frozen={"global": "mend it"})
    async with open_house(store) as house:
        assert house.core.engine.count("global") == 1
        assert house.core.commits.frozen == {"global": "mend it"}
        assert store.published == []


async def test_a_fact_that_milk_left_in_two_files_is_in_global(directory: Path) -> None:
    lay(directory, holding("global", "a"), holding("s1", "a", "b"), holding("archive", "a", "c"))
    async with open_home(directory) as home:
        assert home.ids("archive") == ["c"]
        await home.enter("s1")
        assert home.ids("s1") == ["b"]
        assert (ids(directory / "s1.json"), ids(directory / "archive.json")) == (["b"], ["c"])


async def test_what_moved_meanwhile_is_not_taken_out_of_its_new_place(directory: Path) -> None:
    """The journal moves a fact back to a session whose file has it still."""
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(put("a", "s1"), put("b", "s1"))
        await home.save()
        await home.put(PerceptDropped("s1", "a"), put("a"))
        await home.put(PerceptDropped("global", "a"), put("a", "archive"))
    async with open_home(directory) as home:
        await home.enter("s1")
        assert (home.ids(), home.ids("s1"), home.ids("archive")) == ([], ["b"], ["a"])


async def test_what_was_forgotten_does_not_come_back_from_another_file(directory: Path) -> None:
    """Milk left it in two files; the disk is too full to mend that; then it is forgotten."""
    lay(directory, holding("global", "a", "g"), holding("s1", "a", "b"))
    files = Failing()
    (directory / ".milkd").mkdir()
    write(directory / ".milkd" / "store.json", json.dumps({"store": "x"}).encode())
    async with open_home(directory, files=files) as home:
        assert ids(directory / "s1.json") == ["a", "b"]
        home.core.execute(Forget(ref="a"), lambda _: {})
        batch = home.core.commits.flush()
        assert batch is not None
        await batch.done.wait()
        assert batch.error is None
    files.failing = False
    async with open_home(directory, files=files) as home:
        await home.enter("s1")
        assert (home.ids(), home.ids("s1")) == (["g"], ["b"])
        await trio.testing.wait_all_tasks_blocked(0.01)
    assert [name for name, data in contents(directory).items() if b"fact a" in data] == []


async def test_a_scrub_that_a_crash_cut_off_is_finished(directory: Path) -> None:
    files = Failing()
    files.failing = False
    async with open_home(directory, files=files) as home:
        await home.put(put("a"), put("b"))
        await home.save()
        await home.put(PerceptPut("global", percept("a", content="a secret")))
        await home.save()
        files.failing = True
        await home.put(PerceptDropped("global", "a"), scrub=("a",))
    assert any(b"secret" in data for data in contents(directory).values())
    files.failing = False
    async with open_home(directory, files=files) as home:
        assert home.ids() == ["b"]
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert await home.save()
    everything = contents(directory)
    assert [name for name, data in everything.items() if b"secret" in data] == []
    assert [name for name, data in everything.items() if b"fact a" in data] == []
    assert [name for name in everything if "journal." in name] == []


async def test_what_is_recorded_anew_and_saved_before_the_scrub_is_finished_stays(
    directory: Path,
) -> None:
    async with open_home(directory, files=Clinging()) as home:
        await home.put(put("a"))
        await home.put(PerceptDropped("global", "a"), scrub=("a",))
        await home.put(put("a"))
        await home.save()
    assert ids(directory / "global.json") == ["a"]
    async with open_home(directory) as home:
        assert home.ids() == ["a"]


async def test_what_is_recorded_anew_after_it_was_forgotten_stays(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(put("a"))
        await home.put(PerceptDropped("global", "a"), scrub=("a",))
        await home.put(put("a"))
    async with open_home(directory) as home:
        assert home.ids() == ["a"]


async def test_a_full_disk_at_the_first_start_of_all_is_told_and_got_over(
    directory: Path,
) -> None:
    lay(directory, holding("global", "a"))
    before = contents(directory)

    class Full(HomeFiles):
        full = True

        def write(self, fd: int, data: bytes | memoryview) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(fd, data)

    files = Full()
    async with open_home(directory, files=files) as home:
        assert home.ids() == ["a"]
        assert "storage_full" in home.core.health.reasons[0]
        with pytest.raises(StorageFull):
            await home.put(put("b"))
        assert home.ids() == ["a"]
        assert contents(directory) == before
        files.full = False
        await home.put(put("b"))
        assert await home.save()
    assert ids(directory / "global.json") == ["a", "b"]
