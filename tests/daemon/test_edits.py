"""What other programs do to the files while milkd runs."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from daemon.homes import (
    Home,
    HomeFiles,
    contents,
    holding,
    ids,
    journals,
    lay,
    names,
    open_home,
    percept,
    read,
    take_away,
    write,
)
from milkd.daemon.edits import BESIDE
from milkd.daemon.limits import Limits
from milkd.engine.changes import PerceptDropped, PerceptPut
from milkd.engine.commands import Forget
from milkd.errors import StorageFull
from milkd.store.seal import Seal
from milkd.store.store import JournalStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def put(name: str, scope: str = "global", **values: Any) -> PerceptPut:
    return PerceptPut(scope, percept(name, **values))


def change(path: Path, edit: Callable[[dict[str, Any]], object], *, bare: bool = False) -> bytes:
    """Edit a file by hand, or as milk does it; what is in it then."""
    data = json.loads(read(path))
    edit(data)
    if bare:
        data.pop("_milkd", None)
    path.write_text(json.dumps(data, indent=2) + "\n")
    return read(path)


def say(name: str, content: str) -> Callable[[dict[str, Any]], object]:
    def edit(data: dict[str, Any]) -> None:
        for each in data["percepts"]:
            if each["id"] == name:
                each["content"] = content

    return edit


def add(name: str) -> Callable[[dict[str, Any]], object]:
    def edit(data: dict[str, Any]) -> None:
        new = dict(data["percepts"][0], id=name, content=f"fact {name}")
        data["percepts"].append(new)

    return edit


def remove(name: str) -> Callable[[dict[str, Any]], object]:
    def edit(data: dict[str, Any]) -> None:
        data["percepts"] = [each for each in data["percepts"] if each["id"] != name]

    return edit


def said(home: Home) -> dict[str, str]:
    return {each.id: each.content for each in home.image().percepts}


def quarantine(directory: Path) -> list[bytes]:
    place = directory / ".milkd" / "quarantine"
    found = contents(place)
    return [found[name] for name in sorted(found)]


def seal(directory: Path, scope: str = "global") -> Seal:
    store = JournalStore(str(directory))
    store.open()
    return store.find(scope).loaded.sealed


async def look(home: Home) -> None:
    """Look once, and let what was taken in be written."""
    await home.core.edits.look()
    await trio.testing.wait_all_tasks_blocked()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def path(directory: Path) -> Path:
    return directory / "global.json"


async def filled(home: Home) -> None:
    await home.put(put("a"), put("b"), put("c"))
    assert await home.save()


async def test_where_nothing_was_edited_nothing_happens(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        before = read(path)
        await look(home)
        assert read(path) == before
        assert home.core.health.reasons == []
        assert home.core.health.reasons == []


async def test_an_edit_is_taken_in_and_the_file_is_sealed_again(
    directory: Path, path: Path
) -> None:
    async with open_home(directory) as home:
        await filled(home)
        change(path, say("a", "it was edited"))
        change(path, add("d"))
        change(path, remove("b"))
        await look(home)
        assert said(home) == {"a": "it was edited", "c": "fact c", "d": "fact d"}
        assert ids(path) == ["a", "c", "d"]
        assert seal(directory) is Seal.OURS
        assert home.core.health.reasons == []
        assert quarantine(directory) == []
        before = read(path)
        await look(home)
        assert read(path) == before
    async with open_home(directory) as home:
        assert said(home) == {"a": "it was edited", "c": "fact c", "d": "fact d"}


async def test_an_edit_is_durable_before_the_file_is_replaced(directory: Path, path: Path) -> None:
    class NoRename(HomeFiles):
        stuck = False

        def rename(self, old: str, new: str) -> None:
            if self.stuck and new.endswith("global.json"):
                raise OSError(errno.EIO, "Input/output error")
            super().rename(old, new)

    files = NoRename()
    async with open_home(directory, files=files) as home:
        await filled(home)
        theirs = change(path, add("d"))
        files.stuck = True
        await look(home)
        assert read(path) == theirs
    async with open_home(directory) as home:
        assert list(said(home)) == ["a", "b", "c", "d"]


async def test_what_both_changed_is_merged(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        await home.put(put("b", content="ours", updated_at=2.0), put("e"))
        change(path, say("a", "theirs"))
        await look(home)
        assert said(home) == {"a": "theirs", "b": "ours", "c": "fact c", "e": "fact e"}
        assert quarantine(directory) == []


async def test_of_a_conflict_their_file_is_kept(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        await home.put(put("a", content="ours", updated_at=2.0))
        theirs = change(path, say("a", "theirs"))
        await look(home)
        assert said(home)["a"] == "ours"
        assert quarantine(directory) == [theirs]
        (warning,) = home.core.health.reasons
        assert "their version is kept as .milkd/quarantine/global." in warning
        assert warning.endswith(".conflict.json")
        assert seal(directory) is Seal.OURS


async def test_milk_beside_milkd_adds_and_changes_but_deletes_nothing(
    directory: Path, path: Path
) -> None:
    async with open_home(directory) as home:
        await filled(home)
        await home.put(put("e"))
        for name in ("d", "f"):
            change(path, add(name), bare=True)
            change(path, remove("b"), bare=True)
            await look(home)
        assert sorted(said(home)) == ["a", "b", "c", "d", "e", "f"]
        assert home.core.health.reasons == [BESIDE]
        assert sorted(ids(path)) == ["a", "b", "c", "d", "e", "f"]


async def test_a_checkpoint_does_not_write_over_an_edit(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        home.start_task(home.core.edits.watch, 1_000.0, lambda: False)
        await home.put(put("e"))
        theirs = change(path, say("a", "theirs"))
        await home.save()
        assert read(path) == theirs
        await trio.testing.wait_all_tasks_blocked()  # it was woken
        assert said(home)["a"] == "theirs"
        assert await home.save()
        assert ids(path) == ["a", "b", "c", "e"]
        assert len(journals(directory)) == 1


async def test_the_watch_looks_while_somebody_wants_to_know(
    directory: Path, path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    wanted = False
    async with open_home(directory) as home:
        await filled(home)
        home.start_task(home.core.edits.watch, 2.0, lambda: wanted)
        change(path, add("d"))
        await trio.sleep(10)
        assert "d" not in said(home)
        wanted = True
        await trio.sleep(3)
        assert "d" in said(home)


async def test_what_cannot_be_understood_is_put_aside_if_it_stays_so(
    directory: Path, path: Path
) -> None:
    async with open_home(directory) as home:
        await filled(home)
        await home.put(put("e"))
        write(path, b'{"percepts": [')
        await look(home)
        assert read(path) == b'{"percepts": ['
        assert any("milkd goes on with what it has" in each for each in home.core.health.reasons)
        await look(home)
        assert ids(path) == ["a", "b", "c", "e"]
        assert quarantine(directory) == [b'{"percepts": [']
        assert "another program did that while milkd was running" in home.core.health.reasons[0]
        assert ".damaged.json" in home.core.health.reasons[0]


async def test_what_is_written_in_two_steps_is_waited_for(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        whole = change(path, add("d"))
        write(path, whole[:50])
        await look(home)
        write(path, whole[:90])
        await look(home)
        write(path, whole)
        await look(home)
        assert "d" in said(home)
        assert quarantine(directory) == []
        assert home.core.health.reasons == []


async def test_damage_that_is_mended_in_time_is_forgotten(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        whole = read(path)
        write(path, b"")
        await look(home)
        assert len(home.core.health.reasons) == 1
        write(path, whole)
        await look(home)
        assert home.core.health.reasons == []
        assert quarantine(directory) == []


async def test_a_file_that_was_removed_is_written_again(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        os.unlink(path)
        await look(home)
        assert "global.json was removed by another program" in home.core.health.reasons[0]
        assert "global.json" not in names(directory)
        await look(home)
        assert home.core.health.reasons == [
            "global.json was removed by another program; it was written again"
        ]
        assert ids(path) == ["a", "b", "c"]


async def test_an_edit_while_the_disk_is_full_is_taken_in_later(
    directory: Path, path: Path
) -> None:
    class Full(HomeFiles):
        full = False

        def write(self, fd: int, data: bytes | memoryview) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(fd, data)

    files = Full()
    async with open_home(directory, files=files) as home:
        await filled(home)
        theirs = change(path, say("a", "theirs"))
        files.full = True
        for _ in range(2):
            await look(home)
        assert read(path) == theirs
        assert said(home)["a"] == "fact a"
        assert any("could not be taken in yet" in reason for reason in home.core.health.reasons)
        with pytest.raises(StorageFull):
            await home.put(put("e"))
        files.full = False
        await look(home)
        assert said(home)["a"] == "theirs"
        assert seal(directory) is Seal.OURS
        assert not any("taken in" in reason for reason in home.core.health.reasons)


async def test_a_conflict_that_cannot_be_kept_is_not_written_over(
    directory: Path, path: Path
) -> None:
    class Stuck(HomeFiles):
        stuck = False

        def link(self, old: str, new: str) -> None:
            if self.stuck and "quarantine" in new:
                raise OSError(errno.ENOSPC, "No space left on device")
            super().link(old, new)

        def open(self, path: str, flags: int, mode: int = 0o600) -> int:
            if self.stuck and "quarantine" in path and flags & os.O_CREAT:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().open(path, flags, mode)

    files = Stuck()
    async with open_home(directory, files=files) as home:
        await filled(home)
        await home.put(put("a", content="ours", updated_at=2.0))
        theirs = change(path, say("a", "theirs"))
        files.stuck = True
        for _ in range(3):
            await look(home)
            await home.save()
        assert read(path) == theirs
        files.stuck = False
        await look(home)
        assert quarantine(directory) == [theirs]
        assert said(home)["a"] == "ours"


async def test_a_version_is_kept_once_however_often_the_save_fails(
    directory: Path, path: Path
) -> None:
    class NoRename(HomeFiles):
        stuck = False

        def rename(self, old: str, new: str) -> None:
            if self.stuck and new.endswith("global.json"):
                raise OSError(errno.EIO, "Input/output error")
            super().rename(old, new)

    files = NoRename()
    async with open_home(directory, files=files) as home:
        await filled(home)
        await home.put(put("a", content="ours", updated_at=2.0))
        theirs = change(path, say("a", "theirs"))
        files.stuck = True
        for _ in range(3):
            await look(home)
            assert not await home.save()
        assert quarantine(directory) == [theirs]
        files.stuck = False
        assert await home.save()
        assert said(home)["a"] == "ours"


async def test_a_fact_that_another_scope_has_is_not_taken(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await home.enter("s1")
        await filled(home)
        await home.put(put("x", "s1"))
        await home.save()
        theirs = change(path, add("x"))
        await look(home)
        assert sorted(said(home)) == ["a", "b", "c"]
        assert quarantine(directory) == [theirs]


async def test_a_file_does_not_bring_back_what_is_forgotten(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        before = read(path)
        home.core.execute(Forget(ref="b"), lambda _: {})
        await home.core.checkpoints.ask().done.wait()
        assert ids(path) == ["a", "c"]
        write(path, before)
        await look(home)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert sorted(said(home)) == ["a", "c"]
        assert ids(path) == ["a", "c"]
        everything = contents(directory)
        assert [name for name, data in everything.items() if b"fact b" in data] == []


async def test_an_open_session_is_looked_after_too(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(put("x", "s1"))
        await home.save()
        change(directory / "s1.json", say("x", "theirs"))
        await look(home)
        assert home.image("s1").percepts[0].content == "theirs"


async def test_a_closed_session_has_what_its_file_has_when_it_opens(directory: Path) -> None:
    lay(directory, holding("s1", "x"))
    async with open_home(directory) as home:
        change(directory / "s1.json", say("x", "theirs"))
        await look(home)
        await home.enter("s1")
        assert home.image("s1").percepts[0].content == "theirs"
        await home.put(put("y", "s1"))
        await home.stop()
    assert ids(directory / "s1.json") == ["x", "y"]


async def test_a_session_that_another_program_made_is_known(directory: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        lay(directory, holding("s7", "x"))
        await look(home)
        assert "s7" in home.core.sessions.closed_names()
        await home.enter("s7")
        assert home.ids("s7") == ["x"]


async def test_a_store_that_is_gone_is_told_until_it_is_back(directory: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        away = take_away(directory)
        await look(home)
        assert any("is gone" in reason for reason in home.core.health.reasons)
        os.rename(away, directory)
        await look(home)
        assert home.core.health.reasons == []
        assert said(home).keys() == {"a", "b", "c"}


async def test_a_frozen_scope_is_left_alone(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        await home.put(PerceptDropped("global", "c"))
        await home.stop()
    write(path, read(path)[:-9])
    async with open_home(directory) as home:
        assert "global" in home.core.commits.frozen
        write(path, b"[]")
        for _ in range(3):
            await look(home)
        assert read(path) == b"[]"
        assert quarantine(directory) == []


async def test_who_calls_after_a_while_finds_an_edit_taken_in(directory: Path, path: Path) -> None:
    """Most clients come, ask one thing and go: no poll meets them."""
    async with open_home(directory, limits=Limits(files_poll_s=0.05)) as home:
        await filled(home)
        await trio.sleep(0.06)
        change(path, add("d"))
        await home.core.edits.glance()
        assert "d" in home.ids()
        change(path, add("e"))
        await home.core.edits.glance()
        assert "e" not in home.ids()  # somebody has just looked


async def test_what_is_mended_is_told_for_an_hour(directory: Path, path: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        os.unlink(path)
        await look(home)
        await look(home)
        assert home.core.health.status == "degraded"
        home.clock.turn(3_599.0)
        assert home.core.health.status == "degraded"
        home.clock.turn(2.0)
        assert (home.core.health.status, home.core.health.reasons) == ("ok", [])


async def test_an_edit_after_the_last_checkpoint_is_taken_in_at_the_end(
    directory: Path, path: Path
) -> None:
    async with open_home(directory) as home:
        await filled(home)
        change(path, add("d"))
        await home.core.edits.look()
        await home.stop()
    assert journals(directory) == []
    assert ids(path) == ["a", "b", "c", "d"]
    assert seal(directory) is Seal.OURS


async def test_a_closed_session_that_is_damaged_for_a_while_is_told_for_a_while(
    directory: Path,
) -> None:
    lay(directory, holding("s1", "x"))
    session = directory / "s1.json"
    async with open_home(directory) as home:
        whole = read(session)
        os.unlink(directory / ".milkd" / "backup" / next(iter(backups(directory, "s1"))))
        write(session, b"[")
        await look(home)
        assert home.core.health.reasons != []
        write(session, whole)
        await look(home)
        assert home.core.health.reasons == []
        await home.enter("s1")
        assert home.ids("s1") == ["x"]


def backups(directory: Path, scope: str) -> list[str]:
    found = names(directory / ".milkd" / "backup")
    return [name for name in found if name.startswith(f"{scope}.")]


async def test_a_closed_session_that_another_program_removed_is_no_more(directory: Path) -> None:
    lay(directory, holding("s1", "x"), holding("s2", "y"))
    async with open_home(directory) as home:
        os.unlink(directory / "s1.json")
        await look(home)
        assert home.core.sessions.closed_names() == ("s2",)
        assert not home.core.engine.exists("x")


async def test_a_fault_in_taking_in_is_told_and_stops_nothing(
    directory: Path, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_home(directory) as home:
        await filled(home)
        change(path, add("d"))

        def adopt(*_: object) -> None:
            raise KeyError("the alarm code is swordfish")

        usual, home.store.adopt = home.store.adopt, adopt  # type: ignore[method-assign,assignment]
        await look(home)
        assert "could not be taken in" in home.core.health.reasons[0]
        assert "swordfish" not in caplog.text
        home.store.adopt = usual  # type: ignore[method-assign]
        await look(home)
        assert home.core.health.reasons == []
        assert ids(path) == ["a", "b", "c", "d"]


async def test_an_edit_of_a_store_that_waits_for_repair_is_left_alone(directory: Path) -> None:
    async with open_home(directory) as home:
        await filled(home)
        await home.stop()
    async with open_home(directory) as home:
        home.core.commits.refusal = "somebody must repair it"
        theirs = change(directory / "global.json", add("d"))
        await look(home)
        assert "d" not in said(home)
        assert read(directory / "global.json") == theirs
