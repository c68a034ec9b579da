"""How many requests of all connections together are taken and not answered yet."""

from __future__ import annotations

import trio


class Flights:
    """A count with a limit, and a place to wait for room.

    Attributes:
        count: Of items that are owed to clients.
    """

    def __init__(self, limit: int) -> None:
        self.count = 0
        self._limit = limit
        self._waiting = trio.lowlevel.ParkingLot()

    @property
    def full(self) -> bool:
        """Whether a connection that is owed something should read no further."""
        return self.count >= self._limit

    def land(self, number: int = 1) -> None:
        """So many have been answered."""
        self.count -= number
        if self._waiting and not self.full:
            self._waiting.unpark_all()

    async def room(self) -> None:
        """Wait until there is room again."""
        while self.full:
            await self._waiting.park()
