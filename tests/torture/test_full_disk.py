"""T6: a disk that is really full, and has room again later."""

from __future__ import annotations

import os
import resource
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

import milkd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torture.household import Household

TMPFS = "size=1m"
SPACE = 32_768  # bytes left on the small disk
ROOM = 2_000  # bytes that a file may have beyond what the largest one has
LONG = "a fact of some length, which tells at leisure of {0}mills, {0}wells and {0}walls"

pytestmark = pytest.mark.lasting


def fill(client: milkd.Client) -> list[str]:
    """State facts until the disk takes no more; those that it took."""
    taken: list[str] = []
    for number in range(20_000):
        content = LONG.format(f"q{number}")
        try:
            client.record(content)
        except milkd.StorageFull:
            return taken
        taken.append(content)
    raise AssertionError("the disk was never full")


def check_life_on_a_full_disk(household: Household, make_room: Callable[[], None]) -> None:
    """Reads are served, errors are clear, nothing is spoilt; and then there is room."""
    with household.client() as client:
        client.record("the first fact")
        taken = fill(client)
        for _ in range(5):
            with pytest.raises(milkd.StorageFull):
                client.record("there is no room for this " * 200)
        assert client.query("first fact")["percepts"][0]["content"] == "the first fact"
        health = client.health()
        assert health["status"] == "degraded"
        assert "storage_full" in " ".join(health["reasons"])
        held = household.contents()
        assert held == sorted(["the first fact", *taken])
        make_room()
        client.record("there is room again")
        assert client.health()["status"] == "ok"
    household.kill()
    household.start()
    assert household.contents() == sorted([*held, "there is room again"])
    assert household.end() == 0
    household.check_tidy()


def test_a_file_may_not_grow(household: Household) -> None:
    daemon = household.start()
    with household.client() as client:
        client.record("lunch is at noon")
        client.forget("lunch is at noon")
    largest = max(path.stat().st_size for path in household.files())
    hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (largest + ROOM, hard))
    check_life_on_a_full_disk(household, lambda: _limit(daemon.pid, resource.RLIM_INFINITY))


def _limit(pid: int, size: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.fixture
def small_disk(household: Household) -> Iterator[Path]:
    """A file system of little room with the store on it."""
    disk = household.home / "disk"
    disk.mkdir()
    with _mounted(disk):
        household.store = disk / "memory"
        household.store.mkdir()
        yield disk
        household.stop()


@contextmanager
def _mounted(disk: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", TMPFS, "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def ballast(disk: Path) -> Path:
    """Fill what is left of a disk."""
    path = disk / "ballast"
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return path


def test_the_disk_is_full_and_is_emptied(household: Household, small_disk: Path) -> None:
    household.start()
    with household.client() as client:
        client.record("the disk is small")
        client.forget("the disk is small")
    weight = ballast(small_disk)
    with weight.open("r+b") as file:
        file.truncate(max(0, weight.stat().st_size - SPACE))
    check_life_on_a_full_disk(household, weight.unlink)


def test_forgetting_and_stopping_need_no_room(household: Household, small_disk: Path) -> None:
    household.start()
    secret, kept = "the alarm code is on the blue card", "the alarm is tested on mondays"
    with household.client() as client:
        client.record(secret)
        client.record(kept)
        if not (household.store / ".milkd" / "reserve").exists():
            pytest.skip("this store keeps no reserve")
        weight = ballast(small_disk)
        client.forget(secret)
    assert household.end() == 0
    household.start()
    assert household.contents() == [kept]
    weight.unlink()
    assert household.end() == 0
    assert [path for path in household.files() if b"blue card" in path.read_bytes()] == []
    household.check_tidy()
