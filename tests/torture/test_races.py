"""T13: who starts when several do, what becomes of what is at the path, and who is answered."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import milkd
from milkd.daemon.fatal import EXIT_RUNNING, EXIT_USAGE
from milkd.errors import AlreadyRunning, Unanswered
from milkd.store.lock import StoreLock
from places import START
from torture.household import COMMAND, Household, until
from torture.size import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.lasting

HERE = Path(__file__).parent
STARTERS = 6
CLIENTS = 20
ANSWERED = 5.0  # seconds within which each client is answered
FREE = {"missing": "socket", "stale": "socket"}
TAKEN = {
    "file": "precious",
    "directory": "directory of precious",
    "symlink": "link to elsewhere",
    "dangling": "link to nowhere",
}


@contextmanager
def starters(directory: Path) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Six processes, and a function that has them race for a path where such a thing is."""
    command = [sys.executable, str(HERE / "starters.py"), str(directory), str(STARTERS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        ask, answer = process.stdin, process.stdout
        assert ask is not None
        assert answer is not None

        def race(kind: str) -> dict[str, Any]:
            ask.write(f"{kind}\n".encode())
            ask.flush()
            told: dict[str, Any] = json.loads(answer.readline())
            return told

        yield race
        ask.close()
        assert process.wait(START) == 0


def test_of_six_starters_on_a_free_path_one_serves(household: Household) -> None:
    with starters(household.home / "r") as race:
        for _ in range(size(30, 150)):
            for kind, left in FREE.items():
                told = race(kind)
                serving = [met for met in told["met"] if met[0] == "serves"]
                assert len(serving) == 1, told
                assert told["answering"]
                assert told["found"] == left
                refused = [met[1] for met in told["met"] if met[0] == "AlreadyRunning"]
                assert refused == [f"another milkd serves {household.home}/r/s"] * (STARTERS - 1)


def test_of_six_starters_on_what_is_no_socket_none_serves_and_it_stays(
    household: Household,
) -> None:
    with starters(household.home / "r") as race:
        for _ in range(size(30, 150)):
            for kind, left in TAKEN.items():
                told = race(kind)
                assert told["found"] == left
                assert not told["answering"]
                # Whoever looks while another one does is told of that one.
                words = {met[1].partition(";")[0] for met in told["met"]}
                assert f"{household.home}/r/s is no socket and stays as it is" in words, told
                assert words <= {
                    f"{household.home}/r/s is no socket and stays as it is",
                    f"another milkd serves {household.home}/r/s",
                }


def at_path(place: Household, kind: str) -> None:
    """Have that where the daemon wants to listen."""
    if kind == "file":
        place.socket.write_text("precious")
    elif kind == "directory":
        place.socket.mkdir()
    elif kind == "symlink":
        place.socket.symlink_to("nowhere")
    elif kind == "stale":
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(place.socket))


def daemons(place: Household, count: int) -> list[subprocess.Popen[bytes]]:
    """Daemons of the store that begin at once; who they are is said on a pipe when they serve."""
    command = [*COMMAND, "--store", str(place.store), "--socket", str(place.socket)]
    return [
        subprocess.Popen(
            command,
            env=place.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("kind", size(["stale"], ["stale", "missing"]))
def test_of_six_daemons_one_serves_and_the_others_say_who(household: Household, kind: str) -> None:
    for _ in range(size(1, 5)):
        at_path(household, kind)
        started = daemons(household, STARTERS)
        until(lambda: answers(household))
        winner, losers = parted(started)
        with household.client() as client:
            assert client.hello()["pid"] == winner.pid
            client.shutdown()
        for each in losers:
            _, said = each.communicate()
            assert each.returncode == EXIT_RUNNING, said
            assert f"pid {winner.pid} on ".encode() in said
            assert f"listens on {household.socket}".encode() in said
        winner.communicate(timeout=START)
        assert winner.returncode == 0
        assert not household.socket.exists()


@pytest.mark.parametrize("kind", size(["file"], ["file", "directory", "symlink"]))
def test_of_six_daemons_none_takes_what_is_no_socket(household: Household, kind: str) -> None:
    for _ in range(size(1, 5)):
        at_path(household, kind)
        before = os.lstat(household.socket)
        for each in daemons(household, STARTERS):
            _, said = each.communicate(timeout=START)
            # One after the other has the store, finds that, and leaves.
            assert each.returncode == EXIT_USAGE, said
            assert b" is no socket and stays as it is; give another with --socket" in said
        after = os.lstat(household.socket)
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
        household.socket.rmdir() if kind == "directory" else household.socket.unlink()


def parted(
    started: list[subprocess.Popen[bytes]],
) -> tuple[subprocess.Popen[bytes], list[subprocess.Popen[bytes]]]:
    """The one that serves, and the others, once they have ended."""
    until(lambda: sum(each.poll() is None for each in started) == 1)
    (winner,) = (each for each in started if each.returncode is None)
    return winner, [each for each in started if each is not winner]


def answers(place: Household) -> bool:
    """Whether a daemon serves."""
    try:
        with place.client() as client:
            return bool(client.hello())
    except milkd.MilkdError:
        return False


def test_twenty_clients_start_one_daemon_and_all_are_answered(household: Household) -> None:
    del household.env["MILKD_SOCKET"]
    command = [sys.executable, str(HERE / "crowd.py"), str(household.store), str(CLIENTS)]
    for number in range(size(5, 20)):
        ran = subprocess.run(
            command, env=household.env, capture_output=True, timeout=2 * START, check=True
        )
        told = json.loads(ran.stdout)
        assert len({pid for _, pid in told}) == 1, told
        assert len(told) == CLIENTS
        assert max(seconds for seconds, _ in told) < ANSWERED
        with milkd.Client(store=str(household.store)) as client:
            assert client.list()["total"] == CLIENTS
            if number % 2:
                os.kill(client.hello()["pid"], signal.SIGKILL)
            else:
                client.shutdown()
        until(lambda: not held(household))


def test_clients_that_look_in_different_places_start_one_daemon_too(household: Household) -> None:
    del household.env["MILKD_SOCKET"]
    command = [sys.executable, str(HERE / "crowd.py"), str(household.store), "3"]
    for number in range(size(1, 5)):
        crowds = []
        for place in ("here", "there"):
            runtime = household.home / f"{place}{number}"
            runtime.mkdir(mode=0o700)
            env = household.env | {"XDG_RUNTIME_DIR": str(runtime)}
            crowds.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE))
        told = [line for crowd in crowds for line in json.loads(crowd.communicate()[0])]
        assert len(told) == 6
        assert len({pid for _, pid in told}) == 1, told
        assert max(seconds for seconds, _ in told) < 2 * ANSWERED  # one had to lose first
        with milkd.Client(store=str(household.store)) as client:
            client.shutdown()
        until(lambda: not held(household))


def held(place: Household) -> bool:
    """Whether a daemon has the store."""
    try:
        lock = StoreLock(str(place.store))
        lock.acquire(0)
    except AlreadyRunning:
        return True
    lock.release()
    return False


def test_a_daemon_that_stands_still_is_not_replaced(household: Household) -> None:
    still = household.start()
    found = os.stat(household.socket)
    os.kill(still.pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        for each in daemons(household, 2):
            _, said = each.communicate(timeout=START)
            assert each.returncode == EXIT_RUNNING
            assert f"pid {still.pid} on ".encode() in said
        assert time.monotonic() - begun < 8.0  # not the ten seconds for one that stops
        client = household.client(autostart=True)
        client.timeout = 0.5
        with pytest.raises(Unanswered):
            client.hello()
        assert os.path.samestat(found, os.stat(household.socket))
    finally:
        os.kill(still.pid, signal.SIGCONT)
    with household.client() as client:
        assert client.hello()["pid"] == still.pid


def test_one_is_started_while_the_one_before_stops(household: Household) -> None:
    for number in range(size(4, 20)):
        before = household.daemon
        if before is not None:
            before.terminate()
        household.start()
        if before is not None:
            assert before.wait(START) == 0
        with household.client() as client:
            client.learn(f"start {number} came")
            assert client.list()["total"] == number + 1
