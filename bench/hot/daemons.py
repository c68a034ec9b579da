"""Servers in processes of their own: milkd over a store that was made for it, and bare loops."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.hot.living import image

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.hot.corpus import Corpus

PLAIN: dict[str, object] = {"stemmer": "none", "hit_fields": "content", "distinctness_guard": "off"}
"""Knobs under which milkd does what the others do."""
LOOPS = Path(__file__).parents[1] / "loops.py"
_PATIENCE = 300.0  # seconds for a start


class Daemon:
    """A milkd of its own; nothing of the user's takes part."""

    def __init__(self, home: Path, knobs: Mapping[str, object], *, pure: bool = False) -> None:
        self.socket, self.store = str(home / "s"), str(home / "store")
        self.pid = 0
        self._pure = pure
        self._home = home
        config = home / "config.json"
        config.write_text(json.dumps({"memory": dict(knobs)}))
        where = ["--store", self.store, "--socket", self.socket, "--config", str(config)]
        self._command = [sys.executable, "-P", "-m", "milkd", *where]

    @contextmanager
    def running(self) -> Iterator[float]:
        """Start it, and stop it in the end; gives the seconds until it served."""
        known = {key: value for key, value in os.environ.items() if not key.startswith("MILK")}
        chosen = {"HOME": str(self._home)} | ({"MILKD_PURE": "1"} if self._pure else {})
        read, write = os.pipe()
        began = time.perf_counter()
        process = subprocess.Popen(
            [*self._command, "--ready-fd", str(write)],
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
            env=known | chosen,
        )
        os.close(write)
        self.pid = process.pid
        try:
            if not os.read(read, 1):
                raise RuntimeError("the daemon did not start")
            yield time.perf_counter() - began
        finally:
            os.close(read)
            process.terminate()
            process.wait()


def fill(home: Path, facts: Corpus) -> None:
    """Make a store of a corpus, as milk would have left it."""
    from milkd.store.encoder import image_to_bytes

    store = home / "store"
    store.mkdir(parents=True)
    (store / "global.json").write_bytes(image_to_bytes(image(facts)))


@contextmanager
def loop(kind: str, path: str) -> Iterator[str]:
    """One of the bare servers (`bench/loops.py`); gives its path."""
    process = subprocess.Popen([sys.executable, "-P", str(LOOPS), kind, path])
    try:
        until = time.perf_counter() + _PATIENCE
        while not _listens(path):
            if process.poll() is not None or time.perf_counter() > until:
                raise RuntimeError(f"the {kind} loop did not start")
            time.sleep(0.01)
        yield path
    finally:
        process.terminate()
        process.wait()


def _listens(path: str) -> bool:
    try:
        connected(path).close()
    except OSError:
        return False
    return True


def connected(path: str) -> socket.socket:
    """A socket that is connected."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return sock
