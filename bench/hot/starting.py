"""How long milkd takes to serve a large store, and what memory it needs for it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.hot.daemons import Daemon, fill
from bench.hot.product import COMPILED, PURE, is_compiled
from bench.hot.timing import processor_time, quantile, resident

if TYPE_CHECKING:
    from bench.hot.corpus import Corpus


def measure(facts: Corpus, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds until ready (the lesser of wall and processor time), and bytes a fact.

    The store comes as milk leaves it, with the default knobs; from its second start on it is
    what milkd left when it stopped.
    """
    found: dict[str, dict[str, float]] = {}
    for name in (COMPILED, PURE) if is_compiled() else (PURE,):
        with tempfile.TemporaryDirectory(prefix="mk-") as directory:
            home = Path(directory)
            empty = home / "empty"
            empty.mkdir()
            base = _start(Daemon(empty, {}, pure=name == PURE))[1]
            fill(home / "full", facts)
            daemon = Daemon(home / "full", {}, pure=name == PURE)
            starts = [_start(daemon) for _ in range(rounds)]
        size = quantile([size for _, size in starts], 0.5)
        found[name] = {
            "first ready": starts[0][0],
            "ready": quantile([took for took, _ in starts], 0.5),
            "bytes/fact": (size - base) / len(facts),
            "bytes/fact, all": size / len(facts),
        }
    return found


def _start(daemon: Daemon) -> tuple[float, int]:
    """Seconds and bytes."""
    with daemon.running() as wall:
        return min(wall, processor_time(daemon.pid)), resident(daemon.pid)
