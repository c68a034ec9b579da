"""Commands that state and change facts."""

from __future__ import annotations

from milkd.cli.command import Command
from milkd.cli.output import percent, short, spoken, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client
    from milkd.shapes import Edge, Forgotten, Learned, Outcome, Percept, Related, Unrelated

__all__ = ["COMMANDS"]

REF = "id, four or more of its first digits (with or without #), or a text that fits one fact only"
RELATIONS = ("extends", "updates", "derives", "contradicts")


def _record(client: Client, options: Options) -> Outcome:
    return client.record(
        spoken(options.words),
        producer=options.producer,
        consumer=options.consumer,
        subject=options.subject,
        roles=dict(options.role) if options.role else None,
        core=options.core or None,
        relation=options.relation,
        related_to=options.related_to,
    )


def _say_outcome(outcome: Outcome, out: Output, _options: Options) -> None:
    if outcome["status"] == "inserted":
        out.line(f"recorded {short(outcome['id'])} ({outcome['scope']}, w {outcome['w']:.2f})")
    else:
        _say_known(outcome, out)
    if look_alike := outcome.get("look_alike"):
        reason = f", {look_alike['reason']}" if "reason" in look_alike else ""
        out.line(
            f"  beside a look-alike ({percent(look_alike['similarity'])} similar{reason}): "
            f"{short(look_alike['id'])} {visible(look_alike['content'])}"
        )
    if edge := outcome.get("edge"):
        out.line(f"  {_arrow(edge)}")
    if "edge_error" in outcome:
        out.line(f"  recorded without its relation: {visible(outcome['edge_error'])}")


def _say_known(outcome: Outcome, out: Output) -> None:
    """What a restatement found, and what it did."""
    did = {"echoed": "repeated, not strengthened", "revived": "brought back from the archive"}
    what = did.get(outcome["status"], "reinforced")
    content = visible(outcome["existing"]["content"]) if "existing" in outcome else ""
    out.line(
        f"already known — {what} ({percent(outcome['similarity'])} similar): "
        f"{short(outcome['id'])} {content}, w {outcome['w']:.2f}"
    )


def _learn(client: Client, options: Options) -> Learned:
    return client.learn(spoken(options.words), subject=options.subject)


def _say_learned(outcome: Learned, out: Output, _options: Options) -> None:
    out.line(f"{visible(outcome['message'])}: {short(outcome['id'])}, w {outcome['w']:.2f}")


def _edit(client: Client, options: Options) -> Percept:
    return client.edit(options.ref, spoken(options.words))


def _restore(client: Client, options: Options) -> Percept:
    return client.restore(" ".join(options.ref))


def _say_percept(percept: Percept, out: Output, _options: Options) -> None:
    ident = out.dim(short(percept["id"]))
    out.line(f"[{percept['w']:.2f}] {visible(percept['content'])}  {ident}")


def _forget(client: Client, options: Options) -> Forgotten:
    return client.forget(" ".join(options.ref), all=options.all or None)


def _say_forgotten(answer: Forgotten, out: Output, options: Options) -> None:
    out.line(f"forgotten {short(answer['id'])} {visible(answer['content'])}")
    if answer["others"]:
        fate = "forgotten too" if options.all else "still there (--all forgets them too)"
        out.line(f"  {answer['others']} of the same text elsewhere, {fate}")


def _relate(client: Client, options: Options) -> Related:
    return client.relate(options.source, options.relation, options.target)


def _unrelate(client: Client, options: Options) -> Unrelated:
    return client.unrelate(options.source, options.relation, options.target)


def _say_related(answer: Related, out: Output, _options: Options) -> None:
    out.line(_arrow(answer["edge"]) + ("" if answer["created"] else " (already)"))


def _say_unrelated(answer: Unrelated, out: Output, _options: Options) -> None:
    out.line(("no more: " if answer["removed"] else "was not: ") + _arrow(answer["edge"]))


def _arrow(edge: Edge) -> str:
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
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(text)
    return name, value


def _learn_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="TEXT", help="the fact; - reads standard input")
    parser.add_argument("--subject", help="what it is about")


def _edit_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help=REF)
    parser.add_argument(
        "words", nargs="+", metavar="TEXT", help="new words; - reads standard input"
    )


def _ref_argument(parser: ArgumentParser) -> None:
    parser.add_argument("ref", nargs="+", metavar="REF", help=REF)


def _forget_arguments(parser: ArgumentParser) -> None:
    _ref_argument(parser)
    parser.add_argument(
        "--all", action="store_true", help="forget also facts of the same text in other scopes"
    )


def _edge_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help=REF)
    parser.add_argument("relation", metavar="RELATION", help=", ".join(RELATIONS))
    parser.add_argument("target", metavar="TO", help="likewise")


COMMANDS = {
    "record": Command(
        _record,
        _say_outcome,
        _record_arguments,
        about="State a fact.  A fact that is known already in other words is reinforced instead.\n"
        "w is its strength, 0 to 1; with a session it is the session's, until it is promoted.",
    ),
    "learn": Command(
        _learn,
        _say_learned,
        _learn_arguments,
        about="State a fact for good: it is global, has strength 1 and never fades.",
    ),
    "edit": Command(
        _edit,
        _say_percept,
        _edit_arguments,
        about="Give a fact other words; its id, strength and evidence stay.",
        refs=("ref",),
    ),
    "forget": Command(
        _forget,
        _say_forgotten,
        _forget_arguments,
        about="Delete a fact and its relations.  If several fit, they are listed and none goes.",
        refs=("ref",),
    ),
    "restore": Command(
        _restore,
        _say_percept,
        _ref_argument,
        about="Bring a fact back from the archive into the global ones.",
        refs=("ref",),
    ),
    "relate": Command(
        _relate,
        _say_related,
        _edge_arguments,
        about="Say that FROM extends, updates, derives (from) or contradicts TO.",
        refs=("source", "target"),
    ),
    "unrelate": Command(
        _unrelate,
        _say_unrelated,
        _edge_arguments,
        about="Take back a relation.",
        refs=("source", "target"),
    ),
}
