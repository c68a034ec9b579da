"""Saving without a descriptor to be had."""

from __future__ import annotations

import errno
import os
import resource
from typing import TYPE_CHECKING

import pytest

from daemon.homes import contents, ids, journals, percept
from milkd.engine.changes import PerceptPut
from milkd.engine.percept import ScopeImage
from milkd.errors import StorageFailed
from milkd.store.entries import Entry
from milkd.store.files import Files
from milkd.store.spare import COUNT, Spare
from milkd.store.store import JournalStore

if TYPE_CHECKING:
    from pathlib import Path


class Crowded(Files):
    """A process that has no descriptors left but those that somebody gives up."""

    def __init__(self) -> None:
        self.left = 1_000
        self.error = errno.EMFILE

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        if self.left <= 0:
            raise OSError(self.error, os.strerror(self.error), path)
        self.left -= 1
        return super().open(path, flags, mode)

    def close(self, fd: int) -> None:
        super().close(fd)
        self.left += 1


class Given(Spare):
    """Spare descriptors of a crowded process."""

    def __init__(self, files: Crowded) -> None:
        super().__init__()
        self.files = files
        self.given = 0

    def give_up(self) -> bool:
        found = super().give_up()
        self.files.left += COUNT * found
        self.given += found
        return found

    def keep(self) -> None:
        if not self._fds and self.files.left >= COUNT:
            super().keep()
            self.files.left -= COUNT


def crowded(directory: Path) -> tuple[JournalStore, Crowded, Given]:
    """A store with one fact in its journal, whose process then has no descriptors left."""
    files = Crowded()
    store = JournalStore(str(directory), files=files)
    spare = store._spare = Given(files)
    store.open()
    store.append([Entry(1, 0.0, "test", (PerceptPut("global", percept("a")),))])
    files.left = 0
    return store, files, spare


@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE])
def test_a_checkpoint_uses_the_spare_ones(tmp_path: Path, error: int) -> None:
    store, files, spare = crowded(tmp_path)
    files.error = error
    for round_ in range(2):
        image = ScopeImage(name="global", percepts=(percept("a"), percept(f"b{round_}")))
        store.append([Entry(2 + round_, 0.0, "test", (PerceptPut("global", percept("b")),))])
        written = store.write([image], store.rotate(), [], lambda: None)
        published = store.publish(written)
        assert (published.error, published.overtaken) == (None, [])
        store.retire(keep=True)
        assert ids(tmp_path / "global.json") == ["a", f"b{round_}"]
    assert spare.given >= 6
    store.finish()
    assert journals(tmp_path) == []


def test_without_spare_ones_it_fails_and_changes_nothing(tmp_path: Path) -> None:
    store, _, spare = crowded(tmp_path)
    spare.give_up()
    store._files.left = 0  # type: ignore[attr-defined]
    before = contents(tmp_path)
    for _ in range(2):
        with pytest.raises(StorageFailed, match="Too many open files"):
            store.write([ScopeImage(name="global")], 1, [], lambda: None)
        with pytest.raises(StorageFailed, match="Too many open files"):
            store.rotate()
    assert contents(tmp_path) == before


def test_another_failure_leaves_them_alone(tmp_path: Path) -> None:
    store, files, spare = crowded(tmp_path)
    files.error = errno.EIO
    with pytest.raises(StorageFailed):
        store.rotate()
    assert spare.given == 0


def test_what_was_given_up_is_taken_again() -> None:
    spare = Spare()
    spare.keep()
    tries = iter([errno.EMFILE, None])

    def call() -> str:
        error = next(tries)
        if error is not None:
            raise OSError(error, "none left")
        return "done"

    assert spare.lend(call) == "done"
    assert spare.give_up()
    assert not spare.give_up()


def test_as_many_are_kept_as_there_are() -> None:
    def take() -> int:
        raise OSError(errno.EMFILE, "none left")

    spare = Spare(take)
    spare.keep()
    assert not spare.give_up()


def test_they_go_with_the_store(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    store = JournalStore(str(tmp_path))
    store.open()
    assert len(os.listdir("/proc/self/fd")) == len(before) + COUNT
    del store
    assert len(os.listdir("/proc/self/fd")) == len(before)


def use_up(taken: list[int]) -> None:
    """Take descriptors until there are none."""
    while True:
        taken.append(os.dup(0))


def test_with_the_real_limit(tmp_path: Path) -> None:
    store = JournalStore(str(tmp_path))
    store.open()
    store.append([Entry(1, 0.0, "test", (PerceptPut("global", percept("a")),))])
    image = ScopeImage(name="global", percepts=(percept("a"),))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.dup(0)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 8, hard))
        with pytest.raises(OSError, match="Too many open files"):
            use_up(taken)
        for _ in range(2):  # the second time there is an old file to keep
            published = store.publish(store.write([image], store.rotate(), [], lambda: None))
            assert published.error is None
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert ids(tmp_path / "global.json") == ["a"]
