"""The store as the daemon uses it: open, find, append, checkpoint, finish."""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import go_reader
from daemon.doubles import TurnedClock
from daemon.homes import (
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
    take_away,
)
from milkd.engine.changes import (
    Annotated,
    EdgePut,
    EngramPut,
    Passed,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
    Shown,
    Used,
)
from milkd.engine.percept import ScopeImage
from milkd.errors import ReadOnly, StorageFailed, StorageFull, StoreDamaged, VersionMismatch
from milkd.store.entries import Done, Entry
from milkd.store.files import Files, Poisoned
from milkd.store.seal import Seal
from milkd.store.store import JournalStore, is_void

if TYPE_CHECKING:
    from pathlib import Path

NOON = 1_780_000_000.0
MOVED = "the moved fact"


def entry(seq: int, *changes: PerceptPut | PerceptDropped, **more: object) -> Entry:
    return Entry(seq, NOON, "test", changes, **more)  # type: ignore[arg-type]


def opened(directory: Path, files: Files | None = None) -> JournalStore:
    """A store as a process finds it that has read all of it."""
    store = JournalStore(str(directory), files=files, now=lambda: NOON)
    for scope in store.open().scopes:
        store.find(scope)
    return store


def checkpoint(store: JournalStore, *images: ScopeImage) -> list[str]:
    """Write scopes; those that another program had written."""
    written = store.write(images, store.rotate(), [], lambda: None)
    published = store.publish(written)
    assert published.error is None
    store.retire(keep=True)
    return published.overtaken


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where a store will be; it does not exist yet."""
    return tmp_path / "milk" / "memory"


def test_an_absent_store_is_empty_and_looking_at_it_makes_nothing(directory: Path) -> None:
    store = JournalStore(str(directory))

    found = store.open()

    assert (found.scopes, found.refusal, found.notes) == (("global", "archive"), None, ())
    assert store.find("global").loaded.image == ScopeImage(name="global")
    assert store.changed(["global", "archive"]) == {}
    assert (store.newest, store.unsaved) == (0, 0)
    store.finish()
    assert not directory.parent.exists()


async def test_what_is_acknowledged_is_there_after_a_crash(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")), PerceptPut("global", percept("b")))
        image = home.image()
    assert not (directory / "global.json").exists()

    async with open_home(directory) as home:
        assert home.image() == image
        assert ids(directory / "global.json") == ["a", "b"]
        assert home.core.health.reasons == []
    async with open_home(directory) as home:
        assert home.image() == image


async def test_after_a_clean_stop_the_files_are_the_whole_truth(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")))
        image = home.image()
        await home.stop()

    assert journals(directory) == []
    assert not (directory / "archive.json").exists()
    store = JournalStore(str(directory))
    store.open()
    found = store.find("global")
    assert (found.loaded.image, found.replay, found.dirty) == (image, (), False)
    assert (found.loaded.sealed, found.loaded.seq) == (Seal.OURS, 1)
    assert store.newest == 1


async def test_directories_and_files_are_for_the_user_alone(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(PerceptPut("s1", percept("a")), done=Done("op", "00", "record", {}))
        await home.save()
        await home.put(PerceptPut("s1", percept("b")))

    files = [*contents(directory), *(f".milkd/{name}" for name in (".", "backup")), "."]
    modes = {name: stat.S_IMODE(os.stat(directory / name).st_mode) for name in files}
    directories = {name for name, mode in modes.items() if mode == 0o700}
    assert directories == {".", ".milkd/.", ".milkd/backup"}
    assert set(modes.values()) == {0o600, 0o700}
    made = {"s1.json", ".milkd/store.json", ".milkd/operations.json", ".milkd/reserve"}
    assert made < modes.keys()


async def test_only_what_changed_is_written(directory: Path) -> None:
    lay(directory, holding("global", "a"), holding("s1", "b"))
    before = (directory / "global.json").read_bytes()
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(
            Used("s1", ("b",), 1.0),
            Passed("s1", 1.0, 1.0, 1.0, 0.0),
            EdgePut("s1", edge("b", "a")),
        )
        await home.save()
        assert (directory / "global.json").read_bytes() != before  # it was milk's, and had no seal
        before = (directory / "global.json").read_bytes()
        await home.put(PerceptPut("s1", percept("c")))
        await home.save()
    assert (directory / "global.json").read_bytes() == before
    assert ids(directory / "s1.json") == ["b", "c"]


async def test_a_dropped_session_loses_its_file_and_its_backup_keeps_it(directory: Path) -> None:
    lay(directory, holding("s1", "a"))
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(PerceptDropped("s1", "a"), ScopeDropped("s1"))
        await home.save()
        await home.put(ScopeDropped("s1"))
        assert await home.save()
        assert home.store.warnings == []
    assert "s1.json" not in names(directory)
    assert any(name.startswith("s1.") for name in names(directory / ".milkd" / "backup"))


async def test_a_session_that_was_shown_something_keeps_the_ids_and_no_text(
    directory: Path,
) -> None:
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(Shown("s1", "s1", {"a": "- a secret line"}, "a secret prompt"))
        (journal,) = journals(directory)
        assert b"secret" not in journal.read_bytes()
        await home.save()
    assert b"secret" not in (directory / "s1.json").read_bytes()
    async with open_home(directory) as home:
        await home.enter("s1")
        assert home.image("s1").shown == ("a",)


async def test_a_session_that_starts_again_in_the_same_batch_is_written(directory: Path) -> None:
    lay(directory, holding("s1", "a"))
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(ScopeDropped("s1"), PerceptPut("s1", percept("b")))
    async with open_home(directory) as home:
        await home.enter("s1")
        assert home.ids("s1") == ["b"]
        assert ids(directory / "s1.json") == ["b"]


async def test_an_empty_session_has_no_file_and_an_empty_global_has_one(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(PerceptPut("global", percept("a")), PerceptPut("s1", percept("b")))
        await home.save()
        await home.put(PerceptDropped("global", "a"), PerceptDropped("s1", "b"))
        await home.save()
    assert names(directory) == [".milkd", "global.json"]
    assert ids(directory / "global.json") == []


def test_an_empty_session_that_was_never_in_a_file_makes_none(directory: Path) -> None:
    store = opened(directory)
    assert checkpoint(store, replace(holding("s1"), running_seconds=5.0)) == []
    assert names(directory) == [".milkd"]


@pytest.mark.parametrize(
    "image",
    [
        ScopeImage(name="s1", extra={"theme": "x"}),
        ScopeImage(name="s1", unreadable=(("percepts", 0, "junk"),)),
        ScopeImage(name="s1", edges=(edge("a", "b"),)),
        ScopeImage(name="s1", engrams=(engram("e", "a"),)),
        ScopeImage(name="s1", shown=("a",)),
        ScopeImage(name="archive"),
    ],
)
def test_a_scope_with_anything_in_it_keeps_its_file(directory: Path, image: ScopeImage) -> None:
    store = opened(directory)
    checkpoint(store, image)

    assert not is_void(image)
    assert opened(directory).find(image.name).loaded.image == image


def test_sessions_are_the_files_that_can_be_sessions(directory: Path) -> None:
    directory.mkdir(parents=True)
    files = ["b.json", "a-1.json", "global.json", "Archive.json", ".c.json", "d e.json", "e.txt"]
    for name in [*files, "global.json.tmp", "x.json.tmp"]:
        (directory / name).write_text("{}")

    assert JournalStore(str(directory)).open().scopes == ("global", "archive", "a-1", "b")


def test_a_session_that_is_in_the_journal_alone_is_a_scope_too(directory: Path) -> None:
    store = opened(directory)
    store.append([entry(1, PerceptPut("s2", percept("a")))])
    store.find("s1")

    again = JournalStore(str(directory))
    assert again.open().scopes == ("global", "archive", "s2")
    assert again.find("s2").replay == ((1, PerceptPut("s2", percept("a"))),)
    assert again.find("s2").dirty
    assert again.newest == 1


@pytest.mark.parametrize("name", ["../global", "GLOBAL", "", "a/b", ".hidden"])
def test_a_name_that_is_no_session_reaches_no_file(directory: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a file"):
        JournalStore(str(directory)).find(name)


async def test_a_store_of_milk_lives_on(milk_store: Path, session: str) -> None:
    path = milk_store / f"{session}.json"
    before = go_reader.read(path.read_bytes())
    async with open_home(milk_store) as home:
        await home.enter(session)
        await home.put(Used("global", (), 1.0), Used(session, (), 1.0))
        await home.stop()
        images = home.image(), home.image(session)
        assert home.store.warnings == []

    after = go_reader.read(path.read_bytes())
    assert after.percepts == before.percepts[1:]
    store = opened(milk_store)
    found = store.find("global"), store.find(session)
    assert tuple(each.loaded.image for each in found) == images
    assert [each.dirty for each in found] == [False, False]
    assert found[0].loaded.image.extra == {"theme": {"accent": "\u2028"}}
    assert len(found[0].loaded.image.unreadable) == 1


async def test_a_fact_in_global_and_in_a_session_counts_in_global(
    milk_store: Path, session: str
) -> None:
    async with open_home(milk_store) as home:
        await home.enter(session)
        (left,) = home.image(session).percepts
        assert left.content == "lunch is at noon"
        assert home.image().percepts[1].w == 1.0
        assert home.store.warnings == []
        assert "dd000000" in path_text(milk_store, session)
        assert "0c1d0000" not in path_text(milk_store, session)


def path_text(directory: Path, scope: str) -> str:
    return (directory / f"{scope}.json").read_text()


def cut_off(directory: Path, scope: str, content: str = MOVED) -> None:
    """A store of a milk that died between the two files of a move to global."""
    both = edge("moved", "c")
    here = holding(
        scope,
        percepts=(percept("a"), percept("moved", content=content)),
        engrams=(engram("mixed", "a", "moved"), engram("gone", "moved")),
        edges=(both, edge("a", "moved")),
    )
    there = holding(
        "global", percepts=(percept("moved", content=MOVED), percept("c")), edges=(both,)
    )
    lay(directory, here, there)


@pytest.mark.parametrize("scope", ["s1", "archive"])
async def test_a_move_that_was_cut_off_is_finished(directory: Path, scope: str) -> None:
    cut_off(directory, scope)

    async with open_home(directory) as home:
        assert home.store.warnings == []

    image = opened(directory).find(scope).loaded.image
    assert [each.id for each in image.percepts] == ["a"]
    assert [(each.id, each.percept_ids) for each in image.engrams] == [("mixed", ("a",))]
    assert image.edges == (edge("a", "moved"),)
    assert MOVED not in path_text(directory, scope)
    assert ids(directory / "global.json") == ["moved", "c"]
    assert not (directory / ".milkd" / "quarantine").exists()


async def test_a_session_of_which_a_move_left_nothing_loses_its_file(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lay(directory, holding("s1", "a"), holding("global", "a"))

    async with open_home(directory):
        pass

    assert names(directory) == [".milkd", "global.json"]
    assert "s1.json held what is in global.json too" in caplog.text


async def test_the_other_version_of_a_moved_fact_is_kept(directory: Path) -> None:
    cut_off(directory, "s1", "it said something else")

    async with open_home(directory):
        pass

    assert "it said something else" not in path_text(directory, "s1")
    kept = [path for path in (directory / ".milkd").rglob("s1*.json") if path.is_file()]
    assert len(kept) == 2  # from before milkd, and from before this write
    assert all("it said something else" in path.read_text() for path in kept)


async def test_the_whole_store_is_copied_before_the_first_write(
    milk_store: Path, session: str, milk_global: bytes, milk_session: bytes
) -> None:
    (milk_store / "directory.json").mkdir()
    backup = milk_store / ".milkd" / "backup"
    clock = TurnedClock()
    for name in ("a", "b"):
        async with open_home(milk_store, clock=clock) as home:
            clock.turn(1e6)  # the day of the first write counts, which is at the start
            await home.put(PerceptPut("global", percept(name)))
            await home.stop()

    (copy,) = backup.glob("pre-*")
    assert copy.name == "pre-milkd-2027-01-15"
    assert names(copy) == [f"{session}.json", "global.json"]
    assert (copy / "global.json").read_bytes() == milk_global
    assert (copy / f"{session}.json").read_bytes() == milk_session
    assert json.loads((milk_store / ".milkd" / "store.json").read_bytes())["store"].count("-") == 4


async def test_a_new_store_needs_no_backup(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")))

        (journal,) = journals(directory)
        assert names(directory / ".milkd") == [journal.name, "reserve", "store.json"]


async def test_a_symlinked_file_stays_a_symlink(directory: Path) -> None:
    dotfiles = directory.parent / "dotfiles"
    dotfiles.mkdir(parents=True)
    os.mkdir(directory)
    (dotfiles / "memory.json").write_text("{}")
    (directory / "global.json").symlink_to(dotfiles / "memory.json")

    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")))
        await home.stop()
        assert home.store.warnings == []

    assert (directory / "global.json").is_symlink()
    assert ids(dotfiles / "memory.json") == ["a"]
    assert names(dotfiles) == ["memory.json"]


async def test_of_a_symlinked_session_both_ends_go(directory: Path) -> None:
    lay(directory.parent, holding("s1", "a"))
    real = directory.parent / "s1.json"
    os.mkdir(directory)
    (directory / "s1.json").symlink_to(real)

    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(ScopeDropped("s1"))
        await home.save()

    assert names(directory) == [".milkd"]
    assert not real.exists()


def edit_in_place(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def edit_by_replacing(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.rename(path)


def edit_unseen(path: Path) -> None:
    """Change a file without changing its size or time."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(path.read_bytes().replace(b"fact a", b"fact z"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("edit", [edit_in_place, edit_by_replacing, edit_unseen])
