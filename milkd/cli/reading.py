"""Commands that hooks run on every prompt: recall and inject.  Nothing slow is imported."""

from __future__ import annotations

from milkd.cli.command import Command
from milkd.cli.numbers import BLOCK, FACTS, PAGE, STRENGTH, told
from milkd.cli.output import short, spoken, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client
    from milkd.shapes import Candidate, Injection, Recalled

__all__ = ["COMMANDS"]


def _recall(client: Client, options: Options) -> Recalled:
    return client.query(
        spoken(options.words),
        min_confidence=options.min_confidence,
        max_results=options.max_results,
        consumer=options.consumer,
        explain=options.explain or None,
    )


def _say_recalled(answer: Recalled, out: Output, _options: Options) -> None:
    for percept in answer["percepts"]:
        ident = out.dim(short(percept["id"]))
        newer = percept.get("superseded_by")
        note = f"  (superseded by {short(newer)})" if newer else ""
        out.line(f"[{percept['w']:.2f}] {visible(percept['content'])}  {ident}{note}")
    for near in answer.get("neighbours", []):
        how = f"({visible(near['via'])} {short(near['of'])})"
        ident = out.dim(short(near["id"]))
        out.line(f"  ~ [{near['w']:.2f}] {visible(near['content'])}  {ident}  {how}")
    if not answer["percepts"]:
        out.line("(no relevant memories found)")
    _say_candidates(answer.get("candidates", []), out)


def _inject(client: Client, options: Options) -> Injection:
    return client.inject(
        spoken(options.words),
        consumer=options.consumer,
        repeat=options.repeat or None,
        max=options.max,
        max_bytes=options.max_bytes,
        explain=options.explain or None,
    )


def _say_injection(answer: Injection, out: Output, _options: Options) -> None:
    if answer["text"]:
        for line in answer["text"].removesuffix("\n").split("\n"):
            out.line(visible(line))
    _say_candidates(answer.get("candidates", []), out)


def _say_candidates(candidates: list[Candidate], out: Output) -> None:
    if candidates:
        from milkd.cli.explained import draw_candidates

        draw_candidates(candidates, out)


def _recall_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="+", metavar="TEXT", help="words to look for; - reads standard input"
    )
    parser.add_argument(
        "--min-confidence",
        type=told(STRENGTH),
        metavar="W",
        help="least strength, 0 to 1 (default: 0.4)",
    )
    parser.add_argument(
        "--max-results", type=told(PAGE), metavar="N", help="at most so many facts (default: 5)"
    )
    parser.add_argument("--consumer", help="leave out what is not for: primary or escalation")
    parser.add_argument(
        "--explain", action="store_true", help="say of every candidate why it is in or out"
    )


def _inject_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="PROMPT", help="- reads standard input")
    parser.add_argument("--consumer", help="the agent that it is for: primary or escalation")
    parser.add_argument(
        "--repeat", action="store_true", help="print again what the last turns of the session got"
    )
    parser.add_argument(
        "--max",
        type=told(FACTS),
        metavar="N",
        help="at most so many facts (default: percept_inject_max)",
    )
    parser.add_argument(
        "--max-bytes",
        type=told(BLOCK),
        metavar="BYTES",
        help="at most so many bytes, the whole block (default: percept_inject_max_bytes)",
    )
    parser.add_argument(
        "--explain", action="store_true", help="say of every candidate why it is in or out"
    )


COMMANDS = {
    "recall": Command(
        _recall,
        _say_recalled,
        _recall_arguments,
        about="Find facts that share words with TEXT: those that share most first, then the\n"
        "strongest and freshest.  Each is printed with its strength, 0 to 1, and its id; one that\n"
        "another fact updates stands behind that one and says so.",
    ),
    "inject": Command(
        _inject,
        _say_injection,
        _inject_arguments,
        about="Print the facts that bear on a prompt as a block to put before it; nothing if none\n"
        "do.  What the last turns of the session got is not repeated, unless it changed.",
    ),
}
