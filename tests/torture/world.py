"""A machine with a disk, a daemon and its clients, all of it in one process and by a seed."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import trio

from daemon.doubles import LEXICON
from loopback import MemoryListening
from milkd.daemon.clock import Clock
from milkd.daemon.core import Core, Identity
from milkd.daemon.fatal import EXIT_IO
from milkd.daemon.limits import Limits
from milkd.daemon.server import Server
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.store.store import JournalStore
from moody import MoodyDisk
from torture.faulty import Fault, FaultyFiles
from torture.guests import KINDS, Guest, Left, pinger, worker
from torture.keeper import STORE
from torture.reckoning import END, Ledger, unsure

if TYPE_CHECKING:
    from random import Random

EPOCH = 1_800_000_000.0
TROUBLE = 0.3  # share of lives in which calls of the disk fail
IDLE = 20.0  # virtual seconds until it stops when nobody is there
LIMITS = Limits(
    connections=10,
    spare=2,
    refusals=2,
    lease_s=5.0,
    lease_check_s=1.0,
    linger_s=0.5,
    checkpoint_entries=20,
    checkpoint_idle_s=10.0,
)
Task = Callable[["World", str], Awaitable[None]]


class Name:
    """The daemon's address: clients find the socket by it."""

    path = "/socket"

    def __init__(self, listening: MemoryListening) -> None:
        self._listening = listening

    def is_ours(self) -> bool:
        return self._listening.named

    def remove(self) -> None:
        self._listening.named = False


@dataclass(eq=False)
class World:
    """What one seed makes."""

    random: Random
    files: FaultyFiles
    ledger: Ledger = field(default_factory=Ledger)
    trace: list[tuple[object, ...]] = field(default_factory=list)
    limits: Limits = LIMITS

    async def live(self, name: str) -> None:
        """One life of the daemon, from its start to some end."""
        was_open = self.files.left_open()  # by one whose process ended without closing all
        self.listening = MemoryListening()
        self.over = trio.Event()  # guests are to leave
        self.killed = self.crowded = False
        self.bad: set[Guest] = set()
        self.shown: set[str] = set()
        core = self._core()
        server = Server(
            core,
            cast("Any", self.listening),
            address=cast("Any", Name(self.listening)),
            idle_exit_s=IDLE,
        )
        if self.random.random() < TROUBLE:
            how = self.random.choice(("EIO", "ENOSPC", "EROFS", "short"))
            self.files.fault = Fault(self.random.randrange(1, 300), how, self.random.random() < 0.3)
        self.sound = not self.files.fault.at
        core.config.start()
        end = self.random.choice(ENDS)
        self.note(name, end.__name__)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._guests, name)
            code = await end(self, server)
            self.note(name, "code", code)
            self.files.mark(END)
            nursery.cancel_scope.cancel()
        self.files.fault = Fault()
        if code is not None:
            self._check_empty(core, server, code)
            assert code == 0 or (code == EXIT_IO and not self.sound)
        # Asked to stop twice, it leaves what it knows to the journal.
        if code == 0 and self.sound and not core.checkpoints._given_up:
            self._check_tidy(was_open)

    def _core(self) -> Core:
        clock = Clock(
            wall=lambda: EPOCH + trio.current_time(),
            mono=lambda: 4_096 + trio.current_time(),
            boot=lambda: 4_096 + trio.current_time(),
        )
        identity = Identity(version="0", run_id="run", pid=1, store=STORE, socket=Name.path)
        core = Core(
            Engine(DEFAULT, LEXICON),
            JournalStore(STORE, files=self.files, now=clock.wall),
            identity,
            config_path="/nonexistent/config.json",
            clock=clock,
            disk=MoodyDisk(self.random),
            limits=self.limits,
        )
        core.load_store()
        return core

    # Guests

    async def _guests(self, name: str) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.welcome, pinger, f"{name}p")
            nursery.start_soon(self.welcome, worker, f"{name}w")
            for number in range(self.random.randint(2, 7)):
                await trio.sleep(self.random.random() * 5)
                kind = self.random.choice(KINDS)
                nursery.start_soon(self.welcome, kind, f"{name}{kind.__name__}{number}")

    async def welcome(self, task: Task, name: str) -> None:
        """Run one of them, until it goes or the daemon hangs up."""
        try:
            await task(self, name)
        except* (Left, ConnectionRefusedError):
            self.note(name, "was left")

    def may_leave(self, guest: Guest) -> bool:
        """Whether the daemon may hang up on somebody whom it owes something."""
        return self.ending or self.crowded or guest in self.bad

    @property
    def ending(self) -> bool:
        """Whether the daemon is on its way out, for whatever reason."""
        return self.killed or self.listening.closed

    # What they were told

    def note(self, *what: object) -> None:
        """Write down what happened."""
        self.trace.append((trio.current_time(), *what))

    def stated(self, content: str, _: Any, refusal: str | None) -> None:
        if refusal is None:
            self.ledger.doubtful.discard(content)
            self.ledger.kept.add(content)
        elif not unsure(refusal):
            assert content not in self.shown, f"{content} was shown, and refused: {refusal}"
            self.ledger.doubtful.discard(content)

    def forgetting(self, content: str) -> None:
        self.ledger.kept.discard(content)
        self.ledger.doubtful.add(content)

    def forgotten(self, content: str, _: Any, refusal: str | None) -> None:
        if refusal is None or not unsure(refusal):
            self.ledger.doubtful.discard(content)
            (self.ledger.gone if refusal is None else self.ledger.kept).add(content)

    def seen(self, gone: frozenset[str], result: Any, refusal: str | None) -> None:
        """What somebody was shown lasts; what was gone before is not among it."""
        if refusal is None:
            found = {percept["content"] for percept in result["percepts"]}
            assert not found & gone
            self.shown |= found

    # What must be so when it has ended by itself

    def _check_empty(self, core: Core, server: Server, code: int) -> None:
        assert self.listening.closed
        assert [each for each in self.listening.accepted if not each.closed] == []
        assert not server._listener._connections
        assert not core.callers
        assert not core.hub._subscriptions
        assert core.flights.count == 0
        assert code or not core.sessions.names()

    def _check_tidy(self, was_open: int) -> None:
        assert self.files.left_open() == was_open
        names = [path for path in self.files.tree.texts() if "/backup/" not in path]
        assert [name for name in names if "journal." in name or name.endswith(".tmp")] == []


