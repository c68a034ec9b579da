"""A client that states one fact after another, whatever becomes of the daemon.

    python writer.py SOCKET NAME FILE

Every fact is asked for until it is acknowledged, always under the same `op_id`, and
then noted in the file.  SIGTERM ends it.
"""

from __future__ import annotations

import sys
import time
import uuid
from itertools import count

import milkd


def main(socket: str, name: str, path: str) -> None:
    client = milkd.Client(socket)
    with open(path, "w", buffering=1) as notes:
        for number in count():
            marker = f"{name}x{number}"
            insist(client, f"note{marker} tells of matter{marker} under heading{marker}", name)
            notes.write(f"{marker}\n")


def insist(client: milkd.Client, content: str, name: str) -> None:
    """State a fact until somebody has taken it; every second one for the client alone."""
    operation = str(uuid.uuid4())
    session = name if content.split()[0].endswith(("1", "3", "5", "7", "9")) else None
    while True:
        try:
            client.call("record", content=content, session=session, op_id=operation)
        except milkd.MilkdError:
            client.close()
            time.sleep(0.01)
        else:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
