"""How many requests of all connections together are taken and not answered yet."""

from __future__ import annotations


class Flights:
    """A count with a limit.

    Who is owed nothing may always ask one thing; so nobody need wait for what others are owed.

    Attributes:
        count: Of items that are owed to clients.
        limit: From which on they are too many.
    """

    __slots__ = ("count", "limit")

    def __init__(self, limit: int) -> None:
        self.count = 0
        self.limit = limit

    @property
    def full(self) -> bool:
        """Whether a connection that is owed something should read no further."""
        return self.count >= self.limit
