"""Who holds a store: what the lock file says, and whether that is another machine.

A lock does not always reach across machines.  So a daemon on a network file system says
every half minute that it still lives, and one on another machine keeps away from a store
whose holder has said so a short while ago.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from milkd.paths import boot_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BEAT = 30.0  # seconds between two signs of life
FRESH = 90.0  # seconds for which one counts: two may be lost


def _uptime() -> float:
    """Seconds since this machine started, those in which it slept among them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine, and its clocks.

    Attributes:
        host: Its name.
        boot_id: What the kernel calls the time since it started; may be empty.
        wall: Seconds since the Unix epoch.
        uptime: Seconds since it started.
    """

    host: str = field(default_factory=lambda: os.uname().nodename)
    boot_id: str = field(default_factory=boot_id)
    wall: Callable[[], float] = time.time
    uptime: Callable[[], float] = _uptime


@dataclass(frozen=True, slots=True)
class Holder:
    """What a lock file says.

    Attributes:
        told: By name; nothing if it could not be understood.
        touched: When the file was written, by the clock of its disk.
    """

    told: Mapping[str, Any]
    touched: float

    @classmethod
    def parse(cls, data: bytes, touched: float) -> Holder:
        """Understand what can be understood."""
        try:
            told = json.loads(data)
        except (ValueError, RecursionError):
            told = None
        return cls(told if isinstance(told, dict) else {}, touched)

    def __str__(self) -> str:
        """The holder in words."""
        if "pid" not in self.told or "host" not in self.told:
            return "another process"
        version = f" {self.told['version']}" if "version" in self.told else ""
        return f"milkd{version} with pid {self.told['pid']} on {self.told['host']}"

    @property
    def place(self) -> str:
        """Where it can be reached, in words, if it can be said."""
        known = "pid" in self.told and "host" in self.told and "socket" in self.told
        return f" and listens on {self.told['socket']}" if known else ""

    def age(self, here: Machine) -> float | None:
        """Seconds since the sign of life of another machine, if it still counts.

        The clocks of two machines may differ, and that of the disk from both: the newest of the
        two times counts, and one that is still to come counts as now.
        """
        beat = self.told.get("beat")
        if not isinstance(beat, (int, float)) or isinstance(beat, bool):
            return None  # it was on no network file system, or gave the store back
        if not self._is_elsewhere(beat, here):
            return None
        age = max(0.0, here.wall() - max(beat, self.touched))
        return age if age < FRESH else None

    def _is_elsewhere(self, beat: float, here: Machine) -> bool:
        """Whether another machine wrote this; on this one, locks tell who is alive."""
        boot = self.told.get("boot_id")
        if boot and here.boot_id:
            if boot == here.boot_id:
                return False
            # Of the same name: this machine before it was started anew, or a twin of it.
            return self.told.get("host") != here.host or beat > here.wall() - here.uptime()
        return self.told.get("host") != here.host
