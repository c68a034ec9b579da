"""Completion in a shell: what the word at the cursor may become.

One implementation for all shells, which reads the tables that the parsers are made of.
"""

from __future__ import annotations

from milkd.cli import quick, verbs
from milkd.cli.command import Command, Options, WrongUsage
from milkd.cli.output import visible
from milkd.cli.shells import FILES, SHELLS
from milkd.cli.table import fitted
from milkd.client import Client
from milkd.errors import MilkdError
from milkd.rpc.facts import CONSUMERS, PRODUCERS, RELATIONS
from milkd.rpc.recall import SCOPES, SORTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action, ArgumentParser
    from collections.abc import Iterable, Iterator, Sequence

    from milkd.cli.output import Output
    from milkd.shapes import Percept

__all__ = ["COMMANDS", "candidates"]

PATHS = ("FILE", "DIR", "PATH")  # metavars of such arguments
FACTS = 500  # of a scope, the most that the daemon gives at once
PATIENCE = 1.0  # seconds that somebody who pressed Tab waits
ABOUT = 60  # columns of what a candidate is
SHORT = 8  # digits of an id, unless two facts begin with the same
CHOICES: dict[str, Sequence[str]] = {
    "producer": PRODUCERS,
    "consumer": CONSUMERS,
    "relation": RELATIONS,
    "scope": SCOPES,
    "sort": SORTS,
}
GLOBAL_OPTIONS = {
    "--session": "session to work in",
    "--store": "directory of the memory",
    "--socket": "socket of the daemon",
    "--json": "print the daemon's answer as it is",
    "--help": "print help",
}


def candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What the last word may become, each with what it is.

    Args:
        words: Those behind `milkctl` up to the cursor; the last one may be empty.
    """
    *before, current = words or [""]
    verb, rest = _verb_of(before)
    if before and before[-1] in quick.COMMON:
        yield from _sessions(words, current) if before[-1] == "--session" else [(FILES, "")]
    elif verb is None:
        yield from _fitting(_first_words(current), current)
    elif (command := verbs.command(verb)) is not None:
        yield from _of_verb(verb, command, rest, words)


def _first_words(current: str) -> Iterator[tuple[str, str]]:
    if current.startswith("-"):
        yield from GLOBAL_OPTIONS.items()
        yield "--version", "print the version"
        return
    for group in verbs.GROUPS.values():
        yield from ((verb, summary) for verb, (_, summary) in group.items())
    yield "help", "tell more of a verb"


def _of_verb(
    verb: str, command: Command, rest: Sequence[str], words: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What fits behind a verb: the value of an option, an option, or the next argument."""
    from milkd.cli.parser import build

    current = words[-1]
    actions = build(verb, command)._actions
    options = {name: action for action in actions for name in action.option_strings}
    last = options.get(rest[-1]) if rest else None
    if last is not None and last.nargs != 0:
        yield from _values(last, command, words)
    elif current.startswith("-"):
        names = [(action.option_strings[-1], action) for action in actions if action.option_strings]
        yield from _fitting(((name, _help(action)) for name, action in names), current)
    elif (action := _argument(actions, options, rest)) is not None:
        yield from _values(action, command, words)


def _argument(
    actions: Sequence[Action], options: dict[str, Action], rest: Sequence[str]
) -> Action | None:
    """The argument without a name that comes next; the last one goes on if it takes several."""
    given, skip = 0, False
    for word in rest:
        option = options.get(word)
        if skip:
            skip = False
        elif option is not None:
            skip = option.nargs != 0
        elif not word.startswith("-"):
            given += 1
    wanted = [action for action in actions if not action.option_strings]
    if given < len(wanted):
        return wanted[given]
    return wanted[-1] if wanted and wanted[-1].nargs in ("+", "*") else None


