"""Repairs and restorations that break off anywhere lose nothing, and can be run again.

The store is in memory; the directory of the same name on the disk is there for its lock.
"""

from __future__ import annotations

import contextlib
import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from crashfs import CrashFiles, Tree
from faulty import Death, FaultyFiles
from milkd.engine.changes import EdgeDropped, EdgePut, PerceptDropped, PerceptPut
from milkd.engine.percept import ScopeImage
from milkd.errors import MilkdError
from milkd.store.entries import Done, Entry
from milkd.store.snapshot import image_to_bytes
from milkd.store.store import JournalStore
from milkd.upkeep.check import check
from milkd.upkeep.onlooking import Onlooker
from milkd.upkeep.repair import Choice, repair
from milkd.upkeep.report import Level
from milkd.upkeep.restoring import restore
from milkd.upkeep.taking import Taking
from torture.cuts import states
from torture.size import ROUND, portion, size
from upkeep.stores import edge, percept

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from milkd.engine.changes import Change
    from milkd.store.files import Files

CUTS = size(40, 600)  # states of each story
FAULTS = 8  # of each story, in the short column
ROUNDS = 4
Facts = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Story:
    """A damaged store, and how it is mended.

    Attributes:
        spoil: What is done to the files, by path in the store.
        mend: Does all that is to be done.
        kept: A text that no file but a damaged one had; it must not get lost.
        forgotten: A text that the last entry says is to be in no file any more.
    """

    spoil: Callable[[dict[str, bytes]], None]
    mend: Callable[[str, Files], object]
    kept: bytes = b""
    forgotten: bytes = b""


def journal_of(texts: dict[str, bytes], number: int) -> str:
    (path,) = (path for path in texts if f"/.milkd/journal.{number:08d}-" in path)
    return path


def flip(texts: dict[str, bytes], path: str, text: bytes) -> None:
    assert text in texts[path]
    texts[path] = texts[path].replace(text, bytes([text[0] ^ 1]) + text[1:], 1)


def spoil_journal(texts: dict[str, bytes]) -> None:
    flip(texts, journal_of(texts, 3), b"fact 12")


def spoil_two(texts: dict[str, bytes]) -> None:
    spoil_journal(texts)
    del texts[journal_of(texts, 4)]


def spoil_global(texts: dict[str, bytes]) -> None:
    (path,) = (path for path in texts if path.endswith("memory/global.json"))
    texts[path] = texts[path][:-100] + b"only here"


def spoil_both(texts: dict[str, bytes]) -> None:
    spoil_global(texts)
    spoil_journal(texts)


def wipe_session(texts: dict[str, bytes]) -> None:
    (path,) = (path for path in texts if path.endswith("memory/s1.json"))
    texts[path] = b"\0" * len(texts[path])


def nothing(_texts: dict[str, bytes]) -> None:
    pass


def plainly(store: str, files: Files) -> None:
    repair(store, files=files)


def by_backup(store: str, files: Files) -> None:
    repair(store, Choice("global"), files=files)


def by_file(store: str, files: Files) -> None:
    repair(store, Choice("global", f"{store}/../mine.json"), files=files)


def restored(store: str, files: Files) -> None:
    restore(store, "global", f"{store}/../mine.json", files=files)


STORIES = {
    "a damaged journal": Story(spoil_journal, plainly, b"gact 12"),
    "a damaged journal and a missing one": Story(spoil_two, plainly, b"gact 12"),
    "damage, and something was forgotten": Story(spoil_journal, plainly, forgotten=b"fact 13"),
    "a restoration, and something was forgotten": Story(nothing, restored, forgotten=b"fact 13"),
    "a wiped session": Story(wipe_session, plainly),
    "a backup is accepted": Story(spoil_global, by_backup, b"only here"),
    "a backup is accepted beside damage": Story(spoil_both, by_backup, b"only here"),
    "a file is used": Story(spoil_global, by_file, b"only here"),
    "a file is restored": Story(nothing, restored, b"fact 13"),
    "a file is restored over damage": Story(spoil_global, restored, b"only here"),
}
every_story = pytest.mark.parametrize("name", STORIES)


class Writer:
    """Fills a store as a milkd does, and dies."""

    def __init__(self, path: str, files: Files) -> None:
        self.store = JournalStore(path, files=files)
        self.store.open()
        for scope in ("global", "archive"):
            self.store.find(scope)
        self.seq = 0

    def put(self, *changes: Change) -> None:
        self.seq += 1
        done = Done(f"op{self.seq}", "aa", "record", {"id": "x"})
        self.store.append([Entry(self.seq, 1.0, "record", changes, done)])

    def save(self, *images: ScopeImage) -> None:
        self.store.rotate()
        written = self.store.write(images, self.seq, [], lambda: None)
        assert self.store.publish(written).error is None
        self.store.retire(keep=True)


