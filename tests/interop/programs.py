"""The client programs beside this file, and what each needs to run.

A program is given calls to make, makes some of its own, and prints what each came to.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needs import absent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Language:
    """What runs programs of a kind.

    Attributes:
        command: To run a program, with FILE where its name belongs.
        ready: Whether it is installed, with all it needs.
        install: How to get it, as the reason of a skip says.
    """

    command: Sequence[str]
    ready: Callable[[], bool]
    install: str

    def run(self, path: Path, environment: Mapping[str, str]) -> str:
        """What a program prints; skips the test if its language is not there."""
        self.need()
        done = subprocess.run(
            [str(path) if word == "FILE" else word for word in self.command],
            env={**environment, **libraries()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def need(self) -> None:
        """Skip the test if it is not there."""
        if not self.ready():
            absent(f"{self.command[0]} or a library of it is missing: {self.install}")


@cache
def libraries() -> dict[str, str]:
    """Where languages look for theirs, and keep what they compile: not in the home of a test."""
    return {
        "NODE_PATH": os.environ.get("NODE_PATH") or _told("npm", "root", "--global"),
        "GO111MODULE": "off",
        "GOPATH": f"{_told('go', 'env', 'GOPATH')}:/usr/share/gocode",
        "GOCACHE": _told("go", "env", "GOCACHE"),
    }


def _told(*command: str) -> str:
    """What a command prints; nothing if it is not there."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


@cache
def _runs(*command: str) -> bool:
    """Whether a command is there and does what it should."""
    if shutil.which(command[0]) is None:
        return False
    environment = os.environ | libraries()
    return (
        subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0
    )


LANGUAGES = {
    "lua": Language(
        ("nvim", "--headless", "--clean", "-S", "FILE", "+qa!"),
        lambda: _runs("nvim", "--version"),
        "apt-get install neovim",
    ),
    "pynvim": Language(
        (sys.executable, "FILE"),
        lambda: importlib.util.find_spec("pynvim") is not None,
        ".venv/bin/pip install pynvim",
    ),
    "js": Language(
        ("node", "FILE"),
        lambda: _runs("node", "-e", "require('@msgpack/msgpack')"),
        "apt-get install nodejs npm; npm install --global @msgpack/msgpack",
    ),
    "ruby": Language(
        ("ruby", "FILE"),
        lambda: _runs("ruby", "-rmsgpack", "-e", ""),
        "apt-get install ruby-msgpack",
    ),
    "go": Language(
        ("go", "run", "FILE"),
        lambda: _runs("go", "list", "github.com/ugorji/go/codec"),
        "apt-get install golang-go golang-github-ugorji-go-codec-dev",
    ),
    "strict": Language((sys.executable, "FILE"), lambda: True, ""),
}

FILES = {
    "lua": "client.lua",
    "pynvim": "client_pynvim.py",
    "js": "client.js",
    "ruby": "client.rb",
    "strict": "client_strict.py",
}


def said_by(
    name: str, environment: Mapping[str, str], calls: Sequence[Sequence[object]]
) -> dict[str, Any]:
    """What a client's calls came to, by their names.

    Args:
        name: Of the client.
        environment: To run it in; names the socket.
        calls: Lists of name, method, params….
    """
    given = {**environment, "CALLS": json.dumps(calls)}
    told = LANGUAGES[name].run(HERE / FILES[name], given)
    assert told.startswith("{"), told
    said: dict[str, Any] = json.loads(told)
    return said