def test_a_file_that_another_program_wrote_is_never_written_over(
    directory: Path, edit: object
) -> None:
    assert callable(edit)
    store = opened(directory)
    checkpoint(store, holding("global", "a"), holding("s1", "s"))
    store.append([entry(1, PerceptPut("global", percept("b"))), entry(2)])
    edit(directory / "global.json")
    theirs = (directory / "global.json").read_bytes()

    overtaken = checkpoint(store, holding("global", "a", "b"), holding("s1", "s", "t"))

    assert overtaken == ["global"]
    assert (directory / "global.json").read_bytes() == theirs
    assert ids(directory / "s1.json") == ["s", "t"]
    assert [n for n in names(directory) if n.endswith(".tmp")] == []
    assert journals(directory) != []  # it still has what is not in the file
    changed = store.changed(["global", "s1"])
    assert changed is not None
    assert list(changed) == ["global"]


def test_a_session_that_is_to_go_stays_if_another_program_wrote_it(directory: Path) -> None:
    store = opened(directory)
    checkpoint(store, holding("s1", "a"))
    edit_in_place(directory / "s1.json")

    assert checkpoint(store, holding("s1")) == ["s1"]
    assert ids(directory / "s1.json") == ["a"]


class Traced(HomeFiles):
    """Notes what is made and what is synced, by path below `top`."""

    def __init__(self, top: Path) -> None:
        super().__init__()
        self.calls: list[str] = []
        self._top = top
        self._paths: dict[int, str] = {}

    def note(self, call: str, path: str) -> None:
        place = os.path.relpath(path, self._top)
        if "/backup/" in place or "journal." in place:  # names with a moment, or drawn by lot
            place = os.path.dirname(place)
        self.calls.append(f"{call} {place}")

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        fd = super().open(path, flags, mode)
        self._paths[fd] = path
        return fd

    def mkdir(self, path: str, mode: int = 0o700) -> None:
        super().mkdir(path, mode)
        self.note("mkdir", path)

    def fsync_directory(self, fd: int) -> None:
        super().fsync_directory(fd)
        self.note("sync", self._paths[fd])

    def link(self, old: str, new: str) -> None:
        super().link(old, new)
        self.note("link", new)

    def rename(self, old: str, new: str) -> None:
        super().rename(old, new)
        self.note("rename", new)


