"""No secret reaches the store: whatever is about to be kept is looked at first (`secret_guard`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from milkd.engine.commands import Edit, Learn, Record
from milkd.engine.results import Decision, Outcome
from milkd.engine.secrets import masked, secrets_in
from milkd.errors import InvalidParams

if TYPE_CHECKING:
    from milkd.engine.commands import Command
    from milkd.engine.params import Params
    from milkd.engine.percept import Percept
    from milkd.engine.secrets import Secret

OFF, REFUSE, MASK = LEVELS = ("off", "refuse", "mask")

GUARDED: Mapping[type, tuple[str, ...]] = {
    Record: ("content", "subject", "roles"),
    Learn: ("content", "subject"),
    Edit: ("content",),
}
"""By command, the texts that are kept of it; what is imported is looked at entry by entry."""


class Guard:
    """Looks at texts, and remembers the kinds that it masked."""

    def __init__(self, level: str) -> None:
        self._level = level
        self.kinds: list[str] = []

    def pass_on(self, name: str, value: Any) -> Any:
        """The value as it may be kept, texts within it too.

        Args:
            name: Of the argument or the key, for the message.
            value: A text, or what JSON can hold.

        Raises:
            InvalidParams: It holds a secret, and those are refused.  Says what kind and where,
                and never the secret.
        """
        if isinstance(value, str):
            found = secrets_in(value)
            return self._without(name, value, found) if found else value
        if isinstance(value, Mapping):
            return {key: self.pass_on(f"{name}.{key}"[:64], item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.pass_on(name, item) for item in value)
        return value

    def _without(self, name: str, text: str, found: list[Secret]) -> str:
        if self._level == MASK:
            self.kinds += [secret.kind for secret in found]
            return masked(text, found)
        told = ", ".join(f"a {each.kind} at character {each.start + 1}" for each in found)
        raise InvalidParams(
            name,
            f"found what looks like {told}, and milkd keeps no secrets; say where it is kept "
            "instead, or set secret_guard to mask or off",
        )


def guarded(command: Command, params: Params) -> tuple[Command, tuple[str, ...]]:
    """A command as it may be carried out, and the kinds of what was masked in it.

    Raises:
        InvalidParams: As `Guard.pass_on`.
    """
    names = GUARDED.get(type(command), ())
    if not names or params.secret_guard == OFF:
        return command, ()
    guard = Guard(params.secret_guard)
    given = {name: getattr(command, name) for name in names}
    if len(given["content"]) > params.percept_max_bytes:
        return command, ()  # it is refused for its length
    kept = {name: guard.pass_on(name, value) for name, value in given.items() if value}
    return (replace(command, **kept) if guard.kinds else command), tuple(guard.kinds)


def with_masked(decision: Decision, kinds: tuple[str, ...]) -> Decision:
    """A decision that tells which kinds of secrets were masked."""
    result = decision.result
    if isinstance(result, Outcome):
        return replace(decision, result=replace(result, masked=kinds))
    return decision  # the answer to an edit shows the text itself


def secret_in(name: str, value: object, params: Params) -> str | None:
    """Why something beside a fact is not imported; None if it may be, whatever masks facts."""
    if params.secret_guard == OFF:
        return None
    try:
        Guard(REFUSE).pass_on(name, value)
    except InvalidParams as error:
        return str(error)
    return None


def guarded_percept(percept: Percept, level: str) -> Percept:
    """A percept of an import, likewise.

    Raises:
        InvalidParams: As `Guard.pass_on`.
    """
    if level == OFF:
        return percept
    guard = Guard(level)
    content = guard.pass_on("content", percept.content)
    wordings = tuple(
        replace(each, content=guard.pass_on(f"wordings[{number}]", each.content))
        for number, each in enumerate(percept.wordings)
    )
    roles, extra = guard.pass_on("roles", percept.roles), guard.pass_on("extra", percept.extra)
    if not guard.kinds:
        return percept
    return replace(percept, content=content, wordings=wordings, roles=roles, extra=extra)