def live(path: str, files: Files, *, forget: bool) -> None:
    writer = Writer(path, files)
    for number in (1, 2):
        writer.put(PerceptPut("global", percept(number)))
    writer.put(PerceptPut("s1", percept(3)), EdgePut("s1", edge(3, 1)))
    both = ScopeImage(name="global", percepts=(percept(1), percept(2)))
    writer.save(both, ScopeImage(name="s1", percepts=(percept(3),), edges=(edge(3, 1),)))
    writer.put(PerceptPut("global", percept(2, w=0.75)))
    writer.put(PerceptPut("s1", percept(3, w=0.75)))
    both = ScopeImage(name="global", percepts=(percept(1), percept(2, w=0.75)))
    writer.save(both, ScopeImage(name="s1", percepts=(percept(3, w=0.75),), edges=(edge(3, 1),)))
    for number, scope in ((11, "s1"), (12, "s2"), (13, "global")):
        writer.put(PerceptPut(scope, percept(number)))
    writer.store.rotate()
    writer.put(PerceptPut("s2", percept(14)))
    writer.store.rotate()
    writer.put(EdgeDropped("s1", edge(3, 1)), PerceptDropped("s1", percept(3).id))
    writer.put(PerceptPut("s2", percept(15)))
    if forget:
        gone = percept(13).id
        change = PerceptDropped("global", gone)
        writer.store.append([Entry(writer.seq + 1, 1.0, "forget", (change,), scrub=(gone,))])


@pytest.fixture
def store(tmp_path: Path) -> str:
    (tmp_path / "memory").mkdir(mode=0o700)
    return str(tmp_path / "memory")


def spoilt(story: Story, store: str) -> dict[str, bytes]:
    """All files, in and beside a damaged store."""
    files = CrashFiles()
    live(store, files, forget=bool(story.forgotten))
    texts = files.tree.texts()
    mine = ScopeImage(name="global", percepts=(percept(1), percept(21)))
    texts[store.replace("/memory", "/mine.json")] = image_to_bytes(mine)
    story.spoil(texts)
    return texts


def facts(store: str, files: Files) -> Facts:
    """What a milkd would find."""
    taking = Taking(store, Onlooker(files))
    taking.open()
    assert taking.opened.refusal is None
    assert not [scope for scope, held in taking.scopes.items() if held.waits]
    return {
        scope: {each.id: f"{each.content} {each.w}" for each in held.image.percepts}
        for scope, held in taking.scopes.items()
        if held.image is not None and held.image.percepts
    }


def assert_mended(story: Story, store: str, files: CrashFiles, expected: Facts) -> None:
    assert facts(store, files) == expected
    report = check(store, files)
    assert [each for each in report.findings if each.level == Level.ERROR] == []
    everything = b"\n".join(files.tree.texts().values())
    assert story.kept in everything
    assert not story.forgotten or story.forgotten not in everything
    assert files.left_open() == 0


@every_story
def test_a_power_cut_at_any_point_costs_nothing(name: str, store: str) -> None:
    story = STORIES[name]
    files = CrashFiles(Tree.of(spoilt(story, store)))
    story.mend(store, files)
    expected = facts(store, files)
    assert_mended(story, store, files, expected)
    for state in states(files, limit=CUTS, seed=ROUND):
        again = CrashFiles(state.tree)
        story.mend(store, again)
        assert_mended(story, store, again, expected)


def lay(texts: dict[str, bytes], place: Path) -> None:
    """All files on the disk, below a place."""
    for path, data in texts.items():
        file = place / path.strip("/")
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_bytes(data)


@every_story
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, None, Death])
def test_a_call_that_fails_costs_nothing(
    name: str, error: int | type[Death] | None, tmp_path: Path
) -> None:
    story, store = STORIES[name], str(tmp_path / "a" / "memory")
    texts = spoilt(story, store)
    lay(texts, tmp_path / "0")
    place = FaultyFiles()
    there = str(tmp_path / "0" / store.strip("/"))
    place.arm(0)
    story.mend(there, place)
    expected, calls = facts(there, place), len(place.calls)
    for at in portion(list(range(1, calls + 1)), FAULTS, ROUNDS):
        lay(texts, tmp_path / str(at))
        there = str(tmp_path / str(at) / store.strip("/"))
        place.arm(at, error)
        with contextlib.suppress(MilkdError, Death):
            story.mend(there, place)
        place.close_all()
        place.arm(0)
        story.mend(there, place)
        assert facts(there, place) == expected, (at, error)
        report = check(there)
        assert [each for each in report.findings if each.level == Level.ERROR] == [], at
