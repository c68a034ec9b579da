"""What a client may ask of the daemon, and how long the daemon waits for it.

One value holds them all, so that `hello` can report them and a test can shrink them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass


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
    turn_messages: int = 32
    """Messages of one connection served before the others get their turn."""
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
    socket_watch_s: float = 30.0

    def to_wire(self) -> dict[str, object]:
        """The limits by name, as `hello` reports them."""
        return asdict(self)
