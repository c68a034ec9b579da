"""Things to do with a store, for tests that break off in the middle or let the disk fail."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

from crashfs import CrashFiles, Tree
from milkd.engine.changes import (
    EdgeDropped,
    EdgePut,
    EngramDropped,
    EngramPut,
    Passed,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
    Used,
)
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Engram, Percept
from sitting import NOON, percept
from torture.keeper import STORE, Facts, Keeper, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

RESERVE = {f"{STORE}/.milkd/reserve": b"r" * (256 << 10)}
"""There already, so that it makes no states of its own."""
SECRET = "the alarm code is swordfish"


@dataclass
class Story:
    """What was done to a store, and what was so after each step of it.

    Attributes:
        told: The facts after each step; the first are those at the beginning.
        asked: How many steps were begun.
        done: How many were acknowledged.
    """

    files: CrashFiles
    keeper: Keeper
    told: list[Facts] = field(default_factory=list)
    asked: int = 0
    done: int = 0

    @classmethod
    def on(cls, tree: Tree) -> Story:
        files = CrashFiles(tree)
        keeper = Keeper(files)
        keeper.settle()
        return cls(files, keeper, [keeper.facts()])

    def do(self, *steps: Step, kind: str = "record") -> None:
        """Do some things that become durable together."""
        entries = []
        for step in steps:
            entries.append(self.keeper.entry(step, kind=kind))
            self.told.append(self.keeper.facts())
            self.asked += 1
        self.files.mark(("asked", self.asked))
        self.keeper.append(entries)
        self.done = self.asked
        self.files.mark(("done", self.done))

    def do_in_parts(self, *parts: Step) -> None:
        """Do one thing that is too large for one entry."""
        last = len(parts) - 1
        entries = [self.keeper.entry(p, more=i < last) for i, p in enumerate(parts)]
        self.told.append(self.keeper.facts())
        self.asked += 1
        self.files.mark(("asked", self.asked))
        self.keeper.append(entries)
        self.done = self.asked
        self.files.mark(("done", self.done))

    def checkpoint(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.keeper.checkpoint(meanwhile)

    def take_in(self) -> None:
        """Merge what others wrote."""
        for changes in self.keeper.merge():
            self.do(changes, kind="merge")

    def restart(self) -> None:
        """Stop in good order, and start again."""
        self.keeper.stop()
        self.keeper = Keeper(self.files)
        self.keeper.settle()


def put(scope: str, number: int, words: str = "", **more: object) -> PerceptPut:
    """A fact, the same for the same number and words."""
    said = f"dock{number} is kept by guard{number} {words}".strip()
    return PerceptPut(scope, percept(said, number, **more), None)


def id_of(number: int) -> str:
    return percept("", number).id


def passed(scope: str, running: float) -> Passed:
    return Passed(scope, running, 60.0, 3_600.0, 0.0)


def engram(number: int) -> Engram:
    ids = (id_of(number + 2),)
    return Engram(
        id=f"e{number}",
        subject_label=f"dock {number}",
        composite_w=0.5,
        percept_ids=ids,
        created_at=NOON,
        updated_at=NOON,
    )


def steps(first: int = 501) -> Iterator[Step]:
    """Small things to do, without end: of every kind, in three scopes, some over two files."""
    for n in count(first, 10):
        yield (put(GLOBAL, n), put(GLOBAL, n + 1, "and " + "very " * (n % 50) + "well"))
        yield (put("s1", n + 2, w=0.5), EdgePut("s1", Edge(id_of(n + 2), id_of(n), "extends")))
        yield (put("s1", n + 3, "für Ärzte ✓"), put("s2", n + 4))
        yield (passed(GLOBAL, 60.0 * n), passed("s1", 60.0 * n), passed("s2", 60.0 * n))
        yield (PerceptDropped("s1", id_of(n + 3)), put(GLOBAL, n + 3, "für Ärzte ✓"))
        yield (Used(GLOBAL, (id_of(n),), NOON + n), put(GLOBAL, n, evidence=1, w=0.8))
        yield (PerceptDropped(GLOBAL, id_of(n + 1)), put(ARCHIVE, n + 1, archived_at=NOON))
        yield (EngramPut("s1", engram(n)),)
        yield (EdgeDropped("s1", Edge(id_of(n + 2), id_of(n), "extends")),)
        yield (put("s3", n + 5), put("s3", n + 6))
        yield (ScopeDropped("s3"),)
        yield (
            *(PerceptDropped(GLOBAL, id_of(each)) for each in (n, n + 3)),
            PerceptDropped(ARCHIVE, id_of(n + 1)),
            EngramDropped("s1", f"e{n}"),
            *(PerceptDropped(f"s{scope}", id_of(n + each)) for scope, each in ((1, 2), (2, 4))),
        )


@cache
def started() -> Tree:
    """A store that has been used, and was stopped in good order."""
    story = Story.on(Tree.of(RESERVE))
    doing = steps(1)
    for _ in range(6):
        story.do(next(doing))
    story.keeper.stop()
    return story.files.tree


def some(doing: Iterator[Step], number: int) -> list[Step]:
    """The next things to do."""
    return [next(doing) for _ in range(number)]


def append() -> Story:
    """Entries, many of them together."""
    story, doing = Story.on(started()), steps()
    for number in (1, 1, 3, 1, 9, 2, 14, 1, 20, 5, 16, 24, 18):
        story.do(*some(doing, number))
    story.do_in_parts(*some(doing, 12))
    return story


def checkpoint() -> Story:
    """Checkpoints, with entries before, beside and after."""
    story, doing = Story.on(started()), steps()
    for number in (2, 3, 1, 5, 12, 4, 1, 7, 3, 2):
        story.do(*some(doing, number))
        story.checkpoint(lambda: story.do(*some(doing, 3)))
        story.do(next(doing))
    return story


def stop() -> Story:
    """Stops in good order, and starts."""
    story, doing = Story.on(started()), steps()
    for number in (3, 1, 7, 2, 5, 1, 9, 4, 6, 2):
        story.do(*some(doing, number))
        story.restart()
    story.do(next(doing))
    return story


def old_file(*percepts: Percept, session: bool = False) -> bytes:
    """A file as milk leaves it."""
    listed = [
        {
            "id": each.id,
            "content": each.content,
            "producer": each.producer,
            "w": each.w,
            "roles": {} if session else {"theme": "docks"},
            "created_at": "2026-05-24T10:11:12.123456789+02:00",
            "updated_at": "2026-05-24T10:11:12.1+02:00",
        }
        for each in percepts
    ]
    return json.dumps({"percepts": listed, "engrams": None, "edges": None}, indent=2).encode()


@cache
def milks() -> Tree:
    """A store that milk has left, with a fact that is in two files."""
    twice = percept("the harbour has two cranes", 90)
    files = {
        f"{STORE}/global.json": old_file(twice, percept("lunch is at noon", 91)),
        f"{STORE}/s1.json": old_file(twice, percept("the gate is shut", 92), session=True),
    }
    return Tree.of(files)


def migrate() -> Story:
    """The first writes of milkd to a store of milk's."""
    story, doing = Story.on(milks()), steps()
    for number in (8, 3, 1, 11, 2, 6, 4):
        story.do(*some(doing, number))
        story.checkpoint(lambda: story.do(*some(doing, 5)))
    story.restart()
    story.do((put("s1", 93),))
    return story


