"""The socket's path: taken, watched, given back."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import sys
import textwrap
import threading
from typing import TYPE_CHECKING

import pytest

from milkd.daemon import address
from milkd.daemon.address import Address
from milkd.errors import AlreadyRunning, ConfigError
from places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(short_path: Path) -> Path:
    return short_path / "milkd" / "s"


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        yield made


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def test_it_is_made_private_and_listens(path: Path) -> None:
    ours = Address(str(path), "/store")
    with ours.take():
        assert answers(path)
        assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700
        assert ours.is_ours()
    ours.remove()
    ours.unlock()
    assert not path.exists()
    assert (path.parent / "s.lock").read_text() == "/store"


def test_a_path_is_claimed_before_anything_is_done_to_it(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    before = os.lstat(path)
    first, second = Address(str(path), "/store"), Address(str(path), "/other")
    first.claim()
    with pytest.raises(AlreadyRunning, match="another milkd serves"):
        second.claim()
    assert os.path.samestat(before, os.lstat(path))
    assert (path.parent / "s.lock").read_text() == "/store"
    with first.take():
        assert answers(path)
        with pytest.raises(AlreadyRunning):
            second.take()
    first.remove()
    first.unlock()
    second.claim()
    second.unlock()
    assert (path.parent / "s.lock").read_text() == "/other"


@pytest.mark.parametrize("kind", ["file", "directory", "link", "dangling link"])
def test_what_is_no_socket_is_not_even_claimed(path: Path, kind: str) -> None:
    path.parent.mkdir(mode=0o700)
    if kind == "file":
        path.write_text("precious")
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("elsewhere")
    with socket.socket(socket.AF_UNIX) as dead:
        if kind == "link":
            dead.bind(str(path.parent / "elsewhere"))
        ours = Address(str(path), "/store")
        with pytest.raises(ConfigError, match="is no socket and stays as it is"):
            ours.claim()
    assert os.path.lexists(path)
    assert not path.is_socket() or kind == "link"
    os.rename(path, path.parent / "aside")
    ours.claim()
    ours.unlock()


def test_a_stale_socket_is_taken_over(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    ours = Address(str(path), "/store")
    with ours.take():
        assert answers(path)
    ours.remove()
    ours.unlock()


def test_a_second_one_is_refused_while_the_first_one_lives(path: Path) -> None:
    first, second = Address(str(path), "/store"), Address(str(path), "/store")
    with first.take():
        with pytest.raises(AlreadyRunning, match="another milkd serves"):
            second.take()
        assert first.is_ours()
    first.unlock()
    with second.take():
        assert not first.is_ours()
        first.remove()
        assert path.exists()
        assert second.is_ours()
    second.unlock()


def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_text("precious")
    with pytest.raises(ConfigError, match="is no socket"):
        Address(str(path), "/store").take()
    assert path.read_text() == "precious"


def test_a_listener_without_the_lock_is_not_pushed_aside(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as manager:
        manager.bind(str(path))
        manager.listen()
        with pytest.raises(AlreadyRunning, match=r"systemctl --user start milkd\.service"):
            Address(str(path), "/store").take()
        assert answers(path)


def test_a_path_that_is_too_long_is_explained(short_path: Path) -> None:
    path = str(short_path / ("x" * 120))
    with pytest.raises(ConfigError, match=r"MILKD_SOCKET"):
        Address(path, "/store").take()


@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_a_directory_that_others_may_change_is_refused(path: Path, mode: int) -> None:
    path.parent.mkdir()
    path.parent.chmod(mode)
    with pytest.raises(ConfigError, match="changed by others"):
        Address(str(path), "/store").take()


def test_a_directory_that_cannot_be_made_is_explained(short_path: Path) -> None:
    (short_path / "file").write_text("")
    with pytest.raises(ConfigError, match="MILKD_SOCKET"):
        Address(str(short_path / "file" / "s"), "/store").take()


def test_of_many_starters_on_a_stale_socket_one_wins(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    for _ in range(20):
        with socket.socket(socket.AF_UNIX) as dead:
            path.unlink(missing_ok=True)
            dead.bind(str(path))
        won: list[tuple[Address, socket.socket]] = []
        barrier = threading.Barrier(6)

        def start(winners: list[tuple[Address, socket.socket]], barrier: threading.Barrier) -> None:
            ours = Address(str(path), "/store")
            barrier.wait()
            with contextlib.suppress(AlreadyRunning):
                winners.append((ours, ours.take()))

        starters = [threading.Thread(target=start, args=(won, barrier)) for _ in range(6)]
        for starter in starters:
            starter.start()
        for starter in starters:
            starter.join()
        ((ours, listening),) = won
        assert answers(path)
        assert ours.is_ours()
        listening.close()
        ours.unlock()


def run_activated(script: str, *, pid: str = "os.getpid()") -> str:
    """What a script prints in a process that was handed a listening socket as descriptor 3."""
    program = textwrap.dedent(
        f"""
        import os
        from milkd.daemon.address import activated
        os.environ |= {{"LISTEN_PID": str({pid}), "LISTEN_FDS": "1"}}
        {script}
        """
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.bind("")  # a name of the kernel's own
        sock.listen()
        ran = subprocess.run(
            [sys.executable, "-c", f"import os; os.dup2({sock.fileno()}, 3)\n{program}"],
            pass_fds=[sock.fileno(), 3] if sock.fileno() != 3 else [3],
            capture_output=True,
            text=True,
            check=True,
        )
    return ran.stdout.strip()


def test_a_socket_that_was_handed_over_is_used() -> None:
    said = run_activated(
        "s = activated(); print(s.getblocking(), os.get_inheritable(3), "
        "'LISTEN_FDS' in os.environ, activated())"
    )
    assert said == "False False False None"


ACTIVATED = """
import os, sys
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.dup2(int(sys.argv[1]), 3)
os.execv(sys.executable, [sys.executable, "-m", "milkd", "--store", sys.argv[2]])
"""


def test_beside_a_socket_that_was_handed_over_the_lock_is_taken_too(place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as manager:
        manager.bind(str(place.socket))
        manager.listen()
        place.daemon = subprocess.Popen(
            [sys.executable, "-c", ACTIVATED, str(manager.fileno()), str(place.store)],
            env=place.env,
            pass_fds={manager.fileno(), 3},
            stdin=subprocess.DEVNULL,
        )
        with place.client() as client:
            assert client.hello()["pid"] == place.daemon.pid
        with pytest.raises(AlreadyRunning, match="another milkd serves"):
            Address(str(place.socket), "/other").claim()
        place.stop()
        assert answers(place.socket)
    assert (place.home / "s.lock").read_text() == str(place.store)


def test_a_socket_that_was_meant_for_another_process_is_not() -> None:
    assert run_activated("print(activated())", pid="1") == "None"


def test_without_activation_there_is_no_socket() -> None:
    assert address.activated() is None