async def test_the_way_to_a_new_store_survives_a_power_cut(directory: Path, tmp_path: Path) -> None:
    files = Traced(tmp_path)

    async with open_home(directory, files=files) as home:
        await home.put(PerceptPut("global", percept("a")))

        assert files.calls[:6] == [
            "mkdir milk",
            "sync .",
            "mkdir milk/memory",
            "sync milk",
            "mkdir milk/memory/.milkd",
            "sync milk/memory",
        ]
        assert files.calls[-1] == "sync milk/memory/.milkd"  # the name of the journal


async def test_directories_that_somebody_else_made_for_a_store_are_synced_too(
    directory: Path, tmp_path: Path
) -> None:
    (directory / ".milkd").mkdir(parents=True)
    files = Traced(tmp_path)

    async with open_home(directory, files=files) as home:
        await home.put(PerceptPut("global", percept("a")))

        assert files.calls[:3] == ["sync milk/memory", "sync milk", "sync ."]


async def test_files_are_durable_before_the_journal_goes(directory: Path, tmp_path: Path) -> None:
    files = Traced(tmp_path)
    async with open_home(directory, files=files) as home:
        await home.put(PerceptPut("global", percept("a")))
        await home.save()
        await home.put(PerceptPut("global", percept("b")))
        files.calls.clear()

        await home.save()

        own = "milk/memory/.milkd"
        assert files.calls == [
            f"sync {own}",  # the new journal
            f"link {own}/backup",
            f"sync {own}/backup",
            "rename milk/memory/global.json",
            "sync milk/memory",
            f"rename {own}/operations.json",
            f"sync {own}",
            f"rename {own}/backup",  # the old journal
            f"sync {own}",
        ]


