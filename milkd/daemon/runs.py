"""Runs: what tells one sitting from the next, for evidence that must come from two.

A run ends with the process, or when a living daemon saw no activity for long.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.daemon.events import Hub
    from milkd.engine.engine import Engine

HOUR_S = 3600.0

_log = logging.getLogger(__name__)


class Runs:
    """The present run.

    Args:
        first: Id of the run that begins with the process.
        since_boot: Seconds that never go back and go on while the machine sleeps: a lid that
            was closed overnight is a gap like any other.
        new_id: Makes the ids of later runs.
    """

    def __init__(
        self,
        engine: Engine,
        hub: Hub,
        *,
        first: str,
        since_boot: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self.id = first
        self._engine = engine
        self._hub = hub
        self._since_boot = since_boot
        self._new_id = new_id
        self._active_at: float | None = None

    def note_activity(self) -> None:
        """Somebody works with the memory; after a long enough rest that begins a new run."""
        now, before = self._since_boot(), self._active_at
        self._active_at = now
        gap_s = self._engine.params.run_gap_hours * HOUR_S
        if before is not None and 0 < gap_s <= now - before:
            self._begin(now - before)

    def _begin(self, rested_s: float) -> None:
        _log.info("a new run begins after %.1f h without activity", rested_s / HOUR_S)
        self._engine.new_run()
        self.id = self._new_id()
        self._hub.publish("sessions", "run_began", run_id=self.id)
