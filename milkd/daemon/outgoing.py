"""What is on its way to a client: replies and events, encoded when they leave.

Until then a reply holds what the engine answered, which is shared, and not its
bytes: a client that does not read costs next to nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from milkd.daemon.fatal import trace
from milkd.errors import Cancelled, Internal, WireError
from milkd.rpc.protocol import Connection as Protocol
from milkd.rpc.values import error_to_wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.daemon.batches import Answer
    from milkd.daemon.caller import Caller
    from milkd.daemon.events import Event

_log = logging.getLogger(__name__)


class Outgoing:
    """Anything to be sent."""

    __slots__ = ()

    def encode(self) -> bytes:
        """The bytes; called once, when they leave."""
        raise NotImplementedError


class Notice(Outgoing):
    """A notification: an event, or the error before a connection is closed."""

    __slots__ = ("_method", "_params")

    def __init__(self, method: str, params: object) -> None:
        self._method = method
        self._params = params

    def encode(self) -> bytes:
        return Protocol.notification(self._method, self._params)


class Reply(Outgoing):
    """The reply to a request: an answer or an error, whichever holds when it leaves.

    Attributes:
        answer: Set when the request was granted.
        error: Set when it was not, or when the answer was taken back.
        on_sent: Called with the msgid when the reply leaves.
    """

    __slots__ = ("_caller", "answer", "error", "msgid", "on_sent")

    def __init__(self, msgid: int, caller: Caller) -> None:
        self.msgid = msgid
        self.answer: Answer | None = None
        self.error: WireError | None = None
        self.on_sent: Callable[[int], object] | None = None
        self._caller = caller

    def waits(self) -> bool:
        """Whether it is too early to send."""
        return self.error is None and self.answer is not None and self.answer.pending

    def cancel(self) -> None:
        """The client takes a request back; one that changes something can't be."""
        if self.error is None and self.answer is not None and not self.answer.changes:
            self.error = Cancelled("the client took the request back")

    def encode(self) -> bytes:
        if self.on_sent is not None:
            self.on_sent(self.msgid)
        as_string = self._caller.errors_as_string
        try:
            body = self._body()
        except WireError as error:
            return Protocol.error(self.msgid, error, as_string=as_string)
        return Protocol.response(self.msgid, body, as_string=as_string)

    def _body(self) -> dict[str, object]:
        if self.error is not None:
            raise self.error
        assert self.answer is not None
        self.answer.check()
        try:
            return self.answer.body()
        except Exception as error:
            _log.error("an answer could not be made\n%s", trace(error))
            raise Internal("a fault in milkd, now in its log") from error


def event(value: Event) -> Notice:
    """What a subscriber is sent."""
    return Notice("event", dict(value))


def refusal(error: WireError) -> Notice:
    """What a client is sent before its connection is closed."""
    return Notice("error", error_to_wire(error, as_string=True))
