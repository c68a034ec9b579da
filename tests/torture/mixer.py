"""A client that does a bit of everything, at a steady pace, whatever becomes of the daemon.

    python mixer.py SOCKET NAME FILE RATE

What changes something is asked for until it is granted, always under the same `op_id`.
The file tells what was: `kept MARKER`, `gone MARKER`, `took SECONDS` of a change that was
granted at once, `read SECONDS`.  SIGTERM ends it after the call that is under way.
"""

from __future__ import annotations

import signal
import sys
import time
import uuid
from collections import deque
from contextlib import suppress
from itertools import count
from random import Random
from typing import IO, Any

import milkd
from milkd.errors import ConnectionLost, DaemonUnreachable, ShuttingDown, Unanswered

HOLDS = 25
"""Facts that it keeps, more or less: then it forgets as many as it states."""
PATIENCE = 60.0  # seconds without a daemon until it gives up
AWAY = (ConnectionLost, DaemonUnreachable, ShuttingDown, Unanswered)


class Mixer:
    """One client and what it knows of its facts."""

    def __init__(self, socket: str, name: str, notes: IO[str]) -> None:
        self._client = milkd.Client(socket)
        self._name = name
        self._session = f"session-{name}"
        self._notes = notes
        self._random = Random(name)
        self._facts: deque[tuple[str, str]] = deque()  # marker and id, oldest first
        self._numbers = count()
        self._ended = False

    def end(self, *_: object) -> None:
        """Do nothing more."""
        self._ended = True

    def run(self, rate: float) -> None:
        """So many calls a second; what was missed while nobody answered is not made up for."""
        due = time.monotonic()
        while not self._ended:
            due = max(due + 1 / rate, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
            self._do()

    def _do(self) -> None:
        random, session = self._random, self._session
        match random.randrange(20):
            case 0 | 1 | 2 | 3 | 4:
                self._look("query", text=f"matter {self._name}", session=session)
            case 5 | 6:
                self._look("inject", prompt=f"what of heading {self._name}?", session=session)
            case 7:
                self._look("list", session=session, limit=20)
            case 8:
                self._insist("session_open" if random.random() < 0.5 else "session_close")
            case 9:
                self._insist("consolidate" if random.random() < 0.9 else "snapshot", session=None)
            case _ if random.random() * 2 * HOLDS < len(self._facts):
                self._forget()
            case _:
                self._state()

    def _state(self) -> None:
        """State a fact, for everybody or for the session alone."""
        marker = f"{self._name}x{next(self._numbers)}"
        content = f"note{marker} tells of matter{marker} under heading{marker}"
        session = self._random.choice((None, self._session))
        told = self._insist("record", content=content, session=session)
        self._facts.append((marker, told["id"]))
        self._note(f"kept {marker}")

    def _forget(self) -> None:
        """Forget the oldest fact, wherever it is by now."""
        marker, percept = self._facts.popleft()
        self._insist("forget", ref=percept)
        self._note(f"gone {marker}")

    def _look(self, method: str, **arguments: Any) -> None:
        began = time.monotonic()
        with suppress(*AWAY):
            self._client.call(method, **arguments)
            self._note(f"read {time.monotonic() - began:.6f}")

    def _insist(self, method: str, **arguments: Any) -> Any:
        arguments = {"session": self._session} | arguments
        if method not in ("session_open", "snapshot"):
            arguments["op_id"] = str(uuid.uuid4())
        if method == "snapshot":
            del arguments["session"]
        began = time.monotonic()
        for attempt in count():
            try:
                answer = self._client.call(method, **arguments)
            except AWAY:
                if time.monotonic() - began > PATIENCE:
                    raise
                self._client.close()
                time.sleep(0.02)
            else:
                if attempt == 0 and method in ("record", "forget"):
                    self._note(f"took {time.monotonic() - began:.6f}")
                return answer

    def _note(self, line: str) -> None:
        self._notes.write(f"{line}\n")


def main(socket: str, name: str, path: str, rate: str) -> None:
    with open(path, "w", buffering=1) as notes:
        mixer = Mixer(socket, name, notes)
        signal.signal(signal.SIGTERM, mixer.end)
        mixer.run(float(rate))


if __name__ == "__main__":
    main(*sys.argv[1:])
