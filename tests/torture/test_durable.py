"""T12: whole daemons on a disk that is slow, fails and loses its power, all by the seed.

What was acknowledged is there in the next life, what was refused is not, and of what
was forgotten there is no trace.  Time is Trio's own, the disk is in memory, and a
seed gives the same schedule each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

import pytest
import trio
import trio.testing

from crashfs import CrashFiles, Mark, Tree
from daemon.doubles import Household, Peer, Refused, TurnedClock, core_of
from milkd.daemon.limits import Limits
from milkd.daemon.session_calls import watch_leases
from milkd.errors import Failure
from milkd.store.store import JournalStore
from torture.cuts import FILLS, GROWTHS, SECTORS, Choice, Disk
from torture.faulty import Fault, FaultyFiles
from torture.keeper import STORE, Keeper
from torture.size import ROUND, size
from torture.stories import RESERVE, milks

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
SEEDS = size(150, 1_000)
LIVES = 3
CLIENTS = 3
SESSIONS = ("s1", "s2", None)
TROUBLE = 0.3  # share of lives in which calls of the disk fail
UNSURE = ("unknown", "ending")
"""Words of a refusal after which it is not known what became of the request."""

pytestmark = pytest.mark.lasting


class MoodyDisk:
    """A disk of unforeseeable speed, whose slow jobs run beside the others."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._lock = trio.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        with trio.CancelScope(shield=True):
            async with self._lock:
                await trio.sleep(self._random.random() / 100)
                result = call()
        return result

    async def slow(self, call: Callable[[Callable[[], None]], T]) -> T:
        with trio.CancelScope(shield=True):
            await trio.sleep(self._random.random() / 10)
        return call(lambda: None)

    async def look(self, call: Callable[[], T]) -> T | None:
        await trio.sleep(self._random.random() / 1_000)
        return call()


@dataclass
class Ledger:
    """What the clients were told, in all lives."""

    kept: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)

    def check(self, contents: list[str]) -> None:
        found = set(contents)
        assert len(found) == len(contents), "a fact is there twice"
        assert self.kept <= found, f"lost: {sorted(self.kept - found)}"
        assert not self.gone & found, f"came back: {sorted(self.gone & found)}"
        assert found <= self.kept | self.doubtful, f"nobody stated {sorted(found - self.kept)}"
        # Where nobody was told, this is what is so from now on.
        self.kept, self.doubtful = found, set()


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
            self.files.mark("end")
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
            told = str(error)
            if any(word in told for word in UNSURE):
                return
            outcome = refused
        else:
            outcome = granted
        self.files.mark("told")
        if content is not None:
            self.ledger.doubtful.discard(content)
            if outcome is not None:
                outcome.add(content)

    def cut_the_power(self) -> Tree:
        """What is left after a cut somewhere between the last answer and now."""
        log, random = self.files.log, self.random
        last = max((at for at, event in enumerate(log) if isinstance(event, Mark)), default=0)
        told = [at for at, event in enumerate(log) if event == Mark("told")]
        first = told[-1] if told and log[last] == Mark("end") else last
        disk = Disk(self.files)
        for event in log[: random.randint(first, len(log))]:
            disk.follow(event)
        sector, share = random.choice(SECTORS), random.random()
        kept = tuple(random.random() < share for _ in disk.units(sector))
        return disk.after(Choice(kept, sector, random.choice(FILLS), random.choice(GROWTHS)))

    def check(self, tree: Tree) -> None:
        """Hold the store to what the clients were told, and let it be clean of the rest."""
        keeper = Keeper(CrashFiles(tree))
        assert (keeper.refusal, keeper.frozen) == (None, {})
        self.ledger.check(contents(keeper))
        try:
            keeper.stop()
        except Failure:
            raise AssertionError("a store on a good disk could not be saved") from None
        # In the reserve there may be what other files had there: it is never read, and not synced.
        texts = b"\n".join(
            text for path, text in keeper.files.tree.texts().items() if "reserve" not in path
        )
        assert [gone for gone in self.ledger.gone if gone.encode() in texts] == []


def contents(keeper: Keeper) -> list[str]:
    """What all facts say."""
    return [p.content for held in keeper.shelf.held.values() for p in held.percepts.values()]


@pytest.fixture
def one_schedule(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Let Trio choose by the seed which task goes first, so that a failure can be repeated."""
    monkeypatch.setattr(trio._core._run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)
    monkeypatch.setattr(trio._core._run, "_r", Random(seed))


@pytest.mark.parametrize("seed", range(ROUND * SEEDS, (ROUND + 1) * SEEDS))
@pytest.mark.usefixtures("one_schedule")
async def test_lives_follow_upon_each_other(
    seed: int, autojump_clock: trio.testing.MockClock
) -> None:
    random = Random(seed)
    world = World(random, FaultyFiles(random.choice((Tree.of(RESERVE), milks()))))
    world.ledger.kept |= set(contents(Keeper(CrashFiles(world.files.tree))))
    for number in range(LIVES):
        await world.live(f"l{number}")
        tree = world.cut_the_power()
        world.check(tree.copy())
        world.files = FaultyFiles(tree)
