"""Stores to look after, as a milkd would leave them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from milkd.engine.percept import Edge, Engram, Percept
from milkd.store.entries import Done, Entry
from milkd.store.store import JournalStore

if TYPE_CHECKING:
    from pathlib import Path

    from milkd.engine.changes import Change
    from milkd.engine.percept import ScopeImage


def percept(number: int, **more: Any) -> Percept:
    values: dict[str, Any] = {"producer": "user", "w": 0.5, "created_at": 1.0, "updated_at": 1.0}
    id_ = f"{number:08x}-0000-4000-8000-00000000000f"
    return Percept(id=id_, content=f"fact {number}", **(values | more))


def edge(source: int, target: int) -> Edge:
    return Edge(percept(source).id, percept(target).id, "extends")


def engram(id_: str, *members: int) -> Engram:
    return Engram(
        id=id_,
        subject_label=id_,
        composite_w=0.5,
        percept_ids=tuple(percept(n).id for n in members),
        created_at=1.0,
        updated_at=1.0,
    )


class Kept:
    """A store that a milkd has written to, and left as a crash would leave it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o700)
        self.store = JournalStore(str(path))
        self.store.open()
        for scope in ("global", "archive"):
            self.store.find(scope)
        self.seq = 0

    @property
    def journal(self) -> Path:
        """The newest living journal."""
        return max((self.path / ".milkd").glob("journal.*"))

    def append(self, *changes: Change) -> None:
        """One entry."""
        self.seq += 1
        done = Done(f"op{self.seq}", "aa", "record", {"id": "x"})
        self.store.append([Entry(self.seq, 1.0, "record", changes, done)])

    def checkpoint(self, *images: ScopeImage) -> None:
        """New files for some scopes, and a new journal."""
        self.store.rotate()
        written = self.store.write(images, self.seq, [], lambda: None)
        assert self.store.publish(written).error is None
        self.store.retire(keep=True)
