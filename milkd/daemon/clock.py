"""Time as the daemon hands it to the engine: the wall clock and the running clocks.

A running clock counts the seconds in which something was going on; decay and
archiving follow it, not the wall.  Under `running_time: open` a session's clock
runs from its opening to its close, and the global one while any session is open.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from milkd.engine.percept import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Clock:
    """Where the daemon reads the time.

    Attributes:
        wall: Seconds since the Unix epoch; may jump either way.
        mono: Seconds that never go back and stand still while the machine sleeps
            (CLOCK_MONOTONIC on Linux).
    """

    wall: Callable[[], float] = time.time
    mono: Callable[[], float] = time.monotonic


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
