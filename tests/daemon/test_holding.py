"""A lock file that somebody deletes or replaces under a daemon that runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from daemon.homes import contents, open_home
from milkd.daemon.fatal import EXIT_RUNNING, Fatal
from milkd.daemon.holding import LockWatch
from milkd.paths import noted_socket
from milkd.store.lock import StoreLock
from places import START, Place
from torture.household import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        yield made


async def test_a_lock_that_was_deleted_is_taken_anew_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lock = StoreLock(str(tmp_path))
    async with open_home(tmp_path) as home:
        (tmp_path / "global.json").touch()
        with lock:
            watch = LockWatch(home.core, lock)
            assert not watch.look()
            shutil.rmtree(tmp_path / ".milkd")
            assert watch.look()
            assert not watch.look()
            assert noted_socket(str(tmp_path)) == home.core.identity.socket
            said = f"{lock.path} was deleted or replaced by another program; it is made anew"
            assert home.core.health.reasons == [said]
            assert said in caplog.text


async def test_a_store_that_another_one_has_by_then_is_the_end(tmp_path: Path) -> None:
    lock = StoreLock(str(tmp_path))
    async with open_home(tmp_path) as home:
        (tmp_path / "global.json").touch()
        with lock:
            shutil.rmtree(tmp_path / ".milkd")
            with StoreLock(str(tmp_path), {"version": "1.1"}):
                before = contents(tmp_path)
                with pytest.raises(Fatal) as caught:
                    LockWatch(home.core, lock).look()
                assert contents(tmp_path) == before
    assert caught.value.code == EXIT_RUNNING
    assert caught.value.reason.startswith(f"{lock.path} was deleted or replaced, and milkd 1.1 wit")
    assert caught.value.reason.endswith("this daemon writes nothing any more")


async def test_a_lock_that_cannot_be_made_anew_is_told_until_it_can(tmp_path: Path) -> None:
    lock = StoreLock(str(tmp_path))
    async with open_home(tmp_path) as home:
        (tmp_path / "global.json").touch()
        with lock:
            shutil.rmtree(tmp_path / ".milkd")
            (tmp_path / ".milkd").symlink_to("nowhere")
            watch = LockWatch(home.core, lock)
            assert not watch.look()
            assert home.core.health.reasons[0].startswith(f"{lock.path} has gone: cannot lock ")
            (tmp_path / ".milkd").unlink()
            assert watch.look()
            assert len(home.core.health.reasons) == 1
            assert home.core.health.reasons[0].endswith("it is made anew")


def second(place: Place, socket: Path) -> subprocess.CompletedProcess[bytes]:
    """Another daemon on the store, to its end."""
    command = [sys.executable, "-m", "milkd", "--store", str(place.store), "--lock-wait", "0"]
    return subprocess.run(
        [*command, "--socket", str(socket)],
        env=place.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=2 * START,
        check=False,
    )


def test_a_daemon_whose_own_directory_is_deleted_keeps_the_store(place: Place) -> None:
    place.start()
    with place.client() as client:
        client.learn("the user prefers tabs")
        client.snapshot()
        client.learn("deploys need a second pair of eyes")
        own = place.store / ".milkd"
        shutil.rmtree(own)
        until((own / "lock").exists)
        until(lambda: len(list(own.glob("journal.*"))) == 1)
        refused = second(place, place.home / "other")
        assert refused.returncode == EXIT_RUNNING
        assert f"listens on {place.socket}".encode() in refused.stderr
        client.learn("the west cluster is for staging")
    place.stop(signal.SIGKILL)
    place.start()
    with place.client() as client:
        assert client.list()["total"] == 3


def test_a_daemon_whose_store_another_one_took_ends_at_once(place: Place) -> None:
    first = place.start()
    with place.client() as client:
        client.learn("the user prefers tabs")
        client.snapshot()
    os.kill(first.pid, signal.SIGSTOP)
    (place.store / ".milkd" / "lock").unlink()
    refused = second(place, place.socket)  # before anything was done to the store
    assert refused.returncode == EXIT_RUNNING
    assert b"another milkd serves" in refused.stderr
    (place.store / ".milkd" / "lock").unlink()
    old, place.socket = place.socket, place.home / "other"
    place.start()
    with place.client() as client:
        client.learn("deploys need a second pair of eyes")
        before = contents(place.store)
        os.kill(first.pid, signal.SIGCONT)
        assert first.wait(START) == EXIT_RUNNING
        assert contents(place.store) == before
        assert not old.exists()
        assert client.list()["total"] == 2


def test_a_store_that_lost_milkds_directory_before_its_first_files_keeps_all(place: Place) -> None:
    place.start()
    with place.client() as client:
        client.record("a fact that no file holds yet")
        shutil.rmtree(place.store / ".milkd")
        until(lambda: (place.store / ".milkd" / "lock").exists())
        until(lambda: (place.store / "global.json").exists())
        assert client.record("another one")["status"] == "inserted"
        reasons = client.health()["reasons"]
        assert any("was deleted or replaced by another program" in reason for reason in reasons)
    place.stop(signal.SIGKILL)
    place.start()
    with place.client() as client:
        assert client.list()["total"] == 2
