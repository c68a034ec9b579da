"""Processes that all want the same socket, at the same moment, again and again.

    python starters.py DIRECTORY COUNT

Each line on standard input is a kind of thing to find at the path; the answer is a line of
JSON with what each starter met.  The starters stay the same processes from round to round,
since forking costs more than a race lasts; what they do is what `milkd` does.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from pathlib import Path

from milkd.daemon.address import Address
from milkd.errors import AlreadyRunning, ConfigError


def main() -> None:
    """Answer every line."""
    directory, count = Path(sys.argv[1]), int(sys.argv[2])
    starters = [_fork(directory, number) for number in range(count)]
    for line in sys.stdin:
        kind = line.strip()
        _lay(directory, kind)
        for starter in starters:
            starter.sendall(b"g")
        met = [json.loads(starter.recv(4096)) for starter in starters]
        answering = _answering(directory / "s")
        found = _found(directory / "s")
        for starter in starters:
            starter.sendall(b"e")
        for starter in starters:
            starter.recv(1)
        print(json.dumps({"met": met, "answering": answering, "found": found}), flush=True)


def _fork(directory: Path, number: int) -> socket.socket:
    """A process that is told to begin and to end."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        while theirs.recv(1) == b"g":
            _start(directory, number, theirs)
        os._exit(0)
    theirs.close()
    return ours


def _start(directory: Path, number: int, told: socket.socket) -> None:
    """Take the path, tell about it, and hold it until told to end."""
    address = Address(str(directory / "s"), f"/store-{number}")
    listening = None
    try:
        listening = address.take()
        met = ["serves", number]
    except (AlreadyRunning, ConfigError) as error:
        met = [type(error).__name__, str(error)]
    told.sendall(json.dumps(met).encode())
    if listening is None:
        told.recv(1)
    else:
        with listening:
            told.recv(1)
            address.remove()
    address.unlock()
    told.sendall(b"d")


def _lay(directory: Path, kind: str) -> None:
    """Have that at the path."""
    path = directory / "s"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700)
    if kind == "file":
        path.write_text("precious")
    elif kind == "directory":
        path.mkdir()
        (path / "precious").touch()
    elif kind in ("stale", "symlink"):
        where = directory / "elsewhere" if kind == "symlink" else path
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(where))
        if kind == "symlink":
            path.symlink_to("elsewhere")
    elif kind == "dangling":
        path.symlink_to("nowhere")


def _answering(path: Path) -> bool:
    """Whether somebody listens there."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def _found(path: Path) -> str:
    """What is at the path."""
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if path.is_dir():
        return f"directory of {' '.join(os.listdir(path))}"
    return path.read_text() if path.is_file() else "socket" if path.is_socket() else "nothing"


if __name__ == "__main__":
    main()
