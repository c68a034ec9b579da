"""The entry point of `milkctl`: a process that ends as one is expected to."""

from __future__ import annotations

import gc
import os
import sys

__all__ = ["main"]

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
    """Run one command; nobody wants a traceback of Ctrl-C or of `| head`."""
    try:
        from milkd.cli.run import run

        code = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has enough; the interpreter must not complain at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return code
