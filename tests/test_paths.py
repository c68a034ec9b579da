"""Where things live."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from milkd import paths
from milkd.errors import ConfigError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything, in an environment that names nothing."""
    for name in ("MILK_MEMORY_DIR", "MILKD_SOCKET", "XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    # No user has this id, hence no directory below /run/user.
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_123)
    return tmp_path


@pytest.fixture
def runtime(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime directory of ours."""
    directory = home / "run"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    monkeypatch.setattr(os, "getuid", lambda: directory.stat().st_uid)
    return directory


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "3b1f0000-0000-4000-8000-00000000000a", "x" * 64])
def test_these_are_sessions(name: str) -> None:
    assert paths.valid_session(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        ".a",
        "a/b",
        "..",
        "a b",
        "é",
        "\u0661",
        "a\n",
        "a\0",
        "x" * 65,
        *paths.RESERVED,
        "GLOBAL",
    ],
)
def test_these_are_not(name: str) -> None:
    assert not paths.valid_session(name)


def test_the_store_is_what_is_said_then_the_variable_then_the_usual(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert paths.store_directory() == str(home / ".milk" / "memory")
    monkeypatch.setenv("MILK_MEMORY_DIR", "~/other")
    assert paths.store_directory() == str(home / "other")
    assert paths.store_directory(str(home / "said")) == str(home / "said")
    monkeypatch.setenv("MILK_MEMORY_DIR", "")
    assert paths.store_directory() == str(home / ".milk" / "memory")
    assert os.listdir(home) == []


def test_a_store_behind_a_symlink_is_the_store_itself(home: Path) -> None:
    (home / "real").mkdir()
    (home / "link").symlink_to(home / "real")

    assert paths.store_directory(str(home / "link")) == str(home / "real")


def test_config_and_log_are_beside_the_store(home: Path) -> None:
    assert paths.config_path() == str(home / ".milk" / "config.json")
    assert paths.config_path("~/c.json") == str(home / "c.json")
    assert paths.log_path() == str(home / ".milk" / "milkd.log")


def test_the_socket_is_in_the_runtime_directory(runtime: Path) -> None:
    usual = paths.socket_path(paths.store_directory())
    other = paths.socket_path("/srv/memory")

    digest = hashlib.sha256(b"/srv/memory").hexdigest()[:8]
    assert usual == str(runtime / "milkd" / "milkd.sock")
    assert other == str(runtime / "milkd" / f"milkd-{digest}.sock")
    assert os.listdir(runtime) == []


def test_a_runtime_directory_that_is_not_ours_is_passed_over(
    runtime: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_123)

    assert paths.socket_path(paths.store_directory()) == str(home / ".milk" / "run" / "milkd.sock")


@pytest.mark.parametrize("value", ["relative", "/nowhere/at/all", ""])
def test_a_runtime_directory_that_is_none_is_passed_over(
    home: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", value)

    assert paths.socket_path(paths.store_directory()) == str(home / ".milk" / "run" / "milkd.sock")


def test_a_home_that_is_too_deep_or_absent_leaves_the_temporary_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home / ("d" * 100)
    deep.mkdir()
    for place in (deep, home / "absent"):
        monkeypatch.setenv("HOME", str(place))
        expected = "/tmp/milkd-4000000123/milkd.sock"
        assert paths.socket_path(paths.store_directory()) == expected


def test_what_is_said_beats_the_variable_which_beats_all_else(
    runtime: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILKD_SOCKET", "~/by-variable.sock")
    usual = paths.store_directory()

    assert paths.socket_path(usual) == str(home / "by-variable.sock")
    assert paths.socket_path(usual, "/by/hand.sock") == "/by/hand.sock"


def test_the_variable_leads_nobody_from_another_store_to_the_usual_one(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILKD_SOCKET", "/by/variable.sock")
    other = paths.store_directory("/srv/memory")

    assert paths.socket_path(other) == paths.computed_socket(other)
    monkeypatch.setenv("MILK_MEMORY_DIR", "/srv/memory")
    assert paths.socket_path(other) == "/by/variable.sock"


def told(store: Path, **values: object) -> str:
    (store / ".milkd").mkdir(parents=True, exist_ok=True)
    usual = {"socket": "/told.sock", "host": os.uname().nodename, "boot_id": paths.boot_id()}
    Path(paths.endpoint_path(str(store))).write_text(json.dumps(usual | values))
    return paths.socket_path(str(store))


def test_a_daemon_may_tell_where_it_listens(runtime: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    computed = paths.computed_socket(str(store))

    assert told(store) == "/told.sock"
    assert told(store, host="elsewhere") == computed
    assert told(store, boot_id="before") == computed
    assert told(store, socket=5) == computed


@pytest.mark.parametrize("text", ["", "[]", "{}", "junk", "[" * 60_000])
def test_an_endpoint_file_that_tells_nothing_is_passed_over(
    runtime: Path, tmp_path: Path, text: str
) -> None:
    store = tmp_path / "store"
    told(store)
    Path(paths.endpoint_path(str(store))).write_text(text)

    assert paths.socket_path(str(store)) == paths.computed_socket(str(store))


def test_a_path_that_does_not_fit_is_refused_with_the_way_out() -> None:
    paths.check_socket_path("/" + "s" * (paths.SUN_PATH - 3))

    with pytest.raises(ConfigError) as caught:
        paths.check_socket_path("/é" + "s" * (paths.SUN_PATH - 4))

    sentence = str(caught.value)
    assert f"is {paths.SUN_PATH - 1} bytes long, at most {paths.SUN_PATH - 2} fit" in sentence
    assert sentence.endswith("set $MILKD_SOCKET to a shorter one")


def test_a_client_pays_for_next_to_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from milkd import paths; paths.socket_path(paths.store_directory('/nowhere'))\n"
        "print(' '.join(set(sys.modules) - before))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    heavy = {"json", "re", "pathlib", "typing", "dataclasses", "logging", "trio", "inspect"}
    assert heavy.isdisjoint(shown.stdout.split())
