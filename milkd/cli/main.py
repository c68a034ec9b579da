"""The entry point of `milkctl`: a process that ends as one is expected to."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["main"]

REFUSED = 1
INTERRUPTED, PIPE_CLOSED = 130, 141  # as a shell reports SIGINT and SIGPIPE


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code.

    Args:
        arguments: Those of the process by default, which ends after the command then.
    """
    if arguments is not None:
        return _guarded(arguments)
    # So short a process gains nothing from collecting cycles, neither while it imports nor,
    # with all objects frozen, at its end; that would take a tenth of its time.
    gc.disable()
    code = _guarded(sys.argv[1:])
    gc.freeze()
    return code


def _guarded(arguments: list[str]) -> int:
    """Run one command; nobody wants a traceback of Ctrl-C, of `| head` or of a full disk."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has enough
        code = PIPE_CLOSED
        _give_up(sys.stdout)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OSError as error:  # what the command itself met was told by it: this is the printing
        from milkd.cli.failing import unprinted

        code = REFUSED
        _give_up(sys.stdout)
        unprinted(error)
    try:
        sys.stderr.flush()
    except OSError:
        _give_up(sys.stderr)
    return code


def _run(arguments: list[str]) -> int:
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        from milkd.cli.streams import fill

        fill()
    from milkd.cli.run import run

    try:
        return run(arguments)
    except SystemExit as leaving:  # how argparse ends, for --help too
        return leaving.code if isinstance(leaving.code, int) else REFUSED


def _give_up(stream: TextIO) -> None:
    """Let what is left of a stream go nowhere, so that the interpreter's end is quiet too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
