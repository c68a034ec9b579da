"""Where things live."""

from __future__ import annotations

import hashlib
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from milkd import paths
from milkd.errors import ConfigError

NOBODY = 4_000_000_123
"""No user has this id, hence no directory below /run/user and no home."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything, in an environment that names nothing."""
    for name in ("MILK_MEMORY_DIR", "MILKD_SOCKET", "XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: NOBODY)
    return tmp_path


@pytest.fixture
def runtime(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime directory of ours."""
    directory = home / "run"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    monkeypatch.setattr(os, "getuid", lambda: directory.stat().st_uid)
    return directory


def live_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the user database tell this home."""
    entry = pwd.struct_passwd(("ada", "x", 1000, 1000, "", str(home), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: entry)


def socket_path(store: str, explicit: str | None = None) -> str:
    """Where a client looks first."""
    return next(paths.sockets(store, explicit))


def hashed(store: str) -> str:
    return f"milkd-{hashlib.sha256(os.fsencode(store)).hexdigest()[:8]}.sock"


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


def test_the_socket_is_in_the_runtime_directory(
    runtime: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(home, monkeypatch)

    usual = socket_path(paths.store_directory())
    other = socket_path("/srv/memory")

    assert usual == str(runtime / "milkd" / "milkd.sock")
    assert other == str(runtime / "milkd" / hashed("/srv/memory"))
    assert os.listdir(runtime) == []


def test_the_plain_name_is_for_the_memory_in_the_real_home(
    runtime: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "ada").mkdir()
    (home / "link").symlink_to("ada")
    live_in(home / "link", monkeypatch)
    names = {}
    for place in ("ada", "link", "bob", "eve"):
        monkeypatch.setenv("HOME", str(home / place))
        names[place] = os.path.basename(socket_path(paths.store_directory()))

    assert names == {
        "ada": "milkd.sock",
        "link": "milkd.sock",
        "bob": hashed(str(home / "bob" / ".milk" / "memory")),
        "eve": hashed(str(home / "eve" / ".milk" / "memory")),
    }
    monkeypatch.setenv("MILK_MEMORY_DIR", str(home / "ada" / ".milk" / "memory"))
    assert socket_path(paths.store_directory()) == str(runtime / "milkd" / "milkd.sock")


def test_without_a_real_home_no_store_has_the_plain_name(home: Path) -> None:
    store = paths.store_directory()

    assert socket_path(store) == str(home / ".milk" / "run" / hashed(store))


@pytest.mark.parametrize("value", ["", None])
def test_without_the_variable_the_home_is_that_of_the_user_database(
    home: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    live_in(home, monkeypatch)
    monkeypatch.delenv("HOME")
    if value is not None:
        monkeypatch.setenv("HOME", value)

    assert paths.store_directory() == str(home / ".milk" / "memory")
    assert paths.store_directory("~/other") == str(home / "other")
    assert paths.store_directory("~") == str(home)
    assert paths.config_path() == str(home / ".milk" / "config.json")
    assert paths.log_path() == str(home / ".milk" / "milkd.log")
    assert socket_path(paths.store_directory()) == str(home / ".milk" / "run" / "milkd.sock")


def test_without_any_home_the_variable_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "")

    for look in (paths.store_directory, paths.config_path, paths.log_path):
        with pytest.raises(ConfigError, match=r"^\$HOME is not set, and user id 4000000123 has no"):
            look()
    with pytest.raises(ConfigError, match=r"\$HOME"):
        paths.store_directory("~/x")
    assert socket_path("/srv/memory") == f"/tmp/milkd-{NOBODY}/{hashed('/srv/memory')}"


def test_a_runtime_directory_that_is_not_ours_is_passed_over(
    runtime: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: NOBODY)

    assert os.path.dirname(socket_path(paths.store_directory())) == str(home / ".milk" / "run")


@pytest.mark.parametrize("value", ["relative", "/nowhere/at/all", ""])
def test_a_runtime_directory_that_is_none_is_passed_over(
    home: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", value)

    assert os.path.dirname(socket_path(paths.store_directory())) == str(home / ".milk" / "run")


def test_a_home_that_is_too_deep_or_absent_leaves_the_temporary_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home / ("d" * 100)
    deep.mkdir()
    for place in (deep, home / "absent"):
        monkeypatch.setenv("HOME", str(place))
        store = paths.store_directory()
        assert socket_path(store) == f"/tmp/milkd-{NOBODY}/{hashed(store)}"


def test_what_is_said_beats_the_variable_which_beats_all_else(
    runtime: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILKD_SOCKET", "~/by-variable.sock")
    usual = paths.store_directory()

    assert socket_path(usual) == str(home / "by-variable.sock")
    assert socket_path(usual, "/by/hand.sock") == "/by/hand.sock"


def test_the_variable_leads_nobody_from_another_store_to_the_usual_one(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILKD_SOCKET", "/by/variable.sock")
    other = paths.store_directory("/srv/memory")

    assert socket_path(other) == paths.computed_socket(other)
    monkeypatch.setenv("MILK_MEMORY_DIR", "/srv/memory")
    assert socket_path(other) == "/by/variable.sock"


def note(store: Path, *lines: str) -> list[str]:
    """Where clients look when the endpoint file has these lines."""
    (store / ".milkd").mkdir(parents=True, exist_ok=True)
    Path(paths.endpoint_path(str(store))).write_text("".join(f"{line}\n" for line in lines))
    return list(paths.sockets(str(store)))


def test_where_a_daemon_noted_that_it_listens_is_looked_first(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    computed = paths.computed_socket(str(store))
    here, boot = os.uname().nodename, paths.boot_id()

    assert note(store, "/noted.sock", here, boot) == ["/noted.sock", computed]
    assert note(store, computed, here, boot) == [computed]
    assert note(store, "/noted.sock", "elsewhere", boot) == [computed]
    assert note(store, "/noted.sock", here, "before") == [computed]
    assert note(store, "noted.sock", here, boot) == [computed]
    note(store, "/noted.sock", here, boot)
    assert list(paths.sockets(str(store), "/said.sock")) == ["/said.sock"]
    monkeypatch.setenv("MILK_MEMORY_DIR", str(store))
    monkeypatch.setenv("MILKD_SOCKET", "/by/variable.sock")
    assert list(paths.sockets(str(store))) == ["/by/variable.sock"]


def test_a_socket_that_another_store_s_daemon_took_since_is_passed_over(
    runtime: Path, tmp_path: Path
) -> None:
    store, socket = tmp_path / "store", tmp_path / "s"
    lines = (str(socket), os.uname().nodename, paths.boot_id())
    lock = Path(f"{socket}{paths.LOCK_SUFFIX}")

    for holder, trusted in ((str(store), True), ("/srv/memory", False), ("", True)):
        lock.write_text(holder)
        assert (note(store, *lines)[0] == str(socket)) is trusted


@pytest.mark.parametrize(
    "text", [b"", b"/s", b"/s\nhost\n", b"\xff\n\n\n", b"\n" * 60_000, b"\0\n\n\n"]
)
def test_an_endpoint_file_that_tells_nothing_is_passed_over(
    runtime: Path, tmp_path: Path, text: bytes
) -> None:
    store = tmp_path / "store"
    note(store)
    Path(paths.endpoint_path(str(store))).write_bytes(text)

    assert list(paths.sockets(str(store))) == [paths.computed_socket(str(store))]


def test_a_client_pays_for_next_to_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from milkd import paths; list(paths.sockets(paths.store_directory('/nowhere')))\n"
        "print(' '.join(set(sys.modules) - before))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    heavy = {"json", "re", "pathlib", "typing", "dataclasses", "logging", "trio", "inspect"}
    assert heavy.isdisjoint(shown.stdout.split())
