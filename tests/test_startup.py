"""A hook runs `milkctl` on every prompt: what it imports is what everybody waits for."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

# Each of these takes longer to import than all of milkd's client.
SLOW = {
    "argparse",
    "asyncio",
    "dataclasses",
    "email",
    "enum",
    "hashlib",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "re",
    "selectors",
    "shutil",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "trio",
    "typing",
    "uuid",
}
NOT_STARTED = "import json, sys; print(json.dumps(list(sys.modules)))"
COMMAND = """
import sys
from milkd.cli.main import main
code = main(sys.argv[1:])
loaded = list(sys.modules)
import json
print(json.dumps(loaded))
sys.exit(code)
"""
LIBRARY = """
import sys
import milkd
with milkd.Client() as client:
    client.record("the user prefers tabs", session="s1")
    client.query("tabs or spaces?")
loaded = list(sys.modules)
import json
print(json.dumps(loaded))
"""


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as home:
        home.start()
        with home.client() as client:
            client.learn("the user prefers tabs")
        yield home


def imported(place: Place, code: str, *arguments: str) -> set[str]:
    """The modules that a program has imported, less those of every program."""
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=place.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        env=place.env,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(ran.stdout.splitlines()[-1])) - set(bare.stdout.split())


def check(modules: set[str]) -> None:
    """Nothing but the standard library, msgpack and milkd; and nothing slow."""
    # What Cython registers for a compiled msgpack is no module of anybody's.
    packages = {name.partition(".")[0] for name in modules if "cython_" not in name}
    assert packages <= sys.stdlib_module_names | {"milkd", "msgpack"}
    assert not packages & SLOW
    assert {"milkd", "msgpack"} <= packages


@pytest.mark.parametrize(
    "arguments",
    [
        ("recall", "tabs"),
        ("--session", "s1", "recall", "--max-results", "3", "tabs"),
        ("record", "--producer", "user", "the user dislikes surprises"),
        ("inject", "tabs or spaces?"),
    ],
)
def test_what_hooks_run_imports_nothing_slow(place: Place, arguments: tuple[str, ...]) -> None:
    check(imported(place, COMMAND, *arguments))


def test_the_client_library_imports_nothing_slow(place: Place) -> None:
    check(imported(place, LIBRARY))


def test_only_json_output_imports_json(place: Place) -> None:
    modules = imported(place, COMMAND, "recall", "--json", "tabs")
    assert "json" in modules
    assert not modules & (SLOW - {"json", "re", "enum"})  # json needs the other two


def test_no_command_imports_trio_or_the_daemon(place: Place) -> None:
    for arguments in (("list",), ("stats",), ("config",), ("session", "list"), ("show", "tabs")):
        modules = imported(place, COMMAND, *arguments)
        layers = {".".join(name.split(".")[:2]) for name in modules}
        assert not layers & {"trio", "milkd.daemon", "milkd.engine", "milkd.store"}
