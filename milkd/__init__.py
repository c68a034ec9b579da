"""Persistent memory for agents: facts that fade, are reinforced, and are recalled.

    import milkd

    with milkd.connect(session="s1") as memory:
        memory.record("the user prefers tabs")
        print(memory.query("tabs or spaces?")["percepts"])

`Client` talks to the daemon, `connect` also starts one; everything that goes wrong is a
`MilkdError`.  Importing the package loads none of it until it is named.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkd.client import Client, connect
    from milkd.errors import (
        AlreadyRunning,
        Ambiguous,
        Cancelled,
        ConfigError,
        Conflict,
        ConnectionLost,
        DaemonUnreachable,
        Failure,
        Internal,
        InvalidParams,
        InvalidRequest,
        MethodNotFound,
        MilkdError,
        NotFound,
        Overloaded,
        ParseError,
        ReadOnly,
        RequestError,
        ShuttingDown,
        StorageFailed,
        StorageFull,
        StoreDamaged,
        Timeout,
        TooLarge,
        Unanswered,
        VersionMismatch,
        WireError,
    )

__all__ = [
    "AlreadyRunning",
    "Ambiguous",
    "Cancelled",
    "Client",
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
    "__version__",
    "connect",
]

__version__ = "0.1.0"

IN_CLIENT = ("Client", "connect")


def __getattr__(name: str) -> object:
    if name in IN_CLIENT:
        from milkd import client as home
    elif name in __all__:
        from milkd import errors as home  # type: ignore[no-redef]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