def _values(action: Action, command: Command, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What an option or an argument takes, as far as that is known."""
    current = words[-1]
    if action.dest in command.refs or action.dest == "related_to":
        yield from _facts(words, current)
    elif choices := action.choices or CHOICES.get(action.dest, ()):
        yield from _fitting(((str(choice), "") for choice in choices), current)
    elif action.metavar in PATHS:
        yield FILES, ""


def _facts(words: Sequence[str], current: str) -> Iterator[tuple[str, str]]:
    """Ids with their contents: those that begin so, else those whose content holds the word."""
    found = _asked(words)
    digits = current.removeprefix("#").lower()
    fitting = [percept for percept in found if percept["id"].startswith(digits)]
    if not fitting:
        held = current.casefold()
        fitting = [percept for percept in found if held in percept["content"].casefold()]
    heads = [percept["id"][:SHORT] for percept in found]
    for percept in fitting:
        ident = percept["id"]
        alone = heads.count(ident[:SHORT]) == 1 and len(digits) <= SHORT
        yield ident[:SHORT] if alone else ident, percept["content"]


def _asked(words: Sequence[str]) -> list[Percept]:
    """The facts that a running daemon knows; none if none runs, and it is no use of them."""
    with _client(words) as client:
        shelves = client.outlook(limit=FACTS)["scopes"]
    return [percept for shelf in reversed(shelves) for percept in shelf["percepts"]]


def _sessions(words: Sequence[str], current: str) -> Iterator[tuple[str, str]]:
    with _client(words) as client:
        names = [session["session"] for session in client.stats()["sessions"]]
    yield from _fitting(((name, "") for name in names), current)


def _client(words: Sequence[str]) -> Client:
    """A client of the daemon that the line is about, in its session."""
    import os

    given = dict(_common(words[:-1]))
    session = given.get("--session") or os.environ.get("MILK_SESSION") or None
    return Client(
        given.get("--socket"), store=given.get("--store"), session=session, timeout=PATIENCE
    )


def _common(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in quick.COMMON and (equals or index + 1 < len(words)):
            yield name, value if equals else words[index + 1]


def _verb_of(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The verb among words, and what is behind it."""
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word in quick.COMMON:
            skip = True
        elif not word.startswith("-") and word != "help":
            return word, words[index + 1 :]
    return None, ()


def _fitting(known: Iterable[tuple[str, str]], current: str) -> Iterator[tuple[str, str]]:
    return (each for each in known if each[0].startswith(current))


def _help(action: Action) -> str:
    return (action.help or "").partition(";")[0]


def _complete(_client: Client, options: Options) -> list[tuple[str, str]] | str:
    """The script, or the candidates; whatever is wrong then, Tab prints no errors."""
    if options.shell in SHELLS:
        if options.words:
            raise WrongUsage(f"completion {options.shell} takes no further words")
        return SHELLS[options.shell]
    try:
        return list(candidates(options.words))
    except MilkdError:
        return []


def _say(answer: list[tuple[str, str]] | str, out: Output, _options: Options) -> None:
    if isinstance(answer, str):
        out.line(answer.removesuffix("\n"))
        return
    for name, about in answer:
        out.line(f"{name}\t{fitted(visible(about), ABOUT)}" if about else name)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=(*SHELLS, "candidates"))
    parser.add_argument("words", nargs="*", metavar="WORD", help="what candidates are wanted for")


COMMANDS = {
    "completion": Command(
        _complete,
        _say,
        _arguments,
        about="Print what makes a shell complete verbs, options, their values, and ids, with what\n"
        "the facts say.\n"
        '  bash, in ~/.bashrc:                   eval "$(milkctl completion bash)"\n'
        '  zsh, in ~/.zshrc behind compinit:     eval "$(milkctl completion zsh)"\n'
        "  fish, in ~/.config/fish/config.fish:  milkctl completion fish | source\n"
        "candidates is what these ask for: the words of a line behind --, up to the cursor.",
        autostart=False,
    ),
}
