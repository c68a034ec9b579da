"""The daemon in one process with its tests: a store in memory, clocks to turn, clients.

A `House` is a core with its writer running, to which clients connect over streams
in memory.  With `InlineDisk` nothing leaves the loop, so Trio's time may be faked.
"""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import trio
import trio.testing

from milkd import wordlists
from milkd.daemon.clock import Clock
from milkd.daemon.connection import Connection
from milkd.daemon.core import Core, Identity
from milkd.daemon.limits import Limits
from milkd.daemon.service import Service
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.engine.percept import ScopeImage
from milkd.rpc.messages import Notification, Response
from milkd.rpc.protocol import MAX_RESPONSE
from milkd.rpc.protocol import Connection as Protocol
from milkd.store.snapshot import Loaded
from milkd.store.store import Commit, FileStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from milkd.engine.changes import Change

T = TypeVar("T")
LEXICON = wordlists.load()
PATIENCE = 60.0  # seconds for anything that must happen, on a busy machine


async def eventually(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    with trio.fail_after(PATIENCE):
        while True:
            if condition():
                return
            await trio.sleep(0.01)


class TurnedClock:
    """A clock that stands still until it is turned."""

    def __init__(self) -> None:
        self.wall = 1_800_000_000.0
        self.mono = 4_096.0
        self.slept = 0.0

    def sleep(self, seconds: float) -> None:
        """Let time pass while the machine sleeps."""
        self.wall += seconds
        self.slept += seconds

    def turn(self, seconds: float) -> None:
        """Let time pass."""
        self.wall += seconds
        self.mono += seconds

    def as_clock(self) -> Clock:
        """The clock as the daemon reads it."""
        return Clock(
            wall=lambda: self.wall,
            mono=lambda: self.mono,
            boot=lambda: self.mono + self.slept,
        )


@dataclass
class MemoryStore:
    """A store that keeps its files in memory and fails when told to."""

    files: dict[str, ScopeImage] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    damaged: dict[str, Exception] = field(default_factory=dict)
    """What loading a scope raises."""
    failures: list[Exception] = field(default_factory=list)
    """What the next commits raise, one each."""
    changed: dict[str, str] = field(default_factory=dict)
    """What other programs did to files, by scope."""
    unfinished: Exception | None = None
    """What finishing a move raises."""

    def load(self, scope: str) -> Loaded:
        if scope in self.damaged:
            raise self.damaged[scope]
        return Loaded(self.files.get(scope, ScopeImage(name=scope)))

    def sessions(self) -> tuple[str, ...]:
        return tuple(sorted((self.files.keys() | self.damaged.keys()) - {"global", "archive"}))

    def contents(self, session: str) -> dict[str, str]:
        return {percept.id: percept.content for percept in self.load(session).image.percepts}

    def prepare(self, changes: Sequence[Change], image: Callable[[str], ScopeImage]) -> Commit:
        return FileStore.prepare(self, changes, image)  # type: ignore[arg-type]  # a pure function

    def commit(self, commit: Commit) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.commits.append(commit)
        self.files |= {image.name: image for image in commit.images}
        for name in commit.dropped:
            self.files.pop(name, None)

    def finish_moves(self) -> None:
        if self.unfinished is not None:
            raise self.unfinished

    def foreign(self, scopes: Sequence[str]) -> dict[str, str] | None:
        return {scope: self.changed[scope] for scope in scopes if scope in self.changed}

    def close(self) -> None:
        pass


class InlineDisk:
    """Runs calls on the loop, after the time that a disk would take."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay

    async def run(self, call: Callable[[], T]) -> T:
        with trio.CancelScope(shield=True):
            await trio.sleep(self.delay)
        return call()

    async def look(self, call: Callable[[], T]) -> T | None:
        return call()


class HeldDisk:
    """Holds back every call until it is let go."""

    def __init__(self) -> None:
        self.gate = trio.Event()
        self.waiting = 0

    async def run(self, call: Callable[[], T]) -> T:
        self.waiting += 1
        with trio.CancelScope(shield=True):
            await self.gate.wait()
        self.waiting -= 1
        return call()

    async def look(self, call: Callable[[], T]) -> T | None:
        return call()

    def let_go(self) -> None:
        self.gate.set()

    def let_go_one(self) -> None:
        """Let those go that wait now, and hold back later ones."""
        self.gate.set()
        self.hold()

    def hold(self) -> None:
        self.gate = trio.Event()


class Peer:
    """A client on a stream, as simple as can be."""

    def __init__(self, stream: trio.abc.HalfCloseableStream) -> None:
        self.stream = stream
        self.notifications: list[Notification] = []
        self._protocol = Protocol(max_message=MAX_RESPONSE)
        self._responses: dict[int, Response] = {}
        self.order: list[int] = []
        self._ids = count(1)

    async def call(self, method: str, **arguments: object) -> Any:
        """The result of a call.

        Raises:
            Refused: With the error's text.
        """
        return await self.result(await self.ask(method, **arguments))

    async def ask(self, method: str, **arguments: object) -> int:
        """Send a request without waiting for its answer."""
        msgid = next(self._ids)
        await self.stream.send_all(Protocol.request(msgid, method, arguments))
        return msgid

    async def notify(self, method: str, *params: object) -> None:
        await self.stream.send_all(Protocol.notification(method, *params))

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def result(self, msgid: int) -> Any:
        response = await self.response(msgid)
        if response.error is not None:
            raise Refused(response.error)
        return response.result

    async def response(self, msgid: int) -> Response:
        with trio.fail_after(PATIENCE):
            while msgid not in self._responses:
                assert await self.read(), "the connection ended before the response"
        return self._responses.pop(msgid)

    async def refusal(self, method: str, **arguments: object) -> str:
        """The text of the error that a call gets."""
        msgid = await self.ask(method, **arguments)
        response = await self.response(msgid)
        assert response.error is not None, response.result
        return str(Refused(response.error))

    async def event(self) -> Any:
        """The next notification's only argument."""
        with trio.fail_after(PATIENCE):
            while not self.notifications:
                assert await self.read(), "the connection ended before the notification"
        return self.notifications.pop(0).params[0]

    async def end(self) -> list[Any]:
        """Read to the end of the connection; what notifications came before."""
        with trio.fail_after(PATIENCE):
            while await self.read():
                pass
        return [notification.params[0] for notification in self.notifications]

    async def read(self) -> bool:
        """Take what has come; false at the end of the connection."""
        try:
            data = await self.stream.receive_some(65_536)
        except trio.BrokenResourceError:
            return False
        for message in self._protocol.receive_data(bytes(data)):
            if isinstance(message, Response):
                self._responses[message.msgid] = message
                self.order.append(message.msgid)
            elif isinstance(message, Notification):
                self.notifications.append(message)
        return bool(data)


class Refused(Exception):
    """An error response; its text is `code: sentence`."""

    def __init__(self, error: Any) -> None:
        super().__init__(error if isinstance(error, str) else error[1])


class House:
    """A core with its writer, and clients."""

    def __init__(self, core: Core, store: MemoryStore, clock: TurnedClock) -> None:
        self.core = core
        self.store = store
        self.clock = clock
        self.service = Service(core)
        self.nursery: trio.Nursery | None = None

    async def connect(self) -> Peer:
        """A new client."""
        near, far = trio.testing.memory_stream_pair()
        return await self.connect_over(near, far)

    async def connect_over(
        self, near: trio.abc.HalfCloseableStream, far: trio.abc.HalfCloseableStream
    ) -> Peer:
        """A new client at the one end of a stream, the daemon at the other."""
        assert self.nursery is not None
        self.nursery.start_soon(Connection(far, self.core, self.service).serve)
        await trio.testing.wait_all_tasks_blocked()
        return Peer(near)

    def start_task(self, task: Callable[..., Any], *arguments: object) -> None:
        """Run something beside the writer."""
        assert self.nursery is not None
        self.nursery.start_soon(task, *arguments)


def numbered_ids() -> Callable[[], str]:
    """Ids that can be told in a test: 0…01-…, 0…02-…"""
    numbers = count(1)
    return lambda: f"{next(numbers):08x}-0000-4000-8000-000000000000"


@asynccontextmanager
async def open_house(
    store: MemoryStore | None = None,
    *,
    disk: Any = None,
    limits: Limits | None = None,
    engine: Engine | None = None,
    config: str = "/nonexistent/config.json",
) -> AsyncIterator[House]:
    """A daemon without sockets and files."""
    store = store or MemoryStore()
    clock = TurnedClock()
    identity = Identity(version="0", run_id="run", pid=1, store="/store", socket="/socket")
    core = Core(
        engine or Engine(DEFAULT, LEXICON),
        store,
        identity,
        config_path=config,
        clock=clock.as_clock(),
        disk=disk or InlineDisk(),
        limits=limits or Limits(linger_s=math.inf),
        new_id=numbered_ids(),
    )
    core.load_store()
    core.config.start()
    house = House(core, store, clock)
    async with trio.open_nursery() as house.nursery:
        house.nursery.start_soon(core.commits.run)
        yield house
        house.nursery.cancel_scope.cancel()
