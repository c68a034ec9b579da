"""What systemd is told: readiness, reloading, stopping, and that we are alive (sd_notify(3)).

Does nothing where no service manager listens, and never fails.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import socket
import threading
import time
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LATE = 1.0  # seconds behind its time at which a ping says that the loop was held up
ASK_EVERY = 5.0  # seconds between two requests for more time; the shortest time-out is 20
ASK_FOR = 20.0  # seconds from each request on
ASK_AT_MOST = 600.0  # seconds; what computes for longer computes in circles
WORK = 0.05  # of `_work_done`: more than the asking itself adds

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


def reloading() -> None:
    """Say that a reload has begun; `READY=1` ends it."""
    notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1_000}")


@contextlib.contextmanager
def taking_time(
    *,
    every: float = ASK_EVERY,
    most: float = ASK_AT_MOST,
    progress: Callable[[], float] | None = None,
) -> Iterator[None]:
    """Keep the manager's patience up meanwhile, as long as the work inside gets on.

    The asking is a thread's, for the work may block the loop.

    Args:
        every: Seconds between two requests.
        most: Seconds after which none is made any more.
        progress: A value that grows as the work gets on; by default what this process has
            computed, read and written.
    """
    if not os.environ.get("NOTIFY_SOCKET"):
        yield
        return
    done = threading.Event()
    asking = threading.Thread(
        target=_ask_for_time, args=(done, every, most, progress or _work_done), daemon=True
    )
    asking.start()
    try:
        yield
    finally:
        done.set()
        asking.join()


def _ask_for_time(
    done: threading.Event, every: float, most: float, progress: Callable[[], float]
) -> None:
    until, before = time.monotonic() + most, progress()
    while not done.wait(every) and time.monotonic() < until:
        now = progress()
        if now - before >= WORK:
            notify(f"EXTEND_TIMEOUT_USEC={int(1e6 * ASK_FOR)}")
        before = now


def _work_done() -> float:
    """Seconds computed plus blocks read and written; a call that hangs adds none."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime + used.ru_inblock + used.ru_oublock


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
