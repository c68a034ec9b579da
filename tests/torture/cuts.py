"""What a disk may hold after a power cut, told from the log of a `CrashFiles`.

Of everything done since the last sync of a file, or of the names in a directory, any
part may have reached the disk: sectors of data, a file's new size, a name.  Where a
file grew and its data did not come, there are zeros, or bytes that another file had
there once.  What was synced is there, and a sector is old or new, never half of each.
A rename is one step; a disk that does not keep them in order may still forget an
earlier one.
"""

from __future__ import annotations

import hashlib
import re
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain, product
from random import Random
from typing import TYPE_CHECKING, Literal

from crashfs import Mark, Names, Node, Sync, Tree, Truncate, Write, cut, put, rename_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crashfs import CrashFiles, Event

SECTORS = (512, 4096)
Fill = Literal["zeros", "stale"]
Growth = Literal["full", "fit", "old"]
FILLS: tuple[Fill, ...] = ("zeros", "stale")
GROWTHS: tuple[Growth, ...] = ("full", "fit", "old")
"""The size of a file that grew: the last one asked for, as far as data came, the synced one."""
NOISE = b"\xa5"
UNREAD = ("reserve",)
"""Names of files of which it does not matter what is in them."""
TIRED = 200  # states in a row that were there before

Unit = Write | Truncate | Names
FEW = 5  # units of which every part is tried
Rule = tuple[int, int, int, int, Fill, Growth]
"""Point, number of units, a bit for each that is kept, and the rest of a `Choice`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which part of what is not durable survives."""

    kept: tuple[bool, ...]
    sector: int = 512
    fill: Fill = "zeros"
    growth: Growth = "fit"


@dataclass(frozen=True, slots=True)
class State:
    """What a disk may hold.

    Attributes:
        marks: The labels that were noted before the cut.
        told: By what events and choice it came about, for whoever has to repeat it.
    """

    tree: Tree
    marks: tuple[object, ...]
    told: str


class Disk:
    """What is durable at one point of a log, and what has been done since."""

    def __init__(self, files: CrashFiles) -> None:
        """Begin with what the file system was given."""
        start = files.start.nodes
        self._modes = {number: node.mode for number, node in files.tree.nodes.items()}
        self._data = {n: bytes(node.data) for n, node in start.items() if not node.is_directory}
        self._names = {
            number: dict(start[number].names) if number in start else {}
            for number, node in files.tree.nodes.items()
            if node.is_directory
        }
        self._pending: list[Unit] = []

    def copy(self) -> Disk:
        """The same, to be kept while this one goes on."""
        other = copy(self)
        other._data = dict(self._data)
        other._names = {number: dict(names) for number, names in self._names.items()}
        other._pending = list(self._pending)
        return other

    def follow(self, event: Event) -> None:
        """Go on by one event."""
        if isinstance(event, Sync):
            self._sync(event.node)
        elif isinstance(event, Write | Truncate | Names):
            self._pending.append(event)

    def units(self, sector: int) -> list[Unit]:
        """What may or may not be on the disk, each as a whole."""
        return list(chain.from_iterable(_split(event, sector) for event in self._pending))

    def after(self, choice: Choice) -> Tree:
        """The tree that a cut leaves."""
        units = self.units(choice.sector)
        kept = [unit for unit, stays in zip(units, choice.kept, strict=True) if stays]
        names = {number: dict(inner) for number, inner in self._names.items()}
        for unit in kept:
            if isinstance(unit, Names):
                rename_in(names, unit.changes)
        nodes = {n: Node(n, mode, names=names.get(n, {})) for n, mode in self._modes.items()}
        for number, node in nodes.items():
            if not node.is_directory:
                node.data = self._content(number, kept, choice)
        return Tree(nodes)

    def _sync(self, node: int) -> None:
        if node in self._names:
            self._sync_names(node)
        else:
            data = bytearray(self._data.get(node, b""))
            for unit in self._pending:
                if not isinstance(unit, Names) and unit.node == node:
                    _do(unit, data)
            self._pending = [u for u in self._pending if isinstance(u, Names) or u.node != node]
            self._data[node] = bytes(data)

    def _sync_names(self, directory: int) -> None:
        """Make the names durable; an older change of the same names can undo nothing then."""
        waiting: list[Unit] = []
        for unit in self._pending:
            if isinstance(unit, Names) and _names_in(unit, directory):
                rename_in(self._names, unit.changes)
                settled = {change[:2] for change in unit.changes}
                waiting = [rest for each in waiting if (rest := _without(each, settled))]
            else:
                waiting.append(unit)
        self._pending = waiting

    def _content(self, number: int, kept: list[Unit], choice: Choice) -> bytearray:
        synced = self._data.get(number, b"")
        if not any(not isinstance(unit, Names) and unit.node == number for unit in self._pending):
            return bytearray(synced)
        data, known = bytearray(synced), bytearray(b"\1" * len(synced))
        for unit in kept:
            if not isinstance(unit, Names) and unit.node == number:
                _do(unit, data)
                if isinstance(unit, Write):
                    put(known, unit.offset, b"\1" * len(unit.data))
                else:
                    del known[unit.size :]
                    known += b"\1" * (unit.size - len(known))
        size = self._size(number, len(data), choice.growth)
        if size < len(data):
            del data[size:], known[size:]
        cut(data, max(size, len(data)))
        cut(known, len(data))
        if choice.fill == "stale" and not all(known):
            self._spoil(number, data, known)
        return data

    def _size(self, number: int, fit: int, growth: Growth) -> int:
        if growth == "fit":
            return fit
        synced = size = len(self._data.get(number, b""))
        for unit in self._pending:
            if isinstance(unit, Write) and unit.node == number:
                size = max(size, unit.offset + len(unit.data))
            elif isinstance(unit, Truncate) and unit.node == number:
                size = unit.size
        return max(size, fit) if growth == "full" else min(synced, fit)

    def _spoil(self, number: int, data: bytearray, known: bytearray) -> None:
        """Put what another file had there where nothing is known; the latest file that had."""
        others = [old for each, old in self._data.items() if each != number and old]
        for hole in re.finditer(b"\0+", known):
            start, end = hole.span()
            old = next((old for old in reversed(others) if len(old) > start), b"")[start:end]
            data[start:end] = old + NOISE * (end - start - len(old))


