"""What clients were told by daemons in memory, and what must be on the disk then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crashfs import CrashFiles, Mark
from milkd.errors import Failure
from torture.cuts import FILLS, GROWTHS, SECTORS, Choice, Disk
from torture.keeper import Keeper

if TYPE_CHECKING:
    from random import Random

    from crashfs import Tree

UNSURE = ("unknown", "ending")
"""Words of a refusal after which it is not known what became of the request."""
TOLD, END = "told", "end"
"""Marks in the log of a disk: a client heard something; the life ended."""


@dataclass
class Ledger:
    """What the clients were told, in all lives."""

    kept: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)

    def check(self, contents: list[str]) -> None:
        """Hold the store to it; where nobody was told, this is what is so from now on."""
        found = set(contents)
        assert len(found) == len(contents), "a fact is there twice"
        assert self.kept <= found, f"lost: {sorted(self.kept - found)}"
        assert not self.gone & found, f"came back: {sorted(self.gone & found)}"
        assert found <= self.kept | self.doubtful, f"nobody stated {sorted(found - self.kept)}"
        self.kept, self.doubtful = found, set()


def unsure(refusal: object) -> bool:
    """Whether a refused client cannot know what became of its request."""
    return any(word in str(refusal) for word in UNSURE)


def cut_the_power(files: CrashFiles, random: Random) -> Tree:
    """What is left after a cut somewhere between the last answer and now."""
    log = files.log
    last = max((at for at, event in enumerate(log) if isinstance(event, Mark)), default=0)
    told = [at for at, event in enumerate(log) if event == Mark(TOLD)]
    first = told[-1] if told and log[last] == Mark(END) else last
    disk = Disk(files)
    for event in log[: random.randint(first, len(log))]:
        disk.follow(event)
    sector, share = random.choice(SECTORS), random.random()
    kept = tuple(random.random() < share for _ in disk.units(sector))
    return disk.after(Choice(kept, sector, random.choice(FILLS), random.choice(GROWTHS)))


def contents(keeper: Keeper) -> list[str]:
    """What all facts say."""
    return [p.content for held in keeper.shelf.held.values() for p in held.percepts.values()]


def check(tree: Tree, ledger: Ledger) -> None:
    """Hold a store to what the clients were told, and let it be clean of the rest."""
    keeper = Keeper(CrashFiles(tree))
    assert (keeper.refusal, keeper.frozen) == (None, {})
    ledger.check(contents(keeper))
    try:
        keeper.stop()
    except Failure:
        raise AssertionError("a store on a good disk could not be saved") from None
    # In the reserve there may be what other files had there: it is never read, and not synced.
    left = keeper.files.tree.texts().items()
    texts = b"\n".join(text for path, text in left if "reserve" not in path)
    assert [gone for gone in ledger.gone if gone.encode() in texts] == []
