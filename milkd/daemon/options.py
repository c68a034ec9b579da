"""The command line of `milkd`."""

from __future__ import annotations

import argparse
import math
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import milkd
from milkd import paths
from milkd.daemon.fatal import EXIT_USAGE
from milkd.store.lock import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

IDLE_EXIT_S = 7200.0
"""Idle time after which a daemon stops that a service manager will start again."""
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says; paths are resolved, the socket's excepted."""

    store: str
    socket: str | None
    config: str
    idle_exit_s: float | None
    """None: not given; 0: never."""
    ready_fd: int | None
    lock_wait_s: float
    log_level: str


def parse(argv: Sequence[str]) -> Options:
    """Read the command line; a wrong one ends the process with `EXIT_USAGE`."""
    given = parser().parse_args(argv)
    return Options(
        store=paths.store_directory(given.store),
        socket=given.socket,
        config=paths.config_path(given.config),
        idle_exit_s=given.idle_exit,
        ready_fd=given.ready_fd,
        lock_wait_s=given.lock_wait,
        log_level=given.log_level.upper(),
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"milkd: {message}\n")


def parser() -> argparse.ArgumentParser:
    """What reads the command line and writes `--help`."""
    made = _Parser(prog="milkd", description="Keeps a memory of percepts and serves it.")
    add = made.add_argument
    add("--store", metavar="DIR", help="the store (default: ~/.milk/memory)")
    add("--socket", metavar="PATH", help="where to listen (default: by the store's path)")
    add("--config", metavar="FILE", help="the config file (default: ~/.milk/config.json)")
    add(
        "--idle-exit",
        metavar="SECONDS",
        type=_seconds,
        help="stop after so long without a connection; 0: never (default: "
        f"{IDLE_EXIT_S:g} when a service manager passes the socket, else never)",
    )
    add("--foreground", action="store_true", help="stay in the foreground, as it always does")
    add("--ready-fd", metavar="N", type=_descriptor, help="write a line there once serving")
    add(
        "--lock-wait",
        metavar="SECONDS",
        type=_seconds,
        default=PATIENCE,
        help="how long a daemon that is stopping may still hold the store (default: %(default)g)",
    )
    add("--log-level", choices=LEVELS, default="info", help="default: %(default)s")
    add("--version", action="version", version=f"milkd {milkd.__version__}")
    return made


def _seconds(text: str) -> float:
    with suppress(ValueError):
        value = float(text)
        if math.isfinite(value) and value >= 0:
            return value
    raise argparse.ArgumentTypeError(f"found {text!r}, expected a number of seconds, 0 or more")


def _descriptor(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"found {text!r}, expected the number of a descriptor")
