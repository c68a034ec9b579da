"""Commands that look at facts without using them."""

from __future__ import annotations

import sys

from milkd.cli.command import Command
from milkd.cli.numbers import COUNT, PAGE, STRENGTH, told
from milkd.cli.output import counted, duration, percent, short, spoken, visible
from milkd.cli.stating import REF
from milkd.cli.table import Column, draw
from milkd.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable
    from typing import TypeVar

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client
    from milkd.shapes import Alike, Detail, Edge, Explanation, Page, Percept

    Read = TypeVar("Read")

__all__ = ["COMMANDS", "say_explanation"]

MOST = 500  # percepts, the most that the daemon gives at once
LABEL = 11  # columns of a label in `show`


def _list(client: Client, options: Options) -> Page:
    """All pages as one, up to the limit."""
    left = options.limit
    page = _page(client, options, left, None)
    while (cursor := page.get("next")) and (left is None or len(page["percepts"]) < left):
        more = _page(client, options, left and left - len(page["percepts"]), cursor)
        page["percepts"] += more["percepts"]
        page.pop("next")
        if "next" in more:
            page["next"] = more["next"]
    return page


def _page(client: Client, options: Options, left: int | None, cursor: str | None) -> Page:
    return client.list(
        scope=options.scope,
        producer=options.producer,
        consumer=options.consumer,
        min_w=options.min_w,
        core=options.core,
        pattern=" ".join(options.pattern) or None,
        sort=options.sort,
        limit=MOST if left is None else min(left, MOST),
        cursor=cursor,
    )


def _say_list(page: Page, out: Output, _options: Options) -> None:
    if not page["percepts"]:
        out.line("(no percepts found)")
        return
    columns = [
        Column("ID"),
        Column("SCOPE", spare=4),
        Column("W", right=True),
        Column("CORE", spare=3),
        Column("PRODUCER", spare=2),
        Column("FOR", spare=1),
        Column("CONTENT", stretches=True),
    ]
    draw(out, columns, [_row(percept, out) for percept in page["percepts"]])
    if out.terminal and page["total"] > len(page["percepts"]):
        out.line(out.dim(f"{len(page['percepts'])} of {page['total']}"))


def _row(percept: Percept, out: Output) -> list[str]:
    return [
        short(percept["id"]) if out.terminal else percept["id"],
        percept["scope"],
        f"{percept['w']:.2f}",
        "core" if percept.get("core") else "",
        percept["producer"],
        percept.get("consumer", "all"),
        percept["content"],
    ]


def _show(client: Client, options: Options) -> Detail:
    return _read(client.show, client, options)


def _read(read: Callable[[str], Read], client: Client, options: Options) -> Read:
    """What a reference leads to; a person also gets the one fact that holds most of its words.

    A program does not: what a script meant is not to be guessed.
    """
    ref = " ".join(options.ref)
    try:
        return read(ref)
    except NotFound:
        if options.json or not sys.stdout.isatty():
            raise
        from milkd.cli.choosing import guesses

        if len(found := guesses(client, ref)) != 1:
            raise
    return read(found[0]["id"])


def _say_detail(percept: Detail, out: Output, _options: Options) -> None:
    out.line(out.bold(visible(percept["content"])))
    for label, text in _details(percept):
        out.line(f"  {out.dim(label.ljust(LABEL))} {visible(text)}")
    _say_edges(percept["id"], percept["edges"], out)


def _details(percept: Percept) -> list[tuple[str, str]]:
    """What is known of a percept, as labels and texts."""
    scope = f"session {percept['session']}" if "session" in percept else percept["scope"]
    lines = [
        ("id", percept["id"]),
        ("scope", scope + (", core" if percept.get("core") else "")),
        ("strength", f"{percept['w']:.4f} (score {percept['rank_score']:.4f})"),
        ("evidence", f"corroborated in {counted(percept.get('evidence', 0), 'run')}"),
        ("producer", f"{percept['producer']}, for {percept.get('consumer', 'all')}"),
        ("created", percept["created_at"]),
        ("updated", percept["updated_at"]),
    ]
    if "last_used_at" in percept:
        lines.append(("last used", percept["last_used_at"]))
    if "idle_seconds" in percept:
        lines.append(("idle", f"{duration(percept['idle_seconds'])} of running time"))
    if "archived_at" in percept:
        lines.append(("archived", f"{percept['archived_at']}, {percept.get('archived_reason')}"))
    lines += [(name, str(value)) for name, value in (percept.get("roles") or {}).items()]
    lines += [("also stated", f"{w['content']} ({w['at']})") for w in percept.get("wordings", [])]
    return lines


