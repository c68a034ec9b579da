"""The file system that forgets: it behaves as a real one, and forgets what it may, no more."""

from __future__ import annotations

import errno
import inspect
import os
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from crashfs import CrashFiles, Mark, Tree
from milkd.store.files import Files, read_file, write_all
from torture.cuts import State, states

if TYPE_CHECKING:
    from collections.abc import Callable

OLD, NEW = b"o" * 1_000, b"n" * 1_500
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def place(**files: bytes) -> CrashFiles:
    return CrashFiles(Tree.of({f"/d/{name}": data for name, data in files.items()} | {"/d/x": b""}))


def make(files: CrashFiles, path: str, data: bytes, *, sync: bool = True) -> None:
    fd = files.open(path, NEW_FILE)
    write_all(files, fd, data)
    if sync:
        files.fsync(fd)
    files.close(fd)


def append(files: CrashFiles, path: str, data: bytes, *, sync: bool) -> None:
    fd = files.open(path, os.O_WRONLY | os.O_APPEND)
    write_all(files, fd, data)
    if sync:
        files.fdatasync(fd)
    files.close(fd)


def sync_names(files: CrashFiles, path: str = "/d") -> None:
    fd = files.open(path, os.O_RDONLY | os.O_DIRECTORY)
    files.fsync_directory(fd)
    files.close(fd)


def left(files: CrashFiles, path: str, limit: int = 5_000) -> set[bytes | None]:
    """What may be at a path after a cut at the end or earlier."""
    return {state.tree.texts().get(path) for state in states(files, limit=limit)}


def in_the_end(files: CrashFiles, path: str) -> set[bytes | None]:
    """What may be at a path after a cut at the end."""
    files.mark("end")
    number = sum(isinstance(event, Mark) for event in files.log)
    found = [state for state in states(files, limit=20_000) if len(state.marks) == number]
    return {state.tree.texts().get(path) for state in found}


# What is durable


def test_what_was_there_at_first_stays() -> None:
    files = place(a=OLD)
    make(files, "/d/b", NEW, sync=False)
    assert left(files, "/d/a") == {OLD}


def test_a_write_that_was_synced_stays() -> None:
    files = place(a=OLD)
    append(files, "/d/a", NEW, sync=True)
    assert in_the_end(files, "/d/a") == {OLD + NEW}


def test_a_name_goes_unless_its_directory_was_synced() -> None:
    files = place()
    make(files, "/d/a", NEW)
    assert in_the_end(files, "/d/a") == {NEW, None}
    sync_names(files)
    assert in_the_end(files, "/d/a") == {NEW}


def test_of_a_write_that_was_not_synced_any_sector_may_be_there() -> None:
    files = place(a=b"")
    append(files, "/d/a", b"1" * 512 + b"2" * 512 + b"3" * 10, sync=False)
    seen = in_the_end(files, "/d/a")
    blank = bytes(512)
    assert {b"", b"1" * 512, blank + b"2" * 512, blank * 2 + b"3" * 10} <= seen
    assert {blank + b"2" * 512 + b"3" * 10, bytes(1_034)} <= seen


def test_a_sector_is_old_or_new_and_what_was_synced_in_it_stays() -> None:
    files = place(a=OLD)
    append(files, "/d/a", b"n" * 100, sync=False)
    seen = [found or b"" for found in in_the_end(files, "/d/a")]
    assert all(found[:1_000] == OLD for found in seen)
    assert all(found[1_000:1_024] in (b"", b"n" * 24, bytes(24), b"\xa5" * 24) for found in seen)


def test_a_file_may_have_grown_over_bytes_that_another_had() -> None:
    files = place(other=b"secret" * 200, a=b"")
    append(files, "/d/a", NEW, sync=False)
    assert any(b"secret" in (found or b"") for found in in_the_end(files, "/d/a"))


