"""Commands about sessions and passes."""

from __future__ import annotations

from milkd.cli.command import Command, WrongUsage, always
from milkd.cli.output import counted, duration, visible
from milkd.cli.table import Column, draw
from milkd.errors import InvalidParams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client
    from milkd.shapes import Pass, Report, Sessions

__all__ = ["COMMANDS"]

# What a pass counts, in the order of its steps, in words.
COUNTS = (
    ("decayed", "decayed"),
    ("global_decayed", "decayed globally"),
    ("edges_applied", "relation(s) applied"),
    ("pruned", "pruned"),
    ("archived", "archived"),
    ("promoted", "promoted"),
    ("promotion_deferred", "held back from promotion"),
    ("merged", "merged"),
    ("evicted", "evicted"),
)


def _session(client: Client, options: Options) -> Any:
    if options.action == "list":
        return _all_sessions(client)
    if options.id == "":
        raise WrongUsage("the id is empty (an unset variable?)")
    session = options.id or client.session
    if session is None:
        raise InvalidParams("session", "missing; give its id, --session or $MILK_SESSION")
    if options.action == "open":
        return client.session_open(session)
    if options.action == "close":
        return client.session_close(session)
    return client.session_drop(session)


def _all_sessions(client: Client) -> Sessions:
    answer = client.session_list()
    while cursor := answer.pop("next", None):
        more = client.session_list(cursor=cursor)
        answer["sessions"] += more["sessions"]
        if "next" in more:
            answer["next"] = more["next"]
    return answer


def _say_session(answer: Any, out: Output, options: Options) -> None:
    if options.action == "list":
        _say_sessions(answer, out)
    elif options.action == "open":
        running = duration(answer["running_seconds"])
        percepts = counted(answer["percepts"], "percept")
        out.line(f"open: {answer['session']}, {percepts}, ran {running} so far")
    elif options.action == "close":
        _say_report(answer, out, options)
    else:
        out.line(f"dropped, with {counted(answer['dropped'], 'percept')}")


def _say_sessions(answer: Sessions, out: Output) -> None:
    if not answer["sessions"]:
        out.line("(no sessions)")
        return
    columns = [
        Column("SESSION", stretches=True),
        Column("STATE"),
        Column("PERCEPTS", right=True),
        Column("RAN", right=True, spare=2),
        Column("CONNECTIONS", right=True, spare=1),
    ]
    rows = [
        [
            session["session"],
            "open" if session["open"] else "closed",
            str(session["percepts"]),
            duration(session["running_seconds"]),
            str(session["connections"]),
        ]
        for session in answer["sessions"]
    ]
    draw(out, columns, rows)


def _consolidate(client: Client, _options: Options) -> Report:
    return client.consolidate()


def _say_report(report: Report, out: Output, _options: Options) -> None:
    out.line(_counts(report))
    for name, part in report.get("sessions", {}).items():
        out.line(f"  session {visible(name)}: {_counts(part)}")


def _counts(report: Pass) -> str:
    """The counts that are not zero, and the running time that passed."""
    counts: dict[str, Any] = {**report}
    said = [
        f"{number} {words.replace('(s)', '' if number == 1 else 's')}"
        for key, words in COUNTS
        if (number := counts.get(key))
    ]
    return f"{', '.join(said) or 'nothing to do'}; {duration(counts['running_seconds'])} had run"


def _changes(options: Options) -> bool:
    return options.action in ("open", "close", "drop")


def _session_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("open", "close", "drop", "list"))
    parser.add_argument("id", nargs="?", metavar="ID", help="instead of --session")


def _no_arguments(_parser: ArgumentParser) -> None:
    pass


COMMANDS = {
    "session": Command(
        _session,
        _say_session,
        _session_arguments,
        changes=_changes,
        about="open   make a session ready (the first command in it does so too)\n"
        "close  end it, with a pass over it\n"
        "drop   delete it with all that is in it\n"
        "list   list those that the store knows; RAN is running time",
    ),
    "consolidate": Command(
        _consolidate,
        _say_report,
        _no_arguments,
        changes=always,
        about="One pass: facts fade by the running time since the last one, relations act, and\n"
        "what is due is promoted, archived or pruned.  Over global and the session;\n"
        "without a session, over global and every open one.",
    ),
}