def _say_edges(ident: str, edges: list[Edge], out: Output) -> None:
    for edge in edges:
        ends = [f"{short(end)}" if end != ident else "this" for end in (edge["from"], edge["to"])]
        out.line(f"  {out.dim('relation'.ljust(LABEL))} {ends[0]} {edge['relation']} {ends[1]}")


def _explain(client: Client, options: Options) -> Explanation:
    return _read(client.explain, client, options)


def say_explanation(answer: Explanation, out: Output, _options: Options) -> None:
    """What holds for a fact and what comes next, for people."""
    percept = answer["percept"]
    out.line(f"{out.bold(visible(percept['content']))}  {out.dim(short(percept['id']))}")
    out.line(f"{percept['scope']}, w {answer['w_now']:.2f}")
    for title, sentences in (
        ("What holds:", answer["holds"]),
        ("What comes next:", answer["next"]),
    ):
        if sentences:
            out.line(title)
        for sentence in sentences:
            out.line(f"  - {visible(sentence)}")


def _similar(client: Client, options: Options) -> Alike:
    return client.similar(spoken(options.words), limit=options.limit)


def _say_alike(answer: Alike, out: Output, _options: Options) -> None:
    look_alike = answer.get("look_alike")
    for percept in answer["percepts"]:
        note = ""
        if percept["id"] == answer.get("duplicate"):
            note = "  ← stating the text would reinforce this one"
        elif look_alike and percept["id"] == look_alike["id"] and "reason" in look_alike:
            note = f"  ← another fact: {visible(look_alike['reason'])}"
        content = visible(percept["content"])
        out.line(
            f"{percent(percept['similarity']):>5}  {content}  {out.dim(short(percept['id']))}{note}"
        )
    if not answer["percepts"]:
        out.line("(nothing similar found)")


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="*", metavar="TEXT", help="only facts that hold this text")
    parser.add_argument("--scope", help="only global, session or archive")
    parser.add_argument("--producer", help="only what it asserted: user, primary, …")
    parser.add_argument("--consumer", help="leave out what is not for: primary or escalation")
    parser.add_argument("--min-w", type=told(STRENGTH), metavar="W", help="least strength, 0 to 1")
    core = parser.add_mutually_exclusive_group()
    core.add_argument(
        "--core", action="store_true", default=None, help="only facts that never fade"
    )
    core.add_argument("--no-core", action="store_false", dest="core", help="only facts that fade")
    parser.add_argument("--sort", help="score (default), w, updated_at or created_at")
    parser.add_argument(
        "--limit", type=told(COUNT), metavar="N", help="at most so many facts (default: all)"
    )


def _ref_argument(parser: ArgumentParser) -> None:
    parser.add_argument("ref", nargs="+", metavar="REF", help=REF)


def _similar_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="TEXT", help="- reads standard input")
    parser.add_argument(
        "--limit", type=told(PAGE), metavar="N", help="at most so many facts (default: 5)"
    )


COMMANDS = {
    "list": Command(
        _list,
        _say_list,
        _list_arguments,
        about="List what is visible: the global facts and the session's; W is the strength, 0 to\n"
        "1.  In a pipe: fields separated by tabs, full ids, whole contents, no heading; and in a\n"
        "content \\\\ is a backslash, \\n the end of a line, \\t a tab, and \\r, \\xHH and\n"
        "\\uHHHH what else would steer a terminal.  --json prints contents as they are.",
    ),
    "show": Command(
        _show,
        _say_detail,
        _ref_argument,
        about="Show a fact in full.  Times are UTC, strengths 0 to 1.",
        refs=("ref",),
    ),
    "explain": Command(
        _explain,
        say_explanation,
        _ref_argument,
        about="Say what holds for a fact and what comes next for it, in sentences.",
        refs=("ref",),
    ),
    "similar": Command(
        _similar,
        _say_alike,
        _similar_arguments,
        about="Search for facts like TEXT as recording it would, and change nothing.  Similarity\n"
        "is the share of words that two texts have in common, in per cent.",
    ),
}
