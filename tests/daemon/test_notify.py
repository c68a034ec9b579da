"""What the service manager hears."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from milkd.daemon.notify import (
    keep_watchdog,
    notify,
    reloading,
    taking_time,
    watchdog_interval,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def manager(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(short_path / "n"))
        sock.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(short_path / "n"))
        yield sock


def test_it_hears_what_is_said(manager: socket.socket) -> None:
    notify("READY=1", "STATUS=süß\nand more")
    assert manager.recv(1_000).decode() == "READY=1\nSTATUS=süß and more"


def test_it_may_listen_under_an_abstract_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0milkd-test-{os.getpid()}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@milkd-test-{os.getpid()}")
        notify("STOPPING=1")
        assert sock.recv(1_000) == b"STOPPING=1"


def test_nobody_need_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "/nonexistent/n")
    notify("READY=1")


@pytest.mark.parametrize(
    ("usec", "pid", "interval"),
    [
        ("30000000", "", 10.0),
        pytest.param("30000000", str(os.getpid()), 10.0, id="ours"),
        ("30000000", "1", None),
        ("0", "", None),
        ("soon", "", None),
        ("", "", None),
    ],
)
def test_the_watchdog_is_fed_three_times_as_often_as_asked(
    monkeypatch: pytest.MonkeyPatch, usec: str, pid: str, interval: float | None
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    monkeypatch.setenv("WATCHDOG_PID", pid)
    assert watchdog_interval() == interval


async def test_the_watchdog_is_fed_while_nothing_happens(
    manager: socket.socket, autojump_clock: trio.testing.MockClock
) -> None:
    with trio.move_on_after(35):
        await keep_watchdog(10.0)
    for _ in range(4):
        assert manager.recv(1_000) == b"WATCHDOG=1"
    with pytest.raises(BlockingIOError):
        manager.recv(1_000)


def heard(manager: socket.socket) -> list[bytes]:
    """What has come."""
    messages = []
    with contextlib.suppress(BlockingIOError):
        while True:
            messages.append(manager.recv(1_000))
    return messages


def test_a_reload_tells_since_when(manager: socket.socket) -> None:
    before = time.monotonic_ns() // 1_000
    reloading()
    (message,) = heard(manager)
    first, second = message.decode().splitlines()
    assert first == "RELOADING=1"
    assert before <= int(second.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1_000


def test_work_that_gets_on_is_given_time(manager: socket.socket) -> None:
    with taking_time(every=0.3):
        until = time.monotonic() + 10
        while time.monotonic() < until:
            sum(range(10_000))
            if messages := heard(manager):
                break
    assert messages[0] == b"EXTEND_TIMEOUT_USEC=20000000"


def test_work_that_hangs_is_not(manager: socket.socket) -> None:
    with taking_time(every=0.01):
        time.sleep(0.3)
    assert heard(manager) == []


def test_work_that_never_ends_is_not_for_ever(manager: socket.socket) -> None:
    steps = count()
    with taking_time(every=0.01, most=0.1, progress=lambda: next(steps)):
        time.sleep(0.3)
        assert 1 <= len(heard(manager)) <= 10
        time.sleep(0.1)
        assert heard(manager) == []


def test_time_that_nobody_gives_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    before = threading.active_count()
    with taking_time(every=0.01):
        assert threading.active_count() == before
