"""A client that pings until its input ends, and tells how long each answer took.

    python pinger.py SOCKET EVERY

A wait that is longer than the time from ping to ping counts for those as well that would have
begun during it.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time

PATIENCE = 60.0  # seconds
IDS = 128  # of one byte
LEAST = 100  # pings, however soon the input ends


def ping(sock: socket.socket, msgid: int) -> None:
    """One call."""
    sock.sendall(bytes([0x94, 0, msgid, 0xA4]) + b"ping\x90")
    expected = bytes([0x94, 1, msgid, 0xC0, 0x80])
    answer = b""
    while len(answer) < len(expected):
        data = sock.recv(len(expected) - len(answer))
        assert data, "the connection has ended"
        answer += data
    assert answer == expected, answer


def all_waits(longest: float, every: float) -> list[float]:
    """That wait, and those of the pings that there was no time for."""
    return [longest - late * every for late in range(int(longest / every) + 1)]


def main() -> None:
    path, every = sys.argv[1], float(sys.argv[2])
    waits: list[float] = []
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE)
        sock.connect(path)
        ping(sock, 0)
        print("ready", flush=True)
        number = 0
        while number < LEAST or not select.select([sys.stdin], [], [], 0)[0]:
            time.sleep(every)
            begun = time.monotonic()
            ping(sock, number % IDS)
            waits += all_waits(time.monotonic() - begun, every)
            number += 1
    print(json.dumps(waits))


if __name__ == "__main__":
    main()
