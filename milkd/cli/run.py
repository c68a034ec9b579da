"""One command of `milkctl`: find the verb, read its options, ask, print."""

from __future__ import annotations

import os
import sys

from milkd.cli import quick, verbs
from milkd.cli.output import Output, visible
from milkd.client import Client
from milkd.errors import Ambiguous, ConnectionLost, DaemonUnreachable, MilkdError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkd.cli.command import Command, Options

__all__ = ["run"]

DONE, REFUSED, USAGE, NO_DAEMON = 0, 1, 2, 3


def run(arguments: list[str]) -> int:
    """Run one command; returns the exit code."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a TextIO may lack it
    verb, rest = _split(arguments)
    if verb is None:
        return _without_verb(rest)
    command = verbs.command(verb)
    if command is None:
        meant = verbs.resembling(verb)
        hint = f"; did you mean {meant}?" if meant else ""
        return _complain(f"no such verb: {visible(verb)}{hint}\nsee: milkctl --help", USAGE)
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
    if arguments == ["--version"]:
        from milkd import __version__

        sys.stdout.write(f"milkctl {__version__}\n")
        return DONE
    return _complain("a verb is missing\nsee: milkctl --help", USAGE)


def _execute(command: Command, options: Options) -> int:
    """Ask and print; whatever goes wrong is told in a sentence."""
    out = Output.standard()
    session = options.session or os.environ.get("MILK_SESSION") or None
    client = Client(
        options.socket, store=options.store, session=session, autostart=command.autostart
    )
    try:
        answer = command.ask(client, options)
    except Ambiguous as error:
        return _complain(f"{error}{_candidates(client, command, options)}", REFUSED)
    except (DaemonUnreachable, ConnectionLost) as error:
        return _complain(f"{error}", NO_DAEMON)
    except (MilkdError, OSError) as error:
        return _complain(f"{error}", REFUSED)
    finally:
        client.close()
    if options.json:
        out.json(answer)
    else:
        command.say(answer, out, options)
    return command.verdict(answer)


def _candidates(client: Client, command: Command, options: Options) -> str:
    """Numbered, what the references of the command may mean."""
    lines = [""]
    for name in command.refs:
        given = getattr(options, name)
        try:
            found = client.resolve(given if isinstance(given, str) else " ".join(given))["percepts"]
        except MilkdError:  # this one fits nothing; another is ambiguous
            continue
        if len(found) > 1:
            lines += [
                f"{number}. {percept['id']}  {visible(percept['content'])}"
                for number, percept in enumerate(found, 1)
            ]
    return "\n".join(lines)


def _complain(message: str, code: int) -> int:
    """Print a message to standard error, its further lines indented."""
    text = "\n  ".join(visible(line) for line in message.split("\n"))
    sys.stderr.write(f"milkctl: {text}\n")
    return code
