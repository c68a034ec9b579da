"""What a client may ask of the daemon, and how long the daemon waits for it.

One value holds them all, so that `hello` can report them and a test can shrink them.
The config file may lower those that guard against clients, for as long as the daemon
then runs: `{"milkd": {"limits": {"connections": 16}}}`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from milkd.errors import ConfigError

LOWERED = (
    "connections",
    "in_flight",
    "in_flight_all",
    "turn_messages",
    "turn_s",
    "partial_s",
    "send_s",
    "spare_s",
    "request_s",
    "events",
    "import_records",
)
"""The limits that a config file may lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes in bytes or messages, times in seconds.  Sources: daemon.md, C4."""

    connections: int = 64
    spare: int = 4
    """Connections beyond the limit that are served `hello`, `ping`, `health` and `shutdown` alone,
    so that a daemon whose clients keep all others can be looked after."""
    spare_s: float = 10.0
    """A spare connection that asks nothing for so long is closed."""
    refusals: int = 4
    """Connections beyond those that are told so at the same time; further ones are closed."""
    slot_s: float = 0.25
    """A connection beyond the limit waits so long for another to end: one whose client has just
    closed it may not have noticed yet."""
    in_flight: int = 32
    """Requests of one connection that wait for their responses before reading stops."""
    in_flight_all: int = 256
    """The same over all connections; one that waits for nothing may still ask one thing."""
    turn_messages: int = 32
    """Messages of one connection served before the others get their turn."""
    turn_s: float = 0.002
    """The same in time: a search in a large store takes longer than many pings."""
    read_bytes: int = 65_536
    chunk_bytes: int = 65_536
    """A response is sent in pieces of this size, each within `send_s`."""
    send_s: float = 10.0
    """A peer that takes none of a piece for so long is dropped."""
    partial_s: float = 10.0
    """From the first byte of a message to its last."""
    request_s: float = 30.0
    """Loading a session or waiting for the disk on behalf of one request."""
    farewell_s: float = 1.0
    """For the responses still owed to a peer that has stopped sending."""
    save_s: float = 10.0
    """For the last passes to be saved when the daemon stops."""
    drain_s: float = 5.0
    """For the responses still owed when the daemon stops."""
    lease_s: float = 900.0
    """A session without connection and call for so long is closed."""
    lease_check_s: float = 15.0
    linger_s: float = 1.0
    """Uses of percepts are written after so long when nothing else needs writing."""
    checkpoint_bytes: int = 1 << 20
    """The files are written when the journal has grown by so much,"""
    checkpoint_entries: int = 5_000
    """or by so many entries,"""
    checkpoint_idle_s: float = 30.0
    """or when nothing changed for so long."""
    events: int = 256
    """Events that may wait for one subscriber; the oldest go first."""
    op_ids: int = 4096
    """Results remembered for repeated operations."""
    import_records: int = 1_000_000
    """Records that one connection may hand over before `final`."""
    page_bytes: int = 1024 * 1024
    """Content in one page of an export."""
    config_poll_s: float = 2.0
    files_poll_s: float = 2.0
    socket_watch_s: float = 2.0

    def to_wire(self) -> dict[str, object]:
        """The limits by name, as `hello` reports them."""
        return asdict(self)

    def lowered(self, given: object) -> Limits:
        """These limits, with those lowered that a config file names.

        Args:
            given: What the file has under `milkd`; None if it has nothing.

        Raises:
            ConfigError: Names what is not a limit, not a number, or no lower one.
        """
        block = {} if given is None else _members("milkd", given)
        named = _members("milkd.limits", block.get("limits", {}))
        return replace(self, **{name: self._lower(name, value) for name, value in named.items()})

    def _lower(self, name: str, value: object) -> Any:
        key = f"milkd.limits.{name}"
        if name not in LOWERED:
            raise ConfigError(f"{key}: no such limit, expected one of {', '.join(LOWERED)}")
        usual = getattr(self, name)
        number = type(value) is int or (type(value) is float and isinstance(usual, float))
        if not number or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ConfigError(f"{key}: found {value!r}, expected a number like {usual:g}")
        if not 0 < value <= usual:
            raise ConfigError(f"{key}: found {value:g}, expected more than 0 and at most {usual:g}")
        return value


def _members(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ConfigError(f"{name}: found {type(value).__name__}, expected an object")
    return value