async def test_a_directory_above_that_may_not_be_read_is_no_obstacle(directory: Path) -> None:
    class Walled(HomeFiles):
        def open(self, path: str, flags: int, mode: int = 0o600) -> int:
            if path == str(directory.parent.parent):
                raise PermissionError(errno.EACCES, "Permission denied")
            return super().open(path, flags, mode)

    async with open_home(directory, files=Walled()) as home:
        await home.put(PerceptPut("global", percept("a")))
        await home.stop()

    assert ids(directory / "global.json") == ["a"]


async def test_a_store_that_is_gone_is_not_begun_anew(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")))
        away = take_away(directory)

        for _ in range(2):
            with pytest.raises(StorageFailed, match=r"is gone .*put it back") as caught:
                await home.put(PerceptPut("global", percept("b")))
            assert str(directory) in str(caught.value)
            assert not await home.save()
            with pytest.raises(StorageFailed, match="is gone"):
                home.store.changed(["global"])
        assert names(directory.parent) == ["away"]

        os.rename(away, directory)
        await home.put(PerceptPut("global", percept("c")))
        assert await home.save()
        assert ids(directory / "global.json") == ["a", "c"]
        assert home.store.warnings == []


async def test_a_store_whose_first_change_is_to_come_is_not_begun_anew_either(
    directory: Path,
) -> None:
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")))
        await home.stop()
    async with open_home(directory) as home:
        take_away(directory)

        with pytest.raises(StorageFailed, match="is gone"):
            await home.put(PerceptPut("global", percept("b")))
        assert home.ids() == ["a"]
    assert names(directory.parent) == ["away"]


async def test_the_bare_mount_point_of_a_store_is_not_written_to(directory: Path) -> None:
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")))
        take_away(directory)
        os.mkdir(directory)

        with pytest.raises(StorageFailed, match="is gone"):
            await home.put(PerceptPut("global", percept("b")))
        assert not await home.save()
    assert names(directory) == []


def test_of_a_store_that_is_gone_a_session_without_a_file_is_empty(directory: Path) -> None:
    lay(directory, holding("s1", "a"))
    store = opened(directory)
    take_away(directory)

    assert store.find("s2").loaded.image == ScopeImage(name="s2")
    with pytest.raises(StorageFailed, match="is gone"):
        store.find("s1")


def test_a_file_in_place_of_the_store_s_parent_is_told(directory: Path) -> None:
    store = opened(directory)
    checkpoint(store, holding("global", "a"))
    directory.parent.rename(directory.parent.parent / "away")
    directory.parent.write_text("")

    with pytest.raises(StorageFailed, match="cannot find the store"):
        store.append([entry(1, PerceptPut("global", percept("b")))])


async def test_a_file_that_could_not_be_taken_whole_is_kept(directory: Path) -> None:
    lay(directory, holding("global", "a"))
    path = directory / "global.json"
    path.write_bytes(path.read_bytes() + b'{"half')
    theirs = path.read_bytes()

    async with open_home(directory) as home:
        assert home.ids() == ["a"]
        assert any("global.json" in reason for reason in home.core.health.reasons)
        await home.stop()

    kept = [p.read_bytes() for p in (directory / ".milkd" / "backup").glob("global.*.json")]
    assert kept == [theirs]
    assert json.loads(path.read_bytes())["percepts"][0]["id"] == "a"


async def test_a_damaged_session_is_left_as_it_is(directory: Path) -> None:
    lay(directory, holding("global", "g"), holding("s1", "a"))
    path = directory / "s1.json"
    whole = path.read_bytes()
    for size in range(1, len(whole) - 1):
        path.write_bytes(whole[:size])
        store = JournalStore(str(directory))
        store.open()
        with pytest.raises(StoreDamaged, match=r"^s1\.json"):
            store.find("s1")
        assert path.read_bytes() == whole[:size]
    async with open_home(directory) as home:
        with pytest.raises(StoreDamaged):
            await home.enter("s1")
        await home.stop()
        assert any("s1 cannot be opened" in reason for reason in home.core.health.reasons)
    assert path.read_bytes() == whole[: len(whole) - 2]


def test_a_file_of_a_newer_milkd_is_not_read(directory: Path) -> None:
    directory.mkdir(parents=True)
    (directory / "global.json").write_text('{"_milkd": {"format": 9, "min_reader": 9}}')

    with pytest.raises(VersionMismatch, match="reads format 9"):
        opened(directory)


def test_what_is_no_file_is_damage(directory: Path) -> None:
    (directory / "s1.json").mkdir(parents=True)

    with pytest.raises(StoreDamaged, match=r"cannot read s1\.json: not a regular file"):
        opened(directory)


def test_a_disk_that_does_not_give_a_file_is_told(directory: Path) -> None:
    class Broken(Files):
        def read(self, fd: int, size: int) -> bytes:
            raise OSError(5, "Input/output error")

        def listdir(self, path: str) -> list[str]:
            if path == str(directory):
                raise OSError(5, "Input/output error")
            return super().listdir(path)

    lay(directory, holding("s1"))
    with pytest.raises(StorageFailed, match="cannot list"):
        opened(directory, Broken())

    class Unreadable(Files):
        read = Broken.read

    with pytest.raises(StorageFailed, match=r"cannot read s1\.json: Input/output error"):
        opened(directory, Unreadable())


def test_a_disk_that_does_not_give_the_journal_is_told(directory: Path) -> None:
    store = opened(directory)
    store.append([entry(1, PerceptPut("global", percept("a")))])

    class Unreadable(Files):
        def open(self, path: str, flags: int, mode: int = 0o600) -> int:
            if "journal." in path:
                raise OSError(5, "Input/output error")
            return super().open(path, flags, mode)

    with pytest.raises(StorageFailed, match=r"cannot read .*journal\..*Input/output error"):
        opened(directory, Unreadable())


def test_leftovers_of_a_stopped_save_are_swept_and_those_of_others_are_not(
    directory: Path,
) -> None:
    elsewhere = directory.parent / "dotfiles"
    directory.joinpath(".milkd").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "memory.json").write_text("{}")
    (directory / "global.json").symlink_to(elsewhere / "memory.json")
    ours = [
        directory / ".s1.json.milkd-123-0a1b2c3d.tmp",
        directory / ".milkd" / ".store.json.milkd-9-0a1b2c3d.tmp",
        elsewhere / ".memory.json.milkd-123-0a1b2c3d.tmp",
    ]
    theirs = [directory / "global.json.tmp", directory / ".s1.json.milkd-x.tmp"]
    for path in [*ours, *theirs]:
        path.write_text("half")

    opened(directory)

    assert [path.exists() for path in ours] == [False] * 3
    assert [path.exists() for path in theirs] == [True] * 2


