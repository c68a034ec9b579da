"""A daemon whose socket is systemd's: it is started by the manager, and by nobody else.

A client that spawned one all the same would have two daemons fight for a path.
Imported only where a user manager runs and nobody listens.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from milkd.errors import DaemonUnreachable
from milkd.paths import computed_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Unit", "unit_directory", "unit_name"]

OTHERS = ("/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user")
ASKED = "Id,ActiveState,Result,Listen,ExecMainCode,ExecMainStatus"
LIMITS = ("start-limit-hit", "service-start-limit-hit", "trigger-limit-hit")
ENDS = {"1": "with exit code", "2": "by signal", "3": "by signal"}  # waitid(2): si_code
ANSWER = 15.0  # seconds that the manager may take
SHOWN = 5  # last lines of the log in an error


def unit_name(store: str) -> str:
    """What the units of a store are called: as its socket is, `milkd` or `milkd-HASH`."""
    return os.path.basename(computed_socket(store)).removesuffix(".sock")


def unit_directory() -> str:
    """Where a user's own units lie."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    config = given if os.path.isabs(given) else os.path.expanduser("~/.config")
    return os.path.join(config, "systemd", "user")


class Unit:
    """The units of a store.

    Args:
        store: As `paths.store_directory` returned it.
        runtime: The user's runtime directory, by which the manager is found.
    """

    def __init__(self, store: str, runtime: str) -> None:
        self._name = unit_name(store)
        self._socket, self._service = f"{self._name}.socket", f"{self._name}.service"
        self._environment = os.environ | {"XDG_RUNTIME_DIR": runtime, "LC_ALL": "C.UTF-8"}
        self._told: Mapping[str, Mapping[str, str]] = {}

    def listens_on(self, path: str) -> bool:
        """Whether the socket unit is installed, and meant for this path."""
        folders = (unit_directory(), *OTHERS)
        if not any(os.path.lexists(os.path.join(folder, self._socket)) for folder in folders):
            return False
        asked = f"--property={ASKED}"
        shown = self._run("systemctl", "--user", "show", asked, self._socket, self._service)
        if shown is None or shown.returncode != 0:
            return False  # no manager after all
        self._told = _parsed(shown.stdout)
        listens = self._told.get(self._socket, {}).get("Listen", "")
        return f"{path} (Stream)" in listens.splitlines()

    def start(self) -> None:
        """Have the manager listen.

        Raises:
            DaemonUnreachable: It does not; with the reason and the way out.
        """
        if any(map(_gave_up, self._told.values())):
            units = f"{self._socket} {self._service}"
            raise DaemonUnreachable(
                self.last_words(
                    f"has failed: the daemon ended too often in a short time{self._end()}",
                    f"when that is mended: systemctl --user reset-failed {units}",
                )
            )
        started = self._run("systemctl", "--user", "start", self._socket)
        if started is None:
            raise DaemonUnreachable(f"systemctl --user start {self._socket} did not end")
        if started.returncode != 0:
            said = started.stderr.strip().splitlines()[-SHOWN:]
            raise DaemonUnreachable(
                self.last_words(f"could not be started (exit code {started.returncode})", *said)
            )

    def last_words(self, fate: str, *said: str) -> str:
        """What became of the socket, and what the daemon wrote to its log."""
        look = ("journalctl", "--user", "-u", self._name, "-n", str(SHOWN))
        log = self._run(*look, "--no-pager", "-o", "cat")
        lines = [f"{self._socket} of systemd {fate}", *said]
        if log is not None and log.returncode == 0 and log.stdout.strip():
            lines.append(f"it says in {' '.join(look)}:")
            lines += [f"  {line}" for line in log.stdout.strip().splitlines()[-SHOWN:]]
        return "\n".join(lines)

    def _end(self) -> str:
        """How the daemon ended the last time."""
        service = self._told.get(self._service, {})
        how = ENDS.get(service.get("ExecMainCode", ""))
        return f", at last {how} {service.get('ExecMainStatus')}" if how else ""

    def _run(self, *command: str) -> subprocess.CompletedProcess[str] | None:
        """The end of a command; None if there is none."""
        if shutil.which(command[0]) is None:
            return None
        try:
            return subprocess.run(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=ANSWER,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None


def _gave_up(unit: Mapping[str, str]) -> bool:
    return unit.get("ActiveState") == "failed" and unit.get("Result") in LIMITS


def _parsed(shown: str) -> dict[str, dict[str, str]]:
    """What `systemctl show` said, by unit and property; of several `Listen` a line each."""
    found: dict[str, dict[str, str]] = {}
    for block in shown.split("\n\n"):
        unit: dict[str, str] = {}
        for line in block.splitlines():
            name, _, value = line.partition("=")
            unit[name] = f"{unit[name]}\n{value}" if name in unit else value
        found[unit.get("Id", "")] = unit
    return found
