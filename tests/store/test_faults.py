"""Every file call of a save fails once: the old files or the new ones, complete."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from milkd.engine.changes import PerceptDropped, PerceptPut, ScopeDropped
from milkd.engine.percept import Percept, ScopeImage
from milkd.errors import Failure, ReadOnly, StorageFull
from milkd.store.files import Files
from milkd.store.snapshot import image_to_bytes
from milkd.store.store import FileStore, Poisoned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from milkd.engine.changes import Change


def percept(name: str) -> Percept:
    content = f"the fact {name} is long enough to be written in two pieces"
    return Percept(id=name, content=content, producer="user", w=0.5, created_at=0.0, updated_at=1.0)


def holding(scope: str, *names: str) -> ScopeImage:
    return ScopeImage(name=scope, percepts=tuple(percept(name) for name in names))


OLD = [
    holding("global", "stale", "kept"),
    holding("archive", "ancient"),
    holding("s1", "promoted", "young"),
    holding("s2", "unwanted"),
]
NEW = [
    holding("global", "kept", "promoted"),
    holding("archive", "ancient", "stale"),
    holding("s1", "young"),
]
CHANGES: list[Change] = [
    PerceptDropped("s1", "promoted"),
    PerceptPut("global", percept("promoted")),
    PerceptDropped("global", "stale"),
    PerceptPut("archive", percept("stale")),
    ScopeDropped("s2"),
]
EXPECTED = {errno.ENOSPC: StorageFull, errno.EROFS: ReadOnly, errno.EIO: Failure}


class FaultyFiles(Files):
    """Fails the n-th call after `arm(n)`; with no error, that call writes half of its data."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._fail_at = 0
        self._error: int | None = None
        self._for_ever = False

    def arm(self, fail_at: int, error: int | None = None, *, for_ever: bool = False) -> None:
        self.calls = []
        self._fail_at, self._error, self._for_ever = fail_at, error, for_ever

    def _due(self, name: str) -> bool:
        self.calls.append(name)
        count = len(self.calls)
        return count == self._fail_at or (self._for_ever and 0 < self._fail_at <= count)

    def _step(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        if self._due(name) and self._error is not None:
            raise OSError(self._error, os.strerror(self._error))
        return call(*arguments)

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        fd: int = self._step("open", super().open, path, flags, mode)
        return fd

    def close(self, fd: int) -> None:
        super().close(fd)
        self._step("close", int)

    def read(self, fd: int, size: int) -> bytes:
        data: bytes = self._step("read", super().read, fd, size)
        return data

    def write(self, fd: int, data: bytes | memoryview) -> int:
        short = len(self.calls) + 1 == self._fail_at and self._error is None
        count: int = self._step(
            "write", super().write, fd, data[: len(data) // 2] if short else data
        )
        return count

    def fsync(self, fd: int) -> None:
        self._step("fsync", int)

    def fstat(self, fd: int) -> os.stat_result:
        found: os.stat_result = self._step("fstat", super().fstat, fd)
        return found

    def stat(self, path: str) -> os.stat_result:
        found: os.stat_result = self._step("stat", super().stat, path)
        return found

    def rename(self, old: str, new: str) -> None:
        self._step("rename", super().rename, old, new)

    def link(self, old: str, new: str) -> None:
        self._step("link", super().link, old, new)

    def unlink(self, path: str) -> None:
        self._step("unlink", super().unlink, path)

    def mkdir(self, path: str, mode: int = 0o700) -> None:
        self._step("mkdir", super().mkdir, path, mode)

    def listdir(self, path: str) -> list[str]:
        names: list[str] = self._step("listdir", super().listdir, path)
        return names


class Scene:
    """A store with four files, one of which another program changed since it was loaded."""

    def __init__(self, directory: Path, files: FaultyFiles | None = None) -> None:
        self.directory = directory
        self.files = files or FaultyFiles()
        directory.mkdir()
        for image in OLD:
            (directory / f"{image.name}.json").write_bytes(image_to_bytes(image))
        self.store = FileStore(str(directory), files=self.files)
        for image in OLD:
            self.store.load(image.name)
        path = directory / "s1.json"
        path.write_bytes(path.read_bytes() + b"\n")
        self.old = self.texts()
        self.new: dict[str, bytes | None] = {
            **{f"{image.name}.json": image_to_bytes(image) for image in NEW},
            "s2.json": None,
        }

    def save(self) -> None:
        images = {image.name: image for image in NEW}
        self.store.commit(self.store.prepare(CHANGES, images.__getitem__))

    def texts(self) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        for image in OLD:
            path = self.directory / f"{image.name}.json"
            found[path.name] = path.read_bytes() if path.exists() else None
        return found

    def everywhere(self) -> list[str]:
        return [name for _, _, names in os.walk(self.directory) for name in names]

    def kept(self) -> list[bytes]:
        return [path.read_bytes() for path in self.directory.glob(".milkd/quarantine/*")]

    def check(self, outcome: str) -> None:
        texts = self.texts()
        assert outcome != "changed" or texts == self.new
        assert outcome != "unchanged" or texts == self.old
        for name, text in texts.items():
            assert text in (self.old[name], self.new[name])
        held = "".join(text.decode() for text in texts.values() if text)
        facts = ["stale", "kept", "ancient", "promoted", "young"]
        assert [fact for fact in facts if f'"id": "{fact}"' not in held] == []
        if texts["s1.json"] != self.old["s1.json"]:
            assert self.old["s1.json"] in self.kept()


def attempt(scene: Scene, expected: type[Exception] = Failure) -> str:
    try:
        scene.save()
    except Poisoned:
        return "unknown"
    except expected:
        return "unchanged"
    return "changed"


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The file calls of the save when nothing fails."""
    scene = Scene(tmp_path_factory.mktemp("scene") / "memory")
    scene.files.arm(0)
    scene.save()
    scene.check("changed")
    assert len(scene.kept()) == 1
    return list(scene.files.calls)


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_one_call_fails(tmp_path: Path, calls: list[str], error: int) -> None:
    outcomes = set()
    for number, name in enumerate(calls, start=1):
        scene = Scene(tmp_path / str(number))
        scene.files.arm(number, error)

        outcome = attempt(scene, EXPECTED[error])

        scene.check(outcome)
        assert name != "fsync" or outcome == "unknown"
        assert [name for name in scene.everywhere() if name.endswith(".tmp")] == []
        if outcome == "unchanged":
            scene.files.arm(0)
            scene.save()
            scene.check("changed")
            assert len(scene.kept()) == 1
        outcomes.add(outcome)
    assert outcomes == {"changed", "unchanged", "unknown"}


def test_one_write_is_short(tmp_path: Path, calls: list[str]) -> None:
    for number in [n for n, name in enumerate(calls, start=1) if name == "write"]:
        scene = Scene(tmp_path / str(number))
        scene.files.arm(number)

        scene.save()

        scene.check("changed")
        for path in scene.directory.rglob("*.json"):
            json.loads(path.read_bytes())


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_every_call_fails_from_then_on(tmp_path: Path, calls: list[str], error: int) -> None:
    for number in range(1, len(calls) + 1):
        scene = Scene(tmp_path / str(number))
        scene.files.arm(number, error, for_ever=True)

        outcome = attempt(scene)

        scene.check(outcome)
        FileStore(str(scene.directory))
        assert [name for name in scene.everywhere() if name.endswith(".tmp")] == []


def test_the_process_dies_at_any_call(tmp_path: Path, calls: list[str]) -> None:
    class Death(BaseException):
        pass

    class Mortal(FaultyFiles):
        def _step(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
            if self._due(name):
                raise Death
            return call(*arguments)

    for number in range(1, len(calls) + 1):
        scene = Scene(tmp_path / str(number), Mortal())
        scene.files.arm(number, for_ever=True)

        with pytest.raises(Death):
            scene.save()

        after = FileStore(str(scene.directory))
        assert [name for name in scene.everywhere() if name.endswith(".tmp")] == []
        held = [
            percept.id
            for scope in ("global", "archive", "s1")
            for percept in after.load(scope).image.percepts
        ]
        assert sorted(held) == ["ancient", "kept", "promoted", "stale", "young"]
