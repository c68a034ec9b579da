"""How a command tells that it failed: in its own words, or with `--json` as JSON.

Imported only then.  A failure is a message on standard error, further lines of it indented;
with `--json` an object on standard output, `{"error": {"code": …, "message": …}}`.
"""

from __future__ import annotations

import errno

from milkd.cli.command import Declined, WrongUsage
from milkd.cli.output import Output, complain, visible
from milkd.errors import (
    Ambiguous,
    ConnectionLost,
    DaemonUnreachable,
    InvalidParams,
    MilkdError,
    NotFound,
    Unanswered,
    WireError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkd.cli.command import Command, Options
    from milkd.client import Client
    from milkd.shapes import Percept

__all__ = ["tell", "unprinted"]

REFUSED, USAGE, NO_DAEMON = 1, 2, 3
MOST_SHOWN = 20  # candidates

# The protocol's names, in the words of the command line.
PLACES = {
    "content": "TEXT",
    "text": "TEXT",
    "pattern": "TEXT",
    "prompt": "PROMPT",
    "ref": "REF",
    "from": "FROM",
    "to": "TO",
    "roles": "--role",
    "records": "FILE",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "consumer",
            "limit",
            "max",
            "max_bytes",
            "max_results",
            "min_confidence",
            "min_w",
            "producer",
            "related_to",
            "scope",
            "sort",
            "subject",
        )
    },
}
PHRASES = (
    ("archive_list shows", "`milkctl list --scope archive` shows"),
    ("session_list has them", "`milkctl session list` has them"),
    ("relation and related_to go together", "--relation and --related-to go together"),
    (
        "found a value with no UTF-8 or 64-bit form, expected valid text and numbers",
        "found bytes that are not UTF-8",
    ),
)


def tell(error: Exception, client: Client | None, command: Command, options: Options) -> int:
    """Tell what went wrong; returns the exit code."""
    if isinstance(error, WrongUsage):
        return complain(f"{error}", USAGE)
    candidates: list[Percept] = []
    if isinstance(error, (Ambiguous, NotFound)) and client is not None:
        candidates = _candidates(client, command, options, unclear=isinstance(error, Ambiguous))
    if options.json:
        Output.standard().json({"error": _as_json(error, candidates)})
    else:
        notes = getattr(error, "__notes__", [])
        complain("\n".join([_head(error, candidates), *_listed(candidates), *notes]), REFUSED)
    unreachable = isinstance(error, (DaemonUnreachable, ConnectionLost, Unanswered))
    return NO_DAEMON if unreachable else REFUSED


def unprinted(error: OSError) -> None:
    """Tell that the answer could not be printed, and what is noted with the error."""
    why = "it is closed" if error.errno == errno.EBADF else error.strerror
    notes = getattr(error, "__notes__", [])
    complain("\n".join([f"cannot write to standard output: {why}", *notes]), REFUSED)


def _said(error: Exception) -> str:
    """The error's sentence."""
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror or error}"
    text = f"{error}"
    if isinstance(error, InvalidParams):
        name, rest = error.argument.partition(".")[::2]
        if name in PLACES:
            place = f"{PLACES[name]} {rest}" if rest else PLACES[name]
            text = place + text.removeprefix(error.argument)
    for phrase, ours in PHRASES:
        text = text.replace(phrase, ours)
    return text


def _code(error: Exception) -> str:
    """The protocol's code, or a name of the same kind for what happened on this side."""
    if isinstance(error, WireError):
        return error.code
    if not isinstance(error, (MilkdError, Declined)):
        return "system_error"
    name = type(error).__name__
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)[1:]


def _as_json(error: Exception, candidates: list[Percept]) -> dict[str, object]:
    told: dict[str, object] = {"code": _code(error), "message": _said(error)}
    if candidates:
        told["candidates"] = [
            {"id": percept["id"], "content": percept["content"]} for percept in candidates
        ]
    return told


def _head(error: Exception, candidates: list[Percept]) -> str:
    """The sentence, without the candidates in it if they are listed below."""
    if not candidates:
        return _said(error)
    if isinstance(error, NotFound):
        return f"{_said(error)}\nthese hold most of the words:"
    return f"{len(candidates)} percepts fit:"


def _listed(candidates: list[Percept]) -> list[str]:
    lines = [f"{each['id']}  {visible(each['content'])}" for each in candidates[:MOST_SHOWN]]
    more = len(candidates) - len(lines)
    return [*lines, f"and {more} more"] if more > 0 else lines


def _candidates(
    client: Client, command: Command, options: Options, *, unclear: bool
) -> list[Percept]:
    """What the first reference of the command that is ambiguous, or fits nothing, may mean."""
    for name in command.refs:
        given = getattr(options, name)
        ref = given if isinstance(given, str) else " ".join(given)
        try:
            found = client.resolve(ref)["percepts"]
            if unclear and len(found) > 1:
                return found
            if not unclear and not found:
                from milkd.cli.choosing import guesses

                return guesses(client, ref)
        except MilkdError:  # what is no reference at all, or the daemon is gone by now
            continue
    return []
