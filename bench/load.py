"""What a large store costs: at start, in memory, when a session opens, and at every pass.

    python -P bench/load.py [DIR]

Everything is made in DIR (the present directory unless named).  Each figure is taken with
the compiled module, if there is one, and without.  Ratios are of figures from the same run.
Exit code 1 beyond a limit.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import milkd
from milkd.engine import kernels
from milkd.engine.commands import Consolidate, Now
from milkd.engine.engine import Engine
from milkd.engine.params import Params
from milkd.engine.percept import GLOBAL, NOTHING, Edge, Percept, ScopeImage, Wording
from milkd.store.encoder import image_to_bytes

sys.path.append(str(Path(__file__).resolve().parents[1]))  # last: milkd is the installed one

from bench.pinging import p99, pings

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 6
LARGE = 100_000  # facts
MILLION = 1_000_000
SESSION = 20_000
WORDS = 20_000
FACT = 10  # words
STATED = 1_790_000_000.0
ROUNDS = 3
PASSES = 7
CORES = ("compiled", "pure")
LIMITS = {
    f"compiled: ready with {LARGE:,} facts, seconds": 3.0,
    f"pure: ready with {LARGE:,} facts, seconds": 8.0,
    "compiled: bytes of memory a fact": 1536.0,
    "compiled: p99 of a ping while a session opens, ms": 25.0,
    "pure: p99 of a ping while a session opens, ms": 25.0,
    f"compiled: a pass over {LARGE:,} / copy of a column": 25.0,
    f"pure: a pass over {LARGE:,}, ms": 50.0,
    f"compiled: a pass over {MILLION:,}, ms": 25.0,
}
STARTS = ("har", "mil", "ton", "ves", "qua", "bel", "cor", "dun", "fal", "gri", "hol", "jas")
MIDDLES = ("", "b", "k", "l", "n", "r", "t", "m", "p")
ENDS = (
    "bor", "dock", "fen", "gate", "lim", "mast", "nook", "pier", "quay", "reef", "sand", "tide",
    "vale", "wick", "yard", "zone", "ash", "brook", "croft", "dale", "edge", "ford", "glen", "holm",
    "isle", "keep", "lock", "moor", "ness", "oak", "peak", "rock", "stow", "thorp", "well", "wood",
    "ing", "ed", "s", "ers", "ation", "ly",
)  # fmt: skip
SPELT = [f"{start}{vowel}{middle}{end}" for start in STARTS for vowel in "aeiou"
         for middle in MIDDLES for end in ENDS]  # fmt: skip


def main() -> int:
    """Measure and print; returns the exit code."""
    if sys.argv[1:2] == ["--passes"]:
        print(json.dumps(_passes(int(sys.argv[2]))))
        return 0
    where = sys.argv[1] if len(sys.argv) > 1 else "."
    with tempfile.TemporaryDirectory(prefix="mk-", dir=where) as directory:
        found = dict(_measured(Path(directory)))
    for what, value in found.items():
        limit = LIMITS.get(what)
        told = "" if limit is None else f"   (at most {limit:g})"
        print(f"{value:10.3f}  {what}{told}")
    return int(any(found[what] > limit for what, limit in LIMITS.items() if what in found))


def _measured(home: Path) -> Iterator[tuple[str, float]]:
    parse = statistics.median(_prepare(home))
    yield "json.loads of its file, seconds", parse
    for core in CORES if kernels.USING_EXTENSION else CORES[1:]:
        yield from _loaded(home, core, parse)
        yield from _passed(core, LARGE)
    if kernels.USING_EXTENSION:
        yield from _passed("compiled", MILLION)


def _prepare(home: Path) -> Iterator[float]:
    """Stores as a daemon leaves them; seconds that it takes to parse the large file."""
    for name, scope, count in (
        ("empty", GLOBAL, 0),
        ("large", GLOBAL, LARGE),
        ("session", "long", SESSION),
    ):
        store = home / name
        store.mkdir()
        _write(store, scope, count)
        with Daemon(home, name, "pure"):
            pass  # whose first act is to write the files anew
    data = (home / "large" / "global.json").read_bytes()
    for _ in range(ROUNDS):
        began = time.perf_counter()
        json.loads(data)
        yield time.perf_counter() - began


def _loaded(home: Path, core: str, parse: float) -> Iterator[tuple[str, float]]:
    started, memory = [], []
    for _ in range(ROUNDS):
        with Daemon(home, "large", core) as daemon:
            started.append(daemon.started)
            memory.append(daemon.memory())
        with Daemon(home, "empty", core) as daemon:
            memory[-1] -= daemon.memory()
    with Daemon(home, "session", core) as daemon:
        waited = _opening(daemon)
    ready = statistics.median(started)
    yield f"{core}: ready with {LARGE:,} facts, seconds", ready
    yield f"{core}: that / json.loads", ready / parse
    yield f"{core}: bytes of memory a fact", statistics.median(memory) / LARGE
    yield f"{core}: pings while a session of {SESSION:,} facts opens", float(len(waited))
    yield f"{core}: p99 of a ping while a session opens, ms", p99(waited) * 1e3
    yield f"{core}: the longest, ms", max(waited) * 1e3


def _passed(core: str, count: int) -> Iterator[tuple[str, float]]:
    command = [sys.executable, "-P", __file__, "--passes", str(count)]
    told = subprocess.run(command, env=_environment(core), check=True, stdout=subprocess.PIPE)
    copied, passed = json.loads(told.stdout)
    yield f"{core}: a pass over {count:,}, ms", passed * 1e3
    yield f"{core}: a pass over {count:,} / copy of a column", passed / copied


def _environment(core: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "MILKD_PURE"}
    return kept | ({"MILKD_PURE": "1"} if core == "pure" else {})


class Daemon:
    """A daemon of its own on one of the stores."""

    def __init__(self, home: Path, name: str, core: str) -> None:
        self.socket = str(home / "s")
        self._environment = _environment(core)
        self._command = [
            sys.executable, "-P", "-m", "milkd", "--store", str(home / name),
            "--socket", self.socket, "--config", str(home / "config.json"),
        ]  # fmt: skip

    def __enter__(self) -> Daemon:
        read, write = os.pipe()
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [*self._command, "--ready-fd", str(write)],
            env=self._environment,
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        assert os.read(read, 1), "the daemon did not start"
        os.close(read)
        self.started = time.perf_counter() - began
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def memory(self) -> int:
        """Bytes that are resident."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _opening(daemon: Daemon) -> list[float]:
    """Seconds of each ping while another client opens the session."""
    with (
        milkd.connect(socket=daemon.socket) as opener,
        milkd.connect(socket=daemon.socket) as other,
    ):
        opener.ping()
        return pings(other, lambda: opener.call("session_open", session="long"))