def forget() -> Story:
    """Facts are stated, saved, reworded, kept in backups, and forgotten."""
    story, doing = Story.on(started()), steps()
    for number in range(7, 11):
        said = f"{SECRET} {number}"
        story.do(next(doing), (PerceptPut("s1", percept(said, number)),))
        story.checkpoint()
        story.do((PerceptPut("s1", percept(f"{said} now", number)),))
        story.checkpoint()
        story.do(*some(doing, 3))
        story.do((PerceptDropped("s1", id_of(number)),), kind="forget")
        story.files.mark(f"forgotten {SECRET} {number}")
        story.checkpoint(lambda: story.do(*some(doing, 2)))
        story.restart()
    return story


HAND = "written by another hand"


def edit(files: CrashFiles, scope: str, number: int) -> None:
    """What an editor does: change a fact of a file, add one, and save it beside and over it."""
    path = f"{STORE}/{scope}.json"
    document = json.loads(files.tree.texts()[path])
    if document["percepts"]:
        document["percepts"][0]["content"] += " of old"
    added = json.loads(old_file(percept(f"{HAND} {number}", number)))["percepts"]
    document["percepts"] += added
    fd = files.open(f"{path}~", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    files.write(fd, json.dumps(document, indent=1).encode())
    files.fsync(fd)
    files.close(fd)
    files.rename(f"{path}~", path)
    fd = files.open(STORE, os.O_RDONLY | os.O_DIRECTORY)
    files.fsync_directory(fd)
    files.close(fd)
    files.mark(f"{HAND} {number}")


def merge() -> Story:
    """Others edit the files meanwhile."""
    story, doing = Story.on(started()), steps()
    for number in range(71, 89, 3):
        story.do(*some(doing, 2))
        edit(story.files, "s1", number)
        story.do(next(doing))
        story.take_in()
        story.do(*some(doing, 2))
        story.checkpoint()
        edit(story.files, "global", number + 1)
        edit(story.files, "s1", number + 2)
        story.take_in()
        story.checkpoint(lambda: story.do(*some(doing, 3)))
    story.restart()
    return story


STORIES: Mapping[str, Callable[[], Story]] = {
    "append": append,
    "checkpoint": checkpoint,
    "stop": stop,
    "migrate": migrate,
    "merge": merge,
    "forget": forget,
}
