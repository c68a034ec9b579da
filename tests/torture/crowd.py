"""Many clients at the same moment, each a process of its own, that may start a daemon.

    python crowd.py STORE COUNT

Prints a line of JSON: of each client the seconds that it waited, and who answered it.
"""

from __future__ import annotations

import json
import os
import sys
import time

import milkd
import milkd.link  # once for all, before the forks

PATIENCE = 60.0  # seconds, far more than what is asked for: slowness is to be measured


def main() -> None:
    """Let them go."""
    store, count = sys.argv[1], int(sys.argv[2])
    gate, opened = os.pipe()
    answers, answer = os.pipe()
    for number in range(count):
        if os.fork() == 0:
            os.close(opened)
            os.read(gate, 1)  # until it is opened for all
            os.write(answer, json.dumps(ask(store, number)).encode() + b"\n")
            os._exit(0)
    os.close(answer)
    os.close(opened)
    with open(answers, encoding="utf-8") as lines:
        print(json.dumps([json.loads(line) for line in lines]))


def ask(store: str, number: int) -> tuple[float, int | str]:
    """One client's request."""
    begun = time.monotonic()
    try:
        with milkd.connect(store=store, timeout=PATIENCE) as client:
            pid: int | str = client.hello()["pid"]
            client.record(f"client {number} was here")
    except milkd.MilkdError as error:
        pid = f"{type(error).__name__}: {error}"
    return time.monotonic() - begun, pid


if __name__ == "__main__":
    main()
