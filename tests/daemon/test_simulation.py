"""Many clients on a disk that is slow and fails now and then, by the seed.

What was acknowledged is on the disk, what was refused never happened, no answer
shows what did not last, and memory and disk agree in the end.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
import trio

from daemon.doubles import House, MemoryStore, Peer, Refused, eventually, open_house
from milkd.daemon.limits import Limits
from milkd.daemon.session_calls import watch_leases
from milkd.errors import ReadOnly, StorageFailed, StorageFull
from moody import MoodyDisk, simulate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from milkd.store.entries import Entry

CLIENTS = 4
STEPS = 25
SESSIONS = ("s1", "s2", None)
UNLUCKY = 0.15  # share of commits that fail


class MoodyStore(MemoryStore):
    """A store some of whose appends and checkpoints fail."""

    random: Random
    unlucky = 0.0

    def append(self, entries: Sequence[Entry]) -> None:
        self._try()
        super().append(entries)

    def rotate(self) -> int:
        self._try()
        return super().rotate()

    def _try(self) -> None:
        if self.random.random() < self.unlucky:
            raise self.random.choice((StorageFull, StorageFailed, ReadOnly))("out of luck")


@dataclass
class Ledger:
    """What the clients were told."""

    kept: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    never: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)


async def live(house: House, random: Random, name: str, ledger: Ledger) -> None:
    """One client's doings."""
    peer = await house.connect()
    for step in range(STEPS):
        session = random.choice(SESSIONS)
        place = {} if session is None else {"session": session}
        with suppress(Refused):  # accounted for where it matters
            await do(peer, random, f"{name}{step}", place, ledger)
        await trio.sleep(random.random() / 100)
    await peer.stream.aclose()


async def do(peer: Peer, random: Random, name: str, place: dict[str, str], ledger: Ledger) -> None:
    match random.randrange(8):
        case 0 | 1 | 2:
            content = f"{name}a {name}b {name}c"
            try:
                await peer.call("record", content=content, producer="user", **place)
            except Refused:
                ledger.never.add(content)
            else:
                ledger.kept.add(content)
        case 3:
            for content in sorted(ledger.kept - ledger.gone)[:1]:
                ledger.gone.add(content)  # whether or not it is granted
                await peer.call("forget", ref=content, all=True, **place)
        case 4:
            page = await peer.call("list", limit=500, **place)
            ledger.seen |= {percept["content"] for percept in page["percepts"]}
        case 5:
            await peer.call("consolidate")
        case 6 if place:
            await peer.call("session_close", **place)
        case _:
            await peer.call("query", text=name, min_confidence=0.0, **place)


def on_disk(house: House) -> dict[str, list[tuple[str, float]]]:
    files = house.store.files
    return {name: [(p.content, p.w) for p in image.percepts] for name, image in files.items()}


def in_memory(house: House) -> dict[str, list[tuple[str, float]]]:
    names = ("global", "archive", *house.core.engine.sessions())
    images = {name: house.core.engine.image(name) for name in names}
    return {name: [(p.content, p.w) for p in image.percepts] for name, image in images.items()}


@pytest.mark.parametrize("seed", range(1_000 if os.environ.get("MILKD_TORTURE") == "1" else 60))
def test_memory_disk_and_what_was_said_agree(seed: int) -> None:
    simulate(seed, agree)


async def agree(random: Random) -> None:
    store, ledger = MoodyStore(), Ledger()
    store.random, store.unlucky = random, UNLUCKY
    limits = Limits(linger_s=0.02, lease_s=0.2, lease_check_s=0.05, checkpoint_entries=7)
    async with open_house(store, disk=MoodyDisk(random), limits=limits) as house:
        house.start_task(watch_leases, house.core)
        async with trio.open_nursery() as nursery:
            for number in range(CLIENTS):
                nursery.start_soon(live, house, random, f"c{number}x", ledger)
        store.unlucky = 0.0
        await eventually(lambda: not house.core.engine.sessions())
        await trio.sleep(1.0)
        stored = on_disk(house)
        for name, percepts in in_memory(house).items():
            assert stored.get(name, []) == percepts
        contents = {content for percepts in stored.values() for content, _ in percepts}
        assert ledger.kept - ledger.gone <= contents
        assert not ledger.never & contents
        assert not ledger.never & ledger.seen
        assert ledger.kept
