"""Kinds of argument with one value: what each accepts, and how it refuses the rest.

An argument reads a value of the wire into a plain Python one.  A refusal names the
argument, what was found and what would be accepted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar

from milkd.errors import InvalidParams
from milkd.paths import valid_session
from milkd.rpc.values import decoded, found, named

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Argument(ABC):
    """A named argument of a method.

    Attributes:
        name: As on the wire.
        doc: What it is for, for docs/protocol.md.
        required: Whether leaving it out is an error.
    """

    name: str
    doc: str
    _: KW_ONLY
    required: bool = False
    kind: ClassVar[str]
    """Its type in the words of docs/protocol.md."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """What is accepted, in the words of an error."""

    @property
    def accepted(self) -> str:
        """What is accepted, in the words of docs/protocol.md, which explains some of them."""
        return self.expected

    @abstractmethod
    def read(self, value: object) -> object:
        """The plain value.

        Raises:
            InvalidParams: The value is not accepted.
        """

    def refused(self, shown: str) -> InvalidParams:
        """The refusal of a value, given in words that hold nothing of it unescaped."""
        return InvalidParams(self.name, f"found {shown}, expected {self.expected}")


@dataclass(frozen=True)
class Text(Argument):
    """Text of a bounded size; stored or looked for byte for byte, so never trimmed here.

    Attributes:
        max_bytes: Of its UTF-8 form.
        empty: Whether it may be empty.
        blank: Whether it may consist of white space.
        nul: Whether it may hold U+0000.
    """

    kind: ClassVar[str] = "string"
    _: KW_ONLY
    max_bytes: int
    empty: bool = False
    blank: bool = False
    nul: bool = True

    @property
    def expected(self) -> str:
        least = "" if self.empty else "non-empty " if self.blank else "non-blank "
        nul = "" if self.nul else " without NUL"
        return f"{least}text{nul} of at most {size(self.max_bytes)}"

    def read(self, value: object) -> str:
        text = decoded(value)
        if text is None:
            raise self.refused(found(value))
        long = len(text) if text.isascii() else len(text.encode())
        if long > self.max_bytes:
            raise self.refused(f"{long:,} bytes")
        if not text and not self.empty:
            raise self.refused("empty text")
        if text and not self.blank and not text.strip():
            raise self.refused("only white space")
        if not self.nul and "\0" in text:
            raise self.refused("text with a NUL")
        return text


@dataclass(frozen=True)
class Choice(Argument):
    """One of a few words."""

    kind: ClassVar[str] = "string"
    choices: Sequence[str]

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.choices)}"

    def read(self, value: object) -> str:
        word = decoded(value)
        if word not in self.choices or word is None:
            raise self.refused(found(value) if word is None else named(word))
        return word


@dataclass(frozen=True)
class Session(Argument):
    """The id of a session."""

    kind: ClassVar[str] = "string"

    @property
    def accepted(self) -> str:
        return "a *session id*"

    @property
    def expected(self) -> str:
        return (
            "1 to 64 of the characters A-Z a-z 0-9 . _ -, with no dot in front, "
            "and not global or archive"
        )

    def read(self, value: object) -> str:
        name = decoded(value)
        if name is None:
            raise self.refused(found(value))
        if not valid_session(name):
            raise self.refused(named(name))
        return name


@dataclass(frozen=True)
class Number(Argument):
    """A number of a closed range; whole ones are taken too, NaN is in no range."""

    kind: ClassVar[str] = "number"
    low: float
    high: float

    @property
    def expected(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"

    def read(self, value: object) -> float:
        if type(value) is int or type(value) is float:  # bool is no number here
            number: float = value
            if self.low <= number <= self.high:
                return float(number)
        raise self.refused(found(value))


@dataclass(frozen=True)
class Whole(Argument):
    """A whole number of a closed range; 1.0 is none."""

    kind: ClassVar[str] = "integer"
    low: int
    high: int

    @property
    def expected(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def read(self, value: object) -> int:
        if type(value) is not int or not self.low <= value <= self.high:
            raise self.refused(found(value))
        return value


@dataclass(frozen=True)
class Flag(Argument):
    """True or false; numbers don't count."""

    kind: ClassVar[str] = "boolean"

    @property
    def expected(self) -> str:
        return "true or false"

    def read(self, value: object) -> bool:
        if type(value) is not bool:
            raise self.refused(found(value))
        return value


def size(count: int) -> str:
    """A number of bytes in words."""
    if count < 1024:
        return f"{count} bytes"
    return f"{count >> 10} KiB" if count < 1 << 20 else f"{count >> 20} MiB"
