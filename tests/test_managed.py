"""A daemon that systemd starts: by a `systemctl` that does what it is told here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import milkd
from milkd.managed import unit_directory, unit_name
from milkd.paths import computed_socket
from places import ROOT, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

FAKE = """#!/bin/sh
echo "$0 $*" >> {home}/calls
case "$2" in
    show) cat {home}/shown ;;
    start) . {home}/start ;;
    -u) cat {home}/journal ;;
esac
"""
SHOWN = """Id={unit}.socket
ActiveState={active}
Result={result}
Listen={path} (Stream)

Id={unit}.service
ActiveState=inactive
Result=exit-code
ExecMainCode=1
ExecMainStatus=78
"""


class Managed(Place):
    """A home with a manager that knows units of its store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        runtime, tools = self.home / "run", self.home / "bin"
        for folder in (runtime, runtime / "systemd", tools):
            folder.mkdir(mode=0o700)
        (runtime / "systemd" / "private").touch()
        for name in ("systemctl", "journalctl"):
            (tools / name).write_text(FAKE.format(home=self.home))
            (tools / name).chmod(0o700)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(self.home / "config"))
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
        self.unit = unit_name(str(self.store))
        self.socket = Path(computed_socket(str(self.store)))
        (self.home / "journal").write_text("milkd: the store is damaged\n")
        self.say(active="inactive", result="success")
        self.install(f"{self.unit}.socket")

    def install(self, name: str) -> None:
        Path(unit_directory()).mkdir(parents=True, exist_ok=True)
        (Path(unit_directory()) / name).touch()

    def say(self, *, active: str, result: str, path: str | None = None) -> None:
        """What `systemctl show` says."""
        told = {"active": active, "result": result, "path": path or self.socket}
        (self.home / "shown").write_text(SHOWN.format(unit=self.unit, **told))

    def on_start(self, script: str) -> None:
        """What `systemctl start` does."""
        (self.home / "start").write_text(script)

    def calls(self) -> list[str]:
        """What was asked of the manager."""
        try:
            lines = (self.home / "calls").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [line.removeprefix(f"{self.home}/bin/") for line in lines]

    def ask(self) -> int:
        """The process that answers a client that may start a daemon."""
        with milkd.connect(store=str(self.store)) as client:
            pid = client.hello()["pid"]
            assert isinstance(pid, int)
            return pid


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Managed]:
    with Managed(monkeypatch) as made:
        yield made


def shows(place: Managed) -> str:
    asked = "--property=Id,ActiveState,Result,Listen,ExecMainCode,ExecMainStatus"
    return f"systemctl --user show {asked} {place.unit}.socket {place.unit}.service"


def starts(place: Managed) -> str:
    return f"systemctl --user start {place.unit}.socket"


def test_the_manager_of_a_unit_starts_it_and_nobody_else_does(place: Managed) -> None:
    command = f"{sys.executable} -m milkd --store {place.store} --socket {place.socket}"
    place.on_start(
        f"{command} 2>/dev/null </dev/null >/dev/null &\n"
        f"while ! test -S {place.socket}; do sleep 0.05; done\n"
    )
    first = place.ask()
    assert place.calls() == [shows(place), starts(place)]
    assert place.ask() == first
    assert len(place.calls()) == 2
    assert not place.log.exists()


def test_a_unit_that_does_not_start_is_told_and_nothing_is_started_beside_it(
    place: Managed,
) -> None:
    place.on_start('echo "Job failed." >&2; exit 5')
    with pytest.raises(milkd.DaemonUnreachable) as caught:
        place.ask()
    assert str(caught.value).splitlines() == [
        f"{place.unit}.socket of systemd could not be started (exit code 5)",
        "Job failed.",
        f"it says in journalctl --user -u {place.unit} -n 5:",
        "  milkd: the store is damaged",
    ]
    assert not place.log.exists()


def test_a_unit_that_starts_without_listening_is_told(place: Managed) -> None:
    place.on_start("true")
    with pytest.raises(milkd.DaemonUnreachable, match="is active, but nobody listens on"):
        place.ask()
    assert not place.log.exists()


@pytest.mark.parametrize("result", ["service-start-limit-hit", "trigger-limit-hit"])
def test_a_unit_that_failed_too_often_is_not_started_once_more(place: Managed, result: str) -> None:
    place.say(active="failed", result=result)
    with socket.socket(socket.AF_UNIX) as dead:  # systemd leaves it there
        place.socket.parent.mkdir(mode=0o700)
        dead.bind(str(place.socket))
    with pytest.raises(milkd.DaemonUnreachable) as caught:
        place.ask()
    assert str(caught.value).splitlines()[1:] == [
        "when that is mended: systemctl --user reset-failed "
        f"{place.unit}.socket {place.unit}.service",
        f"it says in journalctl --user -u {place.unit} -n 5:",
        "  milkd: the store is damaged",
    ]
    assert "ended too often in a short time, at last with exit code 78" in str(caught.value)
    assert starts(place) not in place.calls()
    assert not place.log.exists()


def test_a_unit_for_another_path_is_left_alone(place: Managed) -> None:
    place.say(active="inactive", result="success", path="/else/where")
    place.ask()
    assert place.calls() == [shows(place)]


def test_without_a_unit_or_a_manager_nobody_is_asked(place: Managed) -> None:
    (Path(unit_directory()) / f"{place.unit}.socket").unlink()
    place.install("milkd.socket")  # of the usual store
    place.ask()
    place.stop_started()
    place.install(f"{place.unit}.socket")
    (place.home / "run" / "systemd" / "private").unlink()
    place.ask()
    assert place.calls() == []


def test_a_manager_that_is_none_after_all_is_passed_over(place: Managed) -> None:
    (place.home / "bin" / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    place.ask()


def test_only_who_needs_a_manager_pays_for_one(place: Managed) -> None:
    (place.home / "run" / "systemd" / "private").unlink()
    code = (
        f"import sys, milkd; milkd.connect(store={str(place.store)!r}).close()\n"
        "print('milkd.autostart' in sys.modules, 'milkd.managed' in sys.modules)"
    )
    for expected in ("True False", "False False"):
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert ran.stdout.decode().strip() == expected
