"""T21: eight clients do a bit of everything for long, while the daemon is killed now and then.

Nothing that was acknowledged is lost, nothing is there twice, and the daemon that lives
longest grows neither in memory nor in descriptors.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from torture.household import until
from torture.size import LONG, ROUND, SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torture.household import Household

CLIENTS = 8
RATE = 25.0  # calls a second of each
SYNC = 0.005  # seconds
LASTS = min(7_200.0, SECONDS) if LONG else 32.0
KILL, EDIT = (300.0, 600.0) if LONG else (5.0, 4.0)
WARM = 600.0 if LONG else 6.0
"""Seconds of a daemon's life in which it may grow: it fills what is bounded."""
GROWTH = 1.0 if LONG else 8.0
"""MiB that it may grow after that: in an hour; in the short form altogether, in which it still
fills what it remembers operations in, and a leak of 4 KiB a call would be as much."""
WRITE = 0.1 if LONG else 0.5
"""Seconds that the slowest hundredth of the changes may take at least; here others may work."""
SPARE_FDS = 8  # that a daemon may have open beside what it has when nobody is there, and clients
MIXER, SLOW = (Path(__file__).with_name(name) for name in ("mixer.py", "slow.py"))

pytestmark = [
    pytest.mark.lasting,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]


@dataclass
class Watch:
    """What one daemon took over its life."""

    pid: int
    born: float = field(default_factory=time.monotonic)
    memory: list[tuple[float, float]] = field(default_factory=list)
    """MiB by its age in seconds, since it was warm."""
    descriptors: list[int] = field(default_factory=list)

    def look(self) -> None:
        age = time.monotonic() - self.born
        self.descriptors.append(descriptors(self.pid))
        if age > WARM:
            self.memory.append((age, resident(self.pid)))

    def growth(self) -> float:
        """MiB in an hour, or, of a short life, between its first and its last third."""
        ages, sizes = zip(*self.memory, strict=True)
        if LONG:
            slope: float = statistics.linear_regression(ages, sizes).slope
            return 3_600 * slope
        third = len(sizes) // 3
        growth: float = statistics.median(sizes[-third:]) - statistics.median(sizes[:third])
        return growth


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid: int) -> float:
    """MiB of memory that are in use."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def mixers(household: Household) -> Iterator[list[Path]]:
    """Clients at work; where each of them notes what it was told."""
    notes = [household.home / f"notes{number}" for number in range(CLIENTS)]
    processes = [
        subprocess.Popen(
            [sys.executable, str(MIXER), str(household.socket), f"m{number}", str(path), str(RATE)],
            env=household.env,
        )
        for number, path in enumerate(notes)
    ]
    try:
        yield notes
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(90) for process in processes]
    assert codes == [0] * CLIENTS, "a client gave up"


def told(notes: list[Path]) -> tuple[set[str], set[str], list[float], int]:
    """What is kept, what is gone, how long changes took, and how many calls there were."""
    kept, gone, took, calls = set[str](), set[str](), list[float](), 0
    for path in notes:
        for line in path.read_text().splitlines():
            word, _, rest = line.partition(" ")
            calls += word != "took"
            match word:
                case "kept":
                    kept.add(rest)
                case "gone":
                    kept.discard(rest)
                    gone.add(rest)
                case "took":
                    took.append(float(rest))
    return kept, gone, took, calls


def add_by_hand(path: Path, content: str) -> None:
    """What a careful editor does: all of the file beside it, and then in its place."""
    document = json.loads(path.read_text())
    times = dict.fromkeys(("created_at", "updated_at"), "2026-05-24T10:11:12Z")
    fact = {"id": str(uuid.uuid4()), "content": content, "w": 0.9, "producer": "user"}
    document["percepts"].append(fact | times)
    beside = path.with_suffix(".swp")
    beside.write_text(json.dumps(document))
    beside.rename(path)


class Soak:
    """The household over all that time."""

    def __init__(self, household: Household) -> None:
        self.household = household
        self.edits: list[str] = []
        self.kills = 0
        self.end = time.monotonic() + LASTS
        self.kill_at = time.monotonic() + KILL
        self.edit_at = time.monotonic() + EDIT
        self.watch = Watch(self._start())
        self.quiet = self._quiet()

    def go_on(self) -> None:
        """Watch, kill and edit until the time is over; the last daemon has half of it."""
        random, pause = Random(ROUND), max(0.25, LASTS / 7_200)
        while (now := time.monotonic()) < self.end:
            time.sleep(pause)
            self.watch.look()
            edits = now > self.edit_at
            if now > self.kill_at and now < self.end - LASTS / 2:
                self._kill(edits and random.random() < 0.5)
            if edits:
                self._edit()

    def _start(self) -> int:
        return self.household.start().pid

    def _quiet(self) -> int:
        """Descriptors of a daemon that has saved, when nobody is there."""
        with self.household.client() as client:
            client.record("the first fact of all is about pebbles")
            client.snapshot()
        time.sleep(0.5)
        return descriptors(self.watch.pid)

    def _kill(self, edit: bool) -> None:
        self.household.kill()
        self.kills, self.kill_at = self.kills + 1, time.monotonic() + KILL
        if edit:
            self._edit()
        self.watch = Watch(self._start())

    def _edit(self) -> None:
        number = len(self.edits)
        self.edits.append(f"hand{number} wrote of harbour{number} with pencil{number}")
        add_by_hand(self.household.store / "global.json", self.edits[-1])
        self.edit_at = time.monotonic() + EDIT


def test_nothing_is_lost_and_nothing_grows(
    household: Household, capsys: pytest.CaptureFixture[str]
) -> None:
    household.program = [sys.executable, str(SLOW), str(SYNC)]
    soak = Soak(household)
    with mixers(household) as notes:
        soak.go_on()
    kept, gone, took, calls = told(notes)
    p50, p99 = statistics.median(took), sorted(took)[len(took) * 99 // 100]
    growth = soak.watch.growth()
    with capsys.disabled():
        print(
            f"\n{LASTS:.0f} s, {calls} calls ({calls / LASTS:.0f} a second), {soak.kills} kills, "
            f"{len(soak.edits)} edits; changes p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms; "
            f"memory {soak.watch.memory[-1][1]:.1f} MiB, growing {growth:+.2f} MiB"
            f"{' an hour' if LONG else ''}; descriptors {max(soak.watch.descriptors)}"
        )

    check(household, soak, kept, gone)
    assert calls > LASTS * CLIENTS * RATE / 8, "the clients did not get their pace"
    assert max(soak.watch.descriptors) <= soak.quiet + CLIENTS + SPARE_FDS
    until(lambda: descriptors(soak.watch.pid) <= soak.quiet)
    assert growth < GROWTH
    assert p99 < WRITE
    assert household.end() == 0
    household.check_tidy()
    found = household.milkctl("check", "--store", str(household.store))
    assert found.returncode == 0, found.stdout.decode() + found.stderr.decode()


def check(household: Household, soak: Soak, kept: set[str], gone: set[str]) -> None:
    """Hold the store to what everybody was told, and wrote."""
    expected = sorted(soak.edits)
    until(lambda: [c for c in household.contents() if c.startswith("hand")] == expected)
    facts = [fact for fact in household.facts() if fact["content"].startswith("note")]
    found = [fact["content"].split()[0].removeprefix("note") for fact in facts]
    assert len(set(found)) == len(found), "a fact is there twice"
    assert kept - set(found) == set(), "lost"
    assert set(found) & gone == set(), "came back"
    assert set(found) == kept, "nobody stated it"
    # Asked again under its `op_id`, nothing is stated a second time.
    assert [fact["content"] for fact in facts if fact.get("evidence")] == []
