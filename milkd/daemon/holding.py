"""Whether the store is still ours: somebody may delete or replace the lock file under us.

Another daemon could begin then, and two would write.  So the lock is taken anew where
the file has gone, and where somebody else has it by then, that is the end.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import trio

from milkd.daemon import endpoint
from milkd.daemon.fatal import EXIT_RUNNING, Fatal
from milkd.errors import AlreadyRunning, Failure

if TYPE_CHECKING:
    from milkd.daemon.core import Core
    from milkd.store.lock import StoreLock

INTERVAL = 2.0  # seconds between two looks; each takes some microseconds
HEALTH_KEY = "lock"

_log = logging.getLogger(__name__)


class LockWatch:
    """Looks at the lock file for as long as the daemon runs.

    Args:
        core: Whose store it is.
        lock: The lock on it, held.
    """

    def __init__(self, core: Core, lock: StoreLock) -> None:
        self._core = core
        self._lock = lock

    async def run(self) -> None:
        """Look now and then; for ever.  Raises as `look`."""
        while True:
            await trio.sleep(INTERVAL)
            if self.look():
                # What was in the journal may have been deleted with the lock.
                await self._core.checkpoints.take()

    def look(self) -> bool:
        """Whether the lock had to be taken anew.

        Raises:
            Fatal: The store is another daemon's by now, and must not be written to.
        """
        if self._lock.holds():
            return False
        try:
            renewed = self._lock.renew()
        except AlreadyRunning as error:
            reason = f"{self._lock.path} was deleted or replaced, and {error}"
            raise Fatal(EXIT_RUNNING, f"{reason}; this daemon writes nothing any more") from None
        except Failure as error:
            self._core.health.note(HEALTH_KEY, f"{self._lock.path} has gone: {error}")
            return False
        if renewed:
            self._tell()
        return renewed

    def _tell(self) -> None:
        reason = f"{self._lock.path} was deleted or replaced by another program; it is made anew"
        _log.warning("%s", reason)
        self._core.health.clear(HEALTH_KEY)
        self._core.health.tell(reason)
        endpoint.write(
            self._lock.store, self._core.identity.socket
        )  # it may have been deleted, too
