"""How long a recall by `milkctl` takes, in terms of what starting Python takes.

    python bench/startup.py [MILKCTL]

Runs the installed command against a daemon on a throw-away store, and `python -c pass`
in between, so that both see the same machine.  Exit code 1 above the limit.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import milkd

ROUNDS = 15
WARM_UP = 3
LIMIT = 2.4  # × `python -c pass`
FACTS = 200
# Other memories, and what would keep Python from caching the compiled modules.
NOT_OURS = ("MILK", "PYTHONDONTWRITEBYTECODE")


def main() -> int:
    """Measure and print; returns the exit code."""
    milkctl = sys.argv[1] if len(sys.argv) > 1 else _installed()
    with tempfile.TemporaryDirectory(prefix="mk-", dir="/tmp") as home:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(NOT_OURS)}
        environment |= {"HOME": home, "MILKD_SOCKET": f"{home}/s"}
        os.environ.update(environment)
        with milkd.connect() as client:
            for number in range(FACTS):
                client.record(f"service{number} is deployed through cluster{number % 7}")
            commands = {
                "python -c pass": [sys.executable, "-c", "pass"],
                "milkctl recall": [milkctl, "recall", "where is service7 deployed?"],
            }
            times = _interleaved(commands, environment)
            client.shutdown()
    return _report(times)


def _installed() -> str:
    """The command that belongs to this interpreter."""
    found = shutil.which("milkctl", path=str(Path(sys.executable).parent))
    if found is None:
        sys.exit(f"no milkctl beside {sys.executable}; install milkd there, or name one")
    return found


def _interleaved(
    commands: dict[str, list[str]], environment: dict[str, str]
) -> dict[str, list[float]]:
    """Seconds that each command took, round by round."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(WARM_UP + ROUNDS):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
            if number >= WARM_UP:
                times[name].append(time.perf_counter() - begin)
    return times


def _report(times: dict[str, list[float]]) -> int:
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    base, command = medians.values()
    for name, taken in times.items():
        low, _, high = statistics.quantiles(taken, n=4)
        print(
            f"{name:<16} {1000 * medians[name]:6.1f} ms  "
            f"(half of {len(taken)} between {1000 * low:.1f} and {1000 * high:.1f})"
        )
    ratio = command / base
    print(f"{'ratio':<16} {ratio:6.2f} ×   (at most {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
