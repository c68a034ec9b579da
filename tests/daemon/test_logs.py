"""Where the daemon's words go."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from milkd.daemon.logs import LIMIT
from places import ROOT, Place
from torture.household import until

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = "import logging, os, sys\nfrom milkd.daemon import logs\n"


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        made.log.parent.mkdir()
        yield made


def run(place: Place, script: str, **how: str) -> subprocess.CompletedProcess[bytes]:
    """A script that has set up its log, with the log file as stderr unless that is a pipe."""
    program = HEAD + textwrap.dedent(script)
    command = [sys.executable, "-c", program]
    if how.pop("to", "file") == "pipe":
        return subprocess.run(command, env=place.env | how, capture_output=True, check=False)
    with place.log.open("ab") as log:
        return subprocess.run(command, env=place.env | how, stdout=log, stderr=log, check=False)


def kept(place: Place) -> list[Path]:
    return sorted(place.log.parent.glob("milkd.log*"))


def test_by_hand_it_is_stderr_with_time_and_level(place: Place) -> None:
    ran = run(place, "logs.set_up('WARNING'); logging.info('a'); logging.warning('b')", to="pipe")
    (line,) = ran.stderr.decode().splitlines()
    assert line.endswith("WARNING: b")
    assert line[:2] == "20"
    assert kept(place) == []


def test_a_file_is_rotated_while_it_is_written_and_stderr_goes_along(place: Place) -> None:
    run(
        place,
        """
        os.umask(0)
        logs.set_up("INFO")
        for number in range(4_500):
            logging.info("%05d %s", number, "x" * 1_000)
        print("from print", flush=True)
        os.write(2, b"the last words\\n")
        """,
    )
    assert [path.name for path in kept(place)] == ["milkd.log", "milkd.log.1", "milkd.log.2"]
    assert all(path.stat().st_size <= LIMIT + 100 for path in kept(place))
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept(place)[:2]} == {0o600}
    lines = [line for path in reversed(kept(place)) for line in path.read_text().splitlines()]
    assert lines[-2:] == ["from print", "the last words"]
    numbers = [int(line.split()[4]) for line in lines[:-2]]
    assert numbers == list(range(numbers[0], 4_500))


def test_the_last_words_of_the_interpreter_are_in_the_newest_file(place: Place) -> None:
    place.log.write_bytes(b"o" * (LIMIT + 1))
    ran = run(place, "logs.set_up('INFO'); logging.info('new'); os.abort()")
    assert ran.returncode < 0
    assert "Fatal Python error: Aborted" in place.log.read_text()
    assert [path.name for path in kept(place)] == ["milkd.log", "milkd.log.1"]


def test_a_file_that_is_deleted_or_rotated_by_others_is_followed(place: Place) -> None:
    run(
        place,
        f"""
        logs.set_up("INFO")
        logging.info("first")
        os.rename({str(place.log)!r}, {str(place.log)!r} + ".1")
        logging.info("second")
        os.write(2, b"third\\n")
        """,
    )
    newest, older = (path.read_text().splitlines() for path in kept(place))
    assert [line.split()[-1] for line in older] == ["first"]
    assert [line.split()[-1] for line in newest] == ["second", "third"]


def test_where_no_new_file_can_be_made_the_old_one_grows(place: Place) -> None:
    run(
        place,
        """
        logs.set_up("INFO")
        def refuse(old, new):
            raise OSError(13, "Permission denied")
        os.rename = refuse
        for number in range(1_200):
            logging.info("%05d %s", number, "x" * 1_000)
        """,
    )
    assert len(place.log.read_text().splitlines()) == 1_200


def test_the_journal_is_told_the_level_of_each_line(place: Place) -> None:
    script = """
        found = os.fstat(2)
        os.environ["JOURNAL_STREAM"] = f"{found.st_dev}:{found.st_ino}"
        logs.set_up("DEBUG")
        logging.warning("one\\ntwo")
        logging.debug("three")
    """
    said = run(place, script, to="pipe").stderr.decode().splitlines()
    assert said == ["<4>one", "<4>two", "<7>three"]


def test_of_an_exception_no_message_is_told(place: Place) -> None:
    script = """
        import threading
        logs.set_up("DEBUG")
        def fail(*_):
            raise ValueError("canary")
        try:
            fail()
        except ValueError:
            logging.exception("it failed")
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        class Falls:
            __del__ = fail
        Falls()
        logging.info("%d", "canary")
    """
    said = run(place, script, to="pipe").stderr.decode()
    assert said.count("ValueError") == 3
    assert said.count("in fail") == 3
    assert "canary" not in said


def upset(place: Place) -> None:
    """Send the daemon what makes it say something."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(place.socket))
        peer.sendall(b"\xc1" * 10)
        while peer.recv(4096):
            pass


def test_the_log_of_a_daemon_that_a_client_started_is_rotated_under_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(place.home))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with place.client(autostart=True) as client:
        pid = client.hello()["pid"]
        with place.log.open("ab") as log:
            log.write(b"o" * LIMIT)
        upset(place)
        until(lambda: len(kept(place)) == 2)
        upset(place)
        until(lambda: "connection" in place.log.read_text())
        assert Path(f"/proc/{pid}/fd/2").readlink() == place.log
        assert Path(f"/proc/{pid}/fd/1").readlink() == place.log
        assert [os.stat(path).st_mode & 0o777 for path in kept(place)] == [0o600, 0o600]