def test_a_rename_may_come_without_the_data() -> None:
    files = place(a=OLD)
    make(files, "/d/t", NEW, sync=False)
    files.rename("/d/t", "/d/a")
    assert {OLD, NEW, b""} <= in_the_end(files, "/d/a")


def test_a_replacement_in_the_right_order_leaves_old_or_new() -> None:
    files = place(a=OLD)
    make(files, "/d/t", NEW)
    files.rename("/d/t", "/d/a")
    assert left(files, "/d/a") == {OLD, NEW}
    sync_names(files)
    assert in_the_end(files, "/d/a") == {NEW}


def test_a_rename_between_directories_is_durable_with_either() -> None:
    for synced in ("/d", "/e"):
        files = CrashFiles(Tree.of({"/d/a": OLD, "/e/x": b""}))
        files.rename("/d/a", "/e/a")
        assert in_the_end(files, "/e/a") == {OLD, None}
        sync_names(files, synced)
        assert in_the_end(files, "/e/a") == {OLD}
        assert in_the_end(files, "/d/a") == {None}


def test_an_unlink_may_be_forgotten() -> None:
    files = place(a=OLD)
    files.unlink("/d/a")
    assert in_the_end(files, "/d/a") == {OLD, None}
    sync_names(files)
    assert in_the_end(files, "/d/a") == {None}


def test_a_hard_link_leads_to_what_the_first_name_leads_to() -> None:
    files = place(a=OLD)
    files.link("/d/a", "/d/b")
    append(files, "/d/a", NEW, sync=True)
    assert files.stat("/d/b").st_nlink == 2
    assert in_the_end(files, "/d/b") == {OLD + NEW, None}


def test_a_truncation_may_be_forgotten() -> None:
    files = place(a=OLD)
    fd = files.open("/d/a", os.O_WRONLY)
    files.ftruncate(fd, 10)
    assert in_the_end(files, "/d/a") == {OLD, OLD[:10]}
    files.fsync(fd)
    assert in_the_end(files, "/d/a") == {OLD[:10]}


def test_a_later_sync_of_a_name_cannot_be_undone_by_an_earlier_change() -> None:
    files = CrashFiles(Tree.of({"/d/x": b"", "/e/x": b""}))
    make(files, "/d/a", NEW)
    files.rename("/d/a", "/e/a")
    sync_names(files, "/e")
    assert in_the_end(files, "/d/a") == {None}


def test_what_is_in_a_lost_directory_is_lost() -> None:
    files = place()
    files.mkdir("/d/new")
    make(files, "/d/new/a", NEW)
    sync_names(files, "/d/new")
    assert in_the_end(files, "/d/new/a") == {NEW, None}


def test_a_cut_in_the_middle_knows_what_had_been_noted() -> None:
    files = place(a=OLD)
    for number in range(3):
        append(files, "/d/a", b"%d" % number, sync=True)
        files.mark(number)
    for state in states(files, limit=1_000):
        text = state.tree.texts()["/d/a"].removeprefix(OLD)
        assert text.startswith(b"012"[: len(state.marks)])


# How the states are chosen


def chosen(seed: int, limit: int = 300) -> list[State]:
    files = place(a=OLD)
    make(files, "/d/t", NEW * 4, sync=False)
    files.rename("/d/t", "/d/a")
    return list(states(files, limit=limit, seed=seed))


def test_the_same_seed_gives_the_same_states() -> None:
    assert [state.told for state in chosen(3)] == [state.told for state in chosen(3)]
    assert [state.told for state in chosen(3)] != [state.told for state in chosen(4)]


def test_there_are_no_more_than_asked_for_and_no_two_alike() -> None:
    found = chosen(0, 100)
    assert len(found) == 100
    assert len({(len(state.marks), repr(state.tree)) for state in found}) == 100


def test_where_there_is_little_to_lose_it_ends() -> None:
    files = place(a=OLD)
    append(files, "/d/a", b"x", sync=False)
    assert len(list(states(files, limit=10**6))) < 20


