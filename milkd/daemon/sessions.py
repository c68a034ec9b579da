"""The sessions: which are open, who holds them, and how they come and go.

A session is open from its first call until it is closed, dropped, or left alone
for the length of its lease with no connection holding it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

from milkd.errors import NotFound
from milkd.store.checkpoint import is_void

if TYPE_CHECKING:
    from milkd.daemon.caller import Caller
    from milkd.daemon.clock import RunningClocks
    from milkd.daemon.events import Hub
    from milkd.daemon.loading import Loading
    from milkd.engine.engine import Engine
    from milkd.engine.percept import ScopeImage

Undo = Callable[[], None]
"""Takes a step back that the disk refused."""


@dataclass(slots=True)
class OpenSession:
    """An open session.

    Attributes:
        called_at: Trio time of its last call.
        holders: The connections that named it.
    """

    called_at: float
    holders: set[Caller] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as it is listed, open or closed."""

    name: str
    is_open: bool
    percepts: int
    running_seconds: float
    connections: int = 0
    is_adjourned: bool = False
    """Whether it remembers what it was shown, as if it went on when it is opened next."""


class Sessions:
    """Opens, holds and lets go of sessions."""

    def __init__(self, engine: Engine, loading: Loading, clocks: RunningClocks, hub: Hub) -> None:
        self._engine = engine
        self._loading = loading
        self._clocks = clocks
        self._hub = hub
        self._open: dict[str, OpenSession] = {}
        self._closed: dict[str, Listed] = {}
        loading.is_open = self.is_open
        loading.unloaded = self._left

    def adopt(self, image: ScopeImage) -> None:
        """Take note of a closed session that the store has."""
        self._engine.set_dormant(image.name, {p.id: p.content for p in image.percepts})
        self._list_closed(image)

    def adopt_unreadable(self, name: str) -> None:
        """Take note of a closed session whose file cannot be read."""
        self._closed[name] = Listed(name, is_open=False, percepts=0, running_seconds=0.0)

    async def enter(self, name: str, caller: Caller) -> OpenSession:
        """Make sure that the session is open, and that the caller holds it.

        Raises:
            StoreDamaged: Its file cannot be read.
        """
        if name not in self._open:
            await self._loading.ensure(name)
            if name not in self._open:  # nobody else was waiting for it, too
                self._register(name, OpenSession(trio.current_time()))
                self._hub.publish("sessions", "opened", session=name)
        self.touch(name, caller)
        return self._open[name]

    def touch(self, name: str, caller: Caller) -> bool:
        """Let the caller hold the session if it is open; whether it is."""
        session = self._open.get(name)
        if session is None:
            return False
        session.called_at = trio.current_time()
        session.holders.add(caller)
        caller.sessions.add(name)
        return True

    def leave_all(self, caller: Caller) -> None:
        """The caller's connection ended."""
        caller.connected = False
        for name in caller.sessions & self._open.keys():
            self._open[name].holders.discard(caller)

    def check_known(self, name: str) -> None:
        """Refuse a session that is neither open nor stored.

        Raises:
            NotFound: There is no such session.
        """
        if name not in self._open and name not in self._closed:
            raise NotFound(f"session: no session {name} is open or stored; session_list has them")

    def is_open(self, name: str) -> bool:
        """Whether the session is open."""
        return name in self._open

    def is_adjourned(self, name: str) -> bool:
        """Whether the session was closed without anybody ending it, and remembers its part."""
        return name in self._closed and self._closed[name].is_adjourned

    def names(self) -> tuple[str, ...]:
        """The open sessions, in order of opening."""
        return tuple(self._open)

    def closed_names(self) -> tuple[str, ...]:
        """The closed sessions, by name."""
        return tuple(sorted(self._closed))

    def expired(self, lease_s: float) -> list[str]:
        """The open sessions that nobody holds and nobody called for the length of a lease."""
        last = trio.current_time() - lease_s
        return [
            name
            for name, session in self._open.items()
            if not session.holders and session.called_at <= last
        ]

    def close(self, name: str) -> Undo:
        """Count an open session as closed; its rows go once they are on disk."""
        session = self._open.pop(name)
        self._clocks.stop(name)
        self._list_closed(self._engine.image(name))
        return lambda: self._reopen(name, session)

    def drop(self, name: str) -> Undo:
        """Count a session, open or closed, as never been."""
        if name in self._open:
            undo = self.close(name)
            self._closed.pop(name, None)
            return undo
        listed = self._closed.pop(name)
        return lambda: self._relist(listed)

    def listing(self) -> Iterator[Listed]:
        """All sessions: the open ones in order of opening, then the closed ones by name."""
        running = self._clocks.reading()
        for name, session in self._open.items():
            count, holders = self._engine.count(name), len(session.holders)
            yield Listed(name, True, count, running.get(name, 0.0), holders)
        yield from (self._closed[name] for name in self.closed_names())

    def note_imported(self, names: Collection[str]) -> None:
        """Closed sessions that an import may have filled, so that they are known from now on.

        One in which nothing was taken may be gone again, and is as it was.
        """
        for name in names:
            if name not in self._open and self._engine.is_loaded(name):
                self._list_closed(self._engine.image(name))

    def _reopen(self, name: str, session: OpenSession) -> None:
        if name not in self._open:
            # Some may have left meanwhile, while it was no session to be left.
            session.holders = {caller for caller in session.holders if caller.connected}
            self._register(name, session)

    def _relist(self, listed: Listed) -> None:
        if listed.name not in self._open:
            self._closed[listed.name] = listed

    def _register(self, name: str, session: OpenSession) -> None:
        self._open[name] = session
        self._closed.pop(name, None)
        self._clocks.start(name, self._engine.read_at(name))

    def _left(self, image: ScopeImage) -> None:
        """A session that is not open is being unloaded; it may have changed while loaded."""
        if image.name in self._closed:
            self._list_closed(image)

    def _list_closed(self, image: ScopeImage) -> None:
        if is_void(image):
            self._closed.pop(image.name, None)
        else:
            self._closed[image.name] = _as_closed(image)


def _as_closed(image: ScopeImage) -> Listed:
    return Listed(
        image.name,
        is_open=False,
        percepts=len(image.percepts),
        running_seconds=image.running_seconds,
        is_adjourned=bool(image.shown),
    )
