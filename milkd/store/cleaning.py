"""One document of a store without some percepts, and without what hangs on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from milkd.store.encoder import TOP_KEYS
from milkd.store.gojson import fold, shown
from milkd.store.own import OWN_KEY
from milkd.store.pieces import GONE, rewritten

if TYPE_CHECKING:
    from milkd.store.traces import Traces

NAMING = ("shown", "used", "touched")  # keys of our own block that hold ids of percepts


class Cleaning:
    """Takes traces out of one document, entry by entry.

    Attributes:
        gone: Ids of the percepts that are taken out.
        more: Ids that are to be added to them.
    """

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self.gone = set(traces.ids)
        self.more: set[str] = set()

    def clean(self, text: str) -> tuple[str, int]:
        """The text of a document without the traces, and where in it the document ends.

        Raises:
            ValueError: It is no document of a store.
        """
        words = self.gone | self._traces.texts
        return rewritten(text, self._entry, self._value, words)

    def _entry(self, key: str, entry: object) -> object:
        """What shall be there instead of an entry of a list."""
        if not isinstance(entry, dict):
            return self._rest(entry)
        match fold(key):
            case "percepts":
                return self._percept(entry)
            case "engrams":
                return self._engram(entry)
            case "edges":
                return GONE if self._are_gone(_get(entry, "from"), _get(entry, "to")) else entry
        return self._rest(entry)

    def _value(self, key: str, value: object) -> object:
        """What shall be there instead of a value that is no list."""
        if fold(key) in TOP_KEYS and value is not None:
            raise ValueError(f"{key}: found {shown(value)}, expected a list")
        if key == OWN_KEY and isinstance(value, dict):
            return self._own(value)
        return self._rest(value)

    def _percept(self, percept: dict[str, object]) -> object:
        name, texts = name_of(percept), self._traces.texts
        if name in self.gone:
            return GONE
        if name in self._traces.sources or texts.isdisjoint(texts_of(percept)):
            return percept
        if name is not None and self._traces.live(name):
            return _same(percept, {key: self._left(key, item) for key, item in percept.items()})
        if name is not None:
            self.more.add(name)
        return GONE

    def _left(self, key: str, value: object) -> object:
        """A member of a percept that stays: of its wordings those that are no trace."""
        if fold(key) != "wordings" or not isinstance(value, list):
            return value
        return [item for item in value if self._traces.texts.isdisjoint(texts_of(item))]

    def _engram(self, engram: dict[str, object]) -> object:
        members = _get(engram, "percept_ids")
        if not isinstance(members, list) or not self._are_gone(*members):
            return engram
        left = [member for member in members if not self._are_gone(member)]
        if not left:
            return GONE
        return {key: left if value is members else value for key, value in engram.items()}

    def _own(self, own: dict[str, object]) -> object:
        """Our own block, without the ids that are gone."""
        return _same(own, own | {key: self._named(own[key]) for key in NAMING if key in own})

    def _named(self, value: object) -> object:
        if isinstance(value, list):
            return [item for item in value if not self._are_gone(item)]
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if key not in self.gone}
        return value

    def _rest(self, value: object) -> object:
        """Anything else, without the names of what is gone and without its texts."""
        if self._is_trace(value):
            return GONE
        new: object = value
        if isinstance(value, list):
            new = [left for item in value if (left := self._rest(item)) is not GONE]
        elif isinstance(value, dict) and name_of(value) not in self._traces.sources:
            new = {
                key: left
                for key, item in value.items()
                if key not in self.gone and (left := self._rest(item)) is not GONE
            }
        return _same(value, new)

    def _is_trace(self, value: object) -> bool:
        if isinstance(value, dict):
            return name_of(value) in self.gone
        return isinstance(value, str) and (value in self.gone or value in self._traces.texts)

    def _are_gone(self, *ids: object) -> bool:
        return any(isinstance(each, str) and each in self.gone for each in ids)


def _same(old: object, new: object) -> object:
    """The old value if the new one is equal, so that its bytes stay."""
    return old if new == old else new


def texts_of(percept: object) -> set[str]:
    """What a percept, or a wording, says, and how else it was said."""
    wordings = _get(percept, "wordings")
    found = [_get(percept, "content")]
    found += [_get(item, "content") for item in wordings] if isinstance(wordings, list) else []
    return {text for text in found if isinstance(text, str) and text}


def name_of(percept: object) -> str | None:
    """The id of a percept; None if it has none."""
    found = _get(percept, "id")
    return found if isinstance(found, str) else None


def _get(value: object, key: str) -> object:
    """The member of an object, by its name or as Go would match it."""
    if not isinstance(value, Mapping):
        return None
    if key in value:
        return value[key]
    for name in value:
        if len(name) == len(key) and fold(name) == key:
            return value[name]
    return None
