"""Sessions that are loaded a few percepts at a time, whatever happens between two of these."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from daemon.homes import Home, holding, ids, lay, open_home, percept
from milkd.engine.changes import PerceptDropped, PerceptPut
from milkd.engine.compaction import FEWEST

if TYPE_CHECKING:
    from pathlib import Path

MANY = [f"x{number}" for number in range(500)]
TURNS = [1, 2, 3, 4, 6, 8, 12]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


async def turns(count: int) -> None:
    for _ in range(count):
        await trio.lowlevel.checkpoint()


async def is_loading(home: Home) -> bool:
    """Let others have a turn; whether the session is not loaded after it."""
    await trio.lowlevel.checkpoint()
    return not home.core.engine.is_loaded("s1")


async def test_others_have_their_turns_meanwhile(directory: Path) -> None:
    lay(directory, holding("s1", *MANY))
    async with open_home(directory) as home, trio.open_nursery() as nursery:
        nursery.start_soon(home.enter, "s1")
        seen = 0
        while await is_loading(home):
            seen += 1
        assert seen > len(MANY) / 100
        assert home.ids("s1") == MANY


@pytest.mark.parametrize("count", TURNS)
async def test_an_edit_that_comes_meanwhile_is_not_lost(directory: Path, count: int) -> None:
    lay(directory, holding("s1", *MANY))
    path = directory / "s1.json"
    async with open_home(directory) as home:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(home.enter, "s1")
            await turns(count)
            file = json.loads(path.read_bytes())
            file["percepts"][7]["content"] = "theirs"
            path.write_text(json.dumps(file))
            await home.core.edits.look()
        await home.core.edits.look()
        assert home.image("s1").percepts[7].content == "theirs"
        await home.put(PerceptPut("s1", percept("y")))
        await home.stop()
    file = json.loads(path.read_bytes())
    assert (file["percepts"][7]["content"], file["percepts"][-1]["id"]) == ("theirs", "y")


@pytest.mark.parametrize("count", TURNS)
async def test_what_is_saved_meanwhile_can_be_changed_after(directory: Path, count: int) -> None:
    lay(directory, holding("s1", *MANY))
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(PerceptPut("s1", percept("y")))
        home.core.sessions.close("s1")
        home.core.loading.sweep()
        assert not home.core.engine.is_loaded("s1")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(home.enter, "s1")
            await turns(count)
            assert await home.save()
        assert home.ids("s1") == [*MANY, "y"]
        await home.put(PerceptPut("s1", percept("z")))
        await home.stop()
    assert ids(directory / "s1.json") == [*MANY, "y", "z"]


async def test_who_gives_up_waiting_leaves_nothing_behind(directory: Path) -> None:
    lay(directory, holding("s1", *MANY))
    async with open_home(directory) as home:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(home.enter, "s1")
            await turns(5)
            nursery.cancel_scope.cancel()
        assert not home.core.engine.is_loaded("s1")
        assert "s1" not in home.core.commits.kept.all()
        await home.enter("s1")
        assert home.ids("s1") == MANY


async def test_after_a_checkpoint_the_rows_of_what_was_dropped_are_gone(
    directory: Path, autojump_clock: trio.testing.MockClock
) -> None:
    names = [f"{number:04x}" for number in range(FEWEST + 10)]
    lay(directory, holding("global", *names))
    async with open_home(directory) as home:
        await home.put(*(PerceptDropped("global", name) for name in names[:-1]))
        assert len(home.core.engine.capture("global").texts) == len(names)
        await trio.sleep(10_000)
        assert home.ids() == names[-1:]
        assert len(home.core.engine.capture("global").texts) == 1
        await home.put(PerceptPut("global", percept("new")))
        await home.stop()
    assert ids(directory / "global.json") == [names[-1], "new"]
