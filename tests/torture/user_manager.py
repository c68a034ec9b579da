"""A user's systemd of its own, where none is process 1: for root, in a mount namespace.

The user has a home and a name in that namespace only.  Where Python and milkd lie in a
directory that is closed to others, an open one is mounted over it that holds just them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from places import ROOT, START

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

UID = 61_234
SYSTEMD = Path("/lib/systemd/systemd")
CGROUPS = ("systemd", "unified", ".")
NEEDED = sorted({sys.base_prefix, sys.prefix, str(ROOT)})

BEGIN = """
set -e
for at in $CGROUPS; do
  group=/sys/fs/cgroup/$at
  [ -e "$group/cgroup.procs" ] || continue
  mkdir -p "$group/$NAME"
  chown -R "$USER_ID" "$group/$NAME"
  echo $$ > "$group/$NAME/cgroup.procs"
done
mount -t tmpfs -o mode=755 none /run
mkdir -p /run/systemd/system /run/systemd/unit-root /run/systemd/mount-rootfs
number=0
for needed in "$@"; do
  number=$((number + 1))
  mkdir -p "/run/needed/$number"
  mount --bind "$needed" "/run/needed/$number"
done
for closed in $CLOSED; do
  mount -t tmpfs -o mode=755 none "$closed"
done
number=0
for needed in "$@"; do
  number=$((number + 1))
  mkdir -p "$needed"
  mount --bind "/run/needed/$number" "$needed"
done
mount --bind "$HOME/passwd" /etc/passwd
exec env -i PATH="$PATH" HOME="$HOME" XDG_RUNTIME_DIR="$HOME/r" SYSTEMD_LOG_TARGET=console \\
  setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups --inh-caps=-all \\
  /lib/systemd/systemd --user
"""
SCRIPT = """#!{python}
import sys
sys.path.insert(0, {root!r})
from milkd.{module} import main
sys.exit(main())
"""


def why_not() -> str | None:
    """Why there can be no manager here; None if there can."""
    if os.geteuid() != 0:
        return "only root can give a user manager a namespace of its own"
    for tool in ("unshare", "nsenter", "setpriv", "systemctl"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    return None if SYSTEMD.exists() else f"{SYSTEMD} is not installed"


class UserManager:
    """A user with a running manager, and `milkctl` and `milkd` installed in an odd place."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="mk-", dir="/tmp"))
        self.runtime = self.home / "r"
        self.bin = self.home / "its 100% $HOME ${USER}"
        self.units = self.home / ".config" / "systemd" / "user"
        self.socket = self.runtime / "milkd" / "milkd.sock"
        self.env = {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
        }
        self._log = self.home / "log"
        self._name = self.home.name
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._lay()
            self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command of the user's."""
        return subprocess.run(
            self._entering(*command, **environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self, *command: str) -> subprocess.Popen[str]:
        """A command of the user's that takes a while."""
        return subprocess.Popen(self._entering(*command), stdout=subprocess.PIPE, text=True)

    def milkctl(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The command as the user has it."""
        return self.run(str(self.bin / "milkctl"), *arguments, **environment)

    def asked(self, *arguments: str) -> Any:
        """What `milkctl --json` answers."""
        ran = self.milkctl(*arguments, "--json")
        assert ran.stdout, ran.stderr
        return json.loads(ran.stdout)

    def systemctl(self, *words: str) -> str:
        """Give an order to the manager; what it says."""
        ran = self.run("systemctl", "--user", *words)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def show(self, unit: str, name: str) -> str:
        """A property of a unit."""
        return self.systemctl("show", unit, "--property", name, "--value").strip()

    def pid(self) -> int:
        """The daemon's, or 0."""
        return int(self.show("milkd.service", "MainPID"))

    def override(self, text: str) -> None:
        """Add a drop-in to the service; empty: take it back."""
        dropin = self.units / "milkd.service.d" / "90-test.conf"
        dropin.parent.mkdir(parents=True, exist_ok=True)
        dropin.write_text(text)
        for path in (dropin.parent, dropin):
            os.chown(path, UID, UID)
        self.systemctl("daemon-reload")

    def until(self, seen: Callable[[], bool]) -> None:
        """Wait for something."""
        end = time.monotonic() + START
        while not seen():
            assert time.monotonic() < end, self.systemctl("show", "milkd.socket", "milkd.service")
            time.sleep(0.05)

    def _lay(self) -> None:
        for folder in (self.runtime, self.bin):
            folder.mkdir(mode=0o700)
        for name, module in (("milkctl", "cli.main"), ("milkd", "daemon.main")):
            script = self.bin / name
            script.write_text(SCRIPT.format(python=sys.executable, root=str(ROOT), module=module))
            script.chmod(0o755)
        usual = "root:x:0:0::/root:/bin/sh\n"
        (self.home / "passwd").write_text(f"{usual}tester:x:{UID}:{UID}::{self.home}:/bin/sh\n")
        for path in (self.home, *self.home.rglob("*")):
            os.chown(path, UID, UID)
        (self.home / "passwd").chmod(0o644)

    def _begin(self) -> None:
        how = {
            "CGROUPS": " ".join(CGROUPS),
            "CLOSED": " ".join(sorted({closed for path in NEEDED if (closed := _closed(path))})),
            "NAME": self._name,
            "USER_ID": str(UID),
        }
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["unshare", "-m", "--propagation", "private", "sh", "-c", BEGIN, "sh", *NEEDED],
                env=self.env | how,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + START
        while not (self.runtime / "systemd" / "private").exists():
            if self._process.poll() is not None or time.monotonic() > end:
                raise OSError(f"systemd --user does not run here: {self._log.read_text()[-500:]}")
            time.sleep(0.02)

    def _entering(self, *command: str, **environment: str) -> list[str]:
        assert self._process is not None
        values = [f"{name}={value}" for name, value in (self.env | environment).items()]
        inside = ["nsenter", "-m", "-t", str(self._process.pid), "env", "-i", *values]
        who = [f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
        return [*inside, "setpriv", *who, *command]

    def _end(self) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                with suppress(AssertionError, subprocess.TimeoutExpired):
                    self.systemctl("exit")
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(10)
            for pid in self._members():
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)
            self._process.wait(START)
        for group in self._groups():
            with suppress(OSError):
                group.rmdir()
        shutil.rmtree(self.home, ignore_errors=True)

    def _members(self) -> list[int]:
        """Whatever still runs of all that the manager has started, and the manager."""
        found: set[int] = set()
        for group in self._groups():
            with suppress(OSError):
                found |= set(map(int, (group / "cgroup.procs").read_text().split()))
        return sorted(found)

    def _groups(self) -> list[Path]:
        """Its cgroups, the innermost first."""
        tops = [Path("/sys/fs/cgroup") / at / self._name for at in CGROUPS]
        found = [path for top in tops if top.is_dir() for path in (top, *top.rglob("*"))]
        return sorted((path for path in found if path.is_dir()), key=lambda path: -len(path.parts))


def _closed(path: str) -> str | None:
    """The outermost directory on the way to a path that others may not enter."""
    for parent in reversed(Path(path).parents):
        if not parent.stat().st_mode & 0o001:
            return str(parent)
    return None