def states(files: CrashFiles, *, limit: int, seed: int = 0) -> Iterator[State]:
    """Different states that a cut at any point of the log may leave, at most so many.

    At every point: nothing kept, all, every prefix, all but one, and random parts, or every
    part of few.  The seed gives the order, and with it what is left out of too many.
    """
    seen = set[bytes]()
    points = list(_points(files))
    for at, choice in _plan([disk for disk, _ in points], Random(seed)):
        disk, marks = points[at]
        tree = disk.after(choice)
        if (known := fingerprint(tree, marks)) in seen:
            continue
        seen.add(known)
        yield State(tree, marks, f"cut after {at} events, {choice}")
        if len(seen) == limit:
            return


def fingerprint(tree: Tree, marks: Sequence[object]) -> bytes:
    """Equal for trees that a program cannot tell apart, with as many marks behind them."""
    told = hashlib.blake2b(str(len(marks)).encode())
    for path, node in tree.walk():
        told.update(f"{path}\0{node.number}\0{hash(bytes(node.data))}\0".encode())
    return told.digest()


def _points(files: CrashFiles) -> Iterator[tuple[Disk, tuple[object, ...]]]:
    """What is durable, and noted, before the first event, between any two, and at the end."""
    disk, marks = Disk(files), tuple[object, ...]()
    idle = {number for node in files.tree.nodes.values() for number in _idle(node)}
    yield disk.copy(), marks
    for event in files.log:
        if isinstance(event, Mark):
            marks = (*marks, event.label)
        elif not isinstance(event, Write) or event.node not in idle:
            disk.follow(event)
        yield disk.copy(), marks


def _idle(node: Node) -> Iterator[int]:
    """The files in a directory whose bytes are never read."""
    return (number for name, number in node.names.items() if name in UNREAD)


def _plan(points: Sequence[Disk], random: Random) -> Iterator[tuple[int, Choice]]:
    """Every point with nothing and all kept; then the other rules and random parts in turn."""
    for at, disk in enumerate(points):
        for kept in (False, True):
            yield at, Choice((kept,) * len(disk.units(512)))
    rules = [rule for at, disk in enumerate(points) for rule in _rules(at, disk)]
    random.shuffle(rules)
    busy = [at for at, disk in enumerate(points) if disk.units(512)]
    idle = 0
    while rules or (busy and idle < TIRED * len(points)):
        if rules:
            at, number, bits, sector, fill, growth = rules.pop()
            yield (
                at,
                Choice(tuple(bool(bits >> i & 1) for i in range(number)), sector, fill, growth),
            )
        else:
            idle += 1
        if busy:
            at = random.choice(busy)
            yield at, _drawn(points[at], random)


def _rules(at: int, disk: Disk) -> Iterator[Rule]:
    for sector in SECTORS:
        number = len(disk.units(sector))
        parts = range(1 << number) if number <= FEW else _parts(number)
        for bits, fill, growth in product(parts, FILLS, GROWTHS):
            yield at, number, bits, sector, fill, growth


def _parts(number: int) -> list[int]:
    """Every prefix, and all but one."""
    every = (1 << number) - 1
    return [part for i in range(number) for part in ((1 << i) - 1, every ^ (1 << i))]


def _drawn(disk: Disk, random: Random) -> Choice:
    sector, share = random.choice(SECTORS), random.random()
    kept = tuple(random.random() < share for _ in disk.units(sector))
    return Choice(kept, sector, random.choice(FILLS), random.choice(GROWTHS))


def _split(event: Unit, sector: int) -> Iterator[Unit]:
    """A write in pieces that lie in one sector each."""
    if not isinstance(event, Write):
        yield event
        return
    at, end = event.offset, event.offset + len(event.data)
    while at < end:
        until = min(end, (at // sector + 1) * sector)
        yield Write(event.node, at, event.data[at - event.offset : until - event.offset])
        at = until


def _do(unit: Write | Truncate, data: bytearray) -> None:
    if isinstance(unit, Write):
        put(data, unit.offset, unit.data)
    else:
        cut(data, unit.size)


def _names_in(unit: Unit, directory: int) -> bool:
    return isinstance(unit, Names) and any(number == directory for number, _, _ in unit.changes)


def _without(unit: Unit, settled: set[tuple[int, str]]) -> Unit | None:
    if not isinstance(unit, Names):
        return unit
    left = tuple(change for change in unit.changes if change[:2] not in settled)
    return replace(unit, changes=left) if left else None
