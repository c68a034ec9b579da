"""One command of `milkctl`: find the verb, read its options, ask, print."""

from __future__ import annotations

import os
import sys

from milkd.cli import quick, verbs
from milkd.cli.command import Declined, WrongUsage
from milkd.cli.output import Output, complain, visible
from milkd.client import Client
from milkd.errors import MilkdError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkd.cli.command import Command, Options

__all__ = ["run"]

DONE, USAGE = 0, 2
DONE_UNSEEN = "what was asked for is done all the same"
NEVER_EMPTY = ("session", "store", "socket")


def run(arguments: list[str]) -> int:
    """Run one command; returns the exit code."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a TextIO may lack it
    verb, rest = _split(arguments)
    while verb == "help":
        verb, rest = _split(rest)[0], ["--help"]
    if verb is None:
        return _without_verb(rest)
    command = verbs.command(verb)
    if command is None:
        meant = verbs.resembling(verb)
        hint = f"; did you mean {meant}?" if meant else ""
        return complain(f"no such verb: {visible(verb)}{hint}\nsee: milkctl --help", USAGE)
    options = quick.parse(verb, rest)
    if options is None:
        from milkd.cli.parser import parse

        options = parse(verb, command, rest)
    return _execute(command, options)


def _split(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The verb, and everything around it."""
    skip = False
    for index, argument in enumerate(arguments):
        if skip:
            skip = False
        elif argument in quick.COMMON:
            skip = True
        elif not argument.startswith("-"):
            return argument, arguments[:index] + arguments[index + 1 :]
        elif argument != "--json" and argument.partition("=")[0] not in quick.COMMON:
            break
    return None, arguments


def _without_verb(arguments: list[str]) -> int:
    """Help and version; anything else wants a verb."""
    if not arguments or "-h" in arguments or "--help" in arguments:
        sys.stdout.write(verbs.overview() + "\n")
        return DONE
    if sorted(arguments) in (["--version"], ["--json", "--version"]):
        from milkd import __version__

        if "--json" in arguments:
            Output.standard().json({"version": __version__})
        else:
            sys.stdout.write(f"milkctl {__version__}\n")
        return DONE
    return complain("a verb is missing\nsee: milkctl --help", USAGE)


def _execute(command: Command, options: Options) -> int:
    """Ask and print; whatever goes wrong is told in a sentence."""
    client = None
    try:
        client = _client(command, options)
        answer = command.ask(client, options)
    except (MilkdError, OSError, WrongUsage, Declined) as error:
        from milkd.cli.failing import tell

        return tell(error, client, command, options)
    finally:
        if client is not None:
            client.close()
    try:
        _print(answer, command, options)
    except OSError as error:
        if command.changes(options):
            error.add_note(DONE_UNSEEN)
        raise
    return command.verdict(answer)


def _client(command: Command, options: Options) -> Client:
    """A client for the command.

    Raises:
        WrongUsage: A common option is empty, as of an unset variable in a script.
    """
    for name in NEVER_EMPTY:
        if getattr(options, name) == "":
            raise WrongUsage(f"--{name} is empty (an unset variable?); leave it out or name one")
    session = options.session or os.environ.get("MILK_SESSION") or None
    return Client(options.socket, store=options.store, session=session, autostart=command.autostart)


def _print(answer: object, command: Command, options: Options) -> None:
    out = Output.standard()
    if options.json:
        out.json(answer)
    else:
        command.say(answer, out, options)
    sys.stdout.flush()
