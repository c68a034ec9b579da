"""Numbers of entries and of generations are never given out twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from daemon.homes import HomeFiles, ids, open_home, percept
from milkd.engine.changes import PerceptPut, ScopeDropped
from milkd.errors import StorageFailed

if TYPE_CHECKING:
    import os
    from pathlib import Path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


async def test_a_number_is_not_used_again_when_its_scope_leaves_no_file(directory: Path) -> None:
    """Or the facts of a dropped session come back from the journal that was put away."""
    async with open_home(directory) as home:
        await home.enter("s1")
        await home.put(PerceptPut("s1", percept("a")))
        await home.save()
        await home.put(ScopeDropped("s1"))
        newest = home.core.commits.durable
        await home.stop()
    async with open_home(directory) as home:
        assert home.core.commits.durable == newest
        await home.enter("s1")
        await home.put(PerceptPut("s1", percept("b")))
    async with open_home(directory) as home:
        await home.enter("s1")
        assert home.ids("s1") == ["b"]


async def test_generations_go_on_from_those_that_were_put_away(directory: Path) -> None:
    """Or the journal just put away counts as the oldest, and is the first to be deleted."""
    for number in range(1, 9):
        async with open_home(directory) as home:
            await home.put(PerceptPut("global", percept(f"p{number}")))
            await home.stop()
    kept = sorted((directory / ".milkd" / "backup").glob("journal.*"))
    assert [int(path.name.split(".")[1].split("-")[0]) for path in kept] == [4, 5, 6, 7, 8]
    (directory / "global.json").write_bytes(b"")
    async with open_home(directory) as home:
        assert home.ids() == [f"p{number}" for number in range(1, 9)]
    assert ids(directory / "global.json") == [f"p{number}" for number in range(1, 9)]


class NoLooking(HomeFiles):
    """A disk that does not tell what is there."""

    broken = False

    def stat(self, path: str) -> os.stat_result:
        if self.broken:
            raise OSError(5, "Input/output error", path)
        return super().stat(path)


async def test_a_look_that_fails_refuses_a_change_and_no_more(directory: Path) -> None:
    files = NoLooking()
    async with open_home(directory, files=files) as home:
        await home.put(PerceptPut("global", percept("a")))
        files.broken = True
        with pytest.raises(StorageFailed, match="Input/output error"):
            await home.put(PerceptPut("global", percept("b")))
        files.broken = False
        assert home.ids() == ["a"]
        await home.put(PerceptPut("global", percept("c")))
        assert home.ids() == ["a", "c"]
