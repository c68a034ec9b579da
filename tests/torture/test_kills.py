"""T4: eight clients write while the daemon is killed again and again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from torture.size import ROUND, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torture.household import Household

CLIENTS = size(8, 16)
KILLS = size(6, 20)
WRITER = Path(__file__).with_name("writer.py")

pytestmark = pytest.mark.lasting


@contextmanager
def writers(household: Household) -> Iterator[list[Path]]:
    """Clients at work; where each of them notes what was acknowledged."""
    notes = [household.home / f"notes{number}" for number in range(CLIENTS)]
    processes = [
        subprocess.Popen(
            [sys.executable, str(WRITER), str(household.socket), f"w{number}", str(path)],
            env=household.env,
        )
        for number, path in enumerate(notes)
    ]
    try:
        yield notes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            assert process.wait(60) == -signal.SIGTERM, "a client gave up"


def markers(notes: list[Path]) -> set[str]:
    """What was acknowledged; a line cut off by the end of its client counts not."""
    lines = [line for path in notes for line in path.read_text().splitlines(keepends=True)]
    return {line.strip() for line in lines if line.endswith("\n")}


def test_what_was_acknowledged_is_there_once_however_often_it_is_killed(
    household: Household, capsys: pytest.CaptureFixture[str]
) -> None:
    random = Random(ROUND)
    household.start()
    with writers(household) as notes:
        for number in range(KILLS):
            time.sleep(random.uniform(0.02, 0.4))
            household.kill()
            if number % 3 == 2:  # and in the middle of getting ready
                household.kill_early(random.uniform(0.0, 0.5))
            household.start()
        time.sleep(0.2)
    acknowledged = markers(notes)
    facts = household.facts()
    found = Counter(fact["content"].split()[0].removeprefix("note") for fact in facts)
    with capsys.disabled():
        print(f"\n{KILLS} kills, {len(acknowledged)} acknowledged, {len(found)} found")
    assert sorted(acknowledged - found.keys()) == []
    assert [marker for marker, times in found.items() if times != 1] == []
    # Asked again under its `op_id`, nothing is stated a second time.
    assert [fact["content"] for fact in facts if fact.get("evidence")] == []
    assert len(acknowledged) > KILLS
    assert household.end() == 0
    household.check_tidy()
