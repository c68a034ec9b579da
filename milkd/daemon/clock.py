"""Time as the daemon hands it to the engine: the wall clock and the running clocks.

A running clock counts the seconds in which something was going on; decay and
archiving follow it, not the wall.  What that is, the knob `running_time` says: with
`activity` the gaps between calls that are no longer than a lease, with `open` a
session's life from its opening to its close.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from milkd.engine.percept import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def since_boot() -> float:
    """Seconds since the machine started, those in which it slept among them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Clock:
    """Where the daemon reads the time.

    Attributes:
        wall: Seconds since the Unix epoch; may jump either way.
        mono: Seconds that never go back and stand still while the machine sleeps
            (CLOCK_MONOTONIC on Linux).
        boot: Seconds that never go back and go on while the machine sleeps.
    """

    wall: Callable[[], float] = time.time
    mono: Callable[[], float] = time.monotonic
    boot: Callable[[], float] = since_boot


class RunningClocks(Protocol):
    """Counts running time by scope.  What counts as running is the implementation's matter."""

    def start_global(self, total: float) -> None:
        """The store was loaded, with so many running seconds behind it."""

    def start(self, session: str, total: float) -> None:
        """The session opened, with so many running seconds behind it."""

    def called(self, session: str | None) -> None:
        """Somebody called, in this session or in none."""

    def stop(self, session: str) -> None:
        """The session closed: its clock stands still."""

    def reading(self) -> Mapping[str, float]:
        """Total running seconds of global and of every open session."""


@dataclass(slots=True)
class _Stretch:
    """Running seconds so far, and when the last call was, if there was one."""

    total: float
    called_at: float | None = None

    def call(self, now: float, longest: float) -> None:
        """Count the time since the last call, unless that was too long ago."""
        if self.called_at is not None and now - self.called_at <= longest:
            self.total += now - self.called_at
        self.called_at = now


class ActivityClocks:
    """The clocks of `running_time: activity`: they run from one call to the next.

    Args:
        mono: See `Clock`.
        lease_s: The longest gap between two calls that counts.
    """

    def __init__(self, mono: Callable[[], float], lease_s: float) -> None:
        self._mono = mono
        self._lease_s = lease_s
        self._scopes = {GLOBAL: _Stretch(0.0)}

    def start_global(self, total: float) -> None:
        """Count from `total` on, from the second call of anybody on."""
        self._scopes[GLOBAL] = _Stretch(total)

    def start(self, session: str, total: float) -> None:
        """Count from `total` on, from the session's second call on."""
        self._scopes[session] = _Stretch(total)

    def called(self, session: str | None) -> None:
        """Count the gap since the session's last call, and since anybody's."""
        now = self._mono()
        for name in (GLOBAL, session):
            if name is not None and name in self._scopes:
                self._scopes[name].call(now, self._lease_s)

    def stop(self, session: str) -> None:
        """Forget the session's clock."""
        self._scopes.pop(session, None)

    def reading(self) -> Mapping[str, float]:
        """Total running seconds as of the last calls, of global and of every open session."""
        return {name: stretch.total for name, stretch in self._scopes.items()}


class OpenClocks:
    """The clocks of `running_time: open`: they run while sessions are open."""

    def __init__(self, mono: Callable[[], float]) -> None:
        self._mono = mono
        self._global_total = 0.0
        self._global_since: float | None = None
        self._sessions: dict[str, tuple[float, float]] = {}  # total at start, reading at start

    def start_global(self, total: float) -> None:
        """Count from `total` on, as soon as a session is open."""
        self._global_total = total

    def start(self, session: str, total: float) -> None:
        """Let the session's clock run from `total` on."""
        now = self._mono()
        if self._global_since is None:
            self._global_since = now
        self._sessions[session] = (total, now)

    def called(self, session: str | None) -> None:
        """Calls make no difference: open is open."""

    def stop(self, session: str) -> None:
        """Forget the session's clock; without any the global one stands still."""
        if self._sessions.pop(session, None) is None or self._sessions:
            return
        self._global_total = self._global_reading(self._mono())
        self._global_since = None

    def reading(self) -> Mapping[str, float]:
        """Total running seconds of global and of every open session."""
        now = self._mono()
        totals = {name: total + now - since for name, (total, since) in self._sessions.items()}
        totals[GLOBAL] = self._global_reading(now)
        return totals

    def _global_reading(self, now: float) -> float:
        since = self._global_since
        return self._global_total if since is None else self._global_total + now - since


class SwitchedClocks:
    """The clocks that the knob `running_time` names, which may change at any time.

    Args:
        kind: The knob's value.
        mono: See `Clock`.
        lease_s: See `ActivityClocks`.
    """

    def __init__(self, kind: str, mono: Callable[[], float], lease_s: float) -> None:
        self._mono = mono
        self._lease_s = lease_s
        self._kind = kind
        self._clocks = self._made()

    def choose(self, kind: str) -> None:
        """Count in another way from now on; what was counted stays."""
        if kind == self._kind:
            return
        totals = dict(self.reading())
        self._kind = kind
        self._clocks = self._made()
        self.start_global(totals.pop(GLOBAL))
        for session, total in totals.items():
            self.start(session, total)

    def start_global(self, total: float) -> None:
        """The store was loaded."""
        self._clocks.start_global(total)

    def start(self, session: str, total: float) -> None:
        """The session opened."""
        self._clocks.start(session, total)

    def called(self, session: str | None) -> None:
        """Somebody called."""
        self._clocks.called(session)

    def stop(self, session: str) -> None:
        """The session closed."""
        self._clocks.stop(session)

    def reading(self) -> Mapping[str, float]:
        """Total running seconds of global and of every open session."""
        return self._clocks.reading()

    def _made(self) -> RunningClocks:
        if self._kind == "open":
            return OpenClocks(self._mono)
        return ActivityClocks(self._mono, self._lease_s)
