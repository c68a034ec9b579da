"""How fast milkd finds duplicates, recalls, and keeps its columns, beside what else there is.

    python -P bench/hotpath.py [--quick] [--only PART,…] [--write docs/performance.md]

Everything is measured in one run: milkd compiled and pure, libraries and search engines that
are installed into a folder of their own, and plain loops.  Figures of each part are kept in
that folder, so that parts can be run one by one; `--saved` tells of what is kept.  Ratios are
of medians of the same run.  Exit code 1 beyond a limit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

# Last, so that milkd is the one that is installed.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from bench.hot import peers, report, timing
from bench.hot.limits import COUNTED, judged
from bench.hot.parts import PARTS, Scale

ROOT = Path(__file__).resolve().parents[1]
SIZES = (1_000, 10_000, 100_000, 1_000_000)
MAIN, QUICK = 100_000, 10_000
QUESTIONS, QUICK_QUESTIONS = 1_000, 100
SECONDS, QUICK_SECONDS = 2.5, 0.25
ROUNDS, QUICK_ROUNDS = 7, 2


def main() -> int:
    """Measure and print; returns the exit code."""
    given = _arguments()
    main_size = QUICK if given.quick else MAIN
    kept = given.peers / ("quick.json" if given.quick else "figures.json")
    found = _kept(kept)
    if not given.saved:
        timing.pin()
        peers.install(given.peers)
        _measure(given, main_size, found, kept)
    tables = _joined(found["parts"])
    verdicts = judged(tables, main_size, quick=given.quick)
    if given.json:
        told = [{"what": v.limit.what, "most": v.limit.most, "value": v.value} for v in verdicts]
        print(json.dumps(found | {"limits": told}, indent=1))
    else:
        print(report.text(tables, verdicts, main_size))
    if given.write is not None:
        report.write(given.write, tables, verdicts, found["machine"], main_size)
    return int(any(verdict.missed for verdict in verdicts))


def _arguments() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--peers", type=Path, default=ROOT / ".bench", metavar="DIR", help="where they go")
    add("--sizes", type=_sizes, metavar="N,…", help="numbers of facts")
    add("--quick", action="store_true", help="10,000 facts at most, few questions, no judgement")
    add("--only", type=_parts, default=[*PARTS], metavar="PART,…", help=", ".join(PARTS))
    add("--saved", action="store_true", help="measure nothing: tell of what is kept")
    add("--json", action="store_true", help="print figures")
    add("--write", type=Path, metavar="FILE", help="put the tables into this page, and a plot")
    return parser.parse_args()


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(size) for size in text.split(",")))


def _parts(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - PARTS.keys():
        raise argparse.ArgumentTypeError(f"no part is called {', '.join(sorted(unknown))}")
    return names


def _kept(path: Path) -> dict[str, Any]:
    """What was measured on this machine before."""
    found = {"machine": timing.machine(), "parts": {}}
    if path.exists():
        kept = json.loads(path.read_text())
        if kept["machine"] == found["machine"]:
            found["parts"] = kept["parts"]
    return found


def _measure(given: Any, main_size: int, found: dict[str, Any], kept: Path) -> None:
    sizes = given.sizes or tuple(size for size in SIZES if not given.quick or size <= main_size)
    scale = Scale(
        sizes=sizes,
        main=main_size,
        questions=QUICK_QUESTIONS if given.quick else QUESTIONS,
        seconds=QUICK_SECONDS if given.quick else SECONDS,
        rounds=QUICK_ROUNDS if given.quick else ROUNDS,
        program=peers.go_program(given.peers),
    )
    for name in given.only:
        began = time.perf_counter()
        found["parts"][name] = PARTS[name](scale)
        kept.write_text(json.dumps(found))
        timing.say(f"{name}: {time.perf_counter() - began:.0f} s")


def _joined(parts: dict[str, Any]) -> dict[str, Any]:
    """The tables of all parts; the counts of compared answers are in several of them."""
    tables: dict[str, Any] = {}
    for part in parts.values():
        for name, rows in part.items():
            tables.setdefault(name, {}).update(rows)
    if counted := tables.get(COUNTED):
        total = {
            key: sum(row[key] for row in counted.values()) for key in ("answers", "differences")
        }
        counted["all"] = total
    return tables


if __name__ == "__main__":
    sys.exit(main())
