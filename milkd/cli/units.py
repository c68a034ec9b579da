"""The systemd units of one store, made from those that milkd brings along.

Pure: paths go in, texts come out.  The units in `milkd/systemd` serve the usual store as
they are; here the paths of this installation take the place of theirs.
"""

from __future__ import annotations

import os
import re
import sys

from milkd.errors import ConfigError
from milkd.managed import unit_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SANDBOX", "daemon_command", "listed", "quoted", "units"]

BROUGHT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "systemd")
USUAL = "milkd"  # the unit of the usual store
COMMAND = "%h/.local/bin/milkd --store %h/.milk/memory"
STORE = "%h/.milk/memory"
LISTEN = "%t/milkd/milkd.sock"
WRITABLE = "ReadWritePaths=%h/.milk "
SANDBOX = "10-sandbox.conf"
SIMPLE = re.compile(r"[\w/.,:+@=-]+", re.ASCII)
UNFIT = re.compile(r"""['"\\]""")
ESCAPES = {"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$"}


def units(
    store: str, command: Sequence[str], *, socket: str | None, sandbox: bool
) -> dict[str, str]:
    """The texts of the units, by path below the directory of units.

    Args:
        store: The real path of the store.
        command: What runs the daemon, without arguments about the store.
        socket: Where it is to listen, if not where clients of the store look anyway.
        sandbox: Whether the drop-in comes too that needs a user namespace.

    Raises:
        ConfigError: A path has no form in a unit.
    """
    name = unit_name(store)
    usual = name == USUAL
    words = [_program(command[0]), *map(quoted, command[1:]), "--store"]
    whole = " ".join([*words, STORE if usual else quoted(store)])
    listen = f"%t/milkd/{name}.sock" if socket is None else _plain(socket)
    texts = {
        f"{name}.socket": _brought("milkd.socket").replace(LISTEN, listen),
        f"{name}.service": _brought("milkd.service")
        .replace(COMMAND, whole)
        .replace("milkd.socket", f"{name}.socket"),
    }
    if sandbox:
        extra = "" if usual and _below_home(store) else f"{listed(store)} "
        texts[f"{name}.service.d/{SANDBOX}"] = _brought(f"milkd.service.d/{SANDBOX}").replace(
            WRITABLE, WRITABLE + extra
        )
    return texts


def daemon_command(invoked: str) -> list[str]:
    """What runs the daemon of this installation: the script beside `milkctl`, or Python itself.

    Args:
        invoked: `sys.argv[0]`.
    """
    for beside in (invoked, sys.executable):
        script = os.path.join(os.path.dirname(os.path.abspath(beside)), "milkd")
        if os.path.isfile(script) and os.access(script, os.X_OK):
            return [script]
    return [sys.executable, "-m", "milkd"]


def quoted(word: str) -> str:
    """A word of a command line of systemd's, in which `%` and `$` mean something."""
    if SIMPLE.fullmatch(word):
        return word
    return '"' + "".join(ESCAPES.get(char, char) for char in _checked(word)) + '"'


def _program(path: str) -> str:
    """The first word, in which `$` means nothing, and which may hold no quote at all."""
    if UNFIT.search(path):
        raise ConfigError(
            f"systemd starts no program whose path has a quote or backslash in it: {path}; "
            "install milkd elsewhere"
        )
    return quoted(path).replace("$$", "$")


def listed(path: str) -> str:
    """A path in a list of paths, in which nothing but a quote can keep a space."""
    if '"' in path:
        raise ConfigError(
            f"{path!r} cannot be in a list of paths of systemd's, for the quote in it"
        )
    return f'"{_checked(path).replace("%", "%%")}"'


def _plain(path: str) -> str:
    """A path that a line consists of."""
    return _checked(path).replace("%", "%%")


def _checked(text: str) -> str:
    if not text.isprintable():
        raise ConfigError(f"{text!r} cannot be in a unit of systemd's: not all of it is printable")
    return text


def _below_home(store: str) -> bool:
    return store.startswith(os.path.realpath(os.path.expanduser("~/.milk")) + os.sep)


def _brought(name: str) -> str:
    with open(os.path.join(BROUGHT, name), encoding="utf-8") as file:
        return file.read()
