"""The full parser of a verb's arguments, which also writes its `--help`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from milkd.cli.command import Command, Options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from _typeshed import SupportsWrite

__all__ = ["build", "parse"]


def parse(verb: str, command: Command, arguments: list[str]) -> Options:
    """The options; exits with a message where they are not right, as `--help` does."""
    parser = build(verb, command)
    if "--" in arguments:  # which the other method forgets when it comes to the words
        return parser.parse_args(arguments, Options())
    return parser.parse_intermixed_args(arguments, Options())


def build(verb: str, command: Command) -> argparse.ArgumentParser:
    """A parser of everything that may stand before or after the verb."""
    parser = _Parser(
        prog=f"milkctl {verb}",
        description=command.about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.register("action", None, _Once)  # None is the default action
    command.arguments(parser)
    common = parser.add_argument_group("common options")
    common.add_argument(
        "--session",
        metavar="ID",
        help="session to work in: 1 to 64 of A-Z a-z 0-9 . _ - (default: $MILK_SESSION)",
    )
    common.add_argument(
        "--store",
        metavar="DIR",
        help="directory of the memory (default: $MILK_MEMORY_DIR or ~/.milk/memory)",
    )
    common.add_argument(
        "--socket", metavar="PATH", help="socket of the daemon (default: the store's)"
    )
    common.add_argument(
        "--json",
        action="store_true",
        help="print the daemon's answer as it is, as JSON; an error too",
    )
    return parser


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print it, or fail: the inherited method keeps it to itself if the disk is full."""
        (file or sys.stdout).write(self.format_help())


class _Once(argparse.Action):
    """Store a value; an option that is given twice is a mistake, and which one counts a guess."""

    given = False

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        if self.option_strings and self.given:
            raise argparse.ArgumentError(self, "may be given once only")
        self.given = True
        setattr(namespace, self.dest, values)
