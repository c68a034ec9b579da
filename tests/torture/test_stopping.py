"""However often and whenever a daemon is told to stop, it ends in good order."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from torture.size import size

if TYPE_CHECKING:
    from torture.household import Household

pytestmark = pytest.mark.lasting


def test_a_second_signal_never_changes_how_it_ends(household: Household) -> None:
    rounds = size(20, 200)
    for number in range(rounds):
        daemon = household.start()
        with household.client("s1") as client:
            client.record(f"note{number} is about matter{number}")
        daemon.send_signal(signal.SIGTERM)
        time.sleep(0.002 * number / rounds * 20)  # from at once to when it is nearly over
        daemon.send_signal(signal.SIGTERM)
        assert household.wait() == 0, f"round {number}"
    household.start()
    assert len(household.contents()) == rounds
    assert household.end() == 0
