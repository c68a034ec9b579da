"""T12: whole daemons on a disk that is slow, fails and loses its power, all by the seed.

What was acknowledged is there in the next life, what was refused is not, and of what
was forgotten there is no trace.  Time is Trio's own, the disk is in memory, and a
seed gives the same schedule each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
import trio

from crashfs import CrashFiles, Tree
from daemon.doubles import Household, Peer, Refused, TurnedClock, core_of
from milkd.daemon.limits import Limits
from milkd.daemon.session_calls import watch_leases
from milkd.store.store import JournalStore
from moody import MoodyDisk, simulate
from torture.faulty import Fault, FaultyFiles
from torture.keeper import STORE, Keeper
from torture.reckoning import END, TOLD, Ledger, check, contents, cut_the_power, unsure
from torture.size import ROUND, size
from torture.stories import RESERVE, milks

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

SEEDS = size(150, 1_000)
LIVES = 3
CLIENTS = 3
SESSIONS = ("s1", "s2", None)
TROUBLE = 0.3  # share of lives in which calls of the disk fail

pytestmark = pytest.mark.lasting


@dataclass
class World:
    """What one seed makes."""

    random: Random
    files: FaultyFiles
    ledger: Ledger = field(default_factory=Ledger)

    async def live(self, name: str) -> None:
        """One life of the daemon, from its start to a sudden end."""
        clock, limits = TurnedClock(), Limits(
            linger_s=0.02, lease_s=0.2, lease_check_s=0.05, checkpoint_entries=5
        )  # fmt: skip
        store = JournalStore(STORE, files=self.files, now=lambda: clock.wall)
        core = core_of(store, clock, disk=MoodyDisk(self.random), limits=limits)
        core.new_id = lambda: str(UUID(int=self.random.getrandbits(128), version=4))
        house = Household(core, clock)
        if self.random.random() < TROUBLE:
            self.files.fault = self.trouble()
        async with house.living():
            house.start_task(watch_leases, house.core)
            with trio.move_on_after(self.random.random()):
                async with trio.open_nursery() as nursery:
                    for number in range(CLIENTS):
                        nursery.start_soon(self.client, house, f"{name}c{number}x")
            self.files.mark(END)
        self.files.fault = Fault()

    def trouble(self) -> Fault:
        how = self.random.choice(("EIO", "ENOSPC", "EROFS", "short"))
        return Fault(self.random.randrange(1, 300), how, self.random.random() < 0.3)

    async def client(self, house: Household, name: str) -> None:
        peer = await house.connect()
        for step in range(1_000):
            session = self.random.choice(SESSIONS)
            place = {} if session is None else {"session": session}
            await self.do(peer, f"{name}{step}", place)
            await trio.sleep(self.random.random() / 100)

    async def do(self, peer: Peer, name: str, place: dict[str, str]) -> None:
        match self.random.randrange(9):
            case 0 | 1 | 2:
                content = f"{name}a {name}b {name}c"
                call = partial(peer.call, "record", content=content, producer="user", **place)
                await self.ask(call, content, self.ledger.kept)
            case 3:
                for content in sorted(self.ledger.kept - self.ledger.doubtful)[:1]:
                    self.ledger.kept.discard(content)
                    call = partial(peer.call, "forget", ref=content, all=True, **place)
                    await self.ask(call, content, self.ledger.gone, self.ledger.kept)
            case 4:
                await self.ask(partial(peer.call, "consolidate"))
            case 5:
                await self.ask(partial(peer.call, "snapshot"))
            case 6 if place:
                await self.ask(partial(peer.call, "session_close", **place))
            case 7:
                prompt = f"what of {name[:3]}"
                await self.ask(partial(peer.call, "inject", prompt=prompt, **place))
            case _:
                await self.ask(partial(peer.call, "query", text=name, **place))

    async def ask(
        self,
        call: Callable[[], object],
        content: str | None = None,
        granted: set[str] | None = None,
        refused: set[str] | None = None,
    ) -> None:
        """Ask for something, and note what that makes of a content."""
        if content is not None:
            self.ledger.doubtful.add(content)
        try:
            await call()  # type: ignore[misc]  # what Peer.call returns
        except Refused as error:
            if unsure(error):
                return
            outcome = refused
        else:
            outcome = granted
        self.files.mark(TOLD)
        if content is not None:
            self.ledger.doubtful.discard(content)
            if outcome is not None:
                outcome.add(content)


@pytest.mark.parametrize("seed", range(ROUND * SEEDS, (ROUND + 1) * SEEDS))
def test_lives_follow_upon_each_other(seed: int) -> None:
    simulate(seed, lives)


async def lives(random: Random) -> None:
    world = World(random, FaultyFiles(random.choice((Tree.of(RESERVE), milks()))))
    world.ledger.kept |= set(contents(Keeper(CrashFiles(world.files.tree))))
    for number in range(LIVES):
        await world.live(f"l{number}")
        tree = cut_the_power(world.files, random)
        check(tree.copy(), world.ledger)
        world.files = FaultyFiles(tree)
