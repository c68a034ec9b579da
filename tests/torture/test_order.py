"""T7: the order of writes, syncs, renames and answers, read off the log of every story."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from crashfs import CrashFiles, Mark, Names, Sync, Truncate, Write
from torture.cuts import Choice, Disk
from torture.keeper import STORE, Keeper
from torture.stories import STORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crashfs import Event, Tree
    from torture.stories import Story

OWN = f"{STORE}/.milkd"

pytestmark = pytest.mark.lasting


class Reader:
    """Follows a log: what has a name now, and which files and directories are not synced."""

    def __init__(self, files: CrashFiles) -> None:
        self.names = {n: dict(node.names) for n, node in files.start.nodes.items()}
        self.unsynced: set[int] = set()

    def follow(self, event: Event) -> None:
        if isinstance(event, Write | Truncate):
            self.unsynced.add(event.node)
        elif isinstance(event, Sync):
            self.unsynced.discard(event.node)
        elif isinstance(event, Names):
            for directory, name, node in event.changes:
                self.unsynced.add(directory)
                inner = self.names.setdefault(directory, {})
                if node is None:
                    inner.pop(name, None)
                else:
                    inner[name] = node

    def place(self, path: str) -> int:
        """The number of what is at a path now."""
        number = 1
        for step in path.strip("/").split("/"):
            number = self.names[number][step]
        return number


def read(story: Story) -> Iterator[tuple[Reader, Event]]:
    """Every event with what was so before it."""
    reader = Reader(story.files)
    for event in story.files.log:
        yield reader, event
        reader.follow(event)


def called(event: Event, name: str) -> list[int]:
    """The nodes that get a name ending so by an event."""
    if not isinstance(event, Names):
        return []
    return [node for _, each, node in event.changes if node is not None and each.endswith(name)]


@pytest.mark.parametrize("name", STORIES)
def test_no_file_gets_its_name_before_its_bytes_are_synced(name: str) -> None:
    renames = 0
    for reader, event in read(STORIES[name]()):
        if isinstance(event, Names) and len(event.changes) == 2:
            renames += 1
            assert not reader.unsynced & set(called(event, ".json"))
    assert renames or name == "append"


@pytest.mark.parametrize("name", STORIES)
def test_when_an_answer_leaves_every_journal_is_synced(name: str) -> None:
    answers = 0
    for reader, event in read(STORIES[name]()):
        if isinstance(event, Mark) and isinstance(event.label, tuple) and event.label[0] == "done":
            answers += 1
            inside = reader.names[reader.place(OWN)]
            journals = {node for each, node in inside.items() if each.startswith("journal.")}
            assert journals
            assert not reader.unsynced & journals
    assert answers


@pytest.mark.parametrize("name", STORIES)
def test_a_journal_goes_only_when_what_is_durable_can_do_without(name: str) -> None:
    story = STORIES[name]()
    reader, disk, gone = Reader(story.files), Disk(story.files), 0
    for event in story.files.log:
        for going in leaving(event, reader):
            gone += 1
            tree = disk.after(Choice((False,) * len(disk.units(512))))
            expected = Keeper(CrashFiles(tree)).facts()
            forget(tree, going)
            assert Keeper(CrashFiles(tree)).facts() == expected
        if not isinstance(event, Mark):
            disk.follow(event)
        reader.follow(event)
    assert gone or name == "append"


def leaving(event: Event, reader: Reader) -> list[str]:
    """The journals that an event takes away."""
    if not isinstance(event, Names):
        return []
    own = reader.place(OWN) if ".milkd" in reader.names[reader.place(STORE)] else 0
    return [
        name
        for directory, name, node in event.changes
        if directory == own and name.startswith("journal.") and node is None
    ]


def forget(tree: Tree, name: str) -> None:
    """Take a journal out of a tree."""
    for node in tree.nodes.values():
        node.names.pop(name, None)
