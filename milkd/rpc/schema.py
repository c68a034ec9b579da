"""The table of methods, and the check of every call against it.

`validate()` is the gate between bytes and program: what it returns is of the
documented types and sizes, so that nobody behind it need look again.  The table
is also what docs/protocol.md is made from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.errors import InvalidParams, MethodNotFound
from milkd.rpc.compounds import as_map
from milkd.rpc.facts import FACTS
from milkd.rpc.feedback import FEEDBACK
from milkd.rpc.process import PROCESS
from milkd.rpc.recall import RECALL
from milkd.rpc.tools import TOOLS
from milkd.rpc.upkeep import UPKEEP
from milkd.rpc.values import decoded, found, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from milkd.rpc.method import Method

__all__ = ["METHODS", "cancelled", "validate"]

METHODS: Mapping[str, Method] = {
    method.name: method for method in (*FACTS, *RECALL, *FEEDBACK, *TOOLS, *UPKEEP, *PROCESS)
}


def validate(name: str, params: object) -> dict[str, object]:
    """The arguments of a call, checked; those that are absent or nil are left out.

    Args:
        name: Of the method.
        params: A map of named arguments, or a list of none or one, as it came.

    Raises:
        MethodNotFound: No such method.
        InvalidParams: The first argument that is unknown, missing or not accepted.
    """
    method = METHODS.get(name)
    if method is None:
        raise MethodNotFound(f"there is no method {named(name)}{_hint(name, METHODS)}")
    arguments: dict[str, object] = {}
    given = params if type(params) is dict else _map(params)
    if given:
        names = method.by_name
        given = {
            key if key in names else _known(method, key): value for key, value in given.items()
        }
    for argument in method.arguments:
        value = given.get(argument.name)
        if value is not None:
            arguments[argument.name] = argument.read(value)
        elif argument.required:
            raise argument.refused("nothing")
    return arguments


def cancelled(params: object) -> int | None:
    """The msgid that a `cancel` notification names, as `[msgid]` or `[{"msgid": msgid}]`.

    None if it names none: a notification cannot be refused.
    """
    only = params[0] if type(params) is list and params else params
    msgid = only.get("msgid") if type(only) is dict else only
    return msgid if type(msgid) is int else None


def _map(params: object) -> dict[object, object]:
    only = params[0] if type(params) is list and len(params) == 1 else params
    arguments = as_map(only)
    if arguments is None:
        raise InvalidParams("params", f"found {found(only)}, expected one map of named arguments")
    return arguments


def _known(method: Method, key: object) -> str:
    name = decoded(key)
    if name is None:
        raise InvalidParams("params", f"found {found(key)}, expected the name of an argument")
    if name in method.by_name:
        return name
    takes = ", ".join(method.by_name) or "no arguments"
    hint = _hint(name, method.by_name) or f"; it takes {takes}"
    raise InvalidParams(named(name)[1:-1], f"{method.name} has no such argument{hint}")


def _hint(name: str, names: Iterable[str]) -> str:
    import difflib  # only now: it is slow to import and rarely needed

    near = difflib.get_close_matches(name[:64], names, n=1)
    return f", did you mean {near[0]}?" if near else ""
