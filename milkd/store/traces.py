"""What forgotten facts leave in a copy, and the copy without it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.store.cleaning import Cleaning, name_of, texts_of
from milkd.store.gojson import to_bytes
from milkd.store.pieces import rewritten
from milkd.store.seal import OPEN, PREFIX, ZEROS, Sealer, is_sealed
from milkd.store.spelling import readings

if TYPE_CHECKING:
    from collections.abc import Callable

JOURNAL = b"J1 "  # what a record of a journal begins with


@dataclass(frozen=True, slots=True)
class Traces:
    """What to look for.

    Attributes:
        ids: Percepts that go, with all that refers to them.
        texts: A percept that says one of these goes too, now or in a wording.
        live: Tells by id which percepts may say it: they lose wordings only.
        sources: Percepts that stay as they are for now, since the texts are known from them.
    """

    ids: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    live: Callable[[str], bool] = field(default=lambda _: False)
    sources: frozenset[str] = frozenset()

    def are_in(self, data: bytes) -> bool:
        """Whether an id or a text is anywhere in a file, however JSON may have escaped it."""
        wanted = self.ids | self.texts
        longest = max(map(len, wanted), default=0)
        return any(each in text for text in readings(data, longest) for each in wanted)

    def without(self, data: bytes) -> bytes:
        """A JSON file without the percepts and what hangs on them; its seal holds again.

        Nothing else is changed, and nothing at all if there is nothing to take out.

        Raises:
            ValueError: It is not JSON in UTF-8, or no object.
            RecursionError: It nests too deep.
        """
        text = data.decode()
        cleaning = Cleaning(self)
        new, end = cleaning.clean(text)
        if cleaning.more:
            # A percept was taken out for its text: now what refers to its id, before it too.
            cleaning.gone |= cleaning.more
            new, end = cleaning.clean(text)
        if self.are_in(new[end:].encode()):
            new = new[:end] + "\n"
        return data if new == text else _resealed(data, to_bytes(new))


def texts_in(data: bytes, ids: frozenset[str]) -> set[str]:
    """Every content and wording that a readable copy, or a journal, gives for some percepts."""
    found: set[str] = set()
    if data.startswith(JOURNAL) or b"\n" + JOURNAL in data:
        traces = Traces(ids=ids)
        for line in filter(traces.are_in, data.split(b"\n")):
            _collect_line(line, ids, found)
        return found

    def look(_: str, value: object) -> object:
        _collect(value, ids, found)
        return value

    try:
        rewritten(data.decode(), look, look, ids)
    except (ValueError, RecursionError):
        return set()  # who reads it later can't either: it is found by id, and goes
    return found


def _collect_line(line: bytes, ids: frozenset[str], found: set[str]) -> None:
    start = line.find(b"{")
    try:
        _collect(json.loads(line[start:]), ids, found)
    except (ValueError, RecursionError):
        return


def _collect(value: object, ids: frozenset[str], found: set[str]) -> None:
    if isinstance(value, list):
        for item in value:
            _collect(item, ids, found)
    elif isinstance(value, dict):
        if name_of(value) in ids:
            found.update(texts_of(value))
        for item in value.values():
            if isinstance(item, dict | list):
                _collect(item, ids, found)


def _resealed(old: bytes, new: bytes) -> bytes:
    """The new bytes with their own sum, if the old ones had theirs."""
    at = old.rfind(PREFIX.encode())
    told = old[at : at + len(OPEN)].decode("ascii", "replace")
    if at < 0 or not is_sealed(old, told):
        return new
    at = new.rfind(told.encode()) + len(PREFIX)
    sealer = Sealer()
    before = sealer.add(new[:at])
    return before + sealer.close(ZEROS + new[at + len(ZEROS) :])
