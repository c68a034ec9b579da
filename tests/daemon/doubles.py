"""The daemon in one process with its tests: a store in memory, clocks to turn, clients.

A `House` is a core with its writer running, to which clients connect over streams
in memory.  With `InlineDisk` nothing leaves the loop, so Trio's time may be faked.
"""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
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
from milkd.engine.capture import Capture
from milkd.engine.changes import ScopeDropped, scope_of
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.engine.percept import ScopeImage
from milkd.rpc.messages import Notification, Response
from milkd.rpc.protocol import MAX_RESPONSE
from milkd.rpc.protocol import Connection as Protocol
from milkd.store.checkpoint import Checkpoint, NewFile
from milkd.store.interface import Found, Opened, Published, Theirs
from milkd.store.snapshot import Loaded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

    from milkd.engine.changes import Change
    from milkd.errors import Failure
    from milkd.store.entries import Done, Entry
    from milkd.store.files import Stamp
    from milkd.store.interface import Store

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
    """A store that keeps what is durable in memory and fails when told to."""

    files: dict[str, ScopeImage] = field(default_factory=dict)
    """What is durable of each scope, in the journal or in a file."""
    warnings: list[str] = field(default_factory=list)
    all_at_risk: bool = False
    commits: list[tuple[Entry, ...]] = field(default_factory=list)
    damaged: dict[str, Exception] = field(default_factory=dict)
    """What finding a scope raises."""
    failures: list[Exception] = field(default_factory=list)
    """What the next appends raise, one each."""
    refusals: list[Failure] = field(default_factory=list)
    """What the next checkpoints raise, one each."""
    edits: dict[str, Theirs] = field(default_factory=dict)
    """What other programs did to files, by scope."""
    opened: Opened = field(default_factory=Opened)
    frozen: dict[str, str] = field(default_factory=dict)
    published: list[Checkpoint] = field(default_factory=list)
    overtaken: list[str] = field(default_factory=list)
    """Scopes whose files others will have written when the next checkpoint is published."""
    adopted: list[tuple[str, str | None]] = field(default_factory=list)
    scrubbed: list[Mapping[str, Collection[str]]] = field(default_factory=list)
    newest: int = 0
    unsaved: int = 0
    finished: bool = False
    _engine: Engine = field(default_factory=lambda: Engine(DEFAULT))
    _images: dict[str, ScopeImage] = field(default_factory=dict)

    def open(self) -> Opened:
        return replace(self.opened, scopes=tuple(sorted(self.files.keys() | self.damaged.keys())))

    def find(self, scope: str) -> Found:
        if scope in self.damaged:
            raise self.damaged[scope]
        image = self.files.get(scope, ScopeImage(name=scope))
        return Found(Loaded(image), frozen=self.frozen.get(scope))

    def append(self, entries: Sequence[Entry]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        assert [entry.seq for entry in entries] == [
            self.newest + 1 + number for number in range(len(entries))
        ]
        self.newest += len(entries)
        self.unsaved += len(entries)
        self.commits.append(tuple(entries))
        changes = [change for entry in entries for change in entry.changes]
        for scope in filter(None, dict.fromkeys(map(scope_of, changes))):
            self._apply(scope, [change for change in changes if scope_of(change) == scope])

    def rotate(self) -> int:
        if self.refusals:
            raise self.refusals.pop(0)
        return self.newest

    def write(
        self,
        parts: Sequence[Capture | ScopeImage],
        seq: int,
        operations: Sequence[Done],
        pause: Callable[[], None],
    ) -> Checkpoint:
        images = [part.image() if isinstance(part, Capture) else part for part in parts]
        return Checkpoint(seq, [NewFile(image, image.name) for image in images])

    def publish(self, written: Checkpoint) -> Published:
        self.published.append(written)
        overtaken, self.overtaken = self.overtaken, []
        images = {new.image.name: new.image for new in written.files}
        return Published({n: i for n, i in images.items() if n not in overtaken}, overtaken)

    def retire(self, *, keep: bool) -> None:
        self.unsaved = 0

    def scrub(self, texts: Mapping[str, Collection[str]], live: Callable[[str], bool]) -> None:
        self.scrubbed.append(texts)

    def changed(self, scopes: Sequence[str]) -> dict[str, Stamp | None] | None:
        return {scope: self.edits[scope].stamp for scope in scopes if scope in self.edits}

    def theirs(self, scope: str) -> Theirs:
        return self.edits[scope]

    def earlier(self, scope: str, seq: int) -> ScopeImage | None:
        return None

    def adopt(self, scope: str, theirs: Theirs, kind: str | None) -> str | None:
        self.adopted.append((scope, kind))
        self.edits.pop(scope, None)
        return None if kind is None or theirs.stamp is None else f"/quarantine/{scope}.{kind}"

    def keep_past(self, image: ScopeImage) -> str | None:
        return None

    def finish(self) -> None:
        self.finished = True

    def _apply(self, scope: str, changes: Sequence[Change]) -> None:
        engine, known = self._engine, self.files.get(scope, ScopeImage(name=scope))
        if not engine.is_loaded(scope) or self._images.get(scope) is not known:
            engine.put_back(known)
        engine.apply_all(changes)
        self.files[scope] = self._images[scope] = engine.image(scope)
        if any(isinstance(change, ScopeDropped) for change in changes):
            del self.files[scope]


class InlineDisk:
    """Runs calls on the loop, after the time that a disk would take."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay

    async def run(self, call: Callable[[], T]) -> T:
        with trio.CancelScope(shield=True):
            await trio.sleep(self.delay)
        return call()

    async def slow(self, call: Callable[[Callable[[], None]], T]) -> T:
        with trio.CancelScope(shield=True):
            await trio.sleep(self.delay)
        return call(lambda: None)

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

    async def slow(self, call: Callable[[Callable[[], None]], T]) -> T:
        return await self.run(partial(call, lambda: None))

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


class Pipe:
    """One direction of a wire in memory."""

    def __init__(self, capacity: int) -> None:
        self.room = capacity
        self.data = bytearray()
        self.ended = False
        self.cut = False
        self.moved = trio.lowlevel.ParkingLot()

    def put(self, data: bytes | memoryview) -> int:
        if self.cut:
            raise BrokenPipeError
        taken = bytes(data[: self.room - len(self.data)])
        self.data += taken
        self.moved.unpark_all()
        return len(taken)

    def take(self, size: int) -> bytes | None:
        if not self.data:
            return b"" if self.ended or self.cut else None
        taken = bytes(self.data[:size])
        del self.data[:size]
        self.moved.unpark_all()
        return taken

    def cut_off(self) -> None:
        self.cut = True
        self.moved.unpark_all()


class MemoryWire:
    """One end of a wire in memory; what is in it when an end is closed can still be read."""

    def __init__(self, incoming: Pipe, outgoing: Pipe) -> None:
        self._in = incoming
        self._out = outgoing

    def receive_now(self, size: int) -> bytes | None:
        return self._in.take(size)

    def send_now(self, data: bytes | memoryview) -> int:
        return self._out.put(data)

    async def readable(self) -> None:
        await trio.lowlevel.checkpoint()
        while not (self._in.data or self._in.ended or self._in.cut):
            await self._in.moved.park()

    async def writable(self) -> None:
        await trio.lowlevel.checkpoint()
        while len(self._out.data) >= self._out.room and not self._out.cut:
            await self._out.moved.park()

    def end(self) -> None:
        self._out.ended = True
        self._out.moved.unpark_all()

    def close(self) -> None:
        self.end()
        self._in.cut_off()


def memory_wires(capacity: int = 1 << 20) -> tuple[MemoryWire, MemoryWire]:
    """Both ends of a wire that holds so many bytes in either direction."""
    there, back = Pipe(capacity), Pipe(capacity)
    return MemoryWire(back, there), MemoryWire(there, back)


class WireStream(trio.abc.HalfCloseableStream):
    """A wire as a stream, for clients under test."""

    def __init__(self, wire: MemoryWire) -> None:
        self._wire = wire

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        rest = memoryview(data)
        while rest:
            try:
                taken = self._wire.send_now(rest)
            except OSError:
                raise trio.BrokenResourceError from None
            rest = rest[taken:]
            if rest:
                await self._wire.writable()

    async def wait_send_all_might_not_block(self) -> None:
        await self._wire.writable()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        while (data := self._wire.receive_now(max_bytes or 65_536)) is None:
            await self._wire.readable()
        return data

    async def send_eof(self) -> None:
        self._wire.end()
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        self._wire.close()
        await trio.lowlevel.checkpoint()


class Household:
    """A core with its writer, and clients."""

    def __init__(self, core: Core, clock: TurnedClock) -> None:
        self.core = core
        self.clock = clock
        self.service = Service(core)
        self.nursery: trio.Nursery | None = None

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """Its tasks run; in the end they are cut off, as by a crash."""
        self.core.config.start()
        async with trio.open_nursery() as self.nursery:
            self.nursery.start_soon(self.core.commits.run)
            self.nursery.start_soon(self.core.checkpoints.run)
            yield
            self.nursery.cancel_scope.cancel()

    async def connect(self) -> Peer:
        """A new client."""
        near, far = memory_wires()
        return await self.connect_over(near, far)

    async def connect_over(self, near: MemoryWire, far: MemoryWire) -> Peer:
        """A new client at the one end of a wire, the daemon at the other."""
        assert self.nursery is not None
        self.nursery.start_soon(Connection(far, self.core, self.service).serve)
        await trio.testing.wait_all_tasks_blocked()
        return Peer(WireStream(near))

    def start_task(self, task: Callable[..., Any], *arguments: object) -> None:
        """Run something beside the writer."""
        assert self.nursery is not None
        self.nursery.start_soon(task, *arguments)


class House(Household):
    """One whose store is in memory."""

    def __init__(self, core: Core, store: MemoryStore, clock: TurnedClock) -> None:
        super().__init__(core, clock)
        self.store = store


def numbered_ids() -> Callable[[], str]:
    """Ids that can be told in a test: 0…01-…, 0…02-…"""
    numbers = count(1)
    return lambda: f"{next(numbers):08x}-0000-4000-8000-000000000000"


def core_of(
    store: Store,
    clock: TurnedClock,
    *,
    disk: Any = None,
    limits: Limits | None = None,
    engine: Engine | None = None,
    config: str = "/nonexistent/config.json",
) -> Core:
    """A core that has loaded its store, for tests in which nothing lingers unless told to."""
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
    return core


@asynccontextmanager
async def open_house(store: MemoryStore | None = None, **how: Any) -> AsyncIterator[House]:
    """A daemon without sockets and files; `how` is for `core_of`."""
    store = store or MemoryStore()
    clock = TurnedClock()
    house = House(core_of(store, clock, **how), store, clock)
    async with house.living():
        yield house
