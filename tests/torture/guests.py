"""Clients of a whole daemon in virtual time: good ones, slow ones and bad ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import trio

from milkd.rpc.messages import Notification, Response
from milkd.rpc.protocol import MAX_RESPONSE, Connection
from torture.reckoning import TOLD

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from loopback import MemorySocket
    from torture.world import World

ANSWERED = 60.0  # virtual seconds in which every request is answered: `request_s` and some
PING = 0.1  # virtual seconds for a ping, whatever others do
SESSIONS = ("s1", "s2", None)
TOPICS = ["percepts", "passes", "sessions", "health"]
Hook = Callable[[Any, str | None], None]


class Left(Exception):
    """The daemon has hung up."""


class Guest:
    """One connection.  Whatever is asked must be answered once, and in that order."""

    def __init__(self, world: World, name: str, room: int = 65_536) -> None:
        self.world = world
        self.name = name
        self.ended = False
        self.notices: list[Any] = []
        self.hears = trio.Event()  # it reads only while this is set
        self.hears.set()
        self._socket: MemorySocket = world.listening.connect(room)
        self._protocol = Connection(max_message=MAX_RESPONSE)
        self._asked: deque[int] = deque()
        self._hooks: dict[int, Hook] = {}
        self._ids = count(1)
        self._moved = trio.lowlevel.ParkingLot()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """It reads meanwhile, and closes in the end."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read_all)
            try:
                yield
            finally:
                nursery.cancel_scope.cancel()
                self._socket.close()

    async def send(self, data: bytes) -> None:
        """Send all of it; raises `Left` when nobody takes it any more."""
        rest = memoryview(data)
        while rest:
            await self._socket.writable()
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Left from None

    def say_no_more(self) -> None:
        """Close its half."""
        try:
            self._socket.shutdown(1)
        except OSError:
            raise Left from None

    async def ask(self, method: str, hook: Hook | None = None, **arguments: object) -> int:
        """Ask without waiting; the hook hears the result and the refusal."""
        msgid = next(self._ids)
        self._asked.append(msgid)
        if hook is not None:
            self._hooks[msgid] = hook
        self.world.note(self.name, "asks", msgid, method)
        await self.send(Connection.request(msgid, method, arguments))
        return msgid

    async def cancel(self, msgid: int) -> None:
        await self.send(Connection.notification("cancel", msgid))

    async def answered(self) -> None:
        """Wait until nothing is owed, or the daemon hung up."""
        with trio.fail_after(ANSWERED):
            while self._asked and not self.ended:
                await self._moved.park()
        if self._asked:
            assert self.world.may_leave(self), f"{self.name} was left without {len(self._asked)}"
            raise Left

    async def end(self) -> None:
        """Wait until the daemon hangs up."""
        while not self.ended:
            await self._moved.park()

    async def _read_all(self) -> None:
        while not self.ended:
            await self.hears.wait()
            await self._socket.readable()
            try:
                data = self._socket.recv(65_536)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            for message in self._protocol.receive_data(data) if data else ():
                self._take(message)
            self.ended = not data
            self._moved.unpark_all()
        self.world.note(self.name, "ends")

    def _take(self, message: object) -> None:
        if isinstance(message, Notification):
            self.world.note(self.name, "hears", message.method, repr(message.params))
            self.notices.append(message)
            return
        assert isinstance(message, Response)
        error: Any = message.error
        assert self._asked, f"{self.name} got an answer to nothing: {message}"
        assert message.msgid == self._asked.popleft(), f"{self.name}: out of order"
        refusal = None if error is None else str(error[1])
        self.world.note(self.name, "gets", message.msgid, refusal or repr(message.result))
        assert refusal is None or not refusal.startswith("internal"), refusal
        hook = self._hooks.pop(message.msgid, None)
        if hook is not None:
            hook(message.result, refusal)
            self.world.files.mark(TOLD)


# What they do.  Each is a task, and returns when it has had enough or the daemon hung up.


async def worker(world: World, name: str) -> None:
    """States and forgets facts, and looks at them, several requests at a time."""
    random = world.random
    guest = Guest(world, name)
    async with guest.reading():
        for step in count():
            for number in range(random.choice((1, 1, 2, 4))):
                await _work(guest, f"{name}n{step}m{number}x")
            await guest.answered()
            if world.over.is_set():
                return
            await trio.sleep(random.expovariate(0.4))


async def _work(guest: Guest, name: str) -> None:
    world = guest.world
    session = world.random.choice(SESSIONS)
    place: dict[str, Any] = {} if session is None else {"session": session}
    match world.random.randrange(12):
        case 0 | 1 | 2 | 3:
            content = f"{name}a {name}b {name}c"
            world.ledger.doubtful.add(content)
            hook = partial(world.stated, content)
            await guest.ask("record", hook, content=content, producer="user", **place)
        case 4 | 5:
            mine = guest.name + "n"
            for content in sorted(c for c in world.ledger.kept if c.startswith(mine))[:1]:
                world.forgetting(content)
                hook = partial(world.forgotten, content)
                await guest.ask("forget", hook, ref=content, all=True, **place)
        case 6 | 7:
            hook = partial(world.seen, frozenset(world.ledger.gone))
            await guest.ask("list", hook, limit=500, **place)
        case 8:
            method = world.random.choice(("consolidate", "snapshot", "health", "stats"))
            await guest.ask(method)
        case 9 if place:
            await guest.ask("session_close", **place)
        case 10:
            await guest.ask("inject", prompt=f"what of {name[:4]}?", **place)
        case _:
            await guest.ask("query", text=name, **place)


