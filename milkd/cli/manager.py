"""The user's systemd, asked and told by `systemctl --user`."""

from __future__ import annotations

import os
import shutil
import subprocess

from milkd.errors import MilkdError
from milkd.paths import runtime_directory

__all__ = ["ManagerFailed", "is_there", "listens_on", "show", "systemctl"]

PATIENCE = 60.0  # seconds for a call; a daemon that stops may take 20


class ManagerFailed(MilkdError):
    """The service manager refused; its own words say why."""


def is_there() -> bool:
    """Whether this user has a manager that runs."""
    runtime = runtime_directory()
    if runtime is None or not os.path.exists(os.path.join(runtime, "systemd", "private")):
        return False
    return shutil.which("systemctl") is not None


def systemctl(*words: str) -> str:
    """Give an order; what it prints.

    Raises:
        ManagerFailed: It ended with an error, or not at all.
    """
    command = ["systemctl", "--user", *words]
    told = " ".join(command)
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"XDG_RUNTIME_DIR": runtime_directory() or "", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ManagerFailed(f"`{told}` does not end; see: systemctl --user list-jobs") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise ManagerFailed(f"`{told}` failed: {said or f'exit code {done.returncode}'}")
    return done.stdout.decode(errors="replace")


def show(unit: str, *properties: str) -> dict[str, str]:
    """What the manager knows of a unit, which need not exist."""
    lines = systemctl("show", unit, "--property", ",".join(properties)).splitlines()
    found = dict(line.partition("=")[::2] for line in lines)
    return {name: found.get(name, "") for name in properties}


def listens_on(unit: str) -> str | None:
    """The path on which an active socket unit listens; None if it does not."""
    told = show(unit, "ActiveState", "Listen")
    if told["ActiveState"] != "active":
        return None
    return told["Listen"].removesuffix(" (Stream)")