def test_a_failed_sync_of_the_journal_ends_all_saving(directory: Path) -> None:
    class Broken(Files):
        broken = False

        def fdatasync(self, fd: int) -> None:
            if self.broken:
                self.broken = False
                raise OSError(28, "No space left on device")
            super().fdatasync(fd)

    files = Broken()
    store = opened(directory, files)
    store.append([entry(1, PerceptPut("global", percept("a")))])
    files.broken = True

    with pytest.raises(Poisoned, match=r"cannot sync .*outcome unknown"):
        store.append([entry(2, PerceptPut("global", percept("b")))])
    with pytest.raises(Poisoned, match="outcome unknown"):
        store.append([entry(2, PerceptPut("global", percept("b")))])
    assert store.newest == 1


async def test_a_failed_sync_of_a_file_costs_nothing_but_the_attempt(directory: Path) -> None:
    class Broken(HomeFiles):
        broken = False

        def fsync(self, fd: int) -> None:
            if self.broken and os.readlink(f"/proc/self/fd/{fd}").endswith(".tmp"):
                raise OSError(5, "Input/output error")
            super().fsync(fd)

    files = Broken()
    async with open_home(directory, files=files) as home:
        await home.put(PerceptPut("global", percept("a")))
        files.broken = True
        assert not await home.save()
        await home.put(PerceptPut("global", percept("b")))
        assert names(directory) == [".milkd"]
        files.broken = False
        assert await home.save()
        assert ids(directory / "global.json") == ["a", "b"]
        assert len(journals(directory)) == 1


