"""A client that hears what happens to facts, until it hears of the last one.

    python listener.py SOCKET

Then it tells how many events it heard, how many it was told it had lost, and whether the
daemon has ended the connection.
"""

from __future__ import annotations

import json
import sys

from torture.raw import Raw

LAST = "inserted"  # all others are about a fact that is there


def main() -> None:
    heard = lost = 0
    with Raw(sys.argv[1]) as raw:
        raw.call("subscribe", topics=["percepts"])
        print("ready", flush=True)
        while message := raw.next():
            (event,) = message[2]
            lost += event.get("lost", 0)
            heard += "event" in event
            if event.get("event") == LAST:
                break
    print(json.dumps([heard, lost, message is None]), flush=True)


if __name__ == "__main__":
    main()
