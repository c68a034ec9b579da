"""Calls that may never return, waited for only so long."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, TypeVar

from milkd.errors import MilkdError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Hung(MilkdError):
    """The call has not returned yet."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """What a call returns, in a thread that is left behind if that takes longer.

    Raises:
        Hung: It did.
        BaseException: What the call raised.
    """
    done: queue.SimpleQueue[Callable[[], T]] = queue.SimpleQueue()

    def run() -> None:
        try:
            value = call()
        except BaseException as error:
            failure = error  # the name of an `except` is gone after it

            def again() -> T:
                raise failure

            done.put(again)
        else:
            done.put(lambda: value)

    threading.Thread(target=run, name="bounded call", daemon=True).start()
    try:
        outcome = done.get(timeout=seconds)
    except queue.Empty:
        raise Hung(f"no answer within {seconds:g} s") from None
    return outcome()