async def pinger(world: World, name: str) -> None:
    """Finds out that nobody holds up the daemon."""
    guest = Guest(world, name)
    async with guest.reading():
        while not world.over.is_set():
            began = trio.current_time()
            await guest.ask("ping")
            await guest.answered()
            took = trio.current_time() - began
            assert took < PING, f"a ping took {took:.3f} s"
            await trio.sleep(world.random.random() * 3)


async def subscriber(world: World, name: str) -> None:
    """Wants to know everything, but does not always listen."""
    random = world.random
    guest = Guest(world, name, room=random.choice((512, 65_536)))
    world.bad.add(guest)
    async with guest.reading():
        await guest.ask("subscribe", topics=TOPICS)
        await guest.answered()
        while not (world.over.is_set() or guest.ended):
            await trio.sleep(random.random() * 5)
            await _deafen(guest, random.choice((0.0, 0.0, 5.0, 60.0)))
        for notice in guest.notices:
            (event,) = notice.params
            assert {"topic", "event"} <= event.keys() or event.keys() == {"lost"}, event
            assert "content" not in event


async def _deafen(guest: Guest, seconds: float) -> None:
    """Read nothing for a while, or until the life is over."""
    guest.hears = trio.Event()
    with trio.move_on_after(seconds):
        await guest.world.over.wait()
    guest.hears.set()


async def deaf(world: World, name: str) -> None:
    """Asks for much and reads nothing for minutes."""
    guest = Guest(world, name, room=2_048)
    world.bad.add(guest)
    async with guest.reading():
        guest.hears = trio.Event()
        with trio.move_on_after(world.random.random() * 100):
            for _ in range(100):
                await guest.ask("list", limit=500)
            await world.over.wait()
        guest.hears.set()
        await guest.answered()


async def halting(world: World, name: str) -> None:
    """Sends a request in pieces: with patience it is answered, without it is told so."""
    random, limits = world.random, world.limits
    guest = Guest(world, name)
    request = Connection.request(1, "ping", {})
    async with guest.reading():
        if random.random() < 0.5:
            for at in range(len(request)):
                await trio.sleep(random.random() * 0.2)
                await guest.send(request[at : at + 1]) if at else await _first(guest, request)
            await guest.answered()
            return
        world.bad.add(guest)
        await guest.send(request[: random.randrange(1, len(request))])
        with trio.fail_after(limits.partial_s + limits.farewell_s + 1.0):
            await guest.end()
        if not (world.ending or world.crowded):
            (notice,) = guest.notices
            assert notice.params[0].startswith(("timeout", "overloaded")), notice


async def _first(guest: Guest, request: bytes) -> None:
    """The first byte of a request, which counts as asked from now on."""
    guest._asked.append(1)
    await guest.send(request[:1])


async def flood(world: World, name: str) -> None:
    """Asks for a lot at once, and takes some of it back."""
    guest = Guest(world, name, room=world.random.choice((4_096, 1 << 20)))
    async with guest.reading():
        for number in range(world.random.randrange(150)):
            if number % 3:
                await guest.ask("ping")
            else:
                await guest.ask("query", text=name)
            if world.random.random() < 0.2:
                await guest.cancel(world.random.randint(1, number + 1))
        await guest.answered()


async def garbage(world: World, name: str) -> None:
    """Sends anything; is told, and shown the door."""
    guest = Guest(world, name)
    world.bad.add(guest)
    async with guest.reading():
        await guest.send(world.random.randbytes(world.random.randint(1, 200)))
        guest.say_no_more()
        with trio.fail_after(world.limits.partial_s + 2 * world.limits.farewell_s + 1.0):
            await guest.end()


async def visitor(world: World, name: str) -> None:
    """Asks and leaves, without waiting for the answer or for its half of the good-byes."""
    guest = Guest(world, name)
    async with guest.reading():
        for _ in range(world.random.randint(1, 3)):
            await _work(guest, f"{name}n{world.random.randrange(10**6)}x")
        if world.random.random() < 0.5:
            guest.say_no_more()
            await guest.answered()
            await guest.end()


async def crowd(world: World, name: str) -> None:
    """More than there is room for; each is answered, told that it is too much, or hung up on."""
    world.crowded = True
    async with trio.open_nursery() as nursery:
        for number in range(world.limits.connections + 6):
            nursery.start_soon(world.welcome, _one_of_many, f"{name}-{number}")


async def _one_of_many(world: World, name: str) -> None:
    guest = Guest(world, name)
    world.bad.add(guest)
    async with guest.reading():
        await guest.ask("ping")
        await guest.answered()
        await trio.sleep(world.random.random() * 20)


KINDS = (worker, worker, subscriber, deaf, halting, flood, garbage, visitor, visitor, crowd)
