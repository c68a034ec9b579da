"""The full parser of a verb's arguments, which also writes its `--help`."""

from __future__ import annotations

import argparse

from milkd.cli.command import Command, Options

__all__ = ["build", "parse"]


def parse(verb: str, command: Command, arguments: list[str]) -> Options:
    """The options; exits with a message where they are not right, as `--help` does."""
    parser = build(verb, command)
    if "--" in arguments:  # which the other method forgets when it comes to the words
        return parser.parse_args(arguments, Options())
    return parser.parse_intermixed_args(arguments, Options())


def build(verb: str, command: Command) -> argparse.ArgumentParser:
    """A parser of everything that may stand before or after the verb."""
    parser = argparse.ArgumentParser(
        prog=f"milkctl {verb}",
        description=command.about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
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
        "--json", action="store_true", help="print the daemon's answer as it is, as JSON"
    )
    return parser