def _passes(count: int) -> tuple[float, float]:
    """Median seconds of the copy of a column and of a pass, decided and applied."""
    chance = random.Random(SEED)
    engine = Engine(Params(stemmer="none", hit_fields="content"))
    facts = (f"fact {number}" for number in range(count))
    engine.load(ScopeImage(name=GLOBAL, percepts=tuple(_percepts("pass", facts, chance))))
    column, target = array("d", [0.5]) * count, array("d", [0.5]) * count
    copied, passed = [], []
    for hour in range(1, PASSES + 1):
        began = time.perf_counter()
        memoryview(target)[:] = memoryview(column)
        between = time.perf_counter()
        now = Now(STATED + 3600.0 * hour, {GLOBAL: 3600.0 * hour})
        engine.apply_all(engine.decide(Consolidate(), now).changes)
        copied.append(between - began)
        passed.append(time.perf_counter() - between)
    return statistics.median(copied), statistics.median(passed)


def _write(store: Path, scope: str, count: int) -> None:
    """A scope's file: words as frequent as in a language, some wordings, roles and edges."""
    chance = random.Random(SEED)
    words = chance.sample(SPELT, WORDS)
    odds = list(accumulate(1.0 / (rank + 3.7) for rank in range(WORDS)))
    facts = (" ".join(chance.choices(words, cum_weights=odds, k=FACT)) for _ in range(count))
    percepts = tuple(_percepts(scope, facts, chance))
    edges = tuple(
        Edge(chance.choice(percepts).id, chance.choice(percepts).id, "extends")
        for _ in range(count // 20)
    )
    image = ScopeImage(name=scope, percepts=percepts, edges=edges)
    (store / f"{scope}.json").write_bytes(image_to_bytes(image))


def _percepts(scope: str, facts: Iterator[str], chance: random.Random) -> Iterator[Percept]:
    space = sum(scope.encode())
    for number, fact in enumerate(facts):
        stated = STATED + number + chance.randrange(1_000_000) / 1e6
        few: dict[str, Any] = {}
        if number % 20 == 0:
            few["wordings"] = (Wording(fact.partition(" ")[2], stated),)
        yield Percept(
            id=f"{number:08x}-{space:04x}-4000-8000-{chance.getrandbits(48):012x}",
            content=fact,
            producer=chance.choice(("user", "primary", "system")),
            w=chance.uniform(0.25, 1.0),
            created_at=stated,
            updated_at=stated,
            roles={"theme": fact.partition(" ")[0]} if number % 5 == 0 else NOTHING,
            evidence=number % 3,
            **few,
        )


if __name__ == "__main__":
    sys.exit(main())
