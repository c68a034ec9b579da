"""A place whose daemons may die, and what may be expected of its store afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from milkd.errors import DaemonUnreachable, MilkdError, ReadOnly, ShuttingDown, StorageFull
from places import START, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import milkd

COMMAND = (sys.executable, "-m", "milkd")
UNCHANGED = (StorageFull, ReadOnly, ShuttingDown, DaemonUnreachable)
"""Refusals after which nothing was changed, for certain."""


class Household(Place):
    """A place that knows how to start a daemon that may not come up."""

    def start_if_it_can(self, **environment: str) -> bool:
        """Whether a daemon in these circumstances got ready."""
        usual = self.env
        self.env = usual | environment
        try:
            self.start()
        except AssertionError:
            self.daemon = None
            return False
        finally:
            self.env = usual
        return True

    def wait(self) -> int:
        """The exit code of the daemon that was started, once it has ended."""
        assert self.daemon is not None
        code = self.daemon.wait(START)
        self.daemon = None
        return code

    def end(self) -> int | None:
        """Stop the daemon in good order, if it still runs; its exit code."""
        if self.daemon is None:
            return None
        self.daemon.terminate()
        return self.wait()

    def kill(self) -> None:
        """Stop the daemon in no order."""
        self.stop(signal.SIGKILL)

    def kill_early(self, after: float) -> None:
        """Begin to start a daemon, and kill it after some seconds, ready or not."""
        self.daemon = subprocess.Popen(
            [*COMMAND, "--store", str(self.store), "--socket", str(self.socket)],
            env=self.env,
            stdin=subprocess.DEVNULL,
        )
        time.sleep(after)
        self.kill()

    def facts(self) -> list[dict[str, Any]]:
        """Every percept that the running daemon has, of whatever scope."""
        with self.client() as client:
            return [record for record in client.export() if record["kind"] == "percept"]

    def contents(self) -> list[str]:
        """What they say, sorted."""
        return sorted(fact["content"] for fact in self.facts())

    def files(self) -> Iterator[Path]:
        """Every file of the store, and of what milkd keeps beside it."""
        return (path for path in self.store.rglob("*") if path.is_file())

    def check_tidy(self) -> None:
        """No file is left that a save began, and none of ours is empty."""
        leftovers = [path.name for path in self.files() if path.name.endswith(".tmp")]
        assert leftovers == []
        assert [path.name for path in self.store.glob("*.json") if not path.stat().st_size] == []


@dataclass
class Ledger:
    """What a client was told, and so may hold the store to."""

    kept: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    """What was asked for, or to be forgotten, and never answered."""
    refusals: list[MilkdError] = field(default_factory=list)

    def record(self, client: milkd.Client, content: str, **more: Any) -> None:
        """State a fact."""
        with self._asking(content):
            client.record(content, **more)
            self.kept.add(content)

    def learn(self, client: milkd.Client, content: str) -> None:
        """State a fact for good."""
        with self._asking(content):
            client.learn(content)
            self.kept.add(content)

    def forget(self, client: milkd.Client, content: str, **more: Any) -> None:
        """Forget a fact, if it had been taken."""
        if content in self.kept - self.doubtful:
            with self._asking(content):
                client.forget(content, **more)
                self.kept.discard(content)
                self.gone.add(content)

    def ask(self, call: Callable[..., object], *arguments: Any) -> None:
        """Ask for something that changes no fact."""
        with self._asking(None):
            call(*arguments)

    def check(self, contents: list[str]) -> None:
        """Hold the store to it."""
        found = set(contents)
        assert len(found) == len(contents), "a fact is there twice"
        sure = self.kept - self.doubtful
        assert sure <= found, f"lost: {sorted(sure - found)}"
        back = (self.gone - self.doubtful) & found
        assert not back, f"came back: {sorted(back)}"
        assert found <= self.kept | self.doubtful, "something that nobody stated"

    @contextmanager
    def _asking(self, content: str | None) -> Iterator[None]:
        """A refusal leaves things as they were, an answer that is lost leaves them in doubt."""
        try:
            yield
        except UNCHANGED as error:
            self.refusals.append(error)
        except MilkdError as error:
            self.refusals.append(error)
            if content is not None:
                self.doubtful.add(content)


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + START
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
