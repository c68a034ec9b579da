"""The manual pages, made of the help texts of the commands.

    python docs/manual.py

writes docs/man/milkctl.1 and docs/man/milkd.1.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

import milkd
from milkd.cli import parser, verbs
from milkd.daemon import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REVISED = "2026-12-01"  # when the texts were last gone through; mandoc wants a date
WHERE = Path(__file__).parent / "man"
VARIABLES = {
    "MILK_MEMORY_DIR": "Directory of the memory, instead of ~/.milk/memory.",
    "MILKD_SOCKET": "Socket of the daemon of that store.",
    "MILK_SESSION": "Session to work in.",
    "MILKD_NO_AUTOSTART": "If set, no daemon is started.",
    "NO_COLOR, FORCE_COLOR": "If set, colours are used nowhere; or also where output is no "
    "terminal.",
    "VISUAL, EDITOR": "Editor of milkctl edit.",
}
FILES = {
    "~/.milk/memory": "The memory: global.json, archive.json, and a file a session.",
    "~/.milk/config.json": "Settings, in the block memory.",
    "~/.milk/milkd.log": "The log of a daemon that a client started.",
}
CODES = {
    "0": "Done.",
    "1": "The daemon, or the user who was asked, said no.",
    "2": "Wrong usage.",
    "3": "No daemon, or none that answered.",
}


def main() -> None:
    """Write both pages."""
    WHERE.mkdir(exist_ok=True)
    for name, page in (("milkctl", milkctl()), ("milkd", daemon())):
        (WHERE / f"{name}.1").write_text(page, encoding="utf-8")


def milkctl() -> str:
    """The page of `milkctl`, verb by verb."""
    lines = _head("milkctl", "keep and ask the memory that agents share")
    lines += [".SH SYNOPSIS", f".B milkctl\n{_text(verbs.USAGE.partition('milkctl ')[2])}"]
    lines += [".SH DESCRIPTION", *_paragraphs(verbs.ABOUT)]
    lines += [".SH COMMON OPTIONS", *_options(_common())]
    for title, group in verbs.GROUPS.items():
        lines.append(f".SH {_text(title.upper())}")
        for verb in group:
            lines += _verb(verb)
    lines += [*_table("EXIT STATUS", CODES), *_table("ENVIRONMENT", VARIABLES)]
    lines += [*_table("FILES", FILES), ".SH SEE ALSO", ".BR milkd (1)"]
    return "\n".join(lines) + "\n"


def daemon() -> str:
    """The page of `milkd`."""
    made = options.parser()
    lines = _head("milkd", "the daemon that keeps the memory")
    lines += [".SH SYNOPSIS", ".B milkd\n[OPTION]..."]
    lines += [".SH DESCRIPTION", *_paragraphs(made.description or "")]
    lines += [
        "It stays in the foreground.",
        ".BR milkctl (1)",
        "starts it where none runs, so that it rarely has to be started by hand.",
    ]
    lines += [".SH OPTIONS", *_options(made._actions)]
    lines += [*_table("FILES", FILES), ".SH SEE ALSO", ".BR milkctl (1)"]
    return "\n".join(lines) + "\n"


def _head(name: str, about: str) -> list[str]:
    return [
        '.\\" Generated: python docs/manual.py',
        f'.TH {name.upper()} 1 {REVISED} "milkd {milkd.__version__}" "User Commands"',
        ".SH NAME",
        f"{name} \\- {_text(about)}",
    ]


def _common() -> list[argparse.Action]:
    command = verbs.command("ping")
    assert command is not None
    return parser.build("ping", command)._actions


def _verb(verb: str) -> Iterator[str]:
    """A section of a verb: how it is called, what it does, its own arguments."""
    command = verbs.command(verb)
    assert command is not None
    made = parser.build(verb, command)
    common = {action.dest for action in _common()}
    own = [action for action in made._actions if action.dest not in common]
    usage = argparse.HelpFormatter(f"milkctl {verb}", width=10_000)
    usage.add_usage(None, own, [], prefix="")
    yield f".SS {_text(usage.format_help().strip())}"
    yield from _paragraphs(command.about)
    yield from _options(action for action in own if action.help or action.option_strings)


def _options(actions: Iterable[argparse.Action]) -> Iterator[str]:
    for action in actions:
        if action.help == argparse.SUPPRESS:
            continue
        value = action.metavar or action.dest.upper()
        names = ", ".join(action.option_strings) or str(value)
        takes = action.option_strings and action.nargs != 0
        told = (action.help or "") % {"default": action.default, "prog": "milkd"}
        yield ".TP"
        yield f'.BI "{_text(names)} " {_text(str(value))}' if takes else f'.B "{_text(names)}"'
        yield _text(told)


def _table(title: str, rows: dict[str, str]) -> Iterator[str]:
    yield f".SH {title}"
    for name, told in rows.items():
        yield from (".TP", f'.B "{_text(name)}"', _text(told))


def _paragraphs(text: str) -> list[str]:
    """A text of some lines; one that is laid out in columns stays so."""
    lines = text.split("\n")
    filled = [line for line in lines if line and not re.search(r"\S {3,}\S|^ {2}", line)]
    if len(filled) == len(lines):
        return [_text(" ".join(lines))]
    return [".nf", *map(_text, lines), ".fi"]


def _text(text: str) -> str:
    """A text that roff prints as it is."""
    for char, name in (("\\", "\\e"), ("-", "\\-"), ("…", "..."), ('"', "\\(dq")):
        text = text.replace(char, name)
    # Sentences end lines, where roff knows them from abbreviations.
    text = re.sub(r"(?<=[.:;]) {2,}(?=\S)", "\n", text)
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


if __name__ == "__main__":
    main()