# How a life ends: the exit code, or None.


async def crash(world: World, server: Server) -> int | None:
    """The power fails, or somebody kills it."""
    with trio.CancelScope() as life:

        def kill() -> None:
            world.killed = True
            life.cancel()

        return await _until(world, server, kill)
    return None


async def stop(world: World, server: Server) -> int | None:
    """It is told to stop, perhaps twice."""
    return await _until(world, server, lambda: server.stop())


async def twice(world: World, server: Server) -> int | None:
    """It is told to stop, and told again."""

    async def tell() -> None:
        server.stop()
        await trio.sleep(world.random.random() * 2)
        server.stop()

    return await _until(world, server, tell)


async def idle(world: World, server: Server) -> int | None:
    """Everybody leaves, and it stops after a while."""
    return await _until(world, server, world.over.set, IDLE + 2 * world.limits.request_s)


async def lost_name(world: World, server: Server) -> int | None:
    """Somebody removes its socket."""

    def remove() -> None:
        world.listening.named = False

    return await _until(world, server, remove, world.limits.socket_watch_s)


async def _until(
    world: World, server: Server, act: Callable[[], Any], patience: float = 0.0
) -> int:
    """Serve for a while, do something, and wait for the end, which comes in time."""
    limits = world.limits
    code: list[int] = []
    began = math.inf  # it may end by itself before it is told to

    async def serve() -> None:
        code.append(await server.run())
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        await trio.sleep(world.random.random() * 60)
        done = act()
        if done is not None:
            await done
        began = trio.current_time()
        with trio.fail_after(patience + limits.save_s + limits.drain_s + 5.0):
            await trio.sleep_forever()
    # It waits for nobody who takes what is owed.
    prompt = patience == 0.0 and world.sound and not world.bad
    assert not prompt or trio.current_time() - began < limits.drain_s
    return code[0]


ENDS = (crash, crash, stop, twice, idle, lost_name)
