"""Replacing a file that others write too, and keeping the old one, whichever call fails."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from faulty import Death, FaultyFiles
from milkd.store.files import Files, SyncFailed, current_stamp
from milkd.store.replace import ANY, TEMPORARY, Overtaken, Replacement, keep

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from milkd.store.files import Stamp
    from milkd.store.replace import Anything

    Edit = Callable[[Path], None]

OLD = b"the old text, longer than the new one"
NEW = [b"the new ", b"text"]


class NoLinks(FaultyFiles):
    """A file system that knows no hard links."""

    def link(self, old: str, new: str) -> None:
        self._step("link", int)
        raise OSError(errno.EPERM, "Operation not permitted")


class Scene:
    """A file that is to be replaced, and kept in a directory that is not there yet."""

    def __init__(self, directory: Path, files: FaultyFiles | None = None) -> None:
        directory.mkdir()
        self.files = files or FaultyFiles()
        self.target = directory / "global.json"
        self.target.write_bytes(OLD)
        self.target.chmod(0o600)
        self.backup = directory / "own" / "backup" / "global.1.json"
        self.expected: Stamp | Anything | None = current_stamp(Files(), str(self.target))
        self.replacement = Replacement(self.files, str(self.target))
        self.written = False

    def replace(self) -> None:
        try:
            self.replacement.write(NEW)
            self.written = True
            self.replacement.publish(self.expected, str(self.backup))
        finally:
            self.replacement.discard()

    def leftovers(self) -> list[str]:
        everywhere = [name for _, _, names in os.walk(self.target.parent) for name in names]
        return sorted(set(everywhere) - {self.target.name, self.backup.name})

    @property
    def is_new(self) -> bool:
        text = self.target.read_bytes()
        assert text in (OLD, b"".join(NEW))
        return text != OLD

    @property
    def is_kept(self) -> bool:
        assert not self.backup.exists() or self.backup.read_bytes() == OLD
        return self.backup.exists()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "memory")


def test_the_old_file_is_kept_and_the_new_one_known(scene: Scene) -> None:
    inode = scene.target.stat().st_ino

    scene.replace()

    assert scene.is_new
    assert scene.backup.read_bytes() == OLD
    assert scene.backup.stat().st_ino == inode
    assert scene.replacement.stamp == current_stamp(Files(), str(scene.target))
    assert scene.leftovers() == []


def test_the_backup_is_durable_before_the_file_is_replaced(scene: Scene) -> None:
    scene.files.arm(0)

    scene.replace()

    steps = ["write", "fsync", "link", "rename"]
    calls = [call for call in scene.files.calls if call in steps]
    assert calls == [
        "write",
        "write",
        "fsync",
        "fsync",
        "fsync",
        "link",
        "fsync",
        "rename",
        "fsync",
    ]


def test_without_links_there_is_a_copy(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "memory", NoLinks())

    scene.replace()

    assert scene.is_new
    assert scene.backup.read_bytes() == OLD
    assert scene.leftovers() == []


def test_of_a_symlinked_file_the_real_one_is_kept(scene: Scene) -> None:
    real = scene.target.rename(scene.target.parent / "real.json")
    scene.target.symlink_to(real)
    scene.expected = current_stamp(Files(), str(scene.target))
    scene.replacement = Replacement(scene.files, str(scene.target))

    scene.replace()

    assert scene.target.is_symlink()
    assert real.read_bytes() == b"".join(NEW)
    assert scene.backup.read_bytes() == OLD
    assert not scene.backup.is_symlink()


def test_where_there_was_no_file_there_is_no_backup(scene: Scene) -> None:
    scene.target.unlink()
    scene.expected = None

    scene.replace()

    assert scene.is_new
    assert not scene.backup.parent.exists()


@pytest.mark.parametrize("there", [True, False])
def test_whatever_is_there_may_be_replaced(scene: Scene, *, there: bool) -> None:
    if not there:
        scene.target.unlink()
    scene.expected = ANY

    scene.replace()

    assert scene.is_new
    assert scene.is_kept == there


def test_nothing_that_was_not_written_is_published(scene: Scene) -> None:
    with pytest.raises(ValueError, match=r"nothing was written for .*global\.json"):
        scene.replacement.publish(ANY)

    assert not scene.is_new


def edit_in_place(path: Path) -> None:
    path.write_bytes(b"theirs")


def replace_it(path: Path) -> None:
    path.with_suffix(".theirs").write_bytes(b"theirs")
    path.with_suffix(".theirs").rename(path)


def edit_and_set_the_time_back(path: Path) -> None:
    before = path.stat()
    path.write_bytes(b"theirs".ljust(before.st_size))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def remove(path: Path) -> None:
    path.unlink()


def link_elsewhere(path: Path) -> None:
    other = path.with_suffix(".theirs")
    other.write_bytes(b"theirs")
    path.unlink()
    path.symlink_to(other)


EDITS = [edit_in_place, replace_it, edit_and_set_the_time_back, remove, link_elsewhere]


@pytest.mark.parametrize("edit", EDITS)
def test_what_another_program_wrote_is_not_replaced(scene: Scene, edit: Edit) -> None:
    edit(scene.target)
    before = current_stamp(Files(), str(scene.target))

    with pytest.raises(Overtaken, match=r"another program wrote .*global\.json") as caught:
        scene.replace()

    assert caught.value.path == str(scene.target)
    assert current_stamp(Files(), str(scene.target)) == before
    assert not scene.backup.exists()
    assert [name for name in scene.leftovers() if name.endswith(".tmp")] == []


def test_a_file_that_another_program_made_is_not_replaced(scene: Scene) -> None:
    scene.expected = None

    with pytest.raises(Overtaken):
        scene.replace()

    assert not scene.is_new


@pytest.mark.parametrize("edit", [edit_in_place, replace_it, remove, link_elsewhere])
def test_what_is_written_while_the_old_file_is_kept_is_not_replaced(
    tmp_path: Path, edit: Edit
) -> None:
    class Busy(FaultyFiles):
        def link(self, old: str, new: str) -> None:
            super().link(old, new)
            edit(tmp_path / "memory" / "global.json")

    scene = Scene(tmp_path / "memory", Busy())

    with pytest.raises(Overtaken):
        scene.replace()

    assert scene.target.exists() == (edit is not remove)
    assert not scene.target.exists() or scene.target.read_bytes() == b"theirs"
    assert not scene.backup.exists()


def test_a_backup_of_that_name_is_not_touched(scene: Scene) -> None:
    scene.backup.parent.mkdir(parents=True)
    scene.backup.write_bytes(b"another one")

    with pytest.raises(FileExistsError):
        scene.replace()

    assert not scene.is_new
    assert scene.backup.read_bytes() == b"another one"


def test_a_file_can_be_replaced_again_after_a_failure(scene: Scene) -> None:
    class Stuck(FaultyFiles):
        stuck = True

        def rename(self, old: str, new: str) -> None:
            if self.stuck:
                raise OSError(errno.EIO, "Input/output error")
            super().rename(old, new)

    files = Stuck()
    scene.replacement = Replacement(files, str(scene.target))
    with pytest.raises(OSError, match="Input/output error"):
        scene.replace()
    assert (scene.is_new, scene.is_kept) == (False, False)

    files.stuck = False
    scene.expected, scene.replacement = (
        scene.replacement.stamp,
        Replacement(files, str(scene.target)),
    )
    scene.replace()

    assert (scene.is_new, scene.is_kept) == (True, True)


ERRORS = [errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EMFILE]
every_file_system = pytest.mark.parametrize("kind", [FaultyFiles, NoLinks])


def calls_of(directory: Path, kind: type[FaultyFiles]) -> list[str]:
    """The file calls when nothing fails."""
    scene = Scene(directory, kind())
    scene.files.arm(0)
    scene.replace()
    return list(scene.files.calls)


def attempt(scene: Scene) -> OSError | None:
    try:
        scene.replace()
    except OSError as error:
        return error
    return None


@every_file_system
@pytest.mark.parametrize("error", ERRORS)
def test_one_call_fails(tmp_path: Path, kind: type[FaultyFiles], error: int) -> None:
    calls = calls_of(tmp_path / "0", kind)
    outcomes = set()
    for number, name in enumerate(calls, start=1):
        scene = Scene(tmp_path / str(number), kind())
        scene.files.arm(number, error)

        failure = attempt(scene)

        outcome = "done" if failure is None else "unsynced" if scene.is_new else "failed"
        assert failure is None or failure.errno == error
        assert isinstance(failure, SyncFailed) == (failure is not None and name == "fsync")
        assert scene.is_new or failure is not None
        assert scene.is_kept == scene.is_new
        assert scene.leftovers() == []
        scene.files.arm(0)
        if scene.written and name != "stat":  # by which the stamp would have been had
            assert scene.replacement.stamp == current_stamp(Files(), str(scene.target))
        outcomes.add(outcome)
    assert outcomes == {"done", "unsynced", "failed"}


@every_file_system
def test_one_write_is_short(tmp_path: Path, kind: type[FaultyFiles]) -> None:
    calls = calls_of(tmp_path / "0", kind)
    for number in [n for n, name in enumerate(calls, start=1) if name == "write"]:
        scene = Scene(tmp_path / str(number), kind())
        scene.files.arm(number)

        scene.replace()

        assert (scene.is_new, scene.is_kept) == (True, True)


@every_file_system
@pytest.mark.parametrize("error", [*ERRORS, Death])
def test_every_call_fails_from_then_on(
    tmp_path: Path, kind: type[FaultyFiles], error: int | type[Death]
) -> None:
    calls = calls_of(tmp_path / "0", kind)
    for number in range(1, len(calls) + 1):
        scene = Scene(tmp_path / str(number), kind())
        scene.files.arm(number, error, for_ever=True)

        try:
            scene.replace()
        except (OSError, Death):
            pass
        else:
            assert scene.is_new

        assert not scene.is_new or scene.is_kept
        assert [name for name in scene.leftovers() if not TEMPORARY.fullmatch(name)] == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP])
def test_a_second_name_is_a_copy_where_links_do_not_work(tmp_path: Path, number: int) -> None:
    class Odd(Files):
        def link(self, old: str, new: str) -> None:
            raise OSError(number, os.strerror(number))

    (tmp_path / "one").write_bytes(OLD)
    (tmp_path / "one").chmod(0o600)

    keep(Odd(), str(tmp_path / "one"), str(tmp_path / "two"))

    assert (tmp_path / "two").read_bytes() == OLD
    assert (tmp_path / "two").stat().st_ino != (tmp_path / "one").stat().st_ino
