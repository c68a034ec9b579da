"""What all methods share: the engine, the way to the disk, and the parts around them.

Everything here runs on the Trio thread.  A command is decided and applied at one
stroke, without an await in between, so that no request sees half of another.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import trio

from milkd.daemon.batches import Answer, Batch
from milkd.daemon.caller import Caller
from milkd.daemon.checkpoints import Checkpoints
from milkd.daemon.clock import Clock, SwitchedClocks
from milkd.daemon.commits import Commits
from milkd.daemon.config import Config
from milkd.daemon.disk import Disk, Worker
from milkd.daemon.edits import Edits
from milkd.daemon.events import Hub
from milkd.daemon.fatal import EXIT_SOFTWARE, Fatal, trace
from milkd.daemon.flights import Flights
from milkd.daemon.health import Health
from milkd.daemon.limits import Limits
from milkd.daemon.loading import Loading
from milkd.daemon.replays import Operation, Replays, done_of
from milkd.daemon.runs import Runs
from milkd.daemon.sessions import Sessions
from milkd.daemon.startup import load_store
from milkd.daemon.uses import Use
from milkd.engine.changes import PerceptDropped
from milkd.engine.commands import Command, Forget, Now

if TYPE_CHECKING:
    from milkd.engine.changes import Change
    from milkd.engine.engine import Engine
    from milkd.engine.params import Params
    from milkd.store.interface import Store

Render = Callable[[Any], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who this daemon is, as `hello` tells it."""

    version: str
    run_id: str
    """Of the run that begins with the process."""
    pid: int
    store: str
    socket: str


@dataclass(slots=True, eq=False)
class Call:
    """A checked request."""

    caller: Caller
    method: str
    arguments: dict[str, Any]
    operation: Operation | None = None


def new_uuid() -> str:
    """A UUID4 as text."""
    return str(uuid.uuid4())


class Core:
    """The state that the methods work on.

    Attributes:
        callers: Everybody who is connected.
        stop: Call it to end the daemon in good order.
        saved: Settled when a stopping daemon has saved everything and taken its names away.
        active_at: Trio time of the last call or of the end of a connection.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        identity: Identity,
        *,
        config_path: str,
        clock: Clock | None = None,
        disk: Disk | None = None,
        limits: Limits | None = None,
        new_id: Callable[[], str] = new_uuid,
    ) -> None:
        self.engine = engine
        self.store = store
        self.identity = identity
        self.clock = clock or Clock()
        self.disk = disk or Worker()
        self.limits = limits or Limits()
        self.new_id = new_id
        self.hub = Hub(self.limits.events)
        self.flights = Flights(self.limits.in_flight_all)
        self.health = Health(
            lambda status: self.hub.publish("health", "changed", status=status), self.clock.mono
        )
        self.config = Config(config_path, self.health, self._configure)
        lease_s = self.limits.lease_s
        self.clocks = SwitchedClocks(engine.params.running_time, self.clock.mono, lease_s)
        self.runs = Runs(
            engine, self.hub, first=identity.run_id, since_boot=self.clock.boot, new_id=new_id
        )
        self.commits = Commits(
            store,
            engine,
            self.health,
            self.disk,
            wall=lambda: self.now().wall,
            linger_s=self.limits.linger_s,
        )
        self.loading = Loading(engine, store, self.disk, self.commits, self.health)
        self.commits.settled = self.loading.sweep
        self.sessions = Sessions(engine, self.loading, self.clocks, self.hub)
        self.replays = Replays(self.limits.op_ids, engine.content)
        self.checkpoints = Checkpoints(
            store, engine, self.commits, self.disk, self.health, self.limits, self.replays.dones
        )
        self.edits = Edits(self)
        self.checkpoints.overtaken = self.edits.wake
        self.commits.noted = self.checkpoints.durable
        self.callers: set[Caller] = set()
        self._connections = count(1)
        self.started_at = self.clock.mono()
        self.stop: Callable[[], None] = lambda: None
        self.saved = Batch()
        self.active_at = trio.current_time()

    def load_store(self) -> None:
        """Take in what is on disk, before anybody is served; raises as `startup.load_store`."""
        load_store(self)

    def new_caller(self) -> Caller:
        """What stands for a new connection; the space keeps its name from being a session's."""
        return Caller(f"connection {next(self._connections)}")

    def now(self) -> Now:
        """The time, as commands are handed it."""
        # To the microsecond, as files have it: a replay must give what was there.
        return Now(round(self.clock.wall(), 6), self.clocks.reading())

    def execute(
        self, command: Command, render: Render, operation: Operation | None = None
    ) -> Answer:
        """Decide and apply a command.

        Args:
            command: Its session is open.
            render: Makes the answer's body of the result.  For a change it runs before
                anything is applied, so that a fault in it changes nothing.
            operation: Under which the answer can be had again, after a restart too.

        Raises:
            WireError: The engine refuses; nothing was changed.
            Fatal: Memory is in an unknown state.
        """
        self.commits.check()
        decision = self.engine.decide(command, self.now())
        uses = [change for change in decision.changes if isinstance(change, Use)]
        if len(uses) == len(decision.changes):
            if uses:
                self.apply(uses)
                self.commits.add_uses(uses)
            if operation is None or self.commits.refusal is not None:
                return Answer(partial(render, decision.result), self.commits.newest())
            # Nothing changed, but done again after a restart it might.
            body = render(decision.result)
            kept = done_of(operation, body)
            batch = self.commits.add((), _kind(command), done=kept)
            return Answer(lambda: body, batch, done=kept)
        self.commits.check(decision.changes)
        body = render(decision.result)
        done = done_of(operation, body) if operation else None
        gone = self._forgotten(command, decision.changes)
        self.apply(decision.changes)
        batch = self.commits.add(decision.changes, _kind(command), done=done, scrub=tuple(gone))
        return Answer(lambda: body, batch, changes=True, done=done)

    def preview(self, command: Command, render: Render) -> Answer:
        """What a command would answer, without doing it."""
        decision = self.engine.decide(command, self.now())
        return Answer(partial(render, decision.result), self.commits.newest())

    def once(self, call: Call, act: Callable[[], Answer]) -> Answer:
        """The answer of an act, or the earlier one if the operation has been done already."""
        done = self.replays.find(call.operation)
        if done is None:
            done = act()
            self.replays.remember(call.operation, done, done.done)
        return done

    def apply(self, changes: Iterable[Change]) -> None:
        """Make changes so in memory.

        Raises:
            Fatal: One could not be applied; memory is in an unknown state.
        """
        try:
            for change in changes:
                self.engine.apply(change)
        except Exception as error:
            reason = f"a decision could not be applied\n{trace(error)}"
            raise Fatal(EXIT_SOFTWARE, reason) from None

    def _configure(self, params: Params) -> None:
        self.engine.configure(params)
        self.clocks.choose(params.running_time)

    def _forgotten(self, command: Command, changes: Iterable[Change]) -> Mapping[str, set[str]]:
        """What is to leave no trace, by id: everything it says or said."""
        if not isinstance(command, Forget):
            return {}
        dropped = {change.id for change in changes if isinstance(change, PerceptDropped)}
        gone = {each: self.engine.texts(each) for each in dropped}
        self.checkpoints.forget(gone)
        return gone


def _kind(command: Command) -> str:
    return type(command).__name__.lower()
