"""T2: the power goes at any point, and any part of what was not synced is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from crashfs import CrashFiles
from torture.cuts import states
from torture.keeper import STORE, Keeper
from torture.size import LONG, ROUND, size
from torture.stories import HAND, STORIES, put

if TYPE_CHECKING:
    from crashfs import Tree
    from torture.cuts import State
    from torture.keeper import Facts
    from torture.stories import Story

STATES = 2_000  # of each story, in each round
FURTHER = size(8, 2)  # after one of so many life goes on for a while
AGAIN = 20  # for one of so many, in a long run, the recovery is cut as well

pytestmark = pytest.mark.lasting


def numbers(state: State) -> tuple[int, int]:
    """How many steps had been acknowledged, and how many begun."""
    counted = {"done": 0, "asked": 0}
    counted |= {mark[0]: mark[1] for mark in state.marks if isinstance(mark, tuple)}
    return counted["done"], counted["asked"]


def check(state: State, story: Story) -> Keeper:
    """What is left can be used, and is what was so after some step that may have been the last."""
    done, asked = numbers(state)
    keeper = Keeper(CrashFiles(state.tree))
    assert keeper.refusal is None
    assert keeper.frozen == {}
    found = keeper.facts()
    assert found in story.told[done : asked + 1], explained(found, story, done, asked)
    return keeper


def check_edited(state: State, story: Story) -> Keeper:
    """The same where others write, too: nothing of ours is lost, and nothing of theirs."""
    done, asked = numbers(state)
    keeper = Keeper(CrashFiles(state.tree))
    assert keeper.refusal is None
    assert keeper.frozen == {}
    expected = set.intersection(*(ids(facts) for facts in story.told[done : asked + 1]))
    assert expected <= ids(keeper.facts())
    check_edits_there(state, keeper)
    return keeper


def check_edits_there(state: State, keeper: Keeper) -> None:
    everything = b"\n".join(keeper.files.tree.texts().values())
    edits = [str(mark) for mark in state.marks if str(mark).startswith(HAND)]
    assert [edit for edit in edits if edit.encode() not in everything] == []


def ids(facts: Facts) -> set[tuple[str, str]]:
    """What there is, and where."""
    return {(scope, each) for scope, inner in facts.items() for each in inner}


def check_further(state: State, keeper: Keeper) -> None:
    """Life goes on: what is done next is durable, and a stop leaves things in order."""
    keeper.append([keeper.entry((put("s4", 98),))])
    expected = keeper.facts()
    keeper.stop()
    assert keeper.files.left_open() == 0
    later = Keeper(keeper.files)
    assert later.facts() == expected
    assert later.notes == []
    check_tidy(keeper.files.tree)
    check_edits_there(state, later)
    gone = [str(m).split(" ", 1)[1] for m in state.marks if str(m).startswith("forgotten")]
    texts = keeper.files.tree.texts()
    for said in gone:
        assert [path for path, text in texts.items() if said.encode() in text] == []


def check_tidy(tree: Tree) -> None:
    """After a clean stop the files are the whole truth."""
    names = [path.removeprefix(f"{STORE}/") for path in tree.texts()]
    assert [name for name in names if name.endswith(".tmp")] == []
    assert [name for name in names if name.startswith(".milkd/journal.")] == []


def explained(found: Facts, story: Story, done: int, asked: int) -> str:
    """How far what was found is from what it may be."""
    lines = [f"between step {done} and {asked}:"]
    for number in range(done, asked + 1):
        told = story.told[number]
        for scope in sorted(found.keys() | told.keys()):
            here, there = found.get(scope, {}), told.get(scope, {})
            differ = sorted(k for k in here.keys() | there.keys() if here.get(k) != there.get(k))
            if differ:
                lines.append(f"  {number} {scope}: " + "; ".join(
                    f"{key}: found {here.get(key)}, told {there.get(key)}" for key in differ
                ))  # fmt: skip
    return "\n".join(lines)


@pytest.mark.parametrize("name", STORIES)
def test_what_was_acknowledged_survives_a_power_cut(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    story = STORIES[name]()
    check_first = check_edited if name == "merge" else check
    failures: list[str] = []
    number = again = 0
    for number, state in enumerate(states(story.files, limit=STATES, seed=ROUND), start=1):
        try:
            keeper = check_first(state, story)
            if number % FURTHER == 0:
                check_further(state, keeper)
            if LONG and number % AGAIN == 0:
                for later in states(keeper.files, limit=100, seed=ROUND):
                    check_first(later_of(state, later), story)
                    again += 1
        except Exception as error:
            failures.append(f"{state.told}\n  {type(error).__name__}: {error}")
    with capsys.disabled():
        print(f"\n{name}: {len(story.files.log)} events, {number} states, {again} again, ", end="")
        print(f"{len(failures)} failed")
    assert not failures, "\n".join([f"{len(failures)} of {number}", *failures[:5]])


def later_of(state: State, later: State) -> State:
    """A cut of the recovery itself: what was acknowledged is what had been before it."""
    return replace(later, marks=state.marks)


# A scrub deletes the journals that were put away, and with them what came after a backup.
@pytest.mark.parametrize("name", sorted(STORIES.keys() - {"forget"}))
@pytest.mark.parametrize("spoilt", [b"", bytes(1_000)])
def test_a_file_that_lost_its_bytes_is_made_again_from_backup_and_journals(
    name: str, spoilt: bytes
) -> None:
    story = STORIES[name]()
    for stopped in (False, True):
        if stopped:
            story.keeper.stop()
        for scope in ("global", "s1"):
            tree = story.files.tree.copy()
            (node,) = (node for path, node in tree.walk() if path == f"{STORE}/{scope}.json")
            node.data[:] = spoilt
            keeper = Keeper(CrashFiles(tree))
            assert keeper.refusal is None
            assert keeper.facts() == story.told[-1], (scope, stopped)
