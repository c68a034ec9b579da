"""`milkctl service` on macOS: a LaunchAgent, which launchd keeps (launchd.plist(5)).

It hands over no socket: the daemon makes its own, where clients look for it.
"""

from __future__ import annotations

import os
import subprocess
import sys

from milkd.cli import placing
from milkd.cli.units import daemon_command
from milkd.errors import MilkdError
from milkd.managed import unit_name
from milkd.paths import log_path, named_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from milkd.client import Client

__all__ = ["agent", "install", "label", "status", "uninstall"]

IDLE_EXIT = 7200  # seconds; launchd starts it again when it is kicked
THROTTLE = 10  # seconds between two starts of a daemon that fails
Answer = dict[str, "Any"]


def label(store: str) -> str:
    """What the agent of a store is called."""
    return f"org.milkd.{unit_name(store)}"


def agent(store: str, command: Sequence[str], *, socket: str | None, log: str) -> str:
    """The property list of a store's agent.

    Args:
        store: The real path of the store.
        command: What runs the daemon, without arguments about the store.
        socket: Where it is to listen, if not where clients of the store look anyway.
        log: Where its messages go.
    """
    import plistlib

    where = [] if socket is None else ["--socket", socket]
    idle = ["--idle-exit", str(IDLE_EXIT)]
    return plistlib.dumps(
        {
            "Label": label(store),
            "ProgramArguments": [*command, "--store", store, *where, *idle],
            "RunAtLoad": False,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": THROTTLE,
            "ProcessType": "Background",
            "Umask": 0o077,
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
    ).decode()


def install(client: Client, socket: str | None) -> Answer:
    """Write the agent and have launchd load it."""
    path, name = _path(client), label(client.store)
    text = agent(
        client.store,
        daemon_command(sys.argv[0]),
        socket=named_socket(client.store, socket),
        log=log_path(),
    )
    file = placing.put(path, placing.marked(text, "<!-- {} -->"))
    if file[0] != "unchanged" and _launchctl("print", _target(name)) == 0:
        _launchctl("bootout", _target(name))
    if _launchctl("print", _target(name)) != 0 and _launchctl("bootstrap", _domain(), path) != 0:
        raise MilkdError(
            f"launchd does not take {path}; try: launchctl bootstrap {_domain()} {path}"
        )
    return {"installed": True, "unit": name, "files": [_told(path, file)]}


def uninstall(client: Client) -> Answer:
    """Have launchd stop and unload the agent, and remove it."""
    path, name = _path(client), label(client.store)
    if placing.is_marked(path):
        _launchctl("bootout", _target(name))
    file = placing.take_away(path)
    return {"installed": False, "unit": name, "files": [_told(path, file)]}


def status(client: Client) -> Answer:
    """What is installed, and whether launchd has it."""
    path, name = _path(client), label(client.store)
    loaded = _launchctl("print", _target(name)) == 0
    return {
        "installed": os.path.lexists(path),
        "unit": name,
        "files": [_told(path, (placing.state(path), None))],
        "enabled": loaded,
    }


def _path(client: Client) -> str:
    return os.path.expanduser(f"~/Library/LaunchAgents/{label(client.store)}.plist")


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _target(name: str) -> str:
    return f"{_domain()}/{name}"


def _launchctl(*words: str) -> int:
    done = subprocess.run(["launchctl", *words], capture_output=True, check=False)
    return done.returncode


def _told(path: str, file: tuple[str, str | None]) -> Answer:
    state, kept = file
    return {"path": path, "state": state, **({} if kept is None else {"kept": kept})}
