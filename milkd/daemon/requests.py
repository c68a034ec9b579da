"""From the arguments of a request to the command that the engine takes.

The arguments have been checked by the method table; here they only get the
engine's names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from milkd.engine import commands
from milkd.errors import InvalidParams

if TYPE_CHECKING:
    from milkd.engine.commands import Command

Arguments = Mapping[str, Any]
NewId = Callable[[], str]

HEARD = frozenset({"record", "query", "inject", "turn_end", "why"})
"""Methods for which it matters what their caller was shown before."""

CURSOR = "o"
"""What the cursor of a list begins with; the offset follows."""


def command(method: str, arguments: Arguments, new_id: NewId, caller: str) -> Command:
    """The command of a method that the engine answers; `caller` stands for the connection."""
    if method in HEARD and "session" not in arguments:
        arguments = {**arguments, "caller": caller}
    return COMMANDS[method](arguments, new_id)


def _record(given: Arguments, new_id: NewId) -> Command:
    return commands.Record(new_id=new_id(), **given)


def _learn(given: Arguments, new_id: NewId) -> Command:
    return commands.Learn(new_id=new_id(), **given)


def _relate(given: Arguments, _: NewId) -> Command:
    return commands.Relate(**_ends(given))


def _unrelate(given: Arguments, _: NewId) -> Command:
    return commands.Unrelate(**_ends(given))


def _ends(given: Arguments) -> dict[str, Any]:
    """An edge is from … to … on the wire; `from` is no name in Python."""
    names = {"from": "source", "to": "target"}
    return {names.get(name, name): value for name, value in given.items()}


def _inject(given: Arguments, _: NewId) -> Command:
    names = {"max": "max_facts"}
    return commands.Inject(**{names.get(name, name): value for name, value in given.items()})


def _list(given: Arguments, _: NewId) -> Command:
    if given.get("scope") == "session" and "session" not in given:
        raise InvalidParams("session", "missing, expected the session whose scope is to be listed")
    return commands.List(**_paged(given))


def _archive_list(given: Arguments, _: NewId) -> Command:
    return commands.List(scope="archive", **_paged(given))


def _paged(given: Arguments) -> dict[str, Any]:
    rest = {name: value for name, value in given.items() if name != "cursor"}
    return rest | {"offset": offset(given.get("cursor"))}


def offset(cursor: str | None) -> int:
    """The offset that a list's cursor stands for; 0 for None.

    Raises:
        InvalidParams: The cursor is not one that a list gave.
    """
    if cursor is None:
        return 0
    digits = cursor.removeprefix(CURSOR)
    # A few digits are enough for any list, and int() of many is slow.
    if digits == cursor or not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
        raise InvalidParams("cursor", "not a cursor, expected the `next` of an earlier page")
    return int(digits)


def cursor_at(position: int) -> str:
    """The cursor of a list at an offset."""
    return f"{CURSOR}{position}"


COMMANDS: Mapping[str, Callable[[Arguments, NewId], Command]] = {
    "record": _record,
    "learn": _learn,
    "edit": lambda given, _: commands.Edit(**given),
    "restore": lambda given, _: commands.Restore(**given),
    "relate": _relate,
    "unrelate": _unrelate,
    "turn_end": lambda given, _: commands.TurnEnd(**given),
    "confirm": lambda given, _: commands.Confirm(**given),
    "reject": lambda given, _: commands.Reject(**given),
    "query": lambda given, _: commands.Query(**given),
    "inject": _inject,
    "list": _list,
    "archive_list": _archive_list,
    "show": lambda given, _: commands.Show(**given),
    "resolve": lambda given, _: commands.Resolve(**given),
    "explain": lambda given, _: commands.Explain(**given),
    "why": lambda given, _: commands.Why(**given),
    "similar": lambda given, _: commands.Similar(**given),
}
"""How the command of a method is built, for methods that are one command."""
