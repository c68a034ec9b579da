"""Commands that change facts which are there."""

from __future__ import annotations

import sys

from milkd.cli.command import Command, WrongUsage, always
from milkd.cli.output import Output, short, spoken, visible
from milkd.cli.stating import REF, RELATIONS, arrow
from milkd.errors import Conflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from milkd.cli.command import Options
    from milkd.client import Client
    from milkd.shapes import Forgotten, Percept, Related, Unrelated

__all__ = ["COMMANDS"]


def _edit(client: Client, options: Options) -> Percept:
    if options.words:
        return client.edit(options.ref, spoken(options.words))
    if not _at_a_terminal():
        raise WrongUsage("edit needs TEXT, or - for standard input; on a terminal alone it may ask")
    from milkd.cli.editor import edited

    before = client.show(options.ref)
    with edited(before["content"]) as text:
        if client.show(before["id"])["content"] != before["content"]:
            raise Conflict("the fact was changed by somebody else meanwhile; nothing was changed")
        return client.edit(before["id"], text)


def _restore(client: Client, options: Options) -> Percept:
    return client.restore(" ".join(options.ref))


def _say_percept(percept: Percept, out: Output, _options: Options) -> None:
    ident = out.dim(short(percept["id"]))
    out.line(f"[{percept['w']:.2f}] {visible(percept['content'])}  {ident}")


def _forget(client: Client, options: Options) -> Forgotten:
    ref = " ".join(options.ref)
    if not options.yes and not options.json and _at_a_terminal():
        from milkd.cli.choosing import chosen

        ref = chosen(client, ref, what="forget")
    return client.forget(ref, all=options.all or None)


def _at_a_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stdout.isatty()


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
    out.line(arrow(answer["edge"]) + ("" if answer["created"] else " (already)"))


def _say_unrelated(answer: Unrelated, out: Output, _options: Options) -> None:
    out.line(("no more: " if answer["removed"] else "was not: ") + arrow(answer["edge"]))


def _edit_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help=REF)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="TEXT",
        help="new words; - reads standard input; without any, $VISUAL or $EDITOR is opened",
    )


def _ref_argument(parser: ArgumentParser) -> None:
    parser.add_argument("ref", nargs="+", metavar="REF", help=REF)


def _forget_arguments(parser: ArgumentParser) -> None:
    _ref_argument(parser)
    parser.add_argument(
        "--all", action="store_true", help="forget also facts of the same text in other scopes"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask first")


def _edge_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help=REF)
    parser.add_argument("relation", metavar="RELATION", help=", ".join(RELATIONS))
    parser.add_argument("target", metavar="TO", help="likewise")


COMMANDS = {
    "edit": Command(
        _edit,
        _say_percept,
        _edit_arguments,
        changes=always,
        about="Give a fact other words; its id, strength and evidence stay.  On a terminal the\n"
        "words may be left out: they are edited in $VISUAL, $EDITOR or vi then.  If they are\n"
        "left as they are, or empty, nothing is done; if they are refused, their file is kept.",
        refs=("ref",),
    ),
    "forget": Command(
        _forget,
        _say_forgotten,
        _forget_arguments,
        changes=always,
        about="Delete a fact and its relations.  If several fit, they are listed and none goes.\n"
        "On a terminal, a fact named by its text is shown and goes only if you say so; several,\n"
        "or those that hold most of the words where none fits, are numbered to choose from.",
        refs=("ref",),
    ),
    "restore": Command(
        _restore,
        _say_percept,
        _ref_argument,
        changes=always,
        about="Bring a fact back from the archive into the global ones.",
        refs=("ref",),
    ),
    "relate": Command(
        _relate,
        _say_related,
        _edge_arguments,
        changes=always,
        about="Say that FROM extends, updates, derives (from) or contradicts TO.",
        refs=("source", "target"),
    ),
    "unrelate": Command(
        _unrelate,
        _say_unrelated,
        _edge_arguments,
        changes=always,
        about="Take back a relation.",
        refs=("source", "target"),
    ),
}
