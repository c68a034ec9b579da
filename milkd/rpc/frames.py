"""From a decoded value to a message: the shape of MessagePack-RPC, checked exactly.

Types are compared with `is`: False and 0.0 would otherwise pass as the message type 0.
"""

from __future__ import annotations

from milkd.errors import InvalidParams, InvalidRequest
from milkd.rpc.messages import NOTIFICATION, REQUEST, RESPONSE, Notification, Request, Response
from milkd.rpc.values import MAX_DEPTH, NESTING, decoded, deeper_than, found

__all__ = ["MAX_METHOD", "message"]

MAX_METHOD = 64  # bytes of a method's name
MSGID_LIMIT = 1 << 32
FRAMES = "[0, msgid, method, params], [1, msgid, error, result] or [2, method, params]"
LENGTHS = {REQUEST: 4, RESPONSE: 4, NOTIFICATION: 3}


def message(value: object) -> Request | Response | Notification:
    """The message that a decoded value is.

    A request whose msgid is readable is returned even if the rest is not: its `problem` is
    the answer then.

    Raises:
        InvalidRequest: There is nothing in the value that could be answered.
    """
    if type(value) is list and len(value) == 4:
        kind, msgid, third, fourth = value
        if type(kind) is int and type(msgid) is int and 0 <= msgid < MSGID_LIMIT:
            if kind == REQUEST:
                if (
                    type(third) is str
                    and 0 < len(third) <= MAX_METHOD
                    and third.isascii()
                    and type(fourth) is list
                    and (not fourth or _is_flat(fourth))
                ):
                    return Request(msgid, third, fourth[0] if fourth else {})
            elif kind == RESPONSE and not fourth and not isinstance(third, NESTING):
                return Response(msgid, third, fourth)
    return _looked_at(value)


def _is_flat(params: list[object]) -> bool:
    """Whether the parameters are one map without another list or map in it."""
    only = params[0]
    if len(params) > 1 or type(only) is not dict:
        return False
    for argument in only.values():  # noqa: SIM110  # a generator takes twice as long
        if type(argument) is dict or type(argument) is list:
            return False
    return True


def _looked_at(value: object) -> Request | Response | Notification:
    """The message that a value is, or what is wrong with it."""
    if type(value) is not list:
        raise InvalidRequest(f"found {found(value)}, expected {FRAMES}")
    kind = value[0] if value else None
    if type(kind) is not int or len(value) != LENGTHS.get(kind):
        shown = f"a list of {len(value)} that begins with {found(kind)}" if value else "[]"
        raise InvalidRequest(f"found {shown}, expected {FRAMES}")
    if kind == REQUEST:
        return _request(_msgid(value[1]), value)
    if deeper_than(MAX_DEPTH, value):
        raise InvalidRequest(f"a message nested deeper than {MAX_DEPTH} levels")
    if kind == RESPONSE:
        return Response(_msgid(value[1]), value[2], value[3])
    return Notification(_method(value[1]), _params(value[2]))


def _request(msgid: int, frame: list[object]) -> Request:
    try:
        if deeper_than(MAX_DEPTH, frame):
            raise InvalidParams("params", f"nested deeper than {MAX_DEPTH} levels")
        return Request(msgid, _method(frame[2]), _arguments(_params(frame[3])))
    except (InvalidRequest, InvalidParams) as problem:
        return Request(msgid, "", {}, problem.with_traceback(None))


def _msgid(value: object) -> int:
    if type(value) is not int or not 0 <= value < MSGID_LIMIT:
        raise InvalidRequest(f"msgid: found {found(value)}, expected 0 to {MSGID_LIMIT - 1}")
    return value


def _method(value: object) -> str:
    name = decoded(value)
    if name is None:
        raise InvalidRequest(f"method: found {found(value)}, expected the name of a method")
    if not 0 < (size := len(name.encode())) <= MAX_METHOD:
        raise InvalidRequest(f"method: found {size} bytes, expected 1 to {MAX_METHOD}")
    return name


def _params(value: object) -> list[object]:
    """The parameters as a list; a bare map counts as a list of one."""
    if type(value) is dict:
        return [value]
    if type(value) is list:
        return value
    raise InvalidRequest(f"params: found {found(value)}, expected a list of one map")


def _arguments(params: list[object]) -> dict[object, object]:
    if not params or params == [[]]:  # Lua's {} arrives as []
        return {}
    only = params[0]
    if len(params) > 1 or type(only) is not dict:
        shown = f"{len(params)} values" if len(params) > 1 else found(only)
        raise InvalidRequest(f"params: found {shown}, expected one map of named arguments")
    return only
