"""Tables of why facts are in an answer or out of it, and the command that asks for one fact."""

from __future__ import annotations

from milkd.cli.command import Command
from milkd.cli.looking import say_explanation
from milkd.cli.output import Output, short, visible
from milkd.cli.stating import REF
from milkd.cli.table import Column, draw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from milkd.cli.command import Options
    from milkd.client import Client
    from milkd.shapes import Candidate, Whys

__all__ = ["COMMANDS", "draw_candidates"]

COLUMNS = (
    Column("IN"),
    Column("ID"),
    Column("HITS", right=True),
    Column("SCORE", right=True),
    Column("W", right=True, spare=2),
    Column("IMP", right=True, spare=3),
    Column("BYTES", right=True, spare=1),
    Column("WHY", stretches=True),
)


def draw_candidates(candidates: list[Candidate], out: Output) -> None:
    """One line a fact: whether it is in, its numbers, and the reason."""
    draw(out, list(COLUMNS), [_row("in" if each["in"] else "out", each) for each in candidates])


def _row(what: str, each: Candidate) -> list[str]:
    return [
        what,
        short(each["id"]),
        str(each["hits"]),
        f"{each['score']:.3f}",
        f"{each['w']:.2f}",
        f"{each['importance']:.2f}",
        str(each["bytes"]),
        each["reason"],
    ]


def _why(client: Client, options: Options) -> Any:
    if not options.prompt:
        return client.explain(options.ref)
    return client.why(options.ref, " ".join(options.prompt), consumer=options.consumer)


def _say_why(answer: Any, out: Output, options: Options) -> None:
    if options.prompt:
        _say_whys(answer, out)
    else:
        say_explanation(answer, out, options)


def _say_whys(answer: Whys, out: Output) -> None:
    percept = answer["percept"]
    out.line(f"[{percept['w']:.2f}] {visible(percept['content'])}  {out.dim(short(percept['id']))}")
    for verb, each in (("inject", answer["inject"]), ("recall", answer["query"])):
        comes = "comes" if each["in"] else "does not come"
        out.line(f"{verb}: {comes}: {visible(each['reason'])}")
        numbers = f"hits {each['hits']}, score {each['score']:.3f}, {each['bytes']} bytes"
        out.line(f"  {numbers}, importance {each['importance']:.2f}")


def _why_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help=REF)
    parser.add_argument(
        "prompt", nargs="*", metavar="PROMPT", help="what it would be injected for, or recalled by"
    )
    parser.add_argument("--consumer", help="the agent that asks: primary or escalation")


COMMANDS = {
    "why": Command(
        _why,
        _say_why,
        _why_arguments,
        about="Say whether a fact would be injected for PROMPT and recalled by it, and why or why\n"
        "not.  Nothing is shown or used by asking.  Without PROMPT it says what `explain` says.",
        refs=("ref",),
    ),
}
