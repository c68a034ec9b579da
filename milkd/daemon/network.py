"""A store that other machines reach, too: what is told of that, and the signs of life.

Those keep a daemon on another machine away.  Where none could be given for long, that
one may think that we are dead: then nothing is written until one could be given again,
and if the store is another one's by then, it is the end.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import trio

from milkd.daemon.fatal import EXIT_RUNNING, Fatal
from milkd.errors import AlreadyRunning
from milkd.store.holder import BEAT
from milkd.store.mounts import network_type

if TYPE_CHECKING:
    from milkd.daemon.core import Core
    from milkd.store.lock import StoreLock

HEALTH_KEY = "heartbeat"
FIRST = 2.0  # seconds until the first: of two that began at the same moment, one must see the other
LIMIT = 20.0  # seconds that one may take
DOUBT = 60.0  # seconds without one after which we might be taken for dead (FRESH) soon

_log = logging.getLogger(__name__)


def notes(store: str, socket: str, mounts: str) -> list[str]:
    """What a person ought to know of file systems that other machines reach.

    Args:
        store: The store directory, without symlinks.
        socket: Where the daemon listens.
        mounts: See `milkd.store.mounts.read_mounts`.
    """
    found = []
    if kind := network_type(store, mounts):
        found.append(
            f"the store {store} is on a network file system ({kind}), where locks and syncs may "
            "hold less than on a local disk; work on it from one machine at a time"
        )
    if kind := network_type(os.path.realpath(os.path.dirname(socket)), mounts):
        found.append(
            f"the socket {socket} is on a network file system ({kind}), where daemons of two "
            "machines meet; set $XDG_RUNTIME_DIR or $MILKD_SOCKET to a place on this machine"
        )
    return found


class Heartbeat:
    """Gives them, as long as the daemon runs.

    Args:
        core: Whose store it is.
        lock: The lock on it, held.
    """

    def __init__(self, core: Core, lock: StoreLock) -> None:
        self._core = core
        self._lock = lock
        self._one = trio.CapacityLimiter(1)
        self._given_at = core.clock.boot()
        self._refusal: str | None = None

    async def run(self) -> None:
        """Give one now and then; for ever.

        Raises:
            Fatal: The store is another one's.
        """
        await trio.sleep(FIRST)
        while True:
            await self.beat()
            await trio.sleep(BEAT)

    async def beat(self, limit: float = LIMIT) -> None:
        """Give one; raises as `run`."""
        problem = f"no answer within {limit:g} s"
        try:
            with trio.move_on_after(limit):
                await trio.to_thread.run_sync(
                    self._lock.beat, abandon_on_cancel=True, limiter=self._one
                )
                problem = ""
        except AlreadyRunning as error:
            raise Fatal(EXIT_RUNNING, f"{error}; this daemon writes nothing any more") from None
        except OSError as error:
            problem = error.strerror or str(error)
        if problem:
            self._failed(problem)
        else:
            self._given()

    def _given(self) -> None:
        self._given_at = self._core.clock.boot()
        self._core.health.clear(HEALTH_KEY)
        if self._refusal is not None and self._core.commits.refusal == self._refusal:
            self._core.commits.refusal = None
        self._refusal = None

    def _failed(self, problem: str) -> None:
        silent = self._core.clock.boot() - self._given_at
        reason = (
            f"the lock file {self._lock.path} cannot be written ({problem}), by which other "
            f"machines see that this daemon lives; it was last written {silent:.0f} s ago"
        )
        _log.warning("%s", reason)
        if silent >= DOUBT and self._core.commits.refusal is None:
            self._refusal = f"{reason}; nothing is written until that works again"
            self._core.commits.refusal = self._refusal
        self._core.health.note(HEALTH_KEY, reason, read_only=self._refusal is not None)
