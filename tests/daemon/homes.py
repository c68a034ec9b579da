"""A core over a store in files: started, used and stopped as the daemon does, without a socket.

What is left when a home is not stopped is what a crash leaves.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from daemon.doubles import Household, TurnedClock, core_of
from milkd.engine.percept import Edge, Engram, Percept, ScopeImage
from milkd.store.files import Files
from milkd.store.snapshot import image_to_bytes
from milkd.store.store import JournalStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from milkd.daemon.core import Core
    from milkd.engine.changes import Change
    from milkd.store.entries import Done


def percept(name: str, **values: Any) -> Percept:
    """A percept that says little."""
    fields = {"content": f"fact {name}", "producer": "user", "w": 0.5}
    times = {"created_at": 0.0, "updated_at": 1.0}
    return Percept(**{"id": name, **fields, **times, **values})


def holding(scope: str, *names: str, **values: Any) -> ScopeImage:
    """A scope of such percepts."""
    percepts = tuple(percept(name) for name in names)
    return ScopeImage(**{"name": scope, "percepts": percepts, **values})


def engram(name: str, *members: str) -> Engram:
    """The group of some percepts."""
    return Engram(
        id=name,
        subject_label=name,
        composite_w=0.5,
        percept_ids=members,
        created_at=0.0,
        updated_at=1.0,
    )


def lay(directory: Path, *images: ScopeImage) -> None:
    """Files as milk would leave them: without a seal."""
    directory.mkdir(parents=True, exist_ok=True)
    for image in images:
        (directory / f"{image.name}.json").write_bytes(image_to_bytes(image))


def names(path: Path) -> list[str]:
    """What is in a directory."""
    return sorted(os.listdir(path))


def read(path: Path) -> bytes:
    """What is in a file; tests that run in Trio may block."""
    return path.read_bytes()


def write(path: Path, data: bytes) -> None:
    """Write a file in place, as another program might."""
    path.write_bytes(data)


def contents(directory: Path) -> dict[str, bytes]:
    """All files below a directory, by path."""
    paths = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


def take_away(directory: Path) -> Path:
    """Have a store gone, as if its disk were not mounted; where it is now."""
    away = directory.parent / "away"
    directory.rename(away)
    return away


def ids(path: Path) -> list[str]:
    """The percepts in a file, in order."""
    return [entry["id"] for entry in json.loads(path.read_bytes())["percepts"]]


def journals(directory: Path) -> list[Path]:
    """The living journals of a store."""
    return sorted((directory / ".milkd").glob("journal.*"))


def edge(source: str, target: str) -> Edge:
    return Edge(source, target, "extends")


class HomeFiles(Files):
    """Knows which descriptors are open."""

    def __init__(self) -> None:
        self.open_fds: set[int] = set()

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        fd = super().open(path, flags, mode)
        self.open_fds.add(fd)
        return fd

    def close(self, fd: int) -> None:
        self.open_fds.discard(fd)
        super().close(fd)


class Home(Household):
    """A core over files."""

    def __init__(self, core: Core, store: JournalStore, clock: TurnedClock) -> None:
        super().__init__(core, clock)
        self.store = store

    async def put(
        self, *changes: Change, done: Done | None = None, scrub: tuple[str, ...] = ()
    ) -> None:
        """Make changes so, for good.

        Raises:
            Failure: The disk refused; they were undone.
        """
        self.core.commits.check(changes)
        self.core.apply(changes)
        batch = self.core.commits.add(changes, "test", done=done, scrub=scrub)
        await batch.done.wait()
        if batch.error is not None:
            raise batch.error

    async def enter(self, *sessions: str) -> None:
        """Have sessions open."""
        for session in sessions:
            await self.core.sessions.enter(session, self.core.new_caller())

    async def save(self) -> bool:
        """Write the files now; whether that was possible."""
        return await self.core.checkpoints.take()

    async def stop(self) -> None:
        """Stop in good order, but for the sessions' last passes."""
        await self.core.checkpoints.finish()

    def image(self, scope: str = "global") -> ScopeImage:
        return self.core.engine.image(scope)

    def ids(self, scope: str = "global") -> list[str]:
        """The percepts of a loaded scope, in order."""
        return [percept.id for percept in self.image(scope).percepts]


def clock_of_files() -> TurnedClock:
    """A clock that stands at the time that new files get."""
    clock = TurnedClock()
    clock.wall = time.time()
    return clock


@asynccontextmanager
async def open_home(
    directory: Path,
    *,
    files: Files | None = None,
    clock: TurnedClock | None = None,
    refusal: str | None = None,
    **how: Any,
) -> AsyncIterator[Home]:
    """A daemon without sockets, on the store in a directory; `how` is for `core_of`."""
    clock = clock or clock_of_files()
    files = files or HomeFiles()
    store = JournalStore(str(directory), files=files, now=lambda: clock.wall, refusal=refusal)
    home = Home(core_of(store, clock, **how), store, clock)
    try:
        async with home.living():
            yield home
    finally:
        if isinstance(files, HomeFiles):
            for fd in files.open_fds:
                os.close(fd)
