"""One JSON file as a scope's image, and back: writing it is in `encoder.py`.

The file is milk's own: `percepts`, `engrams`, `edges`, in the form its Go code
writes.  The last key, `_milkd`, holds what milkd alone needs; milk skips it.  An
entry that is not valid is kept as it is, at its place, and takes no part in
anything; so does the second of two with the same id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from milkd.engine.percept import NOTHING, Edge, Engram, Percept, ScopeImage
from milkd.errors import StoreDamaged
from milkd.store.encoder import Encoder, Pause, image_to_bytes
from milkd.store.fields import matched
from milkd.store.gojson import fold, parse, shown
from milkd.store.own import OWN_KEY, own_from_json
from milkd.store.seal import Seal, Sealing, is_sealed
from milkd.store.unreadable import LISTS, READERS, TOP_KEYS, Entry
from milkd.store.walking import UNUSUAL, Walk

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Encoder",
    "Loaded",
    "Pause",
    "Seal",
    "Sealing",
    "Wiped",
    "image_from_bytes",
    "image_to_bytes",
]

E = TypeVar("E", Percept, Engram, Edge)
Unreadable = tuple[str, int, object]


class Wiped(StoreDamaged):
    """Not a byte is left of a file but NULs: a power cut does that to one that was not synced."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file held.

    Attributes:
        image: The scope.
        warnings: Sentences for a person: entries left out, things that got lost.
        lossy: Writing the image would lose something; the file's bytes are worth keeping.
        sealed: Who wrote the file last.
        seq: The newest entry of the journal that is in it; 0 if it does not say.
        store: The id of the store it was written for; None if it does not say.
    """

    image: ScopeImage
    warnings: tuple[str, ...] = ()
    lossy: bool = False
    sealed: Seal = Seal.NONE
    seq: int = 0
    store: str | None = None


def image_from_bytes(name: str, data: bytes) -> Loaded:
    """Read the file of the scope `name`.

    Raises:
        StoreDamaged: It is not JSON, or not an object with lists; names the place.
        Wiped: There is nothing in it at all.
        VersionMismatch: A newer milkd wrote it in a form that this one must not touch.
    """
    file = f"{name}.json"
    if not data.strip(b"\0"):
        what = f"{len(data)} NUL bytes" if data else "nothing"
        raise Wiped(f"{file} holds {what}, expected a JSON object (cut off by a power cut?)")
    top = _walked(file, data) or _parsed(file, data)
    block = top.extra.pop(OWN_KEY, None)
    own = own_from_json(file, block)
    image = ScopeImage(
        name=name,
        percepts=top.percepts.entries,
        engrams=top.engrams.entries,
        edges=top.edges.entries,
        running_seconds=own.running_seconds,
        touched=own.touched,
        used=own.used,
        shown=own.shown,
        extra=(top.extra | ({OWN_KEY: own.extra} if own.extra else {})) or NOTHING,
        unreadable=tuple(each for part in top.lists() for each in part.unreadable),
    )
    losses = (*top.losses, *own.losses)
    return Loaded(
        image,
        (*losses, *(warning for part in top.lists() for warning in part.warnings)),
        lossy=bool(losses),
        sealed=_seal(data, block, own.sum),
        seq=own.seq,
        store=own.store,
    )


def _walked(file: str, data: bytes) -> _Top | None:
    """The file read an entry at a time; None if something in it is unusual."""
    extra: dict[str, object] = {}
    lists: dict[str, _List[Any]] = {}
    try:
        walk = Walk(data)
        for key in walk.members():
            if key in TOP_KEYS:
                lists[key] = _taken(file, key, walk.entries())
            elif fold(key) in TOP_KEYS:
                return None
            else:
                extra[key] = walk.value()
    except UNUSUAL:
        return None
    return _top(lists, extra)


def _parsed(file: str, data: bytes) -> _Top:
    """The file parsed as a whole."""
    parsed = parse(file, data)
    top = {} if parsed.value is None else parsed.value
    if not isinstance(top, dict):
        raise StoreDamaged(f"{file}: found {shown(top)}, expected an object")
    lists, extra = matched(top, TOP_KEYS)
    taken = {key: _taken(file, key, lists.get(key)) for key in LISTS}
    return _top(taken, extra, parsed.losses)


def _seal(data: bytes, block: object, told: object) -> Seal:
    if block is None:
        return Seal.BARE
    return Seal.OURS if is_sealed(data, told) else Seal.EDITED


@dataclass(slots=True)
class _List(Generic[E]):
    """The valid entries of a list, each once, and what is to be said of the others."""

    entries: tuple[E, ...] = ()
    unreadable: list[Unreadable] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Top:
    """What a file holds: our own block among the extra keys."""

    percepts: _List[Percept]
    engrams: _List[Engram]
    edges: _List[Edge]
    extra: dict[str, object]
    losses: tuple[str, ...] = ()

    def lists(self) -> tuple[_List[Percept], _List[Engram], _List[Edge]]:
        return self.percepts, self.engrams, self.edges


def _top(
    lists: Mapping[str, _List[Any]], extra: dict[str, object], losses: tuple[str, ...] = ()
) -> _Top:
    percepts, engrams, edges = (lists.get(key) or _List() for key in LISTS)
    return _Top(percepts, engrams, edges, extra, losses)


def _taken(file: str, where: str, raws: object) -> _List[Any]:
    """The entries of a list."""
    found: _List[Any] = _List()
    if raws is None:
        return found
    if not isinstance(raws, list | Iterator):
        raise StoreDamaged(f"{file}: {where}: found {shown(raws)}, expected a list")
    read = READERS[where]
    kept: dict[object, Entry] = {}
    for position, raw in enumerate(raws):
        try:
            entry = read(raw)
            key = entry if isinstance(entry, Edge) else entry.id
            if kept.setdefault(key, entry) is not entry:
                raise ValueError("the same as one before it")
        except ValueError as error:
            found.unreadable.append((where, position, raw))
            found.warnings.append(f"{file}: {where}[{position}] is not used: {error}")
    found.entries = tuple(kept.values())
    return found
