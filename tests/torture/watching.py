"""What a bystander notices while others misbehave, and what it costs the daemon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torture.household import Household

PINGER = Path(__file__).with_name("pinger.py")
EVERY = 0.005  # seconds from ping to ping


@dataclass
class Waits:
    """How long the answers to pings took, in seconds; filled in when the watch is over."""

    seconds: list[float] = field(default_factory=list)

    def p99(self) -> float:
        """All but one in a hundred took less."""
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)]

    def __str__(self) -> str:
        return (
            f"{len(self.seconds)} pings, p50 {_middle(self.seconds) * 1e3:.2f} ms, "
            f"p99 {self.p99() * 1e3:.1f} ms, longest {max(self.seconds) * 1e3:.1f} ms"
        )


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


@contextmanager
def bystander(household: Household) -> Iterator[Waits]:
    """A process that pings the daemon all the while.

    It is a process, so that what the test itself does takes none of its time.
    """
    waits = Waits()
    process = subprocess.Popen(
        [sys.executable, str(PINGER), str(household.socket), str(EVERY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield waits
    finally:
        process.stdin.close()
        told = process.stdout.read()
        process.stdout.close()
        code = process.wait()
    assert code == 0, "the bystander was not served"
    waits.seconds += json.loads(told)


class Body:
    """A process as the system sees it."""

    def __init__(self, pid: int) -> None:
        self._proc = Path(f"/proc/{pid}")

    def memory(self) -> int:
        """Bytes that are in memory."""
        pages = int((self._proc / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def peak(self) -> int:
        """The most bytes that ever were in memory."""
        (line,) = (
            line
            for line in (self._proc / "status").read_text().splitlines()
            if line.startswith("VmHWM:")
        )
        return int(line.split()[1]) << 10

    def descriptors(self) -> int:
        """How many are open."""
        return len(os.listdir(self._proc / "fd"))

    def cpu(self) -> float:
        """Seconds of processor time that it has used."""
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, seconds: float) -> float:
        """How much of one processor it uses during the next seconds."""
        used, since = self.cpu(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu() - used) / (time.monotonic() - since)


def body(household: Household) -> Body:
    """That of the daemon."""
    assert household.daemon is not None
    return Body(household.daemon.pid)


def configure(household: Household, **limits: float) -> None:
    """Let daemons that start from now on have lower limits."""
    path = household.home / ".milk" / "config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"milkd": {"limits": limits}}))
