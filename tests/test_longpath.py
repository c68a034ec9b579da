"""Sockets whose paths are longer than a socket address."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from milkd import longpath
from milkd.daemon.address import Address
from milkd.dial import dial
from milkd.errors import ConfigError
from milkd.longpath import LONGEST_NAME, Way, check_socket_path
from milkd.paths import BIND_SUFFIX, SUN_PATH, endpoint_path
from places import Place

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

linux = pytest.mark.skipif(not longpath.HAS_WAY, reason="only Linux has a way round")


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A directory that is too deep for a socket."""
    path = tmp_path / ("d" * SUN_PATH)
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        yield made


def test_a_path_that_fits_is_used_as_it_is(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with Way("/run/s") as way:
        assert way.name == "/run/s"
        assert len(os.listdir("/proc/self/fd")) == before


@linux
def test_a_longer_one_is_served_and_reached(deep: Path) -> None:
    path = str(deep / "milkd.sock")
    before = len(os.listdir("/proc/self/fd"))
    ours = Address(path, "/store")
    with ours.take() as listening, closing(dial(path, timeout=1)) as client:
        accepted, _ = listening.accept()
        with accepted:
            client.sendall(b"hello")
            assert accepted.recv(5) == b"hello"
        assert ours.is_ours()
        assert sorted(os.listdir(deep)) == ["milkd.sock", "milkd.sock.lock"]
    ours.remove()
    ours.unlock()
    assert os.listdir(deep) == ["milkd.sock.lock"]
    assert len(os.listdir("/proc/self/fd")) == before


@linux
def test_a_longer_one_that_is_not_there_is_not_there(deep: Path) -> None:
    with pytest.raises(FileNotFoundError):
        dial(str(deep / "milkd.sock"), timeout=1)
    with pytest.raises(FileNotFoundError):
        dial(str(deep / "absent" / "milkd.sock"), timeout=1)


@linux
def test_a_dead_one_is_taken_over(deep: Path) -> None:
    path = deep / "milkd.sock"
    with Way(str(path)) as way, socket.socket(socket.AF_UNIX) as dead:
        dead.bind(way.name)
    with pytest.raises(ConnectionRefusedError):
        dial(str(path), timeout=1)
    ours = Address(str(path), "/store")
    with ours.take(), closing(dial(str(path), timeout=1)):
        pass
    ours.unlock()


@linux
def test_only_a_name_that_is_too_long_by_itself_is_refused(deep: Path) -> None:
    longest = LONGEST_NAME - len(BIND_SUFFIX)
    path = str(deep / ("s" * longest))
    ours = Address(path, "/store")
    with ours.take(), closing(dial(path, timeout=1)):
        pass
    ours.unlock()
    with pytest.raises(ConfigError) as caught:
        check_socket_path(str(deep / ("é" + "s" * (longest - 1))))
    assert f"is {longest + 1} bytes long, at most {longest} fit" in str(caught.value)
    with pytest.raises(OSError, match="too long") as refused:
        dial(str(deep / ("s" * (LONGEST_NAME + 1))), timeout=1)
    assert refused.value.errno == errno.ENAMETOOLONG


def test_without_a_way_round_path_length_limit_and_variable_are_named(
    monkeypatch: pytest.MonkeyPatch, deep: Path
) -> None:
    monkeypatch.setattr(longpath, "HAS_WAY", False)
    limit = SUN_PATH - len(BIND_SUFFIX)
    check_socket_path("/" + "s" * (limit - 1))

    path = "/é" + "s" * (limit - 2)
    with pytest.raises(ConfigError) as caught:
        check_socket_path(path)

    sentence = str(caught.value)
    assert sentence.startswith(f"the socket path {path} is {limit + 1} bytes long, at most {limit}")
    assert sentence.endswith("set $MILKD_SOCKET to a shorter one")
    with pytest.raises(OSError, match="too long"):
        dial(str(deep / "s"), timeout=1)


@linux
def test_commands_find_a_daemon_in_a_runtime_directory_that_is_too_deep(place: Place) -> None:
    runtime = place.home / ("r" * SUN_PATH)
    runtime.mkdir(mode=0o700)
    del place.env["MILKD_SOCKET"]
    place.env["XDG_RUNTIME_DIR"] = str(runtime)

    def done(*arguments: str) -> str:
        ran: subprocess.CompletedProcess[bytes] = place.milkctl(*arguments)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.decode()

    done("learn", "the user prefers tabs")
    (path,) = (runtime / "milkd").glob("*.sock")
    assert len(os.fsencode(path)) > SUN_PATH
    noted = Path(endpoint_path(str(place.store))).read_text()
    assert noted.startswith(f"{path}\n")
    place.env["MILKD_NO_AUTOSTART"] = "1"
    assert "the user prefers tabs" in done("recall", "tabs")
    assert str(path) in done("stats")
    done("stop")
    assert not path.exists()
