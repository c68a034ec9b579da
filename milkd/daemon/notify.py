"""What systemd is told: readiness, stopping, and that the loop is alive (sd_notify(3)).

Does nothing where no service manager listens, and never fails.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket

import trio

LATE = 1.0  # seconds behind its time at which a ping says that the loop was held up

_log = logging.getLogger(__name__)


def notify(*fields: str) -> None:
    """Send `NAME=value` fields to the service manager, if there is one."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # the abstract namespace
        address = "\0" + address[1:]
    message = "\n".join(field.replace("\n", " ") for field in fields)
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto(message.encode("utf-8", "replace"), address)


def watchdog_interval() -> float | None:
    """Seconds between pings: a third of what the manager allows; None when it does not watch."""
    allowed = os.environ.get("WATCHDOG_USEC", "")
    pid = os.environ.get("WATCHDOG_PID", "")
    if not allowed.isdigit() or int(allowed) == 0 or pid not in ("", str(os.getpid())):
        return None
    return int(allowed) / 1e6 / 3


async def keep_watchdog(interval: float) -> None:
    """Ping for ever, idle or not, from the loop that does the serving."""
    due = trio.current_time()
    while True:
        late = trio.current_time() - due
        if late > LATE:
            _log.warning("the loop was held up for %.1f s", late)
        notify("WATCHDOG=1")
        due = trio.current_time() + interval
        await trio.sleep_until(due)
