"""The store as the daemon uses it: load, prepare, commit."""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import go_reader
from milkd.engine.changes import (
    Awarded,
    EdgeActed,
    EdgePut,
    Passed,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
    Shown,
    Used,
)
from milkd.engine.percept import Edge, Engram, Percept, ScopeImage
from milkd.errors import ReadOnly, StorageFailed, StorageFull, StoreDamaged, VersionMismatch
from milkd.store.files import Files
from milkd.store.snapshot import image_to_bytes
from milkd.store.store import Commit, FileStore, Poisoned

if TYPE_CHECKING:
    from pathlib import Path

    from milkd.engine.changes import Change
    from milkd.store.store import Store

NOON = 1_780_000_000.0


def percept(name: str, **values: Any) -> Percept:
    fields = {"content": f"fact {name}", "producer": "user", "w": 0.5}
    times = {"created_at": 0.0, "updated_at": 1.0}
    return Percept(**{"id": name, **fields, **times, **values})


def holding(scope: str, *names: str) -> ScopeImage:
    return ScopeImage(name=scope, percepts=tuple(percept(name) for name in names))


class Memory:
    """What the engine would hold: an image a scope."""

    def __init__(self, *images: ScopeImage) -> None:
        self.images = {image.name: image for image in images}
        self.asked: list[str] = []

    def __call__(self, scope: str) -> ScopeImage:
        self.asked.append(scope)
        return self.images[scope]

    def put(self, store: Store, image: ScopeImage) -> None:
        """Have the image saved as if one percept of it had changed."""
        self.images[image.name] = image
        change = PerceptPut(image.name, percept("any"))
        store.commit(store.prepare([change], self))


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path))


