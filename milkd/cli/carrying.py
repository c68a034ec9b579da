"""Commands that carry a whole memory out of a store, and into one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from milkd.cli.command import Command
from milkd.cli.document import LISTS, gather, lines
from milkd.cli.files import replace
from milkd.cli.intake import Document, read
from milkd.cli.output import complain, counted, visible
from milkd.errors import InvalidParams

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client

__all__ = ["COMMANDS"]

PAGE = 500  # records, the most that the daemon gives at once
PATIENCE = 600.0  # seconds for a large import; the daemon applies all of it at one stroke
MOST_SHOWN = 20  # entries that are refused
REFUSED = 1
Answer = dict[str, Any]


def _export(client: Client, options: Options) -> Answer:
    """The document, in its file by now if it has one, and how many entries it has."""
    printed = options.file in (None, "-")
    if not printed:
        _check_place(client, options.file)
    made = gather(client.export(page=PAGE))
    answer: Answer = {"path": options.file} | _counts(made)
    if printed:
        options.json = False  # as it is, the document is JSON
        return answer | {"document": made}
    replace(options.file, _encoded(made))
    return answer


def _say_exported(answer: Answer, out: Output, options: Options) -> None:
    if "document" in answer:
        sys.stdout.buffer.writelines(_encoded(answer["document"]))
    else:
        counts = ", ".join(counted(answer[name], kind) for name, kind in KINDS if answer[name])
        out.line(
            f"exported to {visible(options.file)}: {counts or 'nothing, for there is nothing'}"
        )
    if answer["damaged"]:
        what = [f"{visible(each['scope'])}: {each['reason']}" for each in answer["damaged"]]
        complain("\n".join(["not everything could be exported", *what]), REFUSED)


def _exported_all(answer: Answer) -> int:
    return REFUSED if answer["damaged"] else 0


def _encoded(made: Answer) -> Iterator[bytes]:
    return (piece.encode() for piece in lines(made))


def _counts(made: Answer) -> Answer:
    scopes = made["scopes"].values()
    counts = {name: sum(len(scope.get(name, ())) for scope in scopes) for name in LISTS}
    return counts | {"damaged": made.get("damaged", [])}


def _check_place(client: Client, path: str) -> None:
    """Refuse a file among those of the store, where it would be taken for a session's."""
    directory = os.path.dirname(os.path.realpath(path))
    if directory == os.path.realpath(client.store):
        raise InvalidParams(
            path, "in the store itself it would be taken for a session; name another place"
        )


def _import(client: Client, options: Options) -> Answer:
    """Import all or, unless part of it is welcome too, nothing."""
    document = _document(options.file)
    client.timeout = PATIENCE
    if not (options.partial or options.dry_run):
        preview = _ask(client, document, dry_run=True)
        if preview["refused"]:
            return preview | {"accepted": 0, "dry_run": False}
    return _ask(client, document, dry_run=options.dry_run)


def _document(path: str) -> Document:
    if path == "-":
        return read("standard input", sys.stdin.buffer.read())
    with open(path, "rb") as file:
        return read(path, file.read())


def _ask(client: Client, document: Document, *, dry_run: bool) -> Answer:
    """How the import goes, with all that is refused by its place."""
    answer = client.import_(document.records, dry_run=dry_run)
    refused = document.refused | {
        document.sent[each["index"]]: each["reason"] for each in answer["refused"]
    }
    return {
        "accepted": len(document.places) - len(refused),
        "refused": [
            {"scope": p.scope, "list": p.where, "position": p.position, "name": p.name}
            | {"place": str(p), "reason": refused[p]}
            for p in document.places
            if p in refused
        ],
        "dry_run": dry_run,
        "total": len(document.places),
    }


def _say_imported(answer: Answer, out: Output, options: Options) -> None:
    total, refused = answer["total"], len(answer["refused"])
    taken = str(total) if not refused else f"{total - refused} of {total}"
    things = "entry" if taken == "1" else "entries"
    if answer["dry_run"]:
        out.line(f"{taken} {things} would be imported; nothing was changed")
    elif answer["accepted"] or not refused:
        out.line(f"imported {taken} {things}")
    if refused:
        _complain(answer, options)


def _complain(answer: Answer, options: Options) -> None:
    refused = answer["refused"]
    head = f"{len(refused)} of {answer['total']} entries refused"
    if not answer["dry_run"] and not answer["accepted"]:
        head = f"nothing was imported: {head}"
        if not options.partial and len(refused) < answer["total"]:
            head += "; --partial imports the others"
    told = [f"{each['place']}: {each['reason']}" for each in refused[:MOST_SHOWN]]
    if len(refused) > MOST_SHOWN:
        told.append(f"and {len(refused) - MOST_SHOWN} more; --json lists all")
    sys.stdout.flush()
    complain("\n".join([head, *told]), REFUSED)


def _imported_all(answer: Answer) -> int:
    return REFUSED if answer["refused"] else 0


def _changes(options: Options) -> bool:
    return not options.dry_run


def _export_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="where to write it (default: -, standard output)"
    )


def _import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="what export wrote; - reads standard input")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be refused, and change nothing"
    )
    parser.add_argument(
        "--partial", action="store_true", help="import what can be, even if something is refused"
    )


KINDS = (*((name, kind) for name, kind in LISTS.items() if name != "unreadable"),)

COMMANDS = {
    "export": Command(
        _export,
        _say_exported,
        _export_arguments,
        verdict=_exported_all,
        about="Write all that is remembered, every session and the archive included, as one JSON\n"
        "document that import reads.  FILE is replaced as a whole.  Running time and what a\n"
        "session was shown are the store's own affair and stay there.  Exit code 1 if a part of\n"
        "the store could not be read; the document says which.",
    ),
    "import": Command(
        _import,
        _say_imported,
        _import_arguments,
        verdict=_imported_all,
        changes=_changes,
        about="Add what export wrote.  Every entry must be new and valid; else nothing is\n"
        "imported, what is wrong is listed, and the exit code is 1.",
    ),
}
