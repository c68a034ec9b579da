"""`milkctl service` where there is no manager; with one: tests/torture/test_systemd.py."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]


@pytest.fixture(autouse=True)
def no_manager(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place.home / "run"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.mark.parametrize("action", ["install", "uninstall", "status"])
def test_without_a_manager_nothing_is_written_and_nothing_is_needed(
    action: str, place: Place, milkctl: Milkctl
) -> None:
    ran = milkctl("service", action)
    assert (ran.code, ran.err) == (1, "")
    found, installed, *_ = ran.out.splitlines()
    assert found.startswith("found no systemd of yours ($XDG_RUNTIME_DIR/systemd/private)")
    assert installed.startswith("nothing is installed, and nothing need be: the first milkctl ")
    assert os.listdir(place.home) == []
    answer = json.loads(milkctl("service", action, "--json").out)
    assert (answer["installed"], answer["files"]) == (False, [])
    assert len(answer["hints"]) == 3
    assert (answer["pid"], answer["listens"]) == (None, None)


def test_without_a_manager_the_daemon_that_runs_is_told(place: Place, milkctl: Milkctl) -> None:
    place.start()
    ran = milkctl("service", "status")
    assert f"listens on {place.socket}" in ran.out
    answer = json.loads(milkctl("service", "status", "--json").out)
    assert place.daemon is not None
    assert (answer["pid"], answer["listens"]) == (place.daemon.pid, str(place.socket))


def test_a_sandbox_is_installed_or_not_at_all(milkctl: Milkctl) -> None:
    ran = milkctl("service", "status", "--sandbox")
    assert (ran.code, ran.err) == (2, "milkctl: --sandbox goes with install\n")


@pytest.fixture
def sick_manager(place: Place) -> None:
    """One that does not answer."""
    if shutil.which("systemctl") is None:
        pytest.skip("systemctl is not installed")
    private = place.home / "run" / "systemd" / "private"
    private.parent.mkdir(parents=True)
    private.write_text("")


@pytest.mark.usefixtures("sick_manager")
def test_a_daemon_is_stopped_beside_a_manager_that_does_not_answer(
    place: Place, milkctl: Milkctl
) -> None:
    place.start()
    assert milkctl("stop") == (0, "stopped; everything is saved\n", "")


@pytest.mark.usefixtures("sick_manager")
def test_a_manager_that_does_not_answer_is_an_error(place: Place, milkctl: Milkctl) -> None:
    ran = milkctl("service", "install")
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("milkctl: ")
    assert not (place.home / ".config").exists()
