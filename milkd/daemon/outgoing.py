"""What is on its way to a client: replies and events, encoded when they leave.

Until then a reply holds what the engine answered, which is shared, and not its
bytes: a client that does not read costs next to nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from milkd.daemon.encoding import response
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

    def encode(self) -> bytes | None:
        """The bytes, given once, when they leave; None while it is too early."""
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

    def __init__(
        self, msgid: int, caller: Caller, on_sent: Callable[[int], object] | None = None
    ) -> None:
        self.msgid = msgid
        self.answer: Answer | None = None
        self.error: WireError | None = None
        self.on_sent = on_sent
        self._caller = caller

    def cancel(self) -> None:
        """The client takes a request back; one that changes something can't be."""
        if self.error is None and self.answer is not None and not self.answer.changes:
            self.error = Cancelled("the client took the request back")

    def encode(self) -> bytes | None:
        answer, error = self.answer, self.error
        if error is None:
            assert answer is not None
            if answer.need is not None:
                if not answer.need.done.is_set():
                    return None
                error = answer.need.error
        if self.on_sent is not None:
            self.on_sent(self.msgid)
        as_string = self._caller.errors_as_string
        if error is None and answer is not None:
            try:
                body = answer.body()
            except Exception as fault:
                _log.error("an answer could not be made\n%s", trace(fault))
                error = Internal("a fault in milkd, now in its log")
            else:
                return response(self.msgid, body, as_string=as_string)
        assert error is not None
        return Protocol.error(self.msgid, error, as_string=as_string)


def event(value: Event) -> Notice:
    """What a subscriber is sent."""
    return Notice("event", dict(value))


def refusal(error: WireError) -> Notice:
    """What a client is sent before its connection is closed."""
    return Notice("error", error_to_wire(error, as_string=True))
