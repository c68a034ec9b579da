"""Commands that state facts; one of them, record, is what agents run most."""

from __future__ import annotations

from milkd.cli.command import Command, always
from milkd.cli.output import percent, short, spoken, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client
    from milkd.shapes import Edge, Learned, Outcome

__all__ = ["COMMANDS", "REF", "RELATIONS", "arrow"]

REF = "id, four or more of its first digits (with or without #), or a text that fits one fact only"
RELATIONS = ("extends", "updates", "derives", "contradicts")


def _record(client: Client, options: Options) -> Outcome:
    options.words = [spoken(options.words)]
    return client.record(
        options.words[0],
        producer=options.producer,
        consumer=options.consumer,
        subject=options.subject,
        roles=dict(options.role) if options.role else None,
        core=options.core or None,
        relation=options.relation,
        related_to=options.related_to,
    )


def _say_outcome(outcome: Outcome, out: Output, options: Options) -> None:
    if outcome["status"] == "inserted":
        out.line(f"recorded {short(outcome['id'])} ({outcome['scope']}, w {outcome['w']:.2f})")
    elif options.core:
        _say_known_for_good(outcome, out, options.words[0])
    else:
        _say_known(outcome, out)
    if (differs := outcome.get("differs")) and not options.core:
        said = ("new words", differs["new"]), ("words left out", differs["old"])
        out.line("  " + "; ".join(f"{what}: {_words(words)}" for what, words in said if words))
    if look_alike := outcome.get("look_alike"):
        stored = "stored beside" if outcome["status"] == "inserted" else "not held for"
        out.line(
            f"  {stored} {short(look_alike['id'])} {visible(look_alike['content'])}: "
            f"{visible(look_alike.get('reason', 'another fact'))}"
        )
    if edge := outcome.get("edge"):
        out.line(f"  {arrow(edge)}")
    if "masked" in outcome:
        out.line(f"  masked: {', '.join(outcome['masked'])}")
    if "edge_error" in outcome:
        reason = outcome["edge_error"].partition(": ")[2]  # without its code
        out.line(f"  recorded without its relation: {visible(reason)}")


def _say_known(outcome: Outcome, out: Output) -> None:
    """What a restatement found, and what it did."""
    did = {
        "echoed": "repeated, nothing strengthened",
        "revived": "brought back from the archive",
    }
    what = did.get(outcome["status"], "reinforced")
    content = visible(outcome["existing"]["content"]) if "existing" in outcome else ""
    out.line(
        f"already known — {what} ({percent(outcome['similarity'])} similar): "
        f"{short(outcome['id'])} {content}, w {outcome['w']:.2f}"
    )


def _words(words: list[str]) -> str:
    return visible(", ".join(words))


def _say_known_for_good(outcome: Outcome, out: Output, content: str) -> None:
    """What stating for good made of a known fact: it has these words now, and other ranks."""
    out.line(
        f"already known — now core and global: "
        f"{short(outcome['id'])} {visible(content)}, w {outcome['w']:.2f}"
    )
    if "existing" in outcome and (before := outcome["existing"]["content"]) != content:
        out.line(f"  it was ({percent(outcome['similarity'])} similar): {visible(before)}")


def _learn(client: Client, options: Options) -> Learned:
    options.words = [spoken(options.words)]
    return client.learn(options.words[0], subject=options.subject)


def _say_learned(outcome: Learned, out: Output, options: Options) -> None:
    if outcome["status"] == "inserted":
        out.line(f"learned: {short(outcome['id'])}, w {outcome['w']:.2f}")
    else:
        _say_known_for_good(outcome, out, options.words[0])


def arrow(edge: Edge) -> str:
    """An edge on a line."""
    return f"{short(edge['from'])} {visible(edge['relation'])} {short(edge['to'])}"


def _record_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="TEXT", help="the fact; - reads standard input")
    parser.add_argument(
        "--producer", help="who asserts it: user, primary (default), escalation or system"
    )
    parser.add_argument("--consumer", help="whom it is for: primary or escalation (default: all)")
    parser.add_argument("--subject", help="what it is about")
    parser.add_argument(
        "--role",
        action="append",
        type=_role,
        metavar="NAME=TEXT",
        help="action, agent, recipient, theme, when or where; may be repeated",
    )
    parser.add_argument("--core", action="store_true", help="make it global and never fading")
    parser.add_argument("--relation", help=f"how it bears on another: {', '.join(RELATIONS)}")
    parser.add_argument("--related-to", metavar="REF", help=f"that other: {REF}")


def _role(text: str) -> tuple[str, str]:
    from argparse import ArgumentTypeError

    name, equals, value = text.partition("=")
    if not equals:
        raise ArgumentTypeError(f"found {text!r}, expected NAME=TEXT")
    return name, value


def _learn_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="TEXT", help="the fact; - reads standard input")
    parser.add_argument("--subject", help="what it is about")


COMMANDS = {
    "record": Command(
        _record,
        _say_outcome,
        _record_arguments,
        changes=always,
        about="State a fact.  A fact that is known already in other words is reinforced instead,\n"
        "unless an agent repeats what it was just shown.  One that only looks like a known one\n"
        "(another number, a negation) is stored beside it, and the answer says why.\n"
        "w is its strength, 0 to 1; with a session it is the session's, until it is promoted.",
    ),
    "learn": Command(
        _learn,
        _say_learned,
        _learn_arguments,
        changes=always,
        about="State a fact for good: it is global, has strength 1 and never fades.",
    ),
}
