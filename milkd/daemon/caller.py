"""A connection as the service sees it: what it holds, watches and has half done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.daemon.importing import Intake

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.daemon.events import Subscription
    from milkd.daemon.exporting import Export


@dataclass(slots=True, eq=False)
class Caller:
    """The other end of one connection.  Two are never equal.

    Attributes:
        name: What stands for it where it names no session; no session can have that name.
        connected: False once the connection has ended.
        spare: Whether it was let in beyond the limit, for what helps in need.
        sessions: Those that it named, and holds open while it is connected.
        errors_as_string: Whether it decodes errors into a string.
        wake: Called when there is an event for it.
        export: The export it is paging through.
        intake: The records handed over for an import that is not final yet.
    """

    name: str
    connected: bool = True
    spare: bool = False
    sessions: set[str] = field(default_factory=set)
    errors_as_string: bool = False
    subscription: Subscription | None = None
    wake: Callable[[], None] = lambda: None
    export: Export | None = None
    intake: Intake = field(default_factory=Intake)
