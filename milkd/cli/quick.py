"""The arguments of the commands that hooks run on every prompt, read by hand.

`argparse` takes longer to import than a recall takes in all.  What is out of the
ordinary (an unknown option, one given twice, a value that is no number, `--help`) is
left to it.
"""

from __future__ import annotations

from milkd.cli.command import Options
from milkd.cli.numbers import BLOCK, FACTS, PAGE, STRENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["COMMON", "parse"]

COMMON: dict[str, Callable[[str], object]] = {
    "--session": str,
    "--store": str,
    "--socket": str,
}
# By verb: options with a value and its type, and options without (which count as True).
VALUES: dict[str, dict[str, Callable[[str], object]]] = {
    "record": {
        "--producer": str,
        "--consumer": str,
        "--subject": str,
        "--relation": str,
        "--related-to": str,
    },
    "recall": {"--min-confidence": STRENGTH, "--max-results": PAGE, "--consumer": str},
    "inject": {"--consumer": str, "--max": FACTS, "--max-bytes": BLOCK},
}
FLAGS = {
    "record": ("--json", "--core"),
    "recall": ("--json", "--explain"),
    "inject": ("--json", "--explain", "--repeat"),
}
# What the full parser adds to these and this one doesn't read.
UNREAD = {"record": {"role": None}, "recall": {}, "inject": {}}


def parse(verb: str, arguments: list[str]) -> Options | None:
    """The options as the full parser would give them; None if it had better be asked."""
    if verb not in VALUES:
        return None
    values = COMMON | VALUES[verb]
    found: dict[str, object] = {_name(option): None for option in values}
    found |= {_name(option): False for option in FLAGS[verb]}
    found |= UNREAD[verb]
    words: list[str] = []
    try:
        _read(iter(arguments), values, FLAGS[verb], found, words)
    except (ValueError, StopIteration):
        return None
    return Options(words=words, **found) if words else None


def _read(
    rest: Iterator[str],
    values: dict[str, Callable[[str], object]],
    flags: tuple[str, ...],
    found: dict[str, object],
    words: list[str],
) -> None:
    """Sort the arguments into `found` and `words`.

    Raises:
        ValueError: An option is unknown or given twice, or its value is not of its type.
        StopIteration: The value of the last option is missing.
    """
    for argument in rest:
        if argument == "--":
            words.extend(rest)
        elif argument == "-" or not argument.startswith("-"):
            words.append(argument)
        elif argument in flags:
            found[_name(argument)] = True
        else:
            option, equals, value = argument.partition("=")
            if option not in values or found[_name(option)] is not None:
                raise ValueError(option)
            value = value if equals else next(rest)
            if not equals and value.startswith("-"):
                raise ValueError(value)
            found[_name(option)] = values[option](value)


def _name(option: str) -> str:
    return option[2:].replace("-", "_")
