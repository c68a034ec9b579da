"""A method of the protocol: one row of the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from milkd.rpc.arguments import Argument, Session, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

SESSION = Session("session", "the caller's; absent: global only")
OP_ID = Text("op_id", "makes the call safe to repeat (see Words)", max_bytes=64, blank=True)


@dataclass(frozen=True)
class Example:
    """A call and its answer, as docs/protocol.md shows them."""

    arguments: Mapping[str, object]
    result: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Method:
    """What may be called.

    Attributes:
        name: As on the wire.
        summary: What it does, for docs/protocol.md.
        arguments: In the order of the documentation.
        result: The keys of the answer.
        example: One call.
        changes: Whether it changes facts on disk, and so takes an `op_id`.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...] = ()
    result: str
    example: Example
    changes: bool = False

    @cached_property
    def by_name(self) -> Mapping[str, Argument]:
        """The arguments, to be looked up."""
        return {argument.name: argument for argument in self.arguments}


def reading(name: str, summary: str, *arguments: Argument, result: str, example: Example) -> Method:
    """A method that changes no fact."""
    return Method(name=name, summary=summary, arguments=arguments, result=result, example=example)


def changing(
    name: str, summary: str, *arguments: Argument, result: str, example: Example
) -> Method:
    """A method that changes facts; it takes an `op_id` besides its arguments."""
    return Method(
        name=name,
        summary=summary,
        arguments=(*arguments, OP_ID),
        result=result,
        example=example,
        changes=True,
    )
