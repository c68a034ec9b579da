"""Every file call of an append and a checkpoint fails once, or from then on.

Whatever happens, each file is the old one or the new one, complete; what was
acknowledged is there at the next start, and what was refused is not.
"""

from __future__ import annotations

import errno
import json
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from daemon.homes import holding, percept
from faulty import Death, FaultyFiles
from milkd.engine.changes import PerceptDropped, PerceptPut, ScopeDropped
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.errors import Failure, ReadOnly, StorageFailed, StorageFull
from milkd.store.entries import Done, Entry
from milkd.store.files import Files, Poisoned
from milkd.store.seal import Seal
from milkd.store.store import JournalStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from milkd.engine.changes import Change
    from milkd.store.interface import Store

NOON = 1_780_000_000.0
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
    holding("s2"),
]
CHANGES: tuple[Change, ...] = (
    PerceptDropped("s1", "promoted"),
    PerceptPut("global", percept("promoted")),
    PerceptDropped("global", "stale"),
    PerceptPut("archive", percept("stale")),
    PerceptDropped("s2", "unwanted"),
    ScopeDropped("s2"),
)
DONE = Done("op", "00ff", "record", {"id": "promoted"})
EXPECTED = {errno.ENOSPC: StorageFull, errno.EROFS: ReadOnly, errno.EIO: StorageFailed}
Facts = dict[str, list[str]]


def facts(store: Store) -> Facts:
    """The percepts of every scope, as a start finds them."""
    found: Facts = {}
    for image in OLD:
        scope = store.find(image.name)
        engine = Engine(DEFAULT)
        engine.put_back(scope.loaded.image)
        engine.apply_all(change for _, change in scope.replay)
        found[image.name] = [each.id for each in engine.image(image.name).percepts]
    return found


BEFORE = {image.name: [each.id for each in image.percepts] for image in OLD}
AFTER = {image.name: [each.id for each in image.percepts] for image in NEW}


def opened(directory: Path, files: Files | None = None) -> JournalStore:
    store = JournalStore(str(directory), files=files, now=lambda: NOON)
    for scope in store.open().scopes:
        store.find(scope)
    return store


class Scene:
    """A store with four files, and an operation that bears on all of them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.files = FaultyFiles()
        first = opened(directory, self.files)
        first.append([Entry(1, NOON, "test", ())])
        first.publish(first.write(OLD, 1, [], lambda: None))
        first.finish()
        self.store = opened(directory, self.files)
        self.old = self.texts()
        self.overtaken: list[str] = []

    def append(self) -> None:
        self.store.append([Entry(2, NOON, "test", CHANGES, DONE)])

    def checkpoint(self) -> None:
        seq = self.store.rotate()
        published = self.store.publish(self.store.write(NEW, seq, [DONE], lambda: None))
        self.overtaken = published.overtaken
        if published.error is not None:
            raise published.error
        self.store.retire(keep=True)

    def attempt(self) -> str:
        """What a client was told of the operation."""
        try:
            self.append()
        except Poisoned:
            return "unknown"
        except Failure:
            return "refused"
        with suppress(Failure):
            self.checkpoint()
            self.store.finish()
        return "done"

    def texts(self) -> dict[str, bytes]:
        paths = self.directory.glob("*.json")
        return {path.name: path.read_bytes() for path in paths}

    def temporary(self) -> list[str]:
        every = [name for _, _, names in os.walk(self.directory) for name in names]
        return [name for name in every if name.endswith(".tmp")]

    def check(self, outcome: str) -> None:
        """What the next start finds."""
        for name, text in self.texts().items():
            scope = name.removesuffix(".json")
            held = [entry["id"] for entry in json.loads(text)["percepts"]]
            assert held in (BEFORE[scope], AFTER[scope])
        again = JournalStore(str(self.directory), now=lambda: NOON)
        found = again.open()
        assert found.refusal is None
        assert self.temporary() == []
        now = facts(again)
        assert now in {"done": [AFTER], "refused": [BEFORE], "unknown": [AFTER, BEFORE]}[outcome]
        assert (now == AFTER) == ([done.op_id for done in found.operations] == ["op"])
        again.append([Entry(again.newest + 1, NOON, "test", ())])
        again.finish()


@contextmanager
def scene_at(directory: Path) -> Iterator[Scene]:
    scene = Scene(directory)
    yield scene
    scene.files.close_all()


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The file calls of it all when nothing fails."""
    with scene_at(tmp_path_factory.mktemp("scene") / "memory") as scene:
        scene.files.arm(0)
        assert scene.attempt() == "done"
        made = list(scene.files.calls)
        scene.check("done")
        assert not list(scene.directory.glob(".milkd/journal.*"))
    return made


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_one_call_fails(tmp_path: Path, calls: list[str], error: int) -> None:
    outcomes = set()
    for number in range(1, len(calls) + 1):
        with scene_at(tmp_path / str(number)) as scene:
            scene.files.arm(number, error)
            outcome = scene.attempt()
            scene.files.arm(0)

            assert scene.temporary() == []
            if outcome == "refused":
                assert scene.texts() == scene.old
                scene.append()
                outcome = "done"
                outcomes.add("refused")
            scene.check(outcome)
            outcomes.add(outcome)
    assert outcomes == {"done", "refused", "unknown"}


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_every_call_fails_from_then_on(tmp_path: Path, calls: list[str], error: int) -> None:
    for number in range(1, len(calls) + 1):
        with scene_at(tmp_path / str(number)) as scene:
            scene.files.arm(number, error, for_ever=True)
            outcome = scene.attempt()
            scene.files.arm(0)
            scene.check(outcome)


