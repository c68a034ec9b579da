"""One JSON file as a scope's image, and back.

The file is milk's own: `percepts`, `engrams`, `edges`, in the form its Go code
writes.  The last key, `_milkd`, holds what milkd alone needs; milk skips it.  An
entry that is not valid is kept as it is, at its place, and takes no part in
anything; so does the second of two with the same id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from milkd.engine.percept import NOTHING, Edge, Engram, Percept, ScopeImage
from milkd.errors import StoreDamaged
from milkd.store.fields import joined, matched
from milkd.store.gojson import dumps, parse, shown, to_bytes
from milkd.store.own import OWN_KEY, own_from_json, own_to_json
from milkd.store.records import (
    edge_from_json,
    edge_to_json,
    engram_from_json,
    engram_to_json,
    percept_from_json,
    percept_to_json,
)

LISTS = ("percepts", "engrams", "edges")
TOP_KEYS = frozenset(LISTS)
Entry = Percept | Engram | Edge
E = TypeVar("E", Percept, Engram, Edge)
Unreadable = tuple[str, int, object]
READERS: Mapping[str, Callable[[object], Entry]] = {
    "percepts": percept_from_json,
    "engrams": engram_from_json,
    "edges": edge_from_json,
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file held.

    Attributes:
        image: The scope.
        warnings: Sentences for a person: entries left out, things that got lost.
        lossy: Writing the image would lose something; the file's bytes are worth keeping.
        twice: Percepts that the file holds and the image does not, because global has them.
    """

    image: ScopeImage
    warnings: tuple[str, ...] = ()
    lossy: bool = False
    twice: int = 0


def image_from_bytes(name: str, data: bytes) -> Loaded:
    """Read the file of the scope `name`.

    Raises:
        StoreDamaged: It is not JSON, or not an object with lists; names the place.
        VersionMismatch: A newer milkd wrote it in a form that this one must not touch.
    """
    file = f"{name}.json"
    parsed = parse(file, data)
    top = {} if parsed.value is None else parsed.value
    if not isinstance(top, dict):
        raise StoreDamaged(f"{file}: found {shown(top)}, expected an object")
    lists, extra = matched(top, TOP_KEYS)
    own = own_from_json(file, extra.pop(OWN_KEY, None))
    reading = _Reading(file, lists)
    image = ScopeImage(
        name=name,
        percepts=reading.entries("percepts", percept_from_json),
        engrams=reading.entries("engrams", engram_from_json),
        edges=reading.entries("edges", edge_from_json),
        running_seconds=own.running_seconds,
        shown=own.shown,
        extra=(extra | ({OWN_KEY: own.extra} if own.extra else {})) or NOTHING,
        unreadable=tuple(reading.unreadable),
    )
    losses = (*parsed.losses, *own.losses)
    return Loaded(image, (*losses, *reading.warnings), lossy=bool(losses))


def image_to_bytes(image: ScopeImage) -> bytes:
    """The file of an image."""
    return Encoder().encode(image)


class Encoder:
    """Writes the images of one scope, again and again.

    A percept, engram or edge that is the same object as last time costs a look-up: its text
    is remembered.
    """

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Entry, bytes]] = {}

    def encode(self, image: ScopeImage) -> bytes:
        """The whole file."""
        known: dict[int, tuple[Entry, bytes]] = {}
        lists = {
            "percepts": self._encoded(image.percepts, known),
            "engrams": self._encoded(image.engrams, known),
            "edges": self._encoded(image.edges, known),
        }
        self._texts = known
        for where, position, raw in sorted(_kept(image), key=lambda entry: entry[1]):
            lists[where].insert(position, to_bytes(dumps(raw, "    ")))
        members = joined({key: _list(lists[key]) for key in LISTS}, _outer(image), TOP_KEYS)
        parts = [to_bytes(dumps(key)) + b": " + text for key, text in members.items()]
        return b"{\n  " + b",\n  ".join(parts) + b"\n}\n"

    def _encoded(
        self, entries: Iterable[Entry], known: dict[int, tuple[Entry, bytes]]
    ) -> list[bytes]:
        """The text of each entry.  The cache holds the object too, so that its id stays its own."""
        texts = []
        for entry in entries:
            found = self._texts.get(id(entry)) or (entry, to_bytes(dumps(_object(entry), "    ")))
            known[id(entry)] = found
            texts.append(found[1])
        return texts


def _object(entry: Entry) -> dict[str, object]:
    if isinstance(entry, Percept):
        return percept_to_json(entry)
    return edge_to_json(entry) if isinstance(entry, Edge) else engram_to_json(entry)


def _list(texts: list[bytes]) -> bytes:
    return b"[\n    " + b",\n    ".join(texts) + b"\n  ]" if texts else b"[]"


def _outer(image: ScopeImage) -> dict[str, bytes]:
    """The text of every top-level key but the lists, our own last."""
    extra = dict(image.extra)
    foreign = extra.pop(OWN_KEY, None)
    extra[OWN_KEY] = own_to_json(image, foreign if isinstance(foreign, Mapping) else {})
    return {key: to_bytes(dumps(item, "  ")) for key, item in extra.items()}


def _kept(image: ScopeImage) -> Iterator[Unreadable]:
    """Entries to write back as they were read.

    A valid one was left out because another has its id.  It goes when that other goes, or it
    would come back as the one of that id at the next start.
    """
    if not image.unreadable:
        return
    keys = {*map(_key, image.percepts), *map(_key, image.engrams), *map(_key, image.edges)}
    for where, position, raw in image.unreadable:
        try:
            key = _key(READERS[where](raw))
        except ValueError:
            key = None
        if key is None or key in keys:
            yield where, position, raw


def _key(entry: Entry) -> object:
    """By what two entries of a list are the same."""
    return entry if isinstance(entry, Edge) else (type(entry), entry.id)


class _Reading:
    """Takes the lists of a file apart; collects what is not valid."""

    def __init__(self, file: str, lists: Mapping[str, object]) -> None:
        self.unreadable: list[Unreadable] = []
        self.warnings: list[str] = []
        self._file = file
        self._lists = lists

    def entries(self, where: str, read: Callable[[object], E]) -> tuple[E, ...]:
        """The valid entries of a list, each id once."""
        raws = self._lists.get(where)
        if raws is None:
            return ()
        if not isinstance(raws, list):
            raise StoreDamaged(f"{self._file}: {where}: found {shown(raws)}, expected a list")
        kept: dict[object, E] = {}
        for position, raw in enumerate(raws):
            try:
                entry = read(raw)
                if kept.setdefault(_key(entry), entry) is not entry:
                    raise ValueError("the same as one before it")
            except ValueError as error:
                self.unreadable.append((where, position, raw))
                self.warnings.append(f"{self._file}: {where}[{position}] is not used: {error}")
        return tuple(kept.values())
