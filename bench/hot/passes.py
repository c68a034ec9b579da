"""A pass over the columns of a scope, and choosing the weakest, beside plain copies of a column.

A pass is decay, idle time, and the rows that are to be pruned or archived.
"""

from __future__ import annotations

import importlib
from array import array
from functools import partial
from typing import TYPE_CHECKING, Any

from bench.hot.product import COMPILED, PURE, core, ranking, scores
from bench.hot.timing import quantile, sample, say, unswept

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.hot.corpus import Corpus

    Calls = dict[str, Callable[[], object]]

COPY, PARTITION, SORT = "copy of a column", "numpy, argpartition", "numpy, argsort"
EVICTED = 0.10
"""The share of rows that goes."""
DAY_S = 86_400.0
_FACTOR, _FLOOR, _PRUNE, _STALE_S = 0.995, 0.1, 0.21, 14 * DAY_S


class _Columns:
    """What a pass works on; put back before each."""

    def __init__(self, facts: Corpus) -> None:
        self.scores = array("d", scores(ranking(facts)))
        self.exempt = array("B", [row % 50 == 0 for row in range(len(facts))])
        self.used = array("B", [row % 20 == 0 for row in range(len(facts))])
        self._w = facts.w
        self._idle_s = array("d", [row % 140 * DAY_S / 10 for row in range(len(facts))])
        self.put_back()

    def put_back(self) -> None:
        self.w, self.idle_s = self._w[:], self._idle_s[:]

    def let_pass(self, kernels: Any) -> None:
        kernels.decay(self.w, self.exempt, _FACTOR, _FLOOR)
        kernels.accrue(self.idle_s, self.used, DAY_S / 24)
        kernels.at_most(self.w, self.exempt, _PRUNE)
        kernels.at_least(self.idle_s, self.exempt, _STALE_S)

    def copy(self, into: memoryview) -> None:
        into[:] = memoryview(self.w)


def measure(facts: Corpus, rounds: int) -> dict[str, dict[str, float]]:
    """Medians in microseconds, by program; the programs take turns."""
    columns = _Columns(facts)
    target = memoryview(array("d", columns.w))
    passing: Calls = {COPY: lambda: columns.copy(target)}
    evicting: Calls = {}
    count = int(len(facts) * EVICTED)
    for name, kernels in _kernels().items():
        passing[name] = partial(columns.let_pass, kernels)
        if hasattr(kernels, "lowest"):
            column = (columns.scores, columns.exempt)
            evicting[name] = partial(kernels.lowest, *column, count)
    evicting |= _numpy(columns, count)
    found = {name: {"pass": taken} for name, taken in _turns(passing, columns, rounds).items()}
    for name, taken in _turns(evicting, columns, rounds).items():
        found.setdefault(name, {})["eviction"] = taken
    return found


def _kernels() -> dict[str, Any]:
    found: dict[str, Any] = {PURE: importlib.import_module("milkd.engine._kernels_py")}
    try:
        found[COMPILED] = core()
    except ImportError as error:
        say(f"  left out: {COMPILED}: {error}")
    return found


def _numpy(columns: _Columns, count: int) -> Calls:
    try:
        numpy: Any = importlib.import_module("numpy")
    except ImportError as error:
        say(f"  left out: numpy: {error}")
        return {}
    column = numpy.frombuffer(columns.scores)
    return {
        PARTITION: lambda: numpy.argpartition(column, count)[:count].tolist(),
        SORT: lambda: numpy.argsort(column, kind="stable")[:count].tolist(),
    }


def _turns(calls: Calls, columns: _Columns, rounds: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    with unswept():
        for _ in range(rounds):
            for name, call in calls.items():
                columns.put_back()
                call()  # what the others left in the caches is not this one's to pay for
                taken[name].append(sample(_run, call)[0])
    return {name: quantile(times, 0.5) * 1e6 for name, times in taken.items()}


def _run(call: Callable[[], object]) -> object:
    return call()