def ids(path: Path) -> list[str]:
    return [entry["id"] for entry in json.loads(path.read_bytes())["percepts"]]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where a store will be; it does not exist yet."""
    return tmp_path / "milk" / "memory"


@pytest.fixture
def store(directory: Path) -> FileStore:
    """A store without a file."""
    return FileStore(str(directory), now=lambda: NOON)


def test_an_absent_store_is_empty_and_looking_at_it_makes_nothing(
    store: FileStore, directory: Path
) -> None:
    assert store.load("global").image == ScopeImage(name="global")
    assert store.sessions() == ()
    assert store.contents("s1") == {}
    store.close()
    assert not directory.parent.exists()


def test_what_is_committed_is_loaded(store: FileStore, directory: Path) -> None:
    image = holding("global", "a", "b")

    Memory().put(store, image)

    assert store.load("global").image == image
    assert FileStore(str(directory)).load("global").image == image
    assert store.warnings == []


def test_directories_and_files_are_for_the_user_alone(store: FileStore, directory: Path) -> None:
    Memory().put(store, holding("s1", "a"))

    modes = {
        name: stat.S_IMODE((directory / name).stat().st_mode)
        for name in (".", ".milkd", ".milkd/store.json", "s1.json")
    }
    assert modes == {".": 0o700, ".milkd": 0o700, ".milkd/store.json": 0o600, "s1.json": 0o600}


def test_only_touched_scopes_are_asked_for_and_written(store: FileStore) -> None:
    memory = Memory(holding("global", "a"), holding("s1", "b"))
    changes: list[Change] = [
        Used("s1", ("b",), 1.0),
        Passed("s1", 1.0, 1.0, 1.0, 0.0),
        EdgePut("s1", Edge("a", "b", "extends")),
        Awarded("a"),
    ]

    store.commit(store.prepare(changes, memory))

    assert memory.asked == ["s1"]
    assert store.sessions() == ("s1",)


def test_an_award_alone_touches_no_file(store: FileStore, directory: Path) -> None:
    commit = store.prepare([Awarded("a")], Memory())

    store.commit(commit)

    assert commit == Commit()
    assert not directory.exists()


@pytest.mark.parametrize(
    ("changes", "order"),
    [
        (
            [PerceptDropped("s1", "a"), PerceptPut("global", percept("a"))],
            ["global", "s1"],
        ),
        (
            [PerceptDropped("global", "a"), PerceptPut("archive", percept("a"))],
            ["archive", "global"],
        ),
        (
            [PerceptDropped("archive", "a"), PerceptPut("global", percept("a"))],
            ["global", "archive"],
        ),
    ],
)
def test_what_moves_is_in_its_new_file_before_it_leaves_the_old_one(
    store: FileStore, changes: list[Change], order: list[str]
) -> None:
    memory = Memory(holding("global"), holding("archive"), holding("s1", "z"))

    commit = store.prepare(changes, memory)

    assert [image.name for image in commit.images] == order


def test_nothing_is_in_no_file_while_percepts_pass_each_other(directory: Path) -> None:
    seen: list[tuple[list[str], list[str]]] = []

    class Watching(Files):
        def rename(self, old: str, new: str) -> None:
            super().rename(old, new)
            if (directory / "archive.json").exists() and new.startswith(str(directory / "a")):
                seen.append((ids(directory / "global.json"), ids(directory / "archive.json")))

    store = FileStore(str(directory), files=Watching())
    memory = Memory()
    memory.put(store, holding("global", "leaves"))
    memory.put(store, holding("archive", "returns"))
    seen.clear()
    memory.images = {
        i.name: i for i in (holding("global", "returns"), holding("archive", "leaves"))
    }
    changes: list[Change] = [
        PerceptDropped("archive", "returns"),
        PerceptPut("global", percept("returns")),
        PerceptDropped("global", "leaves"),
        PerceptPut("archive", percept("leaves")),
    ]

    store.commit(store.prepare(changes, memory))

    assert seen == [
        (["leaves"], ["returns", "leaves"]),
        (["returns"], ["leaves"]),
    ]


def test_a_dropped_session_loses_its_file(store: FileStore, directory: Path) -> None:
    memory = Memory()
    memory.put(store, holding("s1", "a"))
    changes: list[Change] = [PerceptDropped("s1", "a"), ScopeDropped("s1")]

    store.commit(store.prepare(changes, memory))
    store.commit(store.prepare(changes, memory))

    assert names(directory) == [".milkd"]
    assert store.warnings == []


def test_what_only_the_process_remembers_touches_no_file(store: FileStore, directory: Path) -> None:
    changes: list[Change] = [
        Awarded("a"),
        EdgeActed(Edge("a", "b", "extends")),
        Shown(None, "connection 1", {"a": "- fact a"}, "a prompt"),
    ]

    commit = store.prepare(changes, Memory(holding("global", "a")))

    assert commit == Commit()
    store.commit(commit)
    assert not directory.exists() or names(directory) == []


def test_a_session_that_was_shown_something_keeps_the_ids_and_no_text(
    store: FileStore, directory: Path
) -> None:
    changes: list[Change] = [Shown("s1", "s1", {"a": "- a secret line"}, "a secret prompt")]

    store.commit(store.prepare(changes, Memory(ScopeImage(name="s1", shown=("a",)))))

    assert store.load("s1").image.shown == ("a",)
    assert "secret" not in (directory / "s1.json").read_text()


def test_a_session_that_starts_again_in_the_same_batch_is_written(store: FileStore) -> None:
    memory = Memory(holding("s1", "b"))
    changes: list[Change] = [ScopeDropped("s1"), PerceptPut("s1", percept("b"))]

    store.commit(store.prepare(changes, memory))

    assert store.contents("s1") == {"b": "fact b"}


def test_an_empty_session_has_no_file_and_an_empty_global_has_one(
    store: FileStore, directory: Path
) -> None:
    memory = Memory()
    memory.put(store, holding("global", "a"))
    memory.put(store, holding("s1", "b"))

    memory.put(store, holding("global"))
    memory.put(store, replace(holding("s1"), running_seconds=5.0, extra={"_milkd": {"n": 1}}))

    assert names(directory) == [".milkd", "global.json"]


@pytest.mark.parametrize(
    "image",
    [
        ScopeImage(name="s1", extra={"theme": "x"}),
        ScopeImage(name="s1", unreadable=(("percepts", 0, "junk"),)),
        ScopeImage(name="s1", edges=(Edge("a", "b", "extends"),)),
        ScopeImage(name="s1", shown=("a",)),
    ],
)
def test_a_session_with_anything_in_it_keeps_its_file(store: FileStore, image: ScopeImage) -> None:
    Memory().put(store, image)

    assert store.load("s1").image == image


def test_sessions_are_the_files_that_can_be_sessions(store: FileStore, directory: Path) -> None:
    directory.mkdir(parents=True)
    files = ["b.json", "a-1.json", "global.json", "Archive.json", ".c.json", "d e.json", "e.txt"]
    for name in [*files, "global.json.tmp", "x.json.tmp"]:
        (directory / name).write_text("{}")

    assert store.sessions() == ("a-1", "b")


@pytest.mark.parametrize("name", ["../global", "GLOBAL", "", "a/b", ".hidden"])
def test_a_name_that_is_no_session_reaches_no_file(store: FileStore, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a file"):
        store.load(name)


def test_a_store_of_milk_lives_on(milk_store: Path, session: str) -> None:
    before = go_reader.read(milk_store.joinpath(f"{session}.json").read_bytes())
    store = FileStore(str(milk_store))
    memory = Memory(store.load("global").image, store.load(session).image)
    touched = [Used("global", (), 1.0), Used(session, (), 1.0)]

    store.commit(store.prepare(touched, memory))

    again = FileStore(str(milk_store))
    assert again.load("global").image == memory.images["global"]
    assert again.load(session).image == memory.images[session]
    after = go_reader.read(milk_store.joinpath(f"{session}.json").read_bytes())
    assert after.percepts == before.percepts[1:]
    assert store.warnings == []


def test_a_fact_in_global_and_in_a_session_counts_in_global(milk_store: Path, session: str) -> None:
    store = FileStore(str(milk_store))
    held = store.load("global").image

    loaded = store.load(session)

    assert [p.content for p in loaded.image.percepts] == ["lunch is at noon"]
    assert loaded.twice == 1
    assert not loaded.lossy
    assert loaded.warnings == ()
    assert list(store.contents(session).values()) == ["lunch is at noon"]
    assert held.percepts[1].w == 1.0


MOVED = "the moved fact"


def cut_off(directory: Path, scope: str, content: str = MOVED) -> Path:
    """A store whose process died between the two files of a move to global."""
    directory.mkdir(parents=True, exist_ok=True)
    edge = Edge("moved", "c", "extends")
    here = replace(
        holding(scope, "a", "b"),
        percepts=(percept("a"), percept("moved", content=content)),
        engrams=(engram("mixed", "a", "moved"), engram("gone", "moved")),
        edges=(edge, Edge("a", "moved", "extends")),
    )
    there = ScopeImage(
        name="global", percepts=(percept("moved", content=MOVED), percept("c")), edges=(edge,)
    )
    for image in (here, there):
        (directory / f"{image.name}.json").write_bytes(image_to_bytes(image))
    return directory / f"{scope}.json"


def engram(name: str, *members: str) -> Engram:
    fields = {"subject_label": name, "composite_w": 0.5, "created_at": 0.0, "updated_at": 1.0}
    return Engram(id=name, percept_ids=members, **fields)  # type: ignore[arg-type]


def loaded_all(directory: Path, files: Files | None = None) -> FileStore:
    """The store as the daemon loads it."""
    store = FileStore(str(directory), files=files, now=lambda: NOON)
    for scope in ("global", "archive", *store.sessions()):
        store.load(scope)
    return store


def everywhere(directory: Path) -> str:
    """All text of the store but the backup from before milkd."""
    paths = [path for path in directory.rglob("*") if path.is_file() and "backup" not in path.parts]
    return "".join(path.read_text() for path in paths)


@pytest.mark.parametrize("scope", ["s1", "archive"])
def test_a_move_that_was_cut_off_is_finished(
    directory: Path, scope: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = cut_off(directory, scope)

    store = loaded_all(directory)
    store.finish_moves()

    image = FileStore(str(directory)).load(scope).image
    assert [each.id for each in image.percepts] == ["a"]
    assert [(each.id, each.percept_ids) for each in image.engrams] == [("mixed", ("a",))]
    assert image.edges == (Edge("a", "moved", "extends"),)
    assert MOVED not in path.read_text()
    assert ids(directory / "global.json") == ["moved", "c"]
    assert f"finished in {scope}.json" in caplog.text
    assert not (directory / ".milkd" / "quarantine").exists()
    assert store.warnings == []
    store.finish_moves()
    assert caplog.text.count("finished in") == 1


def test_a_session_of_which_a_move_left_nothing_loses_its_file(directory: Path) -> None:
    directory.mkdir(parents=True)
    for image in (holding("s1", "a"), holding("global", "a")):
        (directory / f"{image.name}.json").write_bytes(image_to_bytes(image))

    loaded_all(directory).finish_moves()

    assert names(directory) == [".milkd", "global.json"]


def test_the_other_version_of_a_moved_fact_is_kept(directory: Path) -> None:
    path = cut_off(directory, "s1", "it said something else")

    store = loaded_all(directory)
    store.finish_moves()

    (kept,) = (directory / ".milkd" / "quarantine").iterdir()
    assert "it said something else" in kept.read_text()
    assert "it said something else" not in path.read_text()
    assert len(store.warnings) == 1


def test_a_move_that_cannot_be_finished_yet_is_before_the_next_change(directory: Path) -> None:
    class Full(Files):
        full = True

        def write(self, fd: int, data: bytes | memoryview) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(fd, data)

    class Dying(Full):
        """Dies before global.json is replaced."""

        def rename(self, old: str, new: str) -> None:
            if new == str(directory / "global.json"):
                raise KeyboardInterrupt
            super().rename(old, new)

    path, files = cut_off(directory, "s1"), Dying()
    store = loaded_all(directory, files)
    with pytest.raises(StorageFull):
        store.finish_moves()
    assert MOVED in path.read_text()

    files.full = False
    forgotten = Memory(holding("global", "c"))
    with pytest.raises(KeyboardInterrupt):
        store.commit(store.prepare([PerceptDropped("global", "moved")], forgotten))
    assert MOVED not in path.read_text()

    again = loaded_all(directory)
    again.commit(again.prepare([PerceptDropped("global", "moved")], forgotten))
    assert MOVED not in everywhere(directory)
    again = loaded_all(directory)
    again.finish_moves()
    assert ids(path) == ["a"]


def test_the_whole_store_is_copied_before_the_first_write(
    milk_store: Path, session: str, milk_global: bytes, milk_session: bytes
) -> None:
    (milk_store / "directory.json").mkdir()
    store = FileStore(str(milk_store), now=lambda: NOON)
    memory = Memory(store.load("global").image)
    backup = milk_store / ".milkd" / "backup"

    memory.put(store, memory.images["global"])
    memory.put(store, holding("global", "a"))
    memory.put(FileStore(str(milk_store), now=lambda: NOON + 1e6), holding("s9", "b"))

    assert names(backup) == ["pre-milkd-2026-05-28"]
    assert names(backup / "pre-milkd-2026-05-28") == [f"{session}.json", "global.json"]
    assert (backup / "pre-milkd-2026-05-28" / "global.json").read_bytes() == milk_global
    assert (backup / "pre-milkd-2026-05-28" / f"{session}.json").read_bytes() == milk_session
    assert json.loads((milk_store / ".milkd" / "store.json").read_bytes())["store"].count("-") == 4


def test_a_new_store_needs_no_backup(store: FileStore, directory: Path) -> None:
    Memory().put(store, holding("global", "a"))

    assert names(directory / ".milkd") == ["store.json"]


def test_a_symlinked_file_stays_a_symlink(store: FileStore, directory: Path) -> None:
    memory = Memory()
    dotfiles = directory.parent / "dotfiles"
    dotfiles.mkdir(parents=True)
    directory.mkdir()
    (dotfiles / "memory.json").write_text("{}")
    (directory / "global.json").symlink_to(dotfiles / "memory.json")
    store.load("global")

    memory.put(store, holding("global", "a"))

    assert (directory / "global.json").is_symlink()
    assert ids(dotfiles / "memory.json") == ["a"]
    assert names(dotfiles) == ["memory.json"]
    assert store.warnings == []


def test_of_a_symlinked_session_both_ends_go(store: FileStore, directory: Path) -> None:
    directory.mkdir(parents=True)
    real = directory.parent / "real.json"
    real.write_bytes(image_to_bytes(holding("s1", "a")))
    (directory / "s1.json").symlink_to(real)
    store.load("s1")

    store.commit(store.prepare([ScopeDropped("s1")], Memory()))

    assert names(directory) == [".milkd"]
    assert not real.exists()


def edit_in_place(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def edit_by_replacing(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.rename(path)


@pytest.mark.parametrize("edit", [edit_in_place, edit_by_replacing])
def test_a_file_that_another_program_changed_is_kept(
    store: FileStore, directory: Path, edit: Any
) -> None:
    memory = Memory()
    memory.put(store, holding("global", "a"))
    edit(directory / "global.json")
    theirs = (directory / "global.json").read_bytes()

    memory.put(store, holding("global", "a", "b"))
    memory.put(store, holding("global", "a", "b", "c"))

    quarantine = directory / ".milkd" / "quarantine"
    assert names(quarantine) == ["global.20260528T202640.000000Z.json"]
    assert (quarantine / names(quarantine)[0]).read_bytes() == theirs
    assert store.warnings == [
        "global.json was changed by another program; that version is kept as "
        + str(quarantine / names(quarantine)[0])
    ]
    assert ids(directory / "global.json") == ["a", "b", "c"]


def test_versions_of_one_moment_do_not_overwrite_each_other(
    store: FileStore, directory: Path
) -> None:
    memory = Memory()
    for name in ("a", "b", "c"):
        (directory / "global.json").unlink(missing_ok=True)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "global.json").write_bytes(image_to_bytes(holding("global", name)))
        memory.put(store, holding("global", "ours"))

    kept = directory / ".milkd" / "quarantine"
    assert sorted(ids(kept / name)[0] for name in names(kept)) == ["a", "b", "c"]


def test_a_version_is_copied_where_links_do_not_work(directory: Path) -> None:
    class Linkless(Files):
        def link(self, old: str, new: str) -> None:
            raise PermissionError(1, "Operation not permitted")

    store = FileStore(str(directory), files=Linkless())
    memory = Memory()
    memory.put(store, holding("global", "a"))
    (directory / "global.json").write_bytes(b"theirs")

    memory.put(store, holding("global", "b"))

    quarantine = directory / ".milkd" / "quarantine"
    assert (quarantine / names(quarantine)[0]).read_bytes() == b"theirs"


def test_an_edit_of_the_same_size_and_time_is_noticed(store: FileStore, directory: Path) -> None:
    memory = Memory()
    memory.put(store, holding("global", "a"))
    path = directory / "global.json"
    before = path.stat()
    theirs = path.read_bytes().replace(b"fact a", b"fact z")
    with path.open("r+b") as file:
        file.write(theirs)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    memory.put(store, holding("global", "a", "b"))

    (kept,) = (directory / ".milkd" / "quarantine").iterdir()
    assert kept.read_bytes() == theirs


def test_a_version_is_kept_once_however_often_the_save_fails(directory: Path) -> None:
    class Stubborn(Files):
        stuck = False

        def rename(self, old: str, new: str) -> None:
            if self.stuck:
                raise OSError(errno.EIO, "Input/output error")
            super().rename(old, new)

    files = Stubborn()
    store, memory = FileStore(str(directory), files=files), Memory()
    memory.put(store, holding("global", "a"))
    edit_in_place(directory / "global.json")
    files.stuck = True
    for _ in range(3):
        with pytest.raises(StorageFailed):
            memory.put(store, holding("global", "a", "b"))

    assert len(names(directory / ".milkd" / "quarantine")) == 1


class Traced(Files):
    """Notes what is made and what is synced, by path below `top`."""

    def __init__(self, top: Path) -> None:
        self.calls: list[str] = []
        self._top = top
        self._paths: dict[int, str] = {}

    def note(self, call: str, path: str) -> None:
        self.calls.append(f"{call} {os.path.relpath(path, self._top)}")

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
        self.note("link", os.path.dirname(new))

    def rename(self, old: str, new: str) -> None:
        super().rename(old, new)
        self.note("rename", new)


def test_the_way_to_a_new_store_survives_a_power_cut(directory: Path, tmp_path: Path) -> None:
    files = Traced(tmp_path)

    Memory().put(FileStore(str(directory), files=files), holding("global", "a"))

    assert files.calls[:6] == [
        "mkdir milk",
        "sync .",
        "mkdir milk/memory",
        "sync milk",
        "mkdir milk/memory/.milkd",
        "sync milk/memory",
    ]
    assert files.calls[-2:] == ["rename milk/memory/global.json", "sync milk/memory"]


def test_directories_that_somebody_else_made_for_a_store_are_synced_too(
    directory: Path, tmp_path: Path
) -> None:
    (directory / ".milkd").mkdir(parents=True)
    files = Traced(tmp_path)

    Memory().put(FileStore(str(directory), files=files), holding("global", "a"))

    assert files.calls[:3] == ["sync milk/memory", "sync milk", "sync ."]


def test_a_kept_version_is_durable_before_the_file_is_replaced(
    directory: Path, tmp_path: Path
) -> None:
    files = Traced(tmp_path)
    store, memory = FileStore(str(directory), files=files), Memory()
    memory.put(store, holding("global", "a"))
    edit_in_place(directory / "global.json")
    files.calls.clear()

    memory.put(store, holding("global", "a", "b"))

    assert files.calls == [
        "mkdir milk/memory/.milkd/quarantine",
        "sync milk/memory/.milkd",
        "link milk/memory/.milkd/quarantine",
        "sync milk/memory/.milkd/quarantine",
        "rename milk/memory/global.json",
        "sync milk/memory",
    ]


def test_a_directory_above_that_may_not_be_read_is_no_obstacle(directory: Path) -> None:
    class Walled(Files):
        def open(self, path: str, flags: int, mode: int = 0o600) -> int:
            if path == str(directory.parent.parent):
                raise PermissionError(errno.EACCES, "Permission denied")
            return super().open(path, flags, mode)

    Memory().put(FileStore(str(directory), files=Walled()), holding("global", "a"))

    assert ids(directory / "global.json") == ["a"]


def test_a_file_that_another_program_deleted_is_written_again(
    store: FileStore, directory: Path
) -> None:
    memory = Memory()
    memory.put(store, holding("global", "a"))
    (directory / "global.json").unlink()

    memory.put(store, holding("global", "a", "b"))

    assert store.warnings == ["global.json was deleted by another program; written again"]
    assert ids(directory / "global.json") == ["a", "b"]


def test_a_store_that_is_gone_is_not_begun_anew(store: FileStore, directory: Path) -> None:
    Memory().put(store, holding("global", "a"))
    directory.rename(directory.parent / "away")

    for _ in range(2):
        with pytest.raises(StorageFailed, match=r"is gone .*put it back") as caught:
            Memory().put(store, holding("global", "a", "b"))
        assert str(directory) in str(caught.value)
        with pytest.raises(StorageFailed, match="is gone"):
            store.load("global")
    assert not directory.exists()

    (directory.parent / "away").rename(directory)
    Memory().put(store, holding("global", "a", "b"))
    assert ids(directory / "global.json") == ["a", "b"]
    assert store.warnings == []


def test_a_store_whose_first_change_is_to_come_is_not_begun_anew_either(milk_store: Path) -> None:
    store = FileStore(str(milk_store))
    image = store.load("global").image
    milk_store.rename(milk_store.parent / "away")

    with pytest.raises(StorageFailed, match="is gone"):
        Memory().put(store, image)
    assert not milk_store.exists()


def test_the_bare_mount_point_of_a_store_is_not_written_to(
    store: FileStore, directory: Path, session: str
) -> None:
    Memory().put(store, holding("global", "a"))
    directory.rename(directory.parent / "away")
    directory.mkdir()

    with pytest.raises(StorageFailed, match="is gone"):
        Memory().put(store, holding("global", "a", "b"))
    assert names(directory) == []


def test_of_a_store_that_is_gone_a_session_without_a_file_is_empty(
    store: FileStore, directory: Path
) -> None:
    Memory().put(store, holding("s1", "a"))
    reopened = FileStore(str(directory))
    assert reopened.sessions() == ("s1",)
    directory.rename(directory.parent / "away")

    assert reopened.load("s2").image == ScopeImage(name="s2")
    with pytest.raises(StorageFailed, match="is gone"):
        reopened.load("s1")


def test_a_file_in_place_of_the_store_s_parent_is_told(store: FileStore, directory: Path) -> None:
    Memory().put(store, holding("global", "a"))
    directory.parent.rename(directory.parent.parent / "away")
    directory.parent.write_text("")

    with pytest.raises(StorageFailed, match="cannot find the store"):
        Memory().put(store, holding("global", "a", "b"))


def test_a_file_that_could_not_be_taken_whole_is_kept(store: FileStore, directory: Path) -> None:
    memory = Memory()
    memory.put(store, holding("global", "a"))
    path = directory / "global.json"
    path.write_bytes(path.read_bytes() + b'{"half')
    theirs = path.read_bytes()
    loaded = store.load("global")

    memory.put(store, loaded.image)
    memory.put(store, loaded.image)

    quarantine = directory / ".milkd" / "quarantine"
    assert [p.id for p in loaded.image.percepts] == ["a"]
    assert [(quarantine / name).read_bytes() for name in names(quarantine)] == [theirs]
    assert store.warnings[0].startswith("global.json could not be taken whole; that version")


def test_a_damaged_file_is_left_as_it_is(store: FileStore, directory: Path) -> None:
    directory.mkdir(parents=True)
    whole = image_to_bytes(holding("s1", "a"))
    path = directory / "s1.json"
    for size in range(len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(StoreDamaged, match=r"^s1\.json"):
            store.load("s1")
        assert path.read_bytes() == whole[:size]
    assert names(directory) == ["s1.json"]


def test_a_damaged_file_is_kept_when_its_scope_is_written_all_the_same(
    store: FileStore, directory: Path
) -> None:
    directory.mkdir(parents=True)
    (directory / "s1.json").write_bytes(b'{"percepts": [')
    with pytest.raises(StoreDamaged):
        store.load("s1")

    Memory().put(store, holding("s1", "a"))

    quarantine = directory / ".milkd" / "quarantine"
    assert [(quarantine / name).read_bytes() for name in names(quarantine)] == [b'{"percepts": [']


def test_a_file_of_a_newer_milkd_is_not_read(store: FileStore, directory: Path) -> None:
    directory.mkdir(parents=True)
    (directory / "global.json").write_text('{"_milkd": {"format": 9, "min_reader": 9}}')

    with pytest.raises(VersionMismatch, match="reads format 9"):
        store.load("global")


def test_what_is_no_file_is_damage(store: FileStore, directory: Path) -> None:
    (directory / "s1.json").mkdir(parents=True)

    with pytest.raises(StoreDamaged, match=r"cannot read s1\.json: not a regular file"):
        store.load("s1")


def test_a_disk_that_does_not_give_a_file_is_told(directory: Path) -> None:
    class Broken(Files):
        def read(self, fd: int, size: int) -> bytes:
            raise OSError(5, "Input/output error")

        def listdir(self, path: str) -> list[str]:
            if path == str(directory):
                raise OSError(5, "Input/output error")
            return super().listdir(path)

    directory.mkdir(parents=True)
    (directory / "s1.json").write_text("{}")

    with pytest.raises(StorageFailed, match="cannot list"):
        FileStore(str(directory), files=Broken())

    class Unreadable(Files):
        read = Broken.read

    with pytest.raises(StorageFailed, match=r"cannot read s1\.json: Input/output error"):
        FileStore(str(directory), files=Unreadable()).load("s1")


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

    FileStore(str(directory))

    assert [path.exists() for path in ours] == [False] * 3
    assert [path.exists() for path in theirs] == [True] * 2


def test_a_failed_sync_ends_all_saving(directory: Path) -> None:
    class Broken(Files):
        broken = False

        def fsync(self, fd: int) -> None:
            if self.broken:
                self.broken = False
                raise OSError(28, "No space left on device")
            super().fsync(fd)

    files = Broken()
    store = FileStore(str(directory), files=files)
    memory = Memory()
    memory.put(store, holding("global", "a"))
    files.broken = True

    with pytest.raises(Poisoned, match=r"cannot sync .*outcome unknown"):
        memory.put(store, holding("global", "b"))
    with pytest.raises(Poisoned, match=r"cannot sync .*outcome unknown"):
        memory.put(store, holding("global", "c"))

    assert ids(directory / "global.json") == ["a"]
    assert names(directory) == [".milkd", "global.json"]


def test_a_value_that_cannot_be_written_changes_nothing(store: FileStore, directory: Path) -> None:
    memory = Memory()
    memory.put(store, holding("global", "a"))
    nan = replace(holding("s1", "b"), percepts=(percept("b", w=float("nan")),))
    commit = Commit(images=(holding("global", "c"), nan))

    with pytest.raises(ValueError, match="no place in JSON"):
        store.commit(commit)

    assert ids(directory / "global.json") == ["a"]
    assert names(directory) == [".milkd", "global.json"]


def test_a_store_that_takes_no_files_is_read_only(directory: Path) -> None:
    class Mounted(Files):
        def mkdir(self, path: str, mode: int = 0o700) -> None:
            raise OSError(30, "Read-only file system")

    with pytest.raises(ReadOnly, match="Read-only file system; nothing was changed"):
        Memory().put(FileStore(str(directory), files=Mounted()), holding("global", "a"))


def test_many_sessions_can_be_saved_in_turn(store: FileStore) -> None:
    memory = Memory()
    for number in range(40):
        memory.put(store, holding(f"s{number}", f"p{number}"))

    assert len(store.sessions()) == 40
    assert store.contents("s7") == {"p7": "fact p7"}


def test_only_the_newest_warnings_are_kept(store: FileStore, directory: Path) -> None:
    memory = Memory()
    for _ in range(103):
        memory.put(store, holding("global", "a"))
        (directory / "global.json").unlink()

    assert len(store.warnings) == 100