# As a real one


def test_it_answers_as_a_real_one() -> None:
    with tempfile.TemporaryDirectory(prefix="mk-", dir="/tmp") as real:
        for seed in range(40):
            home = Path(real, str(seed))
            home.mkdir()
            (home / "d").mkdir()
            ours = CrashFiles(Tree.of({f"{home}/d/x": b"x"}))
            (home / "d" / "x").write_bytes(b"x")
            assert steps(ours, str(home), seed) == steps(Files(), str(home), seed)
            found = {str(p): p.read_bytes() for p in home.rglob("*") if p.is_file()}
            assert ours.tree.texts() == found


def steps(files: Files, home: str, seed: int) -> list[Any]:
    """Random calls, and what each of them gave."""
    random, said = Random(seed), list[Any]()
    paths = [f"{home}/d/{name}" for name in "xyz"] + [f"{home}/d", f"{home}/e", f"{home}/e/x"]
    for _ in range(60):
        path, other = random.choice(paths), random.choice(paths[:3])
        number = random.randrange(8)
        calls: list[Callable[[], Any]] = [
            lambda p=path: rewrite(files, p, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),  # type: ignore[misc]
            lambda p=path: rewrite(files, p, os.O_WRONLY | os.O_APPEND),  # type: ignore[misc]
            lambda p=path: rewrite(files, p, NEW_FILE),  # type: ignore[misc]
            lambda p=path: read_file(files, p, 1 << 20)[0],  # type: ignore[misc]
            lambda p=path, o=other: files.link(p, o) if not p.endswith("/d") else None,  # type: ignore[misc]
            lambda p=path: files.unlink(p),  # type: ignore[misc]
            lambda o=other: files.rename(paths[0], o),  # type: ignore[misc]
            lambda p=path: sorted(files.listdir(p)),  # type: ignore[misc]
        ]
        try:
            said.append((number, calls[number]()))
        except OSError as error:
            said.append((number, errno.errorcode[error.errno or 0]))
    return said


def rewrite(files: Files, path: str, flags: int) -> int:
    fd = files.open(path, flags)
    try:
        files.write(fd, b"some text")
        files.ftruncate(fd, 7)
        return files.fstat(fd).st_size
    finally:
        files.close(fd)


def test_a_stamp_changes_with_every_change() -> None:
    files = place(a=OLD)
    before = files.stat("/d/a")
    append(files, "/d/a", b"x", sync=False)
    after = files.stat("/d/a")
    assert before.st_ino == after.st_ino
    assert before.st_mtime_ns < after.st_mtime_ns
    files.link("/d/a", "/d/b")
    assert files.stat("/d/b").st_ctime_ns > after.st_ctime_ns


def test_a_number_is_never_used_again() -> None:
    files = place(a=OLD)
    number = files.stat("/d/a").st_ino
    files.unlink("/d/a")
    make(files, "/d/a", OLD)
    assert files.stat("/d/a").st_ino != number


def test_a_closed_descriptor_is_bad() -> None:
    files = place(a=OLD)
    fd = files.open("/d/a", os.O_RDONLY)
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.write(fd, b"x")
    files.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.fsync(fd)
    assert files.left_open() == 0


def test_it_knows_every_call_there_is() -> None:
    calls = {name for name, _ in inspect.getmembers(Files, inspect.isfunction) if name[0] != "_"}
    assert calls - {"fsync_directory"} <= CrashFiles.__dict__.keys()


def test_a_state_can_be_laid_out_on_a_real_disk(tmp_path: Path) -> None:
    files = place(a=OLD)
    files.link("/d/a", "/d/b")
    files.tree.lay_out(str(tmp_path))
    assert (tmp_path / "d" / "b").read_bytes() == OLD
    assert (tmp_path / "d" / "b").samefile(tmp_path / "d" / "a")
