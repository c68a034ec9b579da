"""Commands that say of what use facts were."""

from __future__ import annotations

from milkd.cli.command import Command, WrongUsage, always
from milkd.cli.numbers import TURN, told
from milkd.cli.output import Output, counted, short, spoken, visible
from milkd.cli.stating import REF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from milkd.cli.command import Options
    from milkd.client import Client
    from milkd.shapes import Judged, Judgement

__all__ = ["COMMANDS"]


def _turn_end(client: Client, options: Options) -> Judgement:
    if client.session is None:
        # Each call is a connection of its own, to which nothing was shown yet.
        raise WrongUsage("whose turn? name the session: --session ID, or $MILK_SESSION")
    return client.turn_end(
        spoken(options.words),
        turn=options.turn,
        tool_text=options.tool_text,
        user_reply=options.reply,
        consolidate=options.consolidate or None,
    )


def _say_turn(answer: Judgement, out: Output, _options: Options) -> None:
    if "turn" not in answer:
        out.line("(no turn waits to be judged)")
    else:
        out.line(f"turn {answer['turn']}: {counted(len(answer['judged']), 'fact')} judged")
    for judged in answer["judged"]:
        _say_judged(judged, out, _options)
    if "report" in answer:
        report = answer["report"]
        done = ", ".join(f"{report[name]} {name}" for name in ("promoted", "pruned", "archived"))
        out.line(f"pass: {done}")


def _confirm(client: Client, options: Options) -> Judged:
    return client.confirm(" ".join(options.ref))


def _reject(client: Client, options: Options) -> Judged:
    return client.reject(" ".join(options.ref))


def _say_judged(answer: Judged, out: Output, _options: Options) -> None:
    step = f" ({answer['step']:+.2f})" if answer["step"] else ""
    verdict = visible(answer["verdict"])
    out.line(f"{short(answer['id'])}  {verdict:<9}  importance {answer['importance']:.2f}{step}")


def _turn_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        metavar="RESPONSE",
        help="what the agent answered; - reads standard input",
    )
    parser.add_argument(
        "--turn",
        type=told(TURN),
        metavar="N",
        help="the turn that inject or recall gave (default: the oldest that was not judged)",
    )
    parser.add_argument(
        "--tool-text", metavar="TEXT", help="what the agent did: arguments of tools, diffs"
    )
    parser.add_argument("--reply", metavar="TEXT", help="what the user said to that")
    parser.add_argument(
        "--consolidate", action="store_true", help="let facts fade and promote those that are due"
    )


def _ref_argument(parser: ArgumentParser) -> None:
    parser.add_argument("ref", nargs="+", metavar="REF", help=REF)


COMMANDS = {
    "turn-end": Command(
        _turn_end,
        _say_turn,
        _turn_arguments,
        changes=always,
        about="Judge the facts that a turn showed by what the agent answered and did: used,\n"
        "unused or unknown, and by the user's short reply confirmed or rejected.  Each turn is\n"
        "judged once.  It moves the importance of a fact, which decides what comes first, and\n"
        "nothing else: no fact becomes truer by being used.",
    ),
    "confirm": Command(
        _confirm,
        _say_judged,
        _ref_argument,
        changes=always,
        about="Say that a fact was right and of use: it comes earlier.  Once a run counts.",
        refs=("ref",),
    ),
    "reject": Command(
        _reject,
        _say_judged,
        _ref_argument,
        changes=always,
        about="Say that a fact was wrong or out of place: it comes later, but stays (milkctl\n"
        "forget deletes one).  Once a run counts.",
        refs=("ref",),
    ),
}