def test_a_value_that_cannot_be_written_changes_nothing(directory: Path) -> None:
    store = opened(directory)
    checkpoint(store, holding("global", "a"))
    before = names(directory)
    nan = holding("s1", percepts=(percept("b", w=float("nan")),))

    with pytest.raises(ValueError, match="no place in JSON"):
        store.write([holding("global", "c"), nan], 0, [], lambda: None)

    assert ids(directory / "global.json") == ["a"]
    assert names(directory) == before


def test_a_store_that_takes_no_files_is_read_only(directory: Path) -> None:
    class Mounted(Files):
        def mkdir(self, path: str, mode: int = 0o700) -> None:
            raise OSError(30, "Read-only file system")

    store = opened(directory, Mounted())
    with pytest.raises(ReadOnly, match="Read-only file system; nothing was changed"):
        store.append([entry(1, PerceptPut("global", percept("a")))])
    with pytest.raises(ReadOnly, match="Read-only file system; nothing was changed"):
        store.rotate()
    with pytest.raises(ReadOnly, match="cannot save"):
        store.write([holding("global")], 0, [], lambda: None)


async def test_many_sessions_can_be_saved_in_turn(directory: Path) -> None:
    async with open_home(directory) as home:
        for number in range(40):
            await home.enter(f"s{number}")
            await home.put(PerceptPut(f"s{number}", percept(f"p{number}")))
            await home.save()
    store = JournalStore(str(directory))
    assert len(store.open().scopes) == 42
    assert [p.id for p in store.find("s7").loaded.image.percepts] == ["p7"]


