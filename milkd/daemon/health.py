"""What is wrong with the daemon at the moment, in sentences.

Every part that meets trouble notes it under a key of its own and clears that
key when the trouble is over.  What is over already, but should not go unseen, is
told for an hour.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OK = "ok"
DEGRADED = "degraded"
READ_ONLY = "read_only"
TOLD_FOR = 3_600.0  # seconds
MAX_TOLD = 100  # the newest are kept


class Health:
    """The open troubles.  `changed` is called whenever the status may have become another."""

    def __init__(
        self,
        changed: Callable[[str], None] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reasons: dict[str, str] = {}
        self._told: list[tuple[float, str]] = []
        self._now = now
        self._read_only: set[str] = set()
        self.changed = changed

    def note(self, key: str, reason: str, *, read_only: bool = False) -> None:
        """Something is wrong; a later note under the same key replaces this one."""
        before = self.status
        self._reasons[key] = reason
        self._read_only.discard(key)
        if read_only:
            self._read_only.add(key)
        self._tell(before)

    def tell(self, sentence: str) -> None:
        """Something was wrong, and is mended, or waits for nobody; it is told for an hour."""
        before = self.status
        self._told.append((self._now(), sentence))
        del self._told[:-MAX_TOLD]
        self._tell(before)

    def let_pass(self, name: str) -> None:
        """What was odd about a file is no more, now that it is written anew."""
        own = f"file {name} "
        for key in [key for key in self._reasons if key.startswith(own)]:
            self.tell(self._reasons[key])
            self.clear(key)

    def note_file(self, name: str, warnings: Sequence[str]) -> None:
        """What is odd about a file, instead of what was odd about it before."""
        own = f"file {name} "
        for key in [key for key in self._reasons if key.startswith(own)]:
            self.clear(key)
        for number, warning in enumerate(warnings):
            self.note(f"{own}{number}", warning)

    def clear(self, key: str) -> None:
        """It is right again."""
        if key not in self._reasons:
            return
        before = self.status
        self._reasons.pop(key, None)
        self._read_only.discard(key)
        self._tell(before)

    @property
    def status(self) -> str:
        """`ok`, `degraded` or `read_only`."""
        if self._read_only:
            return READ_ONLY
        return DEGRADED if self._reasons or self._fresh() else OK

    @property
    def reasons(self) -> list[str]:
        """A sentence a trouble, the oldest first."""
        return [*self._reasons.values(), *self._fresh()]

    def _fresh(self) -> list[str]:
        """What was told within the hour."""
        since = self._now() - TOLD_FOR
        return [sentence for at, sentence in self._told if at > since]

    def _tell(self, before: str) -> None:
        if self.changed is not None and self.status != before:
            self.changed(self.status)
