"""What others wait for while one client has much done."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import milkd


def pings(client: milkd.Client, act: Callable[[], object]) -> list[float]:
    """Seconds of each ping while another thread acts."""
    times: list[float] = []
    thread = threading.Thread(target=act)
    thread.start()
    while thread.is_alive():
        began = time.perf_counter()
        client.ping()
        times.append(time.perf_counter() - began)
        time.sleep(0.001)
    thread.join()
    return times


def p99(times: list[float]) -> float:
    """What one of a hundred takes longer than."""
    return sorted(times)[int(len(times) * 0.99)]
