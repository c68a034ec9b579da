"""The units, and the daemon under a real manager (T20)."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import milkd
from milkd.cli.units import units
from places import START, Place
from torture.user_manager import UserManager, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.lasting

ACTIVATE = shutil.which("systemd-socket-activate")
ANALYZE = shutil.which("systemd-analyze")
NONBLOCKING, CLOSED_ON_EXEC = 0o4000, 0o2000000


# The units as texts


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The units of another store, with the sandbox, of a daemon in an odd place."""
    script = tmp_path / "its 100% $HOME ${USER}" / "milkd"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    folder = tmp_path / "units"
    for name, text in units("/srv/my store", [str(script)], socket=None, sandbox=True).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def analyze(written: Path, *words: str) -> subprocess.CompletedProcess[str]:
    if ANALYZE is None:
        pytest.skip("systemd-analyze is not installed")
    runtime = written.parent / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return subprocess.run(
        [ANALYZE, "--user", *words],
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_systemd_finds_nothing_wrong_with_the_units(written: Path) -> None:
    paths = [str(path) for path in sorted(written.glob("milkd-*.*")) if path.is_file()]
    assert len(paths) == 2
    ran = analyze(written, "verify", *paths)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    (dropin,) = written.rglob("*.conf")
    dropin.write_text(dropin.read_text() + "ProtectSystems=strict\n")
    assert "ProtectSystems" in analyze(written, "verify", *paths).stderr


def exposure(written: Path) -> float:
    (service,) = written.glob("*.service")
    ran = analyze(written, "security", "--offline=yes", "--no-pager", str(service))
    found = re.search(r"exposure level for \S+: ([\d.]+)", ran.stdout)
    assert found, ran.stdout + ran.stderr
    return float(found[1])


def test_little_is_open_to_the_service_and_less_in_its_sandbox(written: Path) -> None:
    sandboxed = exposure(written)
    (dropin,) = written.rglob("*.conf")
    dropin.unlink()
    assert sandboxed < exposure(written) <= 6.5
    assert sandboxed <= 3.0


# Without a manager


@pytest.mark.skipif(ACTIVATE is None, reason="systemd-socket-activate is not installed")
@pytest.mark.parametrize(
    ("sockets", "names", "served"),
    [(["a"], "milkd", "a"), (["a"], None, "a"), (["a", "b"], "other:milkd", "b")],
)
def test_a_socket_is_handed_over(sockets: list[str], names: str | None, served: str) -> None:
    with Place() as place:
        listen = [word for name in sockets for word in ("-l", str(place.home / name))]
        named = [] if names is None else [f"--fdname={names}"]
        variables = [f"-E{name}" for name in ("HOME", "PYTHONPATH")]
        place.daemon = subprocess.Popen(
            [str(ACTIVATE), *listen, *named, *variables, sys.executable, "-m", "milkd"],
            env=place.env,
            stderr=subprocess.DEVNULL,
        )
        place.socket = place.home / served
        with connected(place) as client:
            hello = client.hello()
            assert hello["pid"] == place.daemon.pid
            assert hello["socket"] == str(place.socket)
            flags = [flags_of(hello["pid"], 3 + sockets.index(served))]
        assert all(each & NONBLOCKING and each & CLOSED_ON_EXEC for each in flags)
        place.stop()
        assert place.socket.exists()  # the manager's; it would start the next daemon


def connected(place: Place) -> milkd.Client:
    """A client, as soon as somebody listens."""
    until = time.monotonic() + START
    while True:
        try:
            return milkd.Client(str(place.socket)).__enter__()
        except milkd.DaemonUnreachable:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def flags_of(pid: int, descriptor: int) -> int:
    text = Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text()
    (flags,) = [line.split()[1] for line in text.splitlines() if line.startswith("flags:")]
    return int(flags, 8)


# Under one


@pytest.fixture(scope="module")
def started() -> Iterator[UserManager]:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    try:
        manager = UserManager().__enter__()
    except OSError as error:
        pytest.skip(str(error))
    try:
        if (ran := manager.run(sys.executable, "-c", "import milkd.daemon.main")).returncode:
            pytest.skip(f"the user cannot run milkd: {ran.stderr[-500:]}")
        yield manager
    finally:
        manager.__exit__(None, None, None)


@pytest.fixture
def manager(started: UserManager) -> Iterator[UserManager]:
    """With the units installed, and as they are brought along."""
    if not (started.units / "milkd.socket").exists():
        ran = started.milkctl("service", "install")
        assert ran.returncode == 0, ran.stdout + ran.stderr
    yield started
    started.override("")
    started.systemctl("reset-failed")
    started.systemctl("stop", "milkd.socket", "milkd.service")
    started.systemctl("start", "milkd.socket")


def test_a_service_is_installed_over_a_daemon_that_a_client_started(started: UserManager) -> None:
    started.milkctl("service", "uninstall")
    assert started.milkctl("learn", "the user prefers tabs").returncode == 0
    before = pid_of(started)
    ran = started.milkctl("service", "install")
    assert ran.returncode == 0, ran.stderr
    assert f"{started.units}/milkd.socket: written\n" in ran.stdout
    assert f"listens on {started.socket}\n" in ran.stdout
    started.until(lambda: gone(before))
    assert started.pid() == 0
    assert started.systemctl("is-enabled", "milkd.socket") == "enabled\n"
    assert "tabs" in started.milkctl("recall", "tabs").stdout
    assert started.pid() == pid_of(started) != 0
    assert started.show("milkd.service", "ActiveState") == "active"
    assert started.show("milkd.service", "StatusText") == f"serving {started.home}/.milk/memory"


STATE = """
import subprocess, sys
for number in range(12):
    words = f"note{sys.argv[2]}x{number} about matter{sys.argv[2]}x{number}"
    subprocess.run([sys.argv[1], "record", words, "--session", "s"], check=True)
"""


def test_no_client_notices_that_it_is_installed_or_taken_back(started: UserManager) -> None:
    started.milkctl("service", "uninstall")
    program = [sys.executable, "-c", STATE, str(started.bin / "milkctl")]
    clients = [started.start(*program, who) for who in "ab"]
    for action in ("install", "uninstall"):
        # Each is done with the last change then: a call is tried twice, not three times.
        assert started.milkctl("stats").returncode == 0
        time.sleep(0.2)
        ran = started.milkctl("service", action)
        assert ran.returncode == 0, ran.stderr
    for client in clients:
        client.communicate(timeout=2 * START)
    assert [client.returncode for client in clients] == [0, 0]
    listed = started.asked("list", "--session", "s")["percepts"]
    assert sum(fact["content"].startswith("note") for fact in listed) == 24


def test_installed_again_nothing_is_changed_or_stopped(manager: UserManager) -> None:
    manager.milkctl("ping")
    pid = manager.pid()
    answer = manager.asked("service", "install")
    assert {file["state"] for file in answer["files"]} == {"unchanged"}
    assert (answer["installed"], answer["listens"]) == (True, str(manager.socket))
    assert manager.pid() == pid != 0


def test_its_status_is_told_and_starts_nothing(manager: UserManager) -> None:
    status = manager.asked("service", "status")
    assert (status["socket"], status["service"], status["pid"]) == ("active", "inactive", None)
    assert [file["state"] for file in status["files"]] == ["ours", "ours"]
    manager.milkctl("ping")
    status = manager.asked("service", "status")
    assert (status["service"], status["version"]) == ("active", milkd.__version__)
    assert status["pid"] == manager.pid()


def test_a_reload_reads_what_changed_and_ends(manager: UserManager) -> None:
    manager.milkctl("ping")
    config = manager.home / ".milk" / "config.json"
    config.write_text('{"memory": {"reconfirm_boost": 0.125}}')
    manager.systemctl("reload", "milkd.service")
    manager.until(lambda: boost(manager) == 0.125)
    manager.until(lambda: manager.show("milkd.service", "ActiveState") == "active")
    config.unlink()


def boost(manager: UserManager) -> float:
    return float(manager.asked("config", "show")["values"]["reconfirm_boost"]["value"])


def test_a_daemon_that_hangs_is_replaced_and_who_waits_is_answered(manager: UserManager) -> None:
    manager.override("[Service]\nWatchdogSec=1\n")
    manager.milkctl("ping")
    pid = manager.pid()
    os.kill(pid, signal.SIGSTOP)
    waiting = manager.start(str(manager.bin / "milkctl"), "stats", "--json")
    said, _ = waiting.communicate(timeout=START)
    assert waiting.returncode == 0
    assert json.loads(said)["run_id"]
    assert manager.pid() not in (0, pid)
    assert manager.show("milkd.service", "NRestarts") != "0"


def test_who_waits_while_it_is_killed_is_answered_by_the_next(manager: UserManager) -> None:
    manager.milkctl("learn", "deploys happen on Mondays")
    pid = manager.pid()
    os.kill(pid, signal.SIGSTOP)
    waiting = manager.start(str(manager.bin / "milkctl"), "recall", "deploys")
    time.sleep(0.5)  # for it to connect; if it is late it is answered all the same
    os.kill(pid, signal.SIGKILL)
    said, _ = waiting.communicate(timeout=START)
    assert "Mondays" in said
    assert manager.pid() not in (0, pid)


def test_idle_it_ends_and_the_next_connection_begins_another_run(manager: UserManager) -> None:
    unit = (manager.units / "milkd.service").read_text().splitlines()
    (line,) = [line for line in unit if line.startswith("ExecStart=")]
    manager.override(f"[Service]\nExecStart=\n{line} --idle-exit 0.5\n")
    run = manager.asked("stats")["run_id"]
    manager.until(lambda: manager.show("milkd.service", "ActiveState") == "inactive")
    assert manager.show("milkd.service", "Result") == "success"
    assert manager.show("milkd.socket", "ActiveState") == "active"
    assert manager.asked("stats")["run_id"] != run


def test_stopped_it_stays_so_until_the_socket_is_started(manager: UserManager) -> None:
    manager.milkctl("ping")
    ran = manager.milkctl("stop")
    assert ran.returncode == 0, ran.stderr
    first, second = ran.stdout.splitlines()
    assert first == "stopped; everything is saved"
    assert second.startswith("milkd.socket is stopped too, ")
    assert second.endswith(": systemctl --user start milkd.socket")
    for unit in ("milkd.socket", "milkd.service"):
        assert manager.show(unit, "ActiveState") == "inactive"
    assert manager.milkctl("ping").returncode == 3
    assert manager.milkctl("service", "status").returncode == 1
    manager.systemctl("start", "milkd.socket")
    assert manager.milkctl("ping").returncode == 0
    assert manager.milkctl("stop", "--json").returncode == 0
    manager.systemctl("start", "milkd.socket")
    assert manager.asked("stop") == {"unit": "milkd.socket", "ran": False}


def test_a_daemon_that_cannot_run_is_given_up_and_the_way_back_is_told(
    manager: UserManager,
) -> None:
    manager.override("[Service]\nEnvironment=PYTHONHOME=/nonexistent\nRestartSec=50ms\n")
    manager.milkctl("ping")
    manager.until(lambda: manager.show("milkd.socket", "ActiveState") == "failed")
    assert manager.show("milkd.socket", "Result") == "service-start-limit-hit"
    refused = manager.milkctl("stats")
    assert refused.returncode == 3
    assert "systemctl --user reset-failed milkd.socket milkd.service" in refused.stderr
    ran = manager.milkctl("service", "status")
    assert ran.returncode == 1
    (told,) = [line for line in ran.stdout.splitlines() if line.startswith("to try again: ")]
    manager.override("")
    again = manager.run("sh", "-c", told.removeprefix("to try again: "))
    assert again.returncode == 0, again.stderr
    assert manager.milkctl("ping").returncode == 0


PROBE = """
import errno, json, os, pathlib, socket
home, tried = pathlib.Path.home(), {}
def attempt(name, what):
    try:
        what()
        tried[name] = "done"
    except OSError as error:
        tried[name] = errno.errorcode[error.errno]
attempt("store", lambda: (home / ".milk" / "memory" / "probe").write_text(""))
attempt("home", lambda: (home / "probe").write_text(""))
attempt("tmp", lambda: open("/var/tmp/milkd-probe", "w").close())
attempt("internet", lambda: socket.socket(socket.AF_INET).close())
attempt("socket", lambda: socket.socket(socket.AF_UNIX).close())
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, 5))
tried["devices"] = len([name for name in os.listdir("/dev") if name.startswith(("sd", "vd"))])
with open("/proc/net/dev") as file:
    tried["interfaces"] = sorted(line.partition(":")[0].strip() for line in file if ":" in line)
(home / ".milk" / "probed").write_text(json.dumps(tried))
"""


def probed(manager: UserManager) -> dict[str, object]:
    """What the service may do, found out by another program in its place."""
    ran = manager.milkctl("learn", "who digs in sand finds sand")
    assert ran.returncode == 0, ran.stderr
    (manager.home / "probe.py").write_text(PROBE)
    manager.systemctl("stop", "milkd.service")
    manager.override(
        "[Service]\nType=oneshot\nRestart=no\nWatchdogSec=0\nExecReload=\nExecStart=\n"
        f"ExecStart={sys.executable} {manager.home}/probe.py\n"
    )
    manager.systemctl("start", "milkd.service")
    answer = manager.home / ".milk" / "probed"
    found: dict[str, object] = json.loads(answer.read_text())
    answer.unlink()
    return found


def test_the_service_has_no_internet(manager: UserManager) -> None:
    found = probed(manager)
    assert (found["store"], found["home"], found["socket"]) == ("done", "done", "done")
    assert (found["internet"], found["priority"]) == ("EAFNOSUPPORT", "EPERM")


def test_in_the_sandbox_the_store_alone_can_be_written(manager: UserManager) -> None:
    ran = manager.milkctl("service", "install", "--sandbox")
    assert ran.returncode == 0, ran.stderr
    assert "10-sandbox.conf: written" in ran.stdout
    try:
        if manager.milkctl("ping").returncode != 0:
            reason = manager.show("milkd.service", "ExecMainStatus")
            assert reason == "226", reason
            pytest.skip("no user namespaces here: the service ends with 226/NAMESPACE")
        found = probed(manager)
        assert (found["store"], found["home"], found["tmp"]) == ("done", "EROFS", "EROFS")
        assert (found["internet"], found["interfaces"]) == ("EAFNOSUPPORT", ["lo"])
        assert found["devices"] == 0
    finally:
        (manager.units / "milkd.service.d" / "10-sandbox.conf").unlink()
        manager.systemctl("daemon-reload")


def test_another_store_has_units_of_its_own(manager: UserManager) -> None:
    store = manager.home / "an other $store"
    answer = manager.asked("service", "install", "--store", str(store))
    unit = answer["unit"]
    assert re.fullmatch(r"milkd-[0-9a-f]{8}", unit)
    assert manager.milkctl("learn", "the moon is far", "--store", str(store)).returncode == 0
    assert manager.show(f"{unit}.service", "ActiveState") == "active"
    assert "(no" in manager.milkctl("recall", "moon").stdout
    gone = manager.asked("service", "uninstall", "--store", str(store))
    assert [file["state"] for file in gone["files"]] == ["removed", "removed"]
    assert not list(manager.units.glob(f"**/{unit}*"))
    assert "moon" in manager.milkctl("recall", "moon", "--store", str(store)).stdout
    assert manager.milkctl("stop", "--store", str(store)).stdout == "stopped; everything is saved\n"
    assert manager.milkctl("ping").returncode == 0


def test_what_the_user_wrote_is_never_lost(manager: UserManager) -> None:
    socket, service = manager.units / "milkd.socket", manager.units / "milkd.service"
    edited = service.read_text().replace("WatchdogSec=30", "WatchdogSec=40")
    service.write_text(edited)
    answer = manager.asked("service", "install")
    files = {Path(file["path"]).name: file for file in answer["files"]}
    assert files["milkd.service"]["state"] == "replaced"
    assert Path(files["milkd.service"]["kept"]).read_text() == edited
    assert files["milkd.socket"]["state"] == "unchanged"
    service.write_text(edited)
    gone = manager.milkctl("service", "uninstall")
    assert gone.returncode == 0, gone.stderr
    assert not socket.exists()
    assert not service.exists()
    assert (manager.units / "milkd.service.kept-2").read_text() == edited
    assert not list(manager.units.glob("*.wants/milkd.socket"))
    own = "[Socket]\nListenStream=%t/milkd/milkd.sock\n"
    socket.write_text(own)
    assert "milkd.socket: left" in manager.milkctl("service", "uninstall").stdout
    assert socket.read_text() == own
    answer = manager.asked("service", "install")
    assert answer["installed"]
    assert (manager.units / "milkd.socket.kept-1").read_text() == own


def gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


def pid_of(manager: UserManager) -> int:
    """The daemon's, by its own word."""
    code = "import milkd; print(milkd.connect(autostart=False).hello()['pid'])"
    return int(manager.run(sys.executable, "-c", code).stdout)
