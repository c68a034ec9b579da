"""What the service manager hears."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from milkd.daemon.notify import keep_watchdog, notify, watchdog_interval

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
        ("30000000", str(os.getpid()), 10.0),
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
