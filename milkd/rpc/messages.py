"""The three kinds of message that MessagePack-RPC knows.

Plain classes, because the client must start fast: `dataclasses` alone would cost
more than the whole client.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from milkd.errors import RequestError

__all__ = ["Message", "Notification", "Request", "Response"]

REQUEST = 0
RESPONSE = 1
NOTIFICATION = 2


class Message:
    """Equal when kind and fields are; `repr` shows every field."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


class Request(Message):
    """A call that wants an answer.

    Attributes:
        msgid: Chosen by the caller; the answer carries it.
        method: Name of the method; not known to exist.
        params: The named arguments as received; not checked yet.
        problem: Why the call cannot even be looked at, or None.  It must be the answer then;
            `method` is empty and `params` are too.
    """

    __slots__ = ("method", "msgid", "params", "problem")

    def __init__(
        self,
        msgid: int,
        method: str,
        params: Mapping[object, object],
        problem: RequestError | None = None,
    ) -> None:
        self.msgid = msgid
        self.method = method
        self.params = params
        self.problem = problem


class Response(Message):
    """The answer to a call: an error as it came (None for success), or a result."""

    __slots__ = ("error", "msgid", "result")

    def __init__(self, msgid: int, error: object, result: object) -> None:
        self.msgid = msgid
        self.error = error
        self.result = result


class Notification(Message):
    """A message that wants no answer; `params` as received, a bare map as a list of one."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: Sequence[object]) -> None:
        self.method = method
        self.params = params
