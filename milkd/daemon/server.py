"""The life of the daemon from the first connection to the last file.

One nursery holds every task.  Stopping is a sequence: nobody new is let in, the
name goes, what was read is answered, the sessions are closed, everything is
saved, and then the replies leave.
"""

from __future__ import annotations

import logging
from contextlib import closing
from typing import TYPE_CHECKING

import trio

from milkd.daemon import endpoint, notify, session_calls
from milkd.daemon.facts import run_pass
from milkd.daemon.fatal import EXIT_IO, trace
from milkd.daemon.listener import Listener
from milkd.daemon.service import Service
from milkd.errors import ReadOnly, StorageFailed, WireError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from milkd.daemon.address import Address
    from milkd.daemon.core import Core

_log = logging.getLogger(__name__)


class Server:
    """Serves a core on a socket until it is told to stop.

    Args:
        core: Loaded from its store.
        listening: The socket.
        address: Its path, if that is ours to take away; None if a service manager owns it.
        idle_exit_s: Stop after so long without a connection and a call; None: never.
    """

    def __init__(
        self,
        core: Core,
        listening: socket.socket,
        *,
        address: Address | None = None,
        idle_exit_s: float | None = None,
    ) -> None:
        self._core = core
        self._service = Service(core)
        self._listener = Listener(listening, core, self._service)
        self._address = address
        self._idle_exit_s = idle_exit_s
        self._accepting = trio.CancelScope()
        self._draining = trio.CancelScope()
        self._stop = trio.Event()
        self._code = 0
        core.stop = self._stop.set

    def stop(self) -> None:
        """Stop in good order; asked a second time, write no files and wait for nobody."""
        if self._stop.is_set():
            self._core.checkpoints.give_up()
            self._draining.cancel(reason="asked to stop twice")
        self._stop.set()

    async def refresh(self) -> None:
        """Read again what others may have changed."""
        await self._core.config.refresh()
        await self._core.edits.look()

    async def run(self, ready: Callable[[], None] = lambda: None) -> int:
        """Serve until told to stop; the exit code.

        Args:
            ready: Called when clients are being served.
        """
        with closing(self._listener):
            await self._serve(ready)
        return self._code

    async def _serve(self, ready: Callable[[], None]) -> None:
        limits, core = self._core.limits, self._core
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._commit)
            nursery.start_soon(self._accept, nursery)
            nursery.start_soon(session_calls.watch_leases, core)
            nursery.start_soon(core.config.watch, limits.config_poll_s)
            nursery.start_soon(core.edits.watch, limits.files_poll_s, lambda: core.callers)
            nursery.start_soon(core.checkpoints.run)
            nursery.start_soon(self._watch_address)
            nursery.start_soon(self._watch_idleness, nursery)
            interval = notify.watchdog_interval()
            if interval is not None:
                nursery.start_soon(notify.keep_watchdog, interval)
            ready()
            await self._stop.wait()
            await self._wind_down()
            nursery.cancel_scope.cancel(reason="the daemon has stopped")

    async def _commit(self) -> None:
        """Save for ever; when the disk has lost its credit, stop."""
        await self._core.commits.run()
        self._code = EXIT_IO
        self._stop.set()

    async def _accept(self, nursery: trio.Nursery) -> None:
        with self._accepting:
            await self._listener.accept_all(nursery)

    async def _watch_address(self) -> None:
        """Stop when the socket's path leads elsewhere: nobody can reach us any more."""
        if self._address is None:
            return
        while True:
            await trio.sleep(self._core.limits.socket_watch_s)
            if not self._address.is_ours():
                break
        _log.warning("the socket %s was removed or replaced; stopping", self._address.path)
        self._stop.set()

    async def _watch_idleness(self, nursery: trio.Nursery) -> None:
        """Stop when nobody has wanted anything for long enough."""
        if self._idle_exit_s is None:
            return
        while True:
            left = self._idle_left(self._idle_exit_s)
            if left <= 0:
                break
            await trio.sleep(left)
        _log.info("idle for %g s; stopping", self._idle_exit_s)
        await self._retire(nursery)
        self._stop.set()

    def _idle_left(self, limit: float) -> float:
        """Seconds until the daemon has been idle for long enough; some while it is in use."""
        if self._core.callers:
            return limit
        return self._core.active_at + limit - trio.current_time()

    async def _retire(self, nursery: trio.Nursery) -> None:
        """Take the name away, and serve those who connected just before that."""
        if self._address is None:
            return  # they stay in the manager's socket and wake the next daemon
        self._address.remove()
        self._accepting.cancel(reason="idle")
        await self._listener.accept_waiting(nursery)
        with trio.move_on_after(self._core.limits.drain_s):
            await self._listener.wait_empty()

    async def _wind_down(self) -> None:
        """End everything in good order."""
        notify.notify("STOPPING=1", "STATUS=saving")
        _log.info("stopping")
        self._service.stopping = True
        self._accepting.cancel(reason="the daemon is stopping")
        self._listener.close()
        if self._address is not None:
            self._address.remove()
        # Before anybody hears that we are gone: who then removes the store is in nobody's way.
        endpoint.remove(self._core.identity.store, self._core.identity.socket)
        self._listener.stop()
        with notify.taking_time():
            unsaved = self._core.commits.lost or await self._save()
        self._core.saved.settle(self._unsaved(unsaved))
        self._draining.deadline = trio.current_time() + self._core.limits.drain_s
        with self._draining:
            await self._listener.wait_empty()

    async def _save(self) -> str | None:
        """Close every session with a pass, and wait until all is on disk; why not all of it is."""
        commits, limit = self._core.commits, self._core.limits.save_s
        with trio.move_on_after(limit):
            await self._core.loading.only_open()
            self._close_sessions()
            batch = commits.flush()
            if batch is not None:
                await batch.done.wait()
                if batch.error is not None:
                    return None if self._never_took_anything(batch.error) else str(batch.error)
            await self._core.edits.look()
            await self._core.checkpoints.finish()
            return None
        if commits.latest() is None:
            _log.warning("the files were not saved within %g s; the journal has everything", limit)
            return None
        return f"the disk was not done within {limit:g} s"

    def _never_took_anything(self, error: WireError) -> bool:
        """Whether it is a store that is read only from the start: that is no accident."""
        return isinstance(error, ReadOnly) and not self._core.commits.succeeded

    def _unsaved(self, reason: str | None) -> StorageFailed | None:
        """The answer to who asked for the end, if it is not a good one."""
        if reason is None:
            return None
        _log.error("stopped, but not everything could be saved: %s", reason)
        self._code = EXIT_IO
        return StorageFailed(f"stopped, but not everything could be saved: {reason}")

    def _close_sessions(self) -> None:
        try:
            run_pass(self._core, None)
        except WireError as error:
            _log.error("the last pass was refused: %s", error)
        except Exception as error:  # what is acknowledged is safe; a fault must not hold us up
            _log.error("the last pass failed\n%s", trace(error))
        for name in self._core.sessions.names():
            self._core.sessions.close(name)
