"""A home of its own for a test: a store, a socket with a short path, and daemons in it.

Socket paths are limited to some hundred bytes, so the directory is not pytest's.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import milkd

if TYPE_CHECKING:
    from types import TracebackType

ROOT = Path(milkd.__file__).parent.parent
START = 30.0  # seconds that a daemon may take to get ready on a busy machine
OURS = ("MILK", "XDG_RUNTIME_DIR", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LISTEN_", "NOTIFY_SOCKET")


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


class Place:
    """A temporary home directory; daemons started in it end with it."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="mk-", dir="/tmp"))
        self.store = self.home / ".milk" / "memory"
        self.socket = self.home / "s"
        self.log = self.home / ".milk" / "milkd.log"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
        self.env |= {
            "HOME": str(self.home),
            "MILKD_SOCKET": str(self.socket),
            "PYTHONPATH": str(ROOT),
        }
        self.program = [sys.executable, "-m", "milkd"]
        self.daemon: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        self.stop_started()
        shutil.rmtree(self.home, ignore_errors=True)

    def start(self) -> subprocess.Popen[bytes]:
        """A daemon on the store, ready."""
        ready, tell = os.pipe()
        command = [*self.program, "--ready-fd", str(tell)]
        self.daemon = subprocess.Popen(
            [*command, "--store", str(self.store), "--socket", str(self.socket)],
            env=self.env,
            pass_fds=[tell],
            stdin=subprocess.DEVNULL,
        )
        os.close(tell)
        said = os.read(ready, 64)
        os.close(ready)
        assert said, f"the daemon ended with {self.daemon.wait()}"
        return self.daemon

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the daemon that `start` started."""
        if self.daemon is not None:
            self.daemon.send_signal(how)
            self.daemon.wait(START)
            self.daemon = None

    def stop_started(self) -> None:
        """End a daemon that a client started, if there is one, and wait for its end."""
        try:
            with self.client() as client:
                pid = client.hello()["pid"]
                client.shutdown()
        except milkd.MilkdError:
            return
        until = time.monotonic() + START
        while _runs(pid) and time.monotonic() < until:
            time.sleep(0.01)

    def client(self, session: str | None = None, *, autostart: bool = False) -> milkd.Client:
        """A client of the daemon, or of the one to be started.

        Only that one is told of the store: a client that is checks whose daemon it meets.
        """
        store = str(self.store) if autostart else None
        return milkd.Client(str(self.socket), store=store, session=session, autostart=autostart)

    def milkctl(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """The command as a process of its own, its output in pipes."""
        return subprocess.run(
            [sys.executable, "-m", "milkd.cli", *arguments],
            env=self.env,
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