def full(path: str) -> OSError:
    return OSError(errno.ENOSPC, "No space left on device", path)


class Tight(HomeFiles):
    """A disk with no room left but for what the reserve takes."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.full = False
        self._reserve = str(directory / ".milkd" / "reserve")

    def _check(self, what: str) -> None:
        if self.full and os.path.exists(self._reserve):
            raise full(what)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._check("write")
        return super().write(fd, data)


async def test_on_a_full_disk_it_is_still_possible_to_forget(directory: Path) -> None:
    files = Tight(directory)
    async with open_home(directory, files=files) as home:
        await home.put(PerceptPut("global", percept("a")), PerceptPut("global", percept("b")))
        files.full = True
        with pytest.raises(StorageFull):
            await home.put(PerceptPut("global", percept("c")))
        assert (directory / ".milkd" / "reserve").exists()

        await home.put(PerceptDropped("global", "a"), scrub=("a",))

        assert home.ids() == ["b"]
        assert not (directory / ".milkd" / "reserve").exists()


async def test_on_a_full_disk_the_reserve_makes_room_for_the_files(directory: Path) -> None:
    files = Tight(directory)
    async with open_home(directory, files=files) as home:
        await home.put(PerceptPut("global", percept("a")))
        files.full = True
        assert await home.save()
        assert ids(directory / "global.json") == ["a"]
        files.full = False
        await home.put(PerceptPut("global", percept("b")))
        assert await home.save()
        assert (directory / ".milkd" / "reserve").stat().st_size == 256 << 10


async def test_a_new_journal_can_be_begun_in_the_room_of_the_reserve(directory: Path) -> None:
    files = Tight(directory)
    async with open_home(directory, files=files) as home:
        await home.put(PerceptPut("global", percept("a")))
        files.full = True
        assert home.store.rotate() == 1
        assert len(journals(directory)) == 2


def test_without_a_reserve_a_full_disk_is_told(directory: Path) -> None:
    class Full(Files):
        full = False

        def write(self, fd: int, data: bytes | memoryview) -> int:
            if self.full:
                raise full("write")
            return super().write(fd, data)

    files = Full()
    store = opened(directory, files)
    store.append([entry(1, PerceptPut("global", percept("a")))])
    files.full = True
    (directory / ".milkd" / "reserve").unlink()

    with pytest.raises(StorageFull, match="cannot append to the journal"):
        store.append([entry(2, PerceptDropped("global", "a"), scrub=("a",))])
    with pytest.raises(StorageFull, match="cannot begin a new journal"):
        store.rotate()
    with pytest.raises(StorageFull, match="cannot save"):
        store.write([holding("global", "a")], 1, [], lambda: None)
    assert [n for n in names(directory) if n.endswith(".tmp")] == []


async def test_a_journal_that_somebody_removed_is_begun_anew_and_all_is_saved(
    directory: Path,
) -> None:
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")))
        (journal,) = journals(directory)
        journal.unlink()

        await home.put(PerceptPut("global", percept("b")))

        assert home.store.all_at_risk
        assert home.store.warnings == [
            "the journal was removed by another program; a new one was begun"
        ]
        assert await home.save()
        assert not home.store.all_at_risk
        assert ids(directory / "global.json") == ["a", "b"]
    async with open_home(directory) as home:
        assert home.core.commits.refusal is None
        assert home.ids() == ["a", "b"]


async def test_operations_are_remembered_across_crashes_and_stops(directory: Path) -> None:
    dones = [Done(f"op-{number}", "00ff", "record", {"id": str(number)}) for number in range(3)]
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")), done=dones[0])
        assert home.store.newest == 1
    async with open_home(directory) as home:
        assert home.core.replays.dones() == dones[:1]
        await home.put(PerceptPut("global", percept("b")), done=dones[1])
        home.core.replays.load([dones[1]])
        await home.stop()
    assert journals(directory) == []
    async with open_home(directory) as home:
        assert home.core.replays.dones() == dones[:2]
        await home.put(PerceptPut("global", percept("c")), done=dones[2])
    async with open_home(directory) as home:
        assert home.core.replays.dones() == dones


async def test_damaged_operations_are_no_loss_of_facts(directory: Path) -> None:
    done = Done("op", "00ff", "record", {"id": "1"})
    async with open_home(directory) as home:
        await home.put(PerceptPut("global", percept("a")), done=done)
        await home.stop()
    (directory / ".milkd" / "operations.json").write_bytes(b"{")

    async with open_home(directory) as home:
        assert home.ids() == ["a"]
        assert home.core.replays.dones() == []
        (reason,) = home.core.health.reasons
        assert "may do it twice" in reason
        await home.put(PerceptPut("global", percept("b")))
        assert await home.save()


async def test_a_store_whose_journal_is_damaged_is_served_and_not_changed(
    directory: Path,
) -> None:
    async with open_home(directory) as home:
        for name in ("a", "b", "c"):
            await home.put(PerceptPut("global", percept(name)))
    (journal,) = journals(directory)
    journal.write_bytes(journal.read_bytes().replace(b"fact b", b"fact z"))
    before = contents(directory)

    async with open_home(directory) as home:
        assert home.ids() == ["a"]
        with pytest.raises(ReadOnly, match="milkctl repair"):
            await home.put(PerceptPut("global", percept("d")))
        with pytest.raises(ReadOnly, match="milkctl repair"):
            home.store.append([entry(9)])
        assert home.core.health.status == "read_only"
        refused = home.core.checkpoints.ask()
        assert isinstance(refused.error, ReadOnly)
        await home.stop()
    assert contents(directory) == before
    store = opened(directory)
    store.finish()
    with pytest.raises(ReadOnly, match="milkctl repair"):
        store.rotate()
    assert contents(directory) == before


async def test_a_large_operation_is_replayed_whole_or_not_at_all(directory: Path) -> None:
    store = opened(directory)
    store.append([entry(1, PerceptPut("global", percept("a")))])
    store.append([entry(2, PerceptPut("global", percept("b")), more=True)])

    async with open_home(directory) as home:
        assert home.ids() == ["a"]
        await home.put(PerceptPut("global", percept("c")))
    async with open_home(directory) as home:
        assert home.ids() == ["a", "c"]


async def test_what_the_file_holds_besides_survives_as_an_entry(directory: Path) -> None:
    unreadable = (("percepts", 0, "junk"),)
    async with open_home(directory) as home:
        await home.put(Annotated("global", {"theme": "x"}, unreadable))
    async with open_home(directory) as home:
        image = home.image()
        assert (image.extra, image.unreadable) == ({"theme": "x"}, unreadable)
        await home.put(EngramPut("global", engram("e", "a")))
        await home.stop()
    assert json.loads((directory / "global.json").read_bytes())["theme"] == "x"


async def test_a_journal_is_put_away_among_the_backups(directory: Path) -> None:
    async with open_home(directory) as home:
        for number in range(8):
            await home.put(PerceptPut("global", percept(str(number))))
            await home.save()
        backup = names(directory / ".milkd" / "backup")
        assert len([name for name in backup if name.startswith("journal.")]) == 5
        assert len([name for name in backup if name.startswith("global.")]) <= 5
        await home.stop()
    assert journals(directory) == []


def test_the_store_tells_when_its_journal_cannot_be_put_away(directory: Path) -> None:
    class Stuck(Files):
        def rename(self, old: str, new: str) -> None:
            if "journal." in old:
                raise OSError(5, "Input/output error")
            super().rename(old, new)

        def unlink(self, path: str) -> None:
            if "journal." in path:
                raise OSError(5, "Input/output error")
            super().unlink(path)

    store = opened(directory, Stuck())
    store.append([entry(1, PerceptPut("global", percept("a")))])
    written = store.write([holding("global", "a")], store.rotate(), [], lambda: None)
    assert store.publish(written).error is None

    with pytest.raises(StorageFailed, match="could be neither moved nor deleted"):
        store.retire(keep=True)
    with pytest.raises(StorageFailed, match="cannot put a journal away"):
        store.retire(keep=False)
    with pytest.raises(StorageFailed, match="cannot put the journal away"):
        store.finish()


def test_nothing_is_told_to_have_changed_while_files_are_replaced(directory: Path) -> None:
    told: list[object] = []

    class Asking(Files):
        def rename(self, old: str, new: str) -> None:
            if new.endswith("global.json"):
                told.append(store.changed(["global"]))
            super().rename(old, new)

    store = opened(directory, Asking())
    checkpoint(store, holding("global", "a"))
    assert told == [None]
    assert store.changed(["global"]) == {}


def test_nothing_is_written_while_the_lock_is_not_held(tmp_path: Path) -> None:
    held = [True]
    store = JournalStore(str(tmp_path), holds=lambda: held[0])
    store.open()
    store.append([entry(1)])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    held[0] = False
    with pytest.raises(StorageFailed, match="another daemon may have the store"):
        store.append([entry(2)])
    with pytest.raises(StorageFailed, match="another daemon may have the store"):
        store.rotate()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    held[0] = True
    store.append([entry(2)])
