"""T5: each call that changes something on the disk goes wrong, in a whole daemon."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import pytest

from torture.household import Household, Ledger
from torture.size import LONG, portion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import milkd

HOWS = ("EIO", "ENOSPC", "EROFS", "short", "crash")
CANNOT = {
    "ENOSPC": ("unlink", "ftruncate"),
    "EROFS": ("write", "pwrite", "fsync", "fdatasync", "ftruncate"),
    "short": ("create", "fsync", "fdatasync", "ftruncate", "rename", "link", "unlink", "mkdir"),
}
"""Calls to which such a fault does not happen."""
AT_ONCE = 2  # daemons
RUNS = 24  # of the short column
ROUNDS = 20  # of the long one, which together do all
ENDS = (0, 74, 75, -9, None)
"""Stopped well, the disk failed, killed, or it was never there; all else is a fault of milkd."""

pytestmark = pytest.mark.lasting


class Fault(NamedTuple):
    """What goes wrong."""

    at: int
    how: str
    always: bool

    def environment(self) -> dict[str, str]:
        return {"SHIM_AT": str(self.at), "SHIM_HOW": self.how, "SHIM_ALWAYS": str(+self.always)}


def live(client: milkd.Client, ledger: Ledger) -> None:
    """A little of everything that changes files."""
    ledger.record(client, "the harbour crane is yellow")
    ledger.record(client, "lunch is at noon", session="s1")
    ledger.record(client, "tabs are wider than spaces", producer="user")
    ledger.forget(client, "the harbour crane is yellow")
    ledger.learn(client, "ships leave on friday")
    ledger.ask(client.consolidate)
    ledger.record(client, "the printer stands upstairs", session="s2")
    ledger.forget(client, "lunch is at noon", session="s1")
    ledger.ask(client.session_close, "s2")
    ledger.record(client, "the gate opens inwards", session="s1")


def suffer(shim: Path, fault: Fault | None) -> list[str]:
    """One life with a fault, and one after it; the calls of the first."""
    with Household() as household:
        log = household.home / "calls"
        environment = {
            "LD_PRELOAD": str(shim),
            "SHIM_UNDER": f"{household.store}/",
            "SHIM_LOG": str(log),
        } | (fault.environment() if fault else {})
        ledger = Ledger()
        if household.start_if_it_can(**environment):
            with closing(household.client()) as client:
                live(client, ledger)
        code = household.end()
        assert code in ENDS, f"the daemon ended with {code}"
        if fault is None:
            assert (code, ledger.refusals) == (0, [])
        calls = log.read_text().splitlines() if log.exists() else []
        if LONG and fault is not None:  # and something goes wrong when it starts again
            later = fault._replace(at=1 + 7 * fault.at % 40, always=False)
            household.start_if_it_can(**environment | later.environment())
            assert household.end() in ENDS
        household.start()
        ledger.check(household.contents())
        with household.client() as client:
            client.record("all is well again")
        assert household.end() == 0
        household.check_tidy()
        return calls


def faults(calls: list[str]) -> Iterator[Fault]:
    for (at, call), how, always in product(enumerate(calls, start=1), HOWS, (False, True)):
        possible = call.split()[0] not in CANNOT.get(how, ())
        if possible and not (how == "crash" and always):
            yield Fault(at, how, always)


def test_whatever_call_fails_nothing_acknowledged_is_lost(
    shim: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = suffer(shim, None)
    chosen = portion(list(faults(calls)), RUNS, ROUNDS)
    failed: dict[Fault, str] = {}

    def attempt(fault: Fault) -> None:
        try:
            suffer(shim, fault)
        except Exception as error:
            failed[fault] = f"{type(error).__name__}: {error}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(attempt, chosen))
    with capsys.disabled():
        kinds = dict(Counter(call.split()[0] for call in calls))
        print(f"\n{len(calls)} calls {kinds}; {len(chosen)} of {len(list(faults(calls)))} faults")
    assert failed == {}
