"""Every error that milkd raises on purpose, in one tree.

MilkdError
├── WireError               has a place in the protocol: [kind, "code: sentence"]
│   ├── RequestError        the daemon said no; the caller can mend it
│   │   ├── ParseError          the bytes were not a message
│   │   ├── InvalidRequest      a message, but not a request
│   │   ├── MethodNotFound
│   │   ├── InvalidParams       names the argument
│   │   ├── NotFound
│   │   ├── Ambiguous           its sentence lists the candidates
│   │   ├── TooLarge
│   │   └── Conflict
│   └── Failure             the daemon could not; the request was sound
│       ├── ReadOnly
│       ├── StorageFull
│       ├── StorageFailed
│       ├── StoreDamaged
│       ├── Overloaded
│       ├── Timeout
│       │   └── Unanswered      the daemon was silent (client side)
│       ├── Cancelled
│       ├── ShuttingDown
│       ├── VersionMismatch
│       └── Internal
├── ConfigError             a file or variable that cannot be used; nothing was taken from it
├── AlreadyRunning          another process holds the store or the socket
├── DaemonUnreachable       no daemon answered (client side)
└── ConnectionLost          the peer went away in the middle (client side)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

__all__ = [
    "AlreadyRunning",
    "Ambiguous",
    "Cancelled",
    "ConfigError",
    "Conflict",
    "ConnectionLost",
    "DaemonUnreachable",
    "Failure",
    "Internal",
    "InvalidParams",
    "InvalidRequest",
    "MethodNotFound",
    "MilkdError",
    "NotFound",
    "Overloaded",
    "ParseError",
    "ReadOnly",
    "RequestError",
    "ShuttingDown",
    "StorageFailed",
    "StorageFull",
    "StoreDamaged",
    "Timeout",
    "TooLarge",
    "Unanswered",
    "VersionMismatch",
    "WireError",
    "error_class",
]


class MilkdError(Exception):
    """Base of all errors raised by milkd."""


class WireError(MilkdError):
    """An error with a place in the protocol: `[kind, "code: sentence"]`."""

    code: ClassVar[str]
    kind: ClassVar[int]


class RequestError(WireError):
    """The request cannot be granted as it stands."""

    kind = 1


class ParseError(RequestError):
    """The bytes received are not a message; the connection cannot go on."""

    code = "parse_error"


class InvalidRequest(RequestError):
    """A well-formed value that is not a MessagePack-RPC request."""

    code = "invalid_request"


class MethodNotFound(RequestError):
    """No method of that name."""

    code = "method_not_found"


class InvalidParams(RequestError):
    """An argument is missing, of the wrong type, out of range or unknown."""

    code = "invalid_params"

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"{argument}: {problem}")
        self.argument = argument


class NotFound(RequestError):
    """Nothing visible to the caller fits the reference."""

    code = "not_found"


class Ambiguous(RequestError):
    """A reference fits several percepts; the sentence lists them, `resolve` gives them whole.

    `candidates` are their full ids inside the daemon; on the wire there is the sentence alone.
    """

    code = "ambiguous"

    def __init__(self, message: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class TooLarge(RequestError):
    """The answer would exceed the limit; ask for less of it."""

    code = "too_large"


class Conflict(RequestError):
    """The request contradicts an earlier one, such as an `op_id` used twice."""

    code = "conflict"


class Failure(WireError):
    """The daemon could not do what it was rightly asked."""

    kind = 0


class ReadOnly(Failure):
    """The store takes no changes at present."""

    code = "read_only"


class StorageFull(Failure):
    """The disk is full; nothing was changed."""

    code = "storage_full"


class StorageFailed(Failure):
    """The disk refused; whether the change survives, the sentence says."""

    code = "storage_failed"


class StoreDamaged(Failure):
    """A file of the store cannot be read; it was left as it is."""

    code = "store_damaged"


class Overloaded(Failure):
    """Too many connections or requests at once."""

    code = "overloaded"


class Timeout(Failure):
    """The request took longer than the limit."""

    code = "timeout"


class Unanswered(Timeout):
    """No answer came in time; whether anything was done is not known."""


class Cancelled(Failure):
    """The client took the request back."""

    code = "cancelled"


class ShuttingDown(Failure):
    """The daemon is on its way out and starts nothing new."""

    code = "shutting_down"


class VersionMismatch(Failure):
    """Client and daemon, or daemon and store, are of versions that cannot work together."""

    code = "version_mismatch"


class Internal(Failure):
    """A fault of the daemon itself; nothing was changed."""

    code = "internal"


class ConfigError(MilkdError):
    """A file or variable that configures milkd cannot be used; nothing was taken from it."""


class AlreadyRunning(MilkdError):
    """Another milkd holds the store or the socket."""


class DaemonUnreachable(MilkdError):
    """No daemon answered on the socket, and none could be started."""


class ConnectionLost(MilkdError):
    """The daemon closed the connection before it answered."""


def error_class(code: str) -> type[WireError]:
    """The class for a protocol code; `Internal` for one that this version does not know."""
    for family in (RequestError, Failure):
        for cls in family.__subclasses__():
            if cls.code == code:
                return cls
    return Internal
