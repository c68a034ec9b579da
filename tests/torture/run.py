"""The long tests, a round at a time: what was done is kept, and need not be done again.

    python tests/torture/run.py [--test T4[,T5]] [--seconds N] [--round N]

In `.torture/` lie `progress.json` and the output of each round that failed.  What was
done counts for the sources that it was done with; when they change, all begins anew.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from torture.trials import TRIALS

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".torture"
PROGRESS = KEPT / "progress.json"


class Progress:
    """Which rounds were done, with which end."""

    def __init__(self) -> None:
        self._sources = fingerprint()
        self.rounds: dict[str, dict[str, bool]] = {name: {} for name in TRIALS}
        try:
            found: dict[str, Any] = json.loads(PROGRESS.read_text())
        except (OSError, ValueError):
            return
        if found.get("sources") == self._sources:
            self.rounds |= {name: found["rounds"].get(name, {}) for name in TRIALS}
        else:
            print("the sources have changed since: beginning anew")

    def share(self, name: str) -> float:
        """How much of a trial is done."""
        return len(self.rounds[name]) / TRIALS[name].rounds

    def next_round(self, name: str) -> int:
        """The first round that was not done."""
        return next(n for n in range(TRIALS[name].rounds) if str(n) not in self.rounds[name])

    def failed(self, name: str) -> list[str]:
        """The rounds that failed."""
        return [number for number, passed in self.rounds[name].items() if not passed]

    def note(self, name: str, number: int, *, passed: bool) -> None:
        """Keep the end of a round."""
        self.rounds[name][str(number)] = passed
        text = json.dumps({"sources": self._sources, "rounds": self.rounds}, indent=1)
        beside = PROGRESS.with_suffix(".new")
        beside.write_text(text)
        beside.replace(PROGRESS)


def fingerprint() -> str:
    """Of all sources: equal while none has changed."""
    told = hashlib.sha256()
    for folder in ("milkd", "_fastcore", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".pyx", ".pxi", ".pxd", ".c", ".txt"):
                told.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return told.hexdigest()


def run_round(name: str, number: int, seconds: float) -> bool:
    """Run one round and tell about it; whether it passed.

    A round that is as good as it is long ends after so many seconds.
    """
    flag = [] if importlib.util.find_spec("milkd._fastcore") else ["--no-extension"]
    # A test may take hours here, so nothing is known to hang after two minutes.
    usual = ["-p", "no:cacheprovider", "-o", "faulthandler_timeout=0"]
    command = [sys.executable, "-m", "pytest", "-q", *usual, *flag]
    environment = os.environ | {
        "MILKD_TORTURE": "1",
        "MILKD_ROUND": str(number),
        "MILKD_SECONDS": str(seconds),
    }
    begun = time.monotonic()
    print(f"{name:4} {number + 1:3} of {TRIALS[name].rounds} ", end="", flush=True)
    done = subprocess.run(
        [*command, *TRIALS[name].targets],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    end = done.stdout.decode(errors="replace").strip().rpartition("\n")[2]
    print(f"{time.monotonic() - begun:7.1f} s  {end}")
    if done.returncode != 0:
        log = KEPT / f"{name}-{number}.log"
        log.write_bytes(done.stdout)
        print(f"     FAILED: see {log.relative_to(ROOT)}, make torture T={name} ROUND={number}")
    return done.returncode == 0


def run(names: list[str], seconds: float) -> int:
    """Do what is left of the trials, the least advanced first; the exit code."""
    progress, until = Progress(), time.monotonic() + seconds
    while (left := [n for n in names if progress.share(n) < 1]) and time.monotonic() < until:
        name = min(left, key=progress.share)
        number = progress.next_round(name)
        left_s = max(60.0, until - time.monotonic())
        progress.note(name, number, passed=run_round(name, number, left_s))
    print()
    for name in names:
        share, failed = progress.share(name), progress.failed(name)
        words = f"FAILED in rounds {', '.join(failed)}" if failed else "no failure"
        print(f"{name:4} {share:5.0%}  {words:22} {TRIALS[name].told}")
    return int(any(progress.failed(name) for name in names))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--test", default=",".join(TRIALS), help="which, by name: T4, or T4,T5")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no more after")
    parser.add_argument("--round", type=int, help="run this one round again, for its output")
    chosen = parser.parse_args()
    names = chosen.test.split(",")
    if unknown := [name for name in names if name not in TRIALS]:
        parser.error(f"no test is called {', '.join(unknown)}; there are {', '.join(TRIALS)}")
    KEPT.mkdir(exist_ok=True)
    if chosen.round is not None:
        passed = [run_round(name, chosen.round, chosen.seconds) for name in names]
        return int(not all(passed))
    return run(names, chosen.seconds)


if __name__ == "__main__":
    sys.exit(main())
