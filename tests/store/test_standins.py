"""What is found in place of a file that is damaged, empty or gone."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from daemon.homes import contents, holding, ids, journals, lay, names, open_home, percept
from milkd.engine.changes import Passed, PerceptDropped, PerceptPut, ScopeDropped
from milkd.engine.percept import ScopeImage
from milkd.errors import ReadOnly, StoreDamaged
from milkd.store.entries import Entry
from milkd.store.files import Files
from milkd.store.seal import Seal
from milkd.store.store import JournalStore
from milkd.upkeep.taking import Taking

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from milkd.store.interface import Found


def put(name: str, scope: str = "global") -> PerceptPut:
    return PerceptPut(scope, percept(name))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def nul(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def scribble(path: Path) -> None:
    path.write_text("[1, 2]")


def find(directory: Path, scope: str = "global") -> Found:
    store = JournalStore(str(directory))
    store.open()
    return store.find(scope)


def edit(path: Path, content: str) -> None:
    """Change a fact by hand, and leave the rest as it is."""
    text = path.read_text()
    assert "fact a" in text
    path.write_text(text.replace("fact a", content))


def strip(path: Path) -> None:
    """Write a file as milk would: without our block."""
    data = json.loads(path.read_bytes())
    del data["_milkd"]
    path.write_text(json.dumps(data))


async def fill(directory: Path, *, crash: bool = False) -> None:
    """A store of four facts, three of them in files, after a stop or a crash."""
    async with open_home(directory) as home:
        await home.put(put("a"))
        assert await home.save()
        await home.put(put("b"), put("old"))
        await home.put(PerceptDropped("global", "old"))
        assert await home.save()
        await home.put(put("c"))
        assert await home.save()
        await home.put(put("d"))
        if not crash:
            await home.stop()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("wipe", [empty, nul])
async def test_a_file_that_lost_its_bytes_is_had_again(
    directory: Path, wipe: Callable[[Path], None], *, crash: bool
) -> None:
    await fill(directory, crash=crash)
    path = directory / "global.json"
    wipe(path)

    async with open_home(directory) as home:
        assert home.ids() == ["a", "b", "c", "d"]
        (reason,) = home.core.health.reasons
        assert "expected a JSON object (cut off by a power cut?); its backup global." in reason
        assert reason.endswith("for it")
        assert home.core.commits.frozen == {}
        await home.put(put("e"))
        await home.stop()
    assert ids(path) == ["a", "b", "c", "d", "e"]


async def test_a_wiped_file_is_written_anew_at_once(directory: Path) -> None:
    await fill(directory)
    empty(directory / "global.json")
    async with open_home(directory) as home:
        assert ids(directory / "global.json") == ["a", "b", "c", "d"]
        assert home.store.changed(["global"]) == {}


async def test_without_a_backup_a_wiped_file_counts_as_empty(directory: Path) -> None:
    os.mkdir(directory)
    empty(directory / "global.json")
    empty(directory / "s1.json")
    async with open_home(directory) as home:
        reasons = home.core.health.reasons
        assert len(reasons) == 2
        assert all("there is no backup, so it counts as empty" in reason for reason in reasons)
        assert home.ids() == []
        await home.enter("s1")
        assert home.ids("s1") == []


async def test_a_journal_that_tells_nothing_of_a_scope_stands_in_for_nothing(
    directory: Path,
) -> None:
    await fill(directory)
    scribble(directory / "s1.json")
    with pytest.raises(StoreDamaged):
        find(directory, "s1")
    empty(directory / "s1.json")
    assert "it counts as empty" in find(directory, "s1").loaded.warnings[-1]


async def test_of_a_wiped_file_without_a_backup_the_journal_is_left(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(put("a"))
    empty(directory / "global.json")
    assert [change for _, change in find(directory).replay] == [put("a")]


async def test_a_wiped_file_whose_first_version_it_was_is_had_from_the_journal(
    directory: Path,
) -> None:
    async with open_home(directory) as home:
        await home.put(put("a"))
        await home.put(put("b"))
        await home.stop()
    empty(directory / "global.json")
    async with open_home(directory) as home:
        assert home.ids() == ["a", "b"]


async def test_a_wiped_file_of_a_store_that_was_milk_s_is_had_again(directory: Path) -> None:
    lay(directory, holding("global", "m"))
    async with open_home(directory) as home:
        await home.put(put("a"))
        await home.stop()
    empty(directory / "global.json")
    async with open_home(directory) as home:
        assert home.ids() == ["m", "a"]


async def test_entries_that_are_gone_are_told(directory: Path) -> None:
    await fill(directory, crash=True)
    backups = directory / ".milkd" / "backup"
    oldest, *_ = sorted(backups.glob("global.*"))
    for path in [*backups.glob("journal.*"), *backups.glob("global.*")]:
        if path != oldest:
            path.unlink()
    empty(directory / "global.json")

    async with open_home(directory) as home:
        assert home.ids() == ["a", "d"]
        (reason,) = home.core.health.reasons
        assert reason.endswith("but some entries in between are gone")


@pytest.mark.parametrize("damage", [cut, scribble])
async def test_a_file_that_somebody_damaged_is_served_from_its_backup_and_not_changed(
    directory: Path, damage: Callable[[Path], None]
) -> None:
    await fill(directory)
    path = directory / "global.json"
    damage(path)
    theirs = path.read_bytes()

    async with open_home(directory) as home:
        assert home.ids() == ["a", "b", "c", "d"]
        (reason,) = home.core.health.reasons
        assert "in for it, and it is not changed until you choose" in reason
        assert "milkctl repair --accept-backup global" in reason
        with pytest.raises(ReadOnly, match="until you choose"):
            await home.put(put("e"))
        await home.enter("s1")
        await home.put(put("s", "s1"))
        await home.stop()
    assert path.read_bytes() == theirs
    assert ids(directory / "s1.json") == ["s"]


async def test_a_damaged_file_without_a_backup_is_not_served(directory: Path) -> None:
    os.mkdir(directory)
    scribble(directory / "global.json")
    scribble(directory / "s1.json")
    before = contents(directory)

    async with open_home(directory) as home:
        assert home.ids() == []
        assert any("nothing of it is served" in reason for reason in home.core.health.reasons)
        with pytest.raises(ReadOnly):
            await home.put(put("e"))
        with pytest.raises(StoreDamaged):
            await home.enter("s1")
        await home.stop()
    assert {name: contents(directory)[name] for name in before} == before


async def test_a_damaged_file_keeps_its_entries_in_the_journal(directory: Path) -> None:
    await fill(directory, crash=True)
    path = directory / "global.json"
    whole = path.read_bytes()
    cut(path)
    for _ in range(2):
        async with open_home(directory) as home:
            assert home.ids() == ["a", "b", "c", "d"]
            await home.enter("s1")
            await home.put(put("s", "s1"))
            await home.stop()
    assert journals(directory) != []

    path.write_bytes(whole)
    async with open_home(directory) as home:
        assert home.ids() == ["a", "b", "c", "d"]
        assert home.core.commits.frozen == {}


async def test_a_damaged_session_is_served_from_its_backup_too(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.enter("s1")
        for name in ("a", "b"):
            await home.put(put(name, "s1"))
            await home.save()
        await home.stop()
    cut(directory / "s1.json")
    async with open_home(directory) as home:
        await home.enter("s1")
        assert home.ids("s1") == ["a", "b"]
        with pytest.raises(ReadOnly, match="accept-backup s1"):
            await home.put(put("c", "s1"))


async def test_a_file_that_somebody_deleted_is_gone(directory: Path) -> None:
    await fill(directory)
    (directory / "global.json").unlink()
    async with open_home(directory) as home:
        assert home.ids() == []
        (told,) = home.core.health.reasons
        assert "was removed while milkd was not running, and lacks 4 facts" in told
    (kept,) = (directory / ".milkd" / "quarantine").glob("global.*.before.json")
    assert ids(kept) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("text", [b"{}", b"null", b'{"percepts": []}'])
async def test_a_file_that_was_emptied_is_empty_and_what_it_held_is_kept(
    directory: Path, text: bytes
) -> None:
    await fill(directory)
    (directory / "global.json").write_bytes(text)
    async with open_home(directory) as home:
        assert home.ids() == []
        (told,) = home.core.health.reasons
        assert "was written by another program while milkd was not running" in told
    (kept,) = (directory / ".milkd" / "quarantine").glob("global.*.before.json")
    assert ids(kept) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("edited", [False, True])
async def test_an_older_version_put_back_loses_nothing_that_came_after_it(
    directory: Path, crash: bool, edited: bool
) -> None:
    """An editor that had the file open for long, a backup, or a tool that synchronises."""
    path = directory / "global.json"
    async with open_home(directory) as home:
        await home.put(*(PerceptPut("global", percept(name)) for name in ("a", "b")))
        await home.save()
        old = path.read_bytes()
        await home.put(PerceptPut("global", percept("c")), PerceptDropped("global", "a"))
        await home.save()
        await home.put(PerceptPut("global", percept("d")))
        if not crash:
            await home.stop()
    path.write_bytes(old.replace(b"fact b", b"fact B") if edited else old)
    async with open_home(directory) as home:
        assert home.ids() == ["b", "c", "d"]
        assert home.image().percepts[0].content == ("fact B" if edited else "fact b")
        (told,) = home.core.health.reasons
        assert "an older version was put there" in told
        await home.stop()
    assert ids(path) == ["b", "c", "d"]
    async with open_home(directory) as home:
        assert home.core.health.reasons == []


async def test_who_repairs_a_store_takes_an_older_version_as_a_start_does(directory: Path) -> None:
    path = directory / "global.json"
    async with open_home(directory) as home:
        await home.put(*(PerceptPut("global", percept(name)) for name in ("a", "b")))
        await home.save()
        old = path.read_bytes()
        await home.put(PerceptPut("global", percept("c")), PerceptDropped("global", "a"))
        await home.stop()
    path.write_bytes(old.replace(b"fact b", b"fact B"))
    taking = Taking(str(directory), Files())
    taking.open()
    image = taking.scopes["global"].image
    assert image is not None
    assert [each.content for each in image.percepts] == ["fact B", "fact c"]


async def test_a_file_that_is_missing_while_the_journal_has_entries_is_had_again(
    directory: Path,
) -> None:
    await fill(directory, crash=True)
    (directory / "global.json").unlink()
    async with open_home(directory) as home:
        assert home.ids() == ["a", "b", "c", "d"]
        assert ids(directory / "global.json") == ["a", "b", "c", "d"]


async def test_a_missing_file_is_not_had_again_by_halves(directory: Path) -> None:
    await fill(directory, crash=True)
    (directory / "global.json").unlink()
    for path in (directory / ".milkd" / "backup").glob("journal.*"):
        path.unlink()
    async with open_home(directory) as home:
        assert home.ids() == ["d"]


async def test_a_session_that_was_dropped_begins_anew(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(put("old", "s1"))
        await home.save()
        await home.put(put("older", "s1"))
        await home.save()
        await home.put(ScopeDropped("s1"))
        await home.save()
        assert "s1.json" not in names(directory)
        await home.put(put("new", "s1"))
    async with open_home(directory) as home:
        await home.enter("s1")
        assert home.ids("s1") == ["new"]


@pytest.mark.parametrize("kept", [0, 1, 2])
async def test_nor_does_its_old_content_come_back_when_journals_are_gone(
    directory: Path, kept: int
) -> None:
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(put("old", "s1"))
        await home.save()
        await home.put(ScopeDropped("s1"))
        await home.save()
        await home.put(put("g"))
        await home.save()
        await home.put(put("new", "s1"))
    retired = sorted((directory / ".milkd" / "backup").glob("journal.*"))
    assert len(retired) == 3
    for path in retired[: len(retired) - kept]:
        path.unlink()
    found = find(directory, "s1")
    assert [change for _, change in found.replay][-1:] == [put("new", "s1")]
    async with open_home(directory) as home:
        await home.enter("s1")
        assert home.ids("s1") == ["new"]


async def test_what_never_was_does_not_come_out_of_a_retired_journal(directory: Path) -> None:
    """The end of a journal that was torn, and half an operation."""
    async with open_home(directory) as home:
        await home.put(put("a"))
        await home.save()
    async with open_home(directory) as home:
        await home.put(put("b"))
        home.store.append([Entry(3, 1.0, "test", (put("half"),), more=True)])
    async with open_home(directory) as home:
        assert home.ids() == ["a", "b"]
        await home.put(put("c"))
        await home.stop()
    for path in sorted((directory / ".milkd" / "backup").glob("global.*"))[1:]:
        path.unlink()
    empty(directory / "global.json")
    async with open_home(directory) as home:
        assert home.ids() == ["a", "b", "c"]


async def test_an_edit_after_a_clean_stop_counts(directory: Path) -> None:
    await fill(directory)
    edit(directory / "global.json", "it was edited")
    found = find(directory)
    assert (found.loaded.sealed, found.replay, found.dirty) == (Seal.EDITED, (), True)
    async with open_home(directory) as home:
        assert home.image().percepts[0].content == "it was edited"
        assert find(directory).loaded.sealed is Seal.OURS


async def test_entries_are_added_to_an_edit_after_a_crash(directory: Path) -> None:
    await fill(directory, crash=True)
    path = directory / "global.json"
    edit(path, "it was edited")
    theirs = path.read_bytes()
    async with open_home(directory) as home:
        assert home.ids() == ["a", "b", "c", "d"]
        assert home.image().percepts[0].content == "it was edited"
        assert any("were added to it" in reason for reason in home.core.health.reasons)
    (kept,) = (directory / ".milkd" / "quarantine").glob("global.*.conflict.json")
    assert kept.read_bytes() == theirs


async def test_entries_are_added_to_what_milk_wrote_but_time_passes_once(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(put("a"))
        await home.save()
        await home.put(put("b"))
        await home.put(Passed("global", 604_800.0, 86_400.0, 604_800.0, 0.0))
    strip(directory / "global.json")
    found = find(directory)
    assert [change for _, change in found.replay] == [put("b")]
    assert found.loaded.sealed is Seal.BARE
    assert found.dirty


def without_b(path: Path) -> None:
    """Take a fact out by hand."""
    data = json.loads(path.read_bytes())
    data["percepts"] = [each for each in data["percepts"] if each["id"] != "b"]
    path.write_text(json.dumps(data))


@pytest.mark.parametrize("stripped", [False, True])
async def test_what_others_ended_too_ends_once(directory: Path, *, stripped: bool) -> None:
    async with open_home(directory) as home:
        await home.put(put("a"), put("b"))
        await home.save()
        await home.put(PerceptDropped("global", "b"))
        await home.put(put("b"))
        await home.put(PerceptDropped("global", "b"), put("c"))
    without_b(directory / "global.json")
    if stripped:
        strip(directory / "global.json")
    async with open_home(directory) as home:
        assert home.ids() == ["a", "c"]


async def test_the_end_of_what_is_lost_is_no_obstacle(directory: Path) -> None:
    await fill(directory)
    async with open_home(directory) as home:
        await home.put(PerceptDropped("global", "b"))
        await home.put(put("e"))
    backups = directory / ".milkd" / "backup"
    _, *later = sorted(backups.glob("global.*"))
    for path in [*later, *backups.glob("journal.*")]:
        path.unlink()
    empty(directory / "global.json")
    async with open_home(directory) as home:
        assert home.ids() == ["a", "e"]
        assert "but some entries in between are gone" in home.core.health.reasons[0]


async def test_a_scope_without_anything_is_found_empty(directory: Path) -> None:
    await fill(directory)
    found = find(directory, "s9")
    assert found.loaded.image == ScopeImage(name="s9")
    assert (found.replay, found.frozen, found.dirty) == ((), None, False)


async def test_a_retired_journal_that_cannot_be_read_is_passed_over(directory: Path) -> None:
    await fill(directory, crash=True)
    for path in (directory / ".milkd" / "backup").glob("journal.*"):
        path.unlink()
        os.mkdir(path)
    empty(directory / "global.json")
    found = find(directory)
    assert [each.id for each in found.loaded.image.percepts] == ["a", "b"]
    assert [change for _, change in found.replay] == [put("d")]
    assert "but some entries in between are gone" in found.loaded.warnings[-1]
