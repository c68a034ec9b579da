"""`milkctl service` where the user has a systemd: units are written, started and taken back.

With the socket unit active the manager owns the socket's path, for good.  A daemon that a
client has started is stopped first, under the lock that clients take to start one: so
there are never two who want the path.
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import contextmanager, suppress

from milkd.cli import manager, placing
from milkd.cli.units import SANDBOX, daemon_command, units
from milkd.errors import DaemonUnreachable, MilkdError
from milkd.managed import unit_directory, unit_name
from milkd.paths import computed_socket, named_socket, sockets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from milkd.client import Client

__all__ = ["install", "owner", "status", "stop", "uninstall"]

Answer = dict[str, "Any"]
Files = dict[str, "tuple[str, str | None]"]
"""What became of files, and where another one that was there is kept."""


def install(client: Client, socket: str | None, *, sandbox: bool) -> Answer:
    """Have the units of this installation and store written, enabled and started.

    Args:
        client: Of the store; it starts no daemon.
        socket: What the command line names.
        sandbox: Add the drop-in, too.  One that is there stays without.
    """
    unit, place = unit_name(client.store), unit_directory()
    dropin = os.path.join(place, f"{unit}.service.d", SANDBOX)
    named = named_socket(client.store, socket)
    sandbox = sandbox or os.path.lexists(dropin)
    texts = {
        os.path.join(place, name): placing.marked(text)
        for name, text in units(
            client.store, daemon_command(sys.argv[0]), socket=named, sandbox=sandbox
        ).items()
    }
    if sandbox:
        os.makedirs(os.path.expanduser("~/.milk"), mode=0o700, exist_ok=True)
        os.makedirs(client.store, mode=0o700, exist_ok=True)
    active = manager.show(f"{unit}.socket", "ActiveState")["ActiveState"] == "active"
    if active and all(placing.says(path, text) for path, text in texts.items()):
        files: Files = dict.fromkeys(texts, ("unchanged", None))
    else:
        with _nobody_starts_one(named or computed_socket(client.store)):
            _end(client, unit, active=active)
            files = {path: placing.put(path, text) for path, text in texts.items()}
            manager.systemctl("daemon-reload")
            manager.systemctl("start", f"{unit}.socket")
    manager.systemctl("enable", f"{unit}.socket")
    return {"installed": True, "unit": unit, **_told(files), **_whereabouts(client, unit, named)}


def uninstall(client: Client, socket: str | None) -> Answer:
    """Stop and disable the units, and remove what `install` wrote of them."""
    unit = unit_name(client.store)
    paths = _paths(unit)
    if not any(map(placing.is_marked, paths)):
        left: Files = {path: ("left", None) for path in paths if os.path.lexists(path)}
        return {"installed": False, "unit": unit, **_told(left)}
    with _nobody_starts_one(named_socket(client.store, socket) or computed_socket(client.store)):
        manager.systemctl("disable", f"{unit}.socket")
        _end(client, unit, active=True)
        files = {path: placing.take_away(path) for path in paths if os.path.lexists(path)}
        with suppress(OSError):  # somebody's own drop-ins are in it
            os.rmdir(os.path.join(unit_directory(), f"{unit}.service.d"))
        manager.systemctl("daemon-reload")
    return {"installed": False, "unit": unit, **_told(files)}


def status(client: Client, socket: str | None) -> Answer:
    """What is installed, what runs and where it listens.  No daemon is started by asking."""
    unit = unit_name(client.store)
    listening = manager.show(f"{unit}.socket", "ActiveState", "UnitFileState", "Result")
    serving = manager.show(f"{unit}.service", "ActiveState", "MainPID", "Result")
    files = {path: (placing.state(path), None) for path in _paths(unit) if os.path.lexists(path)}
    pid = int(serving["MainPID"] or 0)
    answer: Answer = {
        "installed": any(path.endswith(".socket") for path in files),
        "unit": unit,
        **_told(files),
        "enabled": listening["UnitFileState"] == "enabled",
        "socket": listening["ActiveState"],
        "service": serving["ActiveState"],
        "result": [listening["Result"], serving["Result"]],
        **_whereabouts(client, unit, named_socket(client.store, socket)),
        **_daemon(client, asked=bool(pid) or listening["ActiveState"] != "active"),
    }
    if pid and answer["pid"] not in (None, pid):
        answer["other"] = pid
    return answer


def owner(client: Client) -> str | None:
    """The socket unit that owns the path on which clients of this store call, if one is active.

    A manager that does not answer owns none: a daemon can be stopped without it.
    """
    unit = f"{unit_name(client.store)}.socket"
    try:
        path = manager.listens_on(unit)
    except manager.ManagerFailed:
        return None
    return unit if path is not None and path in _looked_at(client) else None


def stop(client: Client, unit: str) -> Answer:
    """Stop the daemon and then its units, of which the socket's would start it again."""
    service = unit.removesuffix(".socket") + ".service"
    answer: Answer = {}
    ran = manager.show(service, "MainPID")["MainPID"] not in ("", "0")
    _let_go(unit)
    try:
        if ran:
            answer = client.call("shutdown")
    finally:
        manager.systemctl("stop", unit, service)
    return {**answer, "unit": unit, "ran": ran}


def _end(client: Client, unit: str, *, active: bool) -> None:
    """Stop whatever serves the store, in good order."""
    if active:
        _let_go(f"{unit}.socket")
        manager.systemctl("stop", f"{unit}.socket", f"{unit}.service")
    else:
        with suppress(DaemonUnreachable):
            client.call("shutdown")
        client.close()
    for name in (f"{unit}.socket", f"{unit}.service"):
        if manager.show(name, "ActiveState")["ActiveState"] == "failed":
            manager.systemctl("reset-failed", name)


def _let_go(unit: str) -> None:
    """Have the manager close its end of the socket, while the daemon still listens on its own.

    With both closed in the other order, whoever connects meanwhile would wait for nobody.
    """
    manager.systemctl("stop", "--job-mode=ignore-dependencies", unit)


@contextmanager
def _nobody_starts_one(path: str) -> Iterator[None]:
    """Hold the lock under which clients start a daemon, so that they wait for ours."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    lock = os.open(f"{path}.spawn", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _paths(unit: str) -> list[str]:
    names = (f"{unit}.socket", f"{unit}.service", f"{unit}.service.d/{SANDBOX}")
    return [os.path.join(unit_directory(), name) for name in names]


def _told(files: Mapping[str, tuple[str, str | None]]) -> Answer:
    return {
        "files": [
            {"path": path, "state": state, **({} if kept is None else {"kept": kept})}
            for path, (state, kept) in files.items()
        ]
    }


def _whereabouts(client: Client, unit: str, named: str | None) -> Answer:
    """Where the manager listens, and whether clients look there."""
    path = manager.listens_on(f"{unit}.socket")
    expected = named or computed_socket(client.store)
    return {"listens": path, "found": path == expected, "expected": expected}


def _looked_at(client: Client) -> set[str]:
    return {client.socket, *sockets(client.store, named_socket(client.store))}


def _daemon(client: Client, *, asked: bool) -> Answer:
    """Which daemon answers, if asking it starts none."""
    if asked:
        with suppress(MilkdError):
            hello = client.hello()
            return {"pid": hello["pid"], "version": hello["version"]}
    return {"pid": None, "version": None}
