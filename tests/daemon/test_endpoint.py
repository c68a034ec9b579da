"""The note by which clients find a daemon, whatever their variables are."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from daemon.test_starts import may_mount
from milkd.daemon import endpoint
from milkd.paths import boot_id, endpoint_path, sockets
from places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / ".milkd").mkdir()
    return tmp_path.resolve()


def test_it_is_three_lines_for_the_user_alone(store: Path) -> None:
    endpoint.write(str(store), "/some/where/s")
    note = Path(endpoint_path(str(store)))
    assert note.read_text() == f"/some/where/s\n{os.uname().nodename}\n{boot_id()}\n"
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert [path.name for path in note.parent.iterdir()] == ["endpoint"]
    endpoint.write(str(store), "/else/where/s")
    assert next(sockets(str(store))) == "/else/where/s"
    endpoint.remove(str(store))
    assert list(note.parent.iterdir()) == []


def test_bytes_that_are_no_text_are_noted_as_they_are(store: Path) -> None:
    socket = os.fsdecode(b"/some/\xff/s")
    endpoint.write(str(store), socket)
    assert next(sockets(str(store))) == socket


def test_a_path_that_makes_two_lines_is_not_noted(store: Path) -> None:
    endpoint.write(str(store), "/before")
    endpoint.write(str(store), "/two\nlines")
    assert not os.path.exists(endpoint_path(str(store)))


def test_a_store_that_takes_no_note_is_no_trouble(tmp_path: Path) -> None:
    endpoint.write(str(tmp_path / "absent"), "/s")
    endpoint.remove(str(tmp_path / "absent"))
    assert list(tmp_path.iterdir()) == []


def elsewhere(place: Place, name: str) -> dict[str, str]:
    """Variables that tell nothing of the daemon's: those of cron, say."""
    runtime = place.home / name
    runtime.mkdir(mode=0o700, exist_ok=True)
    kept = {key: value for key, value in place.env.items() if key != "MILKD_SOCKET"}
    return kept | {"XDG_RUNTIME_DIR": str(runtime)}


def test_a_client_with_other_variables_finds_the_daemon(place: Place) -> None:
    daemon = place.start()
    place.env = elsewhere(place, "cron")
    place.env["MILKD_NO_AUTOSTART"] = "1"
    ran = place.milkctl("record", "--json", "it rains today")
    assert ran.returncode == 0, ran.stderr
    with place.client() as client:
        assert client.hello()["pid"] == daemon.pid
        assert client.list()["total"] == 1
    place.stop()
    assert not os.path.exists(endpoint_path(str(place.store)))


def test_the_note_of_a_daemon_that_died_keeps_nobody_from_starting_one(place: Place) -> None:
    for leave_socket in (True, False):
        place.start()
        place.stop(signal.SIGKILL)
        if not leave_socket:
            place.socket.unlink()
        assert os.path.exists(endpoint_path(str(place.store)))
        before, place.env = place.env, elsewhere(place, "run")
        try:
            assert place.milkctl("record", "it rains today").returncode == 0
            (started,) = (place.home / "run" / "milkd").glob("*.sock")
            noted = Path(endpoint_path(str(place.store))).read_text().splitlines()
            assert noted[0] == str(started)
            assert place.milkctl("stop").returncode == 0
        finally:
            place.env = before


def test_a_note_that_leads_to_the_daemon_of_another_store_is_not_followed(place: Place) -> None:
    place.start()
    place.stop(signal.SIGKILL)
    left, place.store = place.store, place.home / "other"
    place.start()
    place.env = elsewhere(place, "run")
    ours = ("--store", str(left))
    assert place.milkctl(*ours, "record", "it rains today").returncode == 0
    with place.client() as client:
        assert client.list()["total"] == 0
    assert place.milkctl(*ours, "stop").returncode == 0


BY_CRON = """
import os, subprocess
from places import Place

subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
runtime = f"/run/user/{os.getuid()}"
os.makedirs("/run/user")
os.mkdir(runtime, 0o700)
with Place() as place:
    del place.env["MILKD_SOCKET"]
    here = place.env | {"XDG_RUNTIME_DIR": runtime}
    bare = {name: here[name] for name in ("HOME", "PATH", "PYTHONPATH")}
    for place.env in (here, bare | {"MILKD_NO_AUTOSTART": "1"}):
        ran = place.milkctl("learn", "the user prefers tabs")
        print(ran.returncode, ran.stderr.decode())
        (place.store / ".milkd" / "endpoint").unlink(missing_ok=True)
    print(os.listdir(f"{runtime}/milkd") != [], place.milkctl("stop").returncode)
"""


@pytest.mark.skipif(not may_mount(), reason="only root can mount a file system")
def test_without_any_variable_and_note_the_runtime_directory_is_found() -> None:
    ran = subprocess.run(
        ["unshare", "-m", "--propagation", "private", sys.executable, "-c", BY_CRON],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.stdout.split("\n") == ["0 ", "0 ", "True 0", ""], ran.stderr


def test_only_a_note_of_ours_is_taken_away(store: Path) -> None:
    endpoint.write(str(store), "/theirs")
    endpoint.remove(str(store), "/ours")
    assert next(sockets(str(store))) == "/theirs"
    endpoint.remove(str(store), "/theirs")
    assert list((store / ".milkd").iterdir()) == []
    endpoint.remove(str(store), "/theirs")
