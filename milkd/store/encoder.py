"""A scope's image as its JSON file, in pieces.

A large scope takes a second to write out, and tens of megabytes.  That is done in a
thread beside the event loop, and the two share one interpreter: so nothing here works
on the whole file at once, and every few entries the loop is given a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from milkd.engine.percept import Edge, Percept
from milkd.store.fields import joined
from milkd.store.gojson import dumps, quoted, to_bytes
from milkd.store.own import OWN_KEY, own_to_json
from milkd.store.percepttext import INDENT, percept_text
from milkd.store.records import edge_to_json, engram_to_json
from milkd.store.seal import Sealer
from milkd.store.unreadable import LISTS, TOP_KEYS, Entry, kept_of

if TYPE_CHECKING:
    from milkd.engine.percept import ScopeImage
    from milkd.store.seal import Sealing
    from milkd.store.unreadable import Kept

__all__ = ["PIECE", "TOP_KEYS", "Encoder", "Pause", "image_to_bytes", "nothing"]

PIECE = 1 << 16  # bytes of a piece, or a little more
TURN = 512  # remembered entries from one pause to the next
COST = 16  # remembered entries that take as long as one that is written out
PARTS = 251  # a prime, since addresses are multiples of 16
Pause = Callable[[], None]


def nothing() -> None:
    """Give nobody a turn."""


def image_to_bytes(image: ScopeImage, sealing: Sealing | None = None) -> bytes:
    """The file of an image; without a sealing, as a milkd without a journal wrote it."""
    return b"".join(Encoder().encode(image, sealing))


class Encoder:
    """Writes the images of one scope, again and again.

    A percept, engram or edge that is the same object as last time costs a look-up: its text
    is remembered.
    """

    def __init__(self) -> None:
        self._known = _Texts()

    def encode(
        self, image: ScopeImage, sealing: Sealing | None = None, pause: Pause = nothing
    ) -> list[bytes]:
        """The whole file, in pieces to be written one after the other.

        Args:
            image: The scope.
            sealing: What the file says of its writing; the sum of it all is then its end.
            pause: Called about every half millisecond.

        Raises:
            ValueError: A number has no place in JSON.
        """
        run = _Run(self._known, pause)
        pieces = list(_gathered(run.chunks(image), _tail(image, sealing), sealed=bool(sealing)))
        before, self._known = self._known, run.texts
        before.let_go(pause)
        return pieces


class _Texts:
    """Texts of entries, by the entry's address.

    The entry is held too, so that its address stays its own; not in a pair with its text, since
    that would be one object more for the garbage collector, which takes no pause.  Nor does a
    large dictionary while it grows: so there are many small ones.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[dict[int, bytes], dict[int, Entry]]]
        self._parts = [({}, {}) for _ in range(PARTS)]

    def get(self, entry: Entry) -> bytes | None:
        address = id(entry)
        return self._parts[address % PARTS][0].get(address)

    def put(self, entry: Entry, text: bytes) -> None:
        address = id(entry)
        texts, entries = self._parts[address % PARTS]
        texts[address] = text
        entries[address] = entry

    def let_go(self, pause: Pause) -> None:
        """Forget all, a few at a time: to free them all at once would hold up the loop."""
        gone = 0
        while self._parts:
            texts, _ = self._parts.pop()
            gone += len(texts)
            if gone >= TURN:
                gone = 0
                pause()


class _Run:
    """One encoding: what it takes from the one before, and leaves for the next."""

    def __init__(self, known: _Texts, pause: Pause) -> None:
        self.texts = _Texts()
        self._known = known
        self._pause = pause

    def chunks(self, image: ScopeImage) -> Iterator[bytes]:
        """The text of every top-level key but our own, each with a comma after it."""
        extra = {key: item for key, item in image.extra.items() if key != OWN_KEY}
        kept = kept_of(image)
        yield b"{\n  "
        for key, item in joined(dict.fromkeys(LISTS), extra, TOP_KEYS).items():
            yield to_bytes(quoted(key)) + b": "
            if key in TOP_KEYS:
                entries: tuple[Entry, ...] = getattr(image, key)
                yield from _list(_woven(self._encoded(entries), kept[key]))
            else:
                yield to_bytes(dumps(item, "  "))
            yield b",\n  "

    def _encoded(self, entries: Iterable[Entry]) -> Iterator[bytes]:
        left = TURN
        for entry in entries:
            text = self._known.get(entry)
            left -= COST if text is None else 1
            if text is None:
                text = to_bytes(_text(entry))
            self.texts.put(entry, text)
            yield text
            if left <= 0:
                left = TURN
                self._pause()


def _text(entry: Entry) -> str:
    if isinstance(entry, Percept):
        return percept_text(entry)
    return dumps(edge_to_json(entry) if isinstance(entry, Edge) else engram_to_json(entry), INDENT)


def _list(texts: Iterator[bytes]) -> Iterator[bytes]:
    before = b"[\n    "
    for text in texts:
        yield before
        yield text
        before = b",\n    "
    yield b"[]" if before.startswith(b"[") else b"\n  ]"


def _woven(texts: Iterator[bytes], kept: Kept) -> Iterator[bytes]:
    """The texts of a list with others at their places, or at the end if it is too short now."""
    written = 0
    for text in texts:
        while kept and kept[0][0] <= written:
            yield kept.popleft()[1]
            written += 1
        yield text
        written += 1
    yield from (raw for _, raw in kept)


def _gathered(chunks: Iterator[bytes], tail: bytes, *, sealed: bool) -> Iterator[bytes]:
    """Small chunks as large pieces, the last of which closes with the tail."""
    sealer = Sealer()
    gathered: list[bytes] = []
    size = 0
    for chunk in chunks:
        gathered.append(chunk)
        size += len(chunk)
        if size >= PIECE:
            yield sealer.add(b"".join(gathered))
            gathered.clear()
            size = 0
    last = b"".join(gathered) + tail
    yield sealer.close(last) if sealed else last


def _tail(image: ScopeImage, sealing: Sealing | None) -> bytes:
    """Our own block, and the end of the file."""
    foreign = image.extra.get(OWN_KEY)
    own = own_to_json(image, sealing, foreign if isinstance(foreign, Mapping) else {})
    return to_bytes(f"{quoted(OWN_KEY)}: {dumps(own, '  ')}\n}}\n")
