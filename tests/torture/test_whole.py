"""T12: whole daemons with all kinds of clients, in virtual time and by the seed.

The server, its listener and connections, the writer and the store are the real ones;
sockets and disk are in memory.  Every request is answered once and in order, nothing
that was told or shown is lost when the power fails, nobody holds up anybody else, and
nothing is left open in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from crashfs import CrashFiles, Tree
from loopback import loopback
from moody import simulate
from torture.faulty import FaultyFiles
from torture.keeper import Keeper
from torture.reckoning import check, contents, cut_the_power
from torture.size import ROUND, size
from torture.stories import RESERVE, milks
from torture.world import World

if TYPE_CHECKING:
    from random import Random

SEEDS = size(60, 1_000)
LIVES = 2

pytestmark = pytest.mark.lasting


async def lives(random: Random) -> list[object]:
    """Some lives of a daemon on one disk; all that happened."""
    world = World(random, FaultyFiles(random.choice((Tree.of(RESERVE), milks()))))
    world.ledger.kept |= set(contents(Keeper(CrashFiles(world.files.tree))))
    happened: list[object] = []
    with loopback(random):
        for number in range(LIVES):
            await world.live(f"l{number}")
            happened += [*world.files.log, *map(repr, world.trace)]
            tree = cut_the_power(world.files, random)
            check(tree.copy(), world.ledger)
            world.files = FaultyFiles(tree)
    return happened


@pytest.mark.parametrize("seed", range(ROUND * SEEDS, (ROUND + 1) * SEEDS))
def test_all_goes_well_whoever_comes(seed: int) -> None:
    simulate(seed, lives)


@pytest.mark.parametrize("seed", [3, 14])
def test_a_seed_tells_all(seed: int) -> None:
    first, second = simulate(seed, lives), simulate(seed, lives)
    assert first == second
    assert first != simulate(seed + 1, lives)
