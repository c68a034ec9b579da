"""Who asks twice for the end is not kept waiting by the files: the journal has everything."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from daemon.doubles import PATIENCE, eventually
from daemon.homes import journals
from daemon.test_server import serving
from milkd.store.files import Files

if TYPE_CHECKING:
    from pathlib import Path


class Patient(Files):
    """A disk on which a file is long in coming."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def fsync(self, fd: int) -> None:
        self.begun.set()
        self.go.wait(PATIENCE)
        super().fsync(fd)


async def test_asked_twice_it_leaves_the_files_to_the_journal(short_path: Path) -> None:
    files = Patient()
    files.go.set()
    async with serving(short_path, files=files) as running:
        peer = await running.connect()
        for session in ("s1", "s2"):
            await peer.call("record", content="it rains today", session=session)
        files.begun.clear()
        files.go.clear()
        running.server.stop()
        await eventually(files.begun.is_set)
        running.server.stop()
        files.go.set()
        assert await running.end() == 0
    assert journals(short_path / "store")
    async with serving(short_path) as running:
        assert (await (await running.connect()).call("list", session="s2"))["total"] == 1
    assert not journals(short_path / "store")
