"""Kinds of argument that hold other values: lists and maps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from milkd.rpc.arguments import Argument, Choice, Text
from milkd.rpc.values import MAX_DEPTH, decoded, deeper_than, found, named

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Choices(Argument):
    """At least one of a few words, in a list; each counts once."""

    kind: ClassVar[str] = "list of strings"
    choices: Sequence[str]

    @property
    def expected(self) -> str:
        return f"a list of some of {', '.join(self.choices)}"

    def read(self, value: object) -> list[str]:
        if type(value) is not list or not value:
            raise self.refused(found(value))
        each = Choice(self.name, self.doc, self.choices)
        words = [replace(each, name=f"{self.name}[{at}]").read(it) for at, it in enumerate(value)]
        return list(dict.fromkeys(words))


@dataclass(frozen=True)
class Texts(Argument):
    """A map from some of a few keys to texts; nil stands for an absent one."""

    kind: ClassVar[str] = "map"
    keys: Sequence[str]
    each: Text
    """What every value must be."""

    @property
    def expected(self) -> str:
        return f"a map from some of {', '.join(self.keys)} to {self.each.expected}"

    def read(self, value: object) -> dict[str, str]:
        given = as_map(value)
        if given is None:
            raise self.refused(found(value))
        return {
            name: replace(self.each, name=f"{self.name}.{name}").read(text)
            for key, text in given.items()
            if (name := self._key(key)) and text is not None
        }

    def _key(self, key: object) -> str:
        name = decoded(key)
        if name is None or name not in self.keys:
            raise self.refused(f"the key {found(key) if name is None else named(name)}")
        return name


@dataclass(frozen=True)
class Records(Argument):
    """A list of maps; what they hold is for whoever takes them to judge."""

    kind: ClassVar[str] = "list of maps"
    max_items: int

    @property
    def expected(self) -> str:
        return f"a list of at most {self.max_items:,} maps of text, numbers, lists and maps"

    def read(self, value: object) -> list[dict[str, object]]:
        if type(value) is not list or len(value) > self.max_items:
            raise self.refused(found(value))
        if deeper_than(MAX_DEPTH, value):
            raise self.refused(f"one nested deeper than {MAX_DEPTH} levels")
        return [self._record(item) for item in value]

    def _record(self, value: object) -> dict[str, object]:
        if type(value) is not dict:
            raise self.refused(f"{found(value)} for a map")
        return {self._text(key): self._plain(item) for key, item in value.items()}

    def _text(self, value: object) -> str:
        text = decoded(value)
        if text is None:
            raise self.refused(f"{found(value)} for text")
        return text

    def _plain(self, value: object) -> object:
        if type(value) is dict:
            return self._record(value)
        if type(value) is list:
            return [self._plain(item) for item in value]
        if type(value) in (str, bytes):
            return self._text(value)
        if value is None or type(value) in (bool, int):
            return value
        if type(value) is float and value - value == 0.0:
            return value
        raise self.refused(f"{found(value)} in a map")


@dataclass(frozen=True)
class Record(Argument):
    """One map of anything; what it holds is for whoever takes it to judge."""

    kind: ClassVar[str] = "map"

    @property
    def expected(self) -> str:
        return "a map of text, numbers, lists and maps"

    def read(self, value: object) -> dict[str, object]:
        given = as_map(value)
        if given is None:
            raise self.refused(found(value))
        (record,) = Records(self.name, self.doc, 1).read([given])
        return record


def as_map(value: object) -> dict[object, object] | None:
    """The map that a value is, if it is one; [] counts, since Lua's {} arrives so."""
    if type(value) is dict:
        return value
    return {} if type(value) is list and not value else None
