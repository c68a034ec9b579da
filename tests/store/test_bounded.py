"""Calls that may hang."""

from __future__ import annotations

import threading

import pytest

from milkd.store.bounded import Hung, within


def refuse() -> None:
    raise OSError(37, "No locks available")


def test_what_a_call_returns_or_raises_is_as_if_it_were_called_here() -> None:
    assert within(60.0, lambda: 7) == 7
    with pytest.raises(OSError, match="No locks available"):
        within(60.0, refuse)


def test_a_call_that_hangs_is_left_behind() -> None:
    go = threading.Event()
    with pytest.raises(Hung, match=r"^no answer within 0\.05 s$"):
        within(0.05, go.wait)
    go.set()
