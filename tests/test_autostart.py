"""Starting a daemon for a client that found none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import milkd
from milkd.paths import endpoint_path
from places import ROOT, Place

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A home without a daemon, which is this process's home too."""
    with Place() as home:
        monkeypatch.setenv("HOME", str(home.home))
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        yield home


def environment(pid: int) -> dict[str, str]:
    """The variables that a process was started with."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


def test_a_daemon_is_started_that_depends_on_nothing_of_the_client(place: Place) -> None:
    with milkd.connect(str(place.socket), store=str(place.store)) as client:
        pid = client.hello()["pid"]
        assert os.getsid(pid) == pid
        assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
        assert Path(f"/proc/{pid}/fd/0").readlink() == Path(os.devnull)
        assert Path(f"/proc/{pid}/fd/2").readlink() == place.log
        assert place.log.stat().st_mode & 0o777 == 0o600
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        assert command[command.index(b"--idle-exit") + 1] == b"7200"


def test_what_speaks_to_the_client_alone_is_not_inherited(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PYTHONPATH", os.path.relpath(ROOT))
    with place.client(autostart=True) as client:
        inherited = environment(client.hello()["pid"])
    assert not {"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID"} & inherited.keys()
    assert inherited["PYTHONPATH"] == str(ROOT)


def test_a_daemon_is_started_from_a_deleted_directory(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = place.home / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["here", str(ROOT)]))
    with place.client(autostart=True) as client:
        assert environment(client.hello()["pid"])["PYTHONPATH"] == str(ROOT)


def test_a_daemon_that_has_gone_is_started_again_for_the_next_call(place: Place) -> None:
    with place.client(autostart=True) as client:
        client.record("kept over the restart")
        first = client.hello()["pid"]
        client.call("shutdown")
        assert client.list()["total"] == 1
        assert client.hello()["pid"] != first


def test_a_variable_forbids_to_start_a_daemon(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILKD_NO_AUTOSTART", "1")
    with pytest.raises(milkd.DaemonUnreachable, match=r"\$MILKD_NO_AUTOSTART forbids"):
        place.client(autostart=True).stats()
    assert list(place.home.iterdir()) == []


def test_a_daemon_that_cannot_start_is_quoted(place: Place) -> None:
    place.store.parent.mkdir()
    place.store.write_text("not a directory")
    place.log.write_text("what an earlier one said\n")
    with pytest.raises(milkd.DaemonUnreachable, match=r"ended with exit code \d+") as caught:
        place.client(autostart=True).stats()
    head, *said = str(caught.value).splitlines()
    assert head.endswith(f"it says in {place.log}:")
    assert said
    assert "earlier" not in str(caught.value)


LOSER = """
import os, sys
os.rename(sys.argv[sys.argv.index("--store") + 1] + "/.milkd/aside", {note!r})
sys.exit("another milkd holds the store")
"""


def test_a_daemon_that_another_client_started_elsewhere_meanwhile_is_found(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    winner = place.start()
    note = Path(endpoint_path(str(place.store)))
    note.rename(note.with_name("aside"))
    loser = place.home / "loser" / "milkd"
    loser.mkdir(parents=True)
    (loser / "__init__.py").touch()
    (loser / "__main__.py").write_text(LOSER.format(note=str(note)))
    monkeypatch.setenv("PYTHONPATH", str(loser.parent))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place.home))
    with milkd.Client(store=str(place.store), autostart=True) as client:
        assert client.hello()["pid"] == winner.pid
        assert client.socket == str(place.socket)
    assert "another milkd holds the store" in place.log.read_text()


def test_a_socket_in_a_place_that_cannot_be_made_is_an_error(place: Place) -> None:
    blocked = place.home / "file"
    blocked.write_text("")
    client = milkd.Client(str(blocked / "s"), store=str(place.store), autostart=True)
    with pytest.raises(milkd.DaemonUnreachable):
        client.stats()
    missing = milkd.Client("/proc/none/s", store=str(place.store), autostart=True)
    with pytest.raises(milkd.DaemonUnreachable, match=r"started there: .*\n.*\$MILKD_SOCKET"):
        missing.stats()


def test_a_long_log_is_put_aside_and_a_few_are_kept(place: Place) -> None:
    place.log.parent.mkdir()
    for number in range(4):
        place.log.write_text(f"{number}" * ((1 << 20) + 1))
        with place.client(autostart=True):
            pass
        place.stop_started()
    kept = sorted(place.log.parent.glob("milkd.log*"))
    assert [path.name for path in kept] == ["milkd.log", "milkd.log.1", "milkd.log.2"]
    assert [path.read_text()[0] for path in kept[1:]] == ["3", "2"]
