"""One JSON file as a scope's image, and back: writing it is in `encoder.py`.

The file is milk's own: `percepts`, `engrams`, `edges`, in the form its Go code
writes.  The last key, `_milkd`, holds what milkd alone needs; milk skips it.  An
entry that is not valid is kept as it is, at its place, and takes no part in
anything; so does the second of two with the same id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from milkd.engine.percept import NOTHING, Edge, Engram, Percept, ScopeImage
from milkd.errors import StoreDamaged
from milkd.store.encoder import Encoder, Pause, image_to_bytes
from milkd.store.fields import matched
from milkd.store.gojson import parse, shown
from milkd.store.own import OWN_KEY, own_from_json
from milkd.store.records import edge_from_json, engram_from_json, percept_from_json
from milkd.store.seal import Seal, Sealing, is_sealed
from milkd.store.unreadable import TOP_KEYS, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    parsed = parse(file, data)
    top = {} if parsed.value is None else parsed.value
    if not isinstance(top, dict):
        raise StoreDamaged(f"{file}: found {shown(top)}, expected an object")
    lists, extra = matched(top, TOP_KEYS)
    block = extra.pop(OWN_KEY, None)
    own = own_from_json(file, block)
    reading = _Reading(file, lists)
    image = ScopeImage(
        name=name,
        percepts=reading.entries("percepts", percept_from_json),
        engrams=reading.entries("engrams", engram_from_json),
        edges=reading.entries("edges", edge_from_json),
        running_seconds=own.running_seconds,
        touched=own.touched,
        used=own.used,
        shown=own.shown,
        extra=(extra | ({OWN_KEY: own.extra} if own.extra else {})) or NOTHING,
        unreadable=tuple(reading.unreadable),
    )
    losses = (*parsed.losses, *own.losses)
    return Loaded(
        image,
        (*losses, *reading.warnings),
        lossy=bool(losses),
        sealed=_seal(data, block, own.sum),
        seq=own.seq,
        store=own.store,
    )


def _seal(data: bytes, block: object, told: object) -> Seal:
    if block is None:
        return Seal.BARE
    return Seal.OURS if is_sealed(data, told) else Seal.EDITED


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
                if kept.setdefault(key_of(entry), entry) is not entry:
                    raise ValueError("the same as one before it")
            except ValueError as error:
                self.unreadable.append((where, position, raw))
                self.warnings.append(f"{self._file}: {where}[{position}] is not used: {error}")
        return tuple(kept.values())