def test_what_failed_can_be_done_again(tmp_path: Path, calls: list[str]) -> None:
    for number in range(1, len(calls) + 1):
        with scene_at(tmp_path / str(number)) as scene:
            scene.append()
            scene.files.arm(number, errno.EIO)
            with suppress(Failure):
                scene.checkpoint()
            scene.files.arm(0)
            scene.checkpoint()
            for scope in scene.overtaken:  # it took its own file for another program's
                theirs = scene.store.theirs(scope)
                assert theirs.loaded is not None
                assert theirs.loaded.sealed is Seal.OURS
                scene.store.adopt(scope, theirs, None)
            scene.checkpoint()
            scene.store.finish()

            assert {name: ids for name, ids in AFTER.items() if name != "s2"} == {
                name.removesuffix(".json"): [entry["id"] for entry in json.loads(text)["percepts"]]
                for name, text in scene.texts().items()
            }
            assert list(scene.directory.glob(".milkd/journal.*")) == []
            scene.check("done")


def test_one_write_is_short(tmp_path: Path, calls: list[str]) -> None:
    for number in [n for n, name in enumerate(calls, start=1) if name == "write"]:
        with scene_at(tmp_path / str(number)) as scene:
            scene.files.arm(number)
            assert scene.attempt() == "done"
            scene.check("done")


def until_death(scene: Scene) -> str:
    """What a client was told before the process died."""
    told = "unknown"
    try:
        scene.append()
        told = "done"
        scene.checkpoint()
        scene.store.finish()
    except Death:
        return told
    raise AssertionError("it lives")


def test_the_process_dies_at_any_call(tmp_path: Path, calls: list[str]) -> None:
    for number in range(1, len(calls) + 1):
        with scene_at(tmp_path / str(number)) as scene:
            scene.files.arm(number, Death)
            scene.check(until_death(scene))


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_the_kind_of_failure_is_told(tmp_path: Path, error: int) -> None:
    with scene_at(tmp_path / "memory") as scene:
        (scene.directory / ".milkd" / "reserve").unlink()
        scene.files.arm(1, error, for_ever=True)
        with pytest.raises(EXPECTED[error]):
            scene.append()
        with pytest.raises(EXPECTED[error]):
            scene.store.rotate()
        with pytest.raises(EXPECTED[error]):
            scene.store.write(NEW, 1, [], lambda: None)
