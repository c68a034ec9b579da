"""Units made for one installation and store."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from milkd.cli.units import daemon_command, listed, quoted, units
from milkd.errors import ConfigError
from milkd.managed import unit_directory, unit_name
from milkd.paths import computed_socket

COMMAND = ["/opt/milk/bin/milkd"]


def line(text: str, name: str) -> str:
    """The value of the one line of a name."""
    (found,) = [each for each in text.splitlines() if each.startswith(f"{name}=")]
    return found.partition("=")[2]


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The store that everybody has, in a home that the system knows."""
    monkeypatch.setattr("pwd.getpwuid", lambda _: type("Entry", (), {"pw_dir": str(tmp_path)}))
    monkeypatch.setenv("HOME", str(tmp_path))
    return str(tmp_path / ".milk" / "memory")


def test_the_usual_store_is_served_where_the_units_say(usual: str) -> None:
    made = units(usual, COMMAND, socket=None, sandbox=False)
    assert sorted(made) == ["milkd.service", "milkd.socket"]
    command = "/opt/milk/bin/milkd --store %h/.milk/memory"
    assert line(made["milkd.service"], "ExecStart") == command
    assert line(made["milkd.service"], "Requires") == "milkd.socket"
    assert line(made["milkd.socket"], "ListenStream") == "%t/milkd/milkd.sock"


def test_another_store_has_names_of_its_own(usual: str) -> None:
    store = f"{usual} of $mine"
    name = unit_name(store)
    assert f"{name}.sock" == os.path.basename(computed_socket(store))
    made = units(store, COMMAND, socket=None, sandbox=True)
    service = made[f"{name}.service"]
    assert line(service, "ExecStart") == f'{COMMAND[0]} --store "{usual} of $$mine"'
    assert (line(service, "Requires"), line(service, "After")) == (f"{name}.socket",) * 2
    assert line(made[f"{name}.socket"], "ListenStream") == f"%t/milkd/{name}.sock"
    dropin = made[f"{name}.service.d/10-sandbox.conf"]
    assert line(dropin, "ReadWritePaths") == f'%h/.milk "{store}" -%t/milkd'


def test_in_the_sandbox_the_usual_store_needs_no_mention(usual: str) -> None:
    dropin = units(usual, COMMAND, socket=None, sandbox=True)["milkd.service.d/10-sandbox.conf"]
    assert line(dropin, "ReadWritePaths") == "%h/.milk -%t/milkd"


def test_a_usual_store_that_is_a_link_is_named_to_the_sandbox(usual: str, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    Path(usual).parent.mkdir()
    Path(usual).symlink_to(tmp_path / "disk")
    made = units(str(tmp_path / "disk"), COMMAND, socket=None, sandbox=True)
    assert line(made["milkd.service"], "ExecStart").endswith(" --store %h/.milk/memory")
    (dropin,) = [text for name, text in made.items() if name.endswith(".conf")]
    assert f'"{tmp_path}/disk"' in line(dropin, "ReadWritePaths")


def test_a_socket_that_was_named_is_listened_on(usual: str) -> None:
    made = units(usual, COMMAND, socket="/run/my 100%/s", sandbox=False)
    assert line(made["milkd.socket"], "ListenStream") == "/run/my 100%%/s"


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("/usr/bin/milkd", "/usr/bin/milkd"),
        ("--store", "--store"),
        ("", '""'),
        ("a b", '"a b"'),
        ("100%", '"100%%"'),
        ("${HOME}", '"$${HOME}"'),
        ('say "a\\b"', '"say \\"a\\\\b\\""'),
        ("it's", '"it\'s"'),
        ("süß", '"süß"'),
    ],
)
def test_a_word_means_itself(word: str, written: str) -> None:
    assert quoted(word) == written


@pytest.mark.parametrize("path", ["/a\nb", "/a\x7f", "/a\udcff"])
def test_what_no_unit_can_say_is_refused(path: str, usual: str) -> None:
    for store, command, socket in (
        (path, COMMAND, None),
        (usual, [path], None),
        (usual, COMMAND, path),
    ):
        with pytest.raises(ConfigError, match="not all of it is printable"):
            units(store, command, socket=socket, sandbox=False)


@pytest.mark.parametrize("path", ["/it's/milkd", '/"/milkd', "/a\\b/milkd"])
def test_a_program_that_systemd_would_not_start_is_refused(path: str, usual: str) -> None:
    with pytest.raises(ConfigError, match="install milkd elsewhere"):
        units(usual, [path], socket=None, sandbox=False)


def test_a_program_may_have_anything_else_in_its_path(usual: str) -> None:
    made = units(usual, ["/100% $HOME/milkd"], socket=None, sandbox=False)
    assert line(made["milkd.service"], "ExecStart").startswith('"/100%% $HOME/milkd" --store ')


def test_a_quote_has_no_place_in_a_list() -> None:
    with pytest.raises(ConfigError, match="quote"):
        listed('/a"b')


def test_the_script_beside_milkctl_is_the_daemon(tmp_path: Path) -> None:
    script = tmp_path / "milkd"
    script.write_text("#!/bin/sh\n")
    invoked = str(tmp_path / "milkctl")
    assert daemon_command(invoked) != [str(script)]
    script.chmod(0o755)
    assert daemon_command(invoked) == [str(script)]


def test_without_a_script_python_runs_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert daemon_command(str(tmp_path / "x" / "milkctl")) == [
        str(tmp_path / "python"),
        "-m",
        "milkd",
    ]


def test_units_lie_where_the_user_has_his_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for given, where in (("/etc/mine", "/etc/mine"), ("not/whole", f"{tmp_path}/.config")):
        monkeypatch.setenv("XDG_CONFIG_HOME", given)
        assert unit_directory() == f"{where}/systemd/user"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert unit_directory() == f"{tmp_path}/.config/systemd/user"
