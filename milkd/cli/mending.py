"""Commands that bring a store back: what is damaged, and what was there before."""

from __future__ import annotations

import time

from milkd.cli.command import Command, WrongUsage
from milkd.cli.output import counted, visible
from milkd.cli.table import Column, draw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client

__all__ = ["COMMANDS"]

UNSETTLED = 1
MOST_SHOWN = 20  # facts of a kind
Answer = dict[str, "Any"]


def _repair(client: Client, options: Options) -> Answer:
    if (options.use is None) != (options.scope is None):
        raise WrongUsage("--use FILE and --scope SCOPE go together")
    if options.use is not None and options.accept_backup is not None:
        raise WrongUsage("either --accept-backup or --use")
    from milkd.upkeep.repair import Choice, repair

    scope, choice = options.accept_backup or options.scope, None
    if scope is not None:
        choice = Choice(scope, options.use)
    return repair(client.store, choice, dry_run=options.dry_run).to_json()


def _say_repaired(answer: Answer, out: Output, _options: Options) -> None:
    out.line(f"store {visible(answer['store'])}")
    _say_running(answer, out)
    for problem in answer["problems"]:
        out.line(out.bold(f"{visible(problem['file'])}: {visible(problem['sentence'])}"))
        for way in problem["ways"]:
            out.line(f"  {visible(way['command'])}")
            out.line(f"      {visible(way['effect'])}")
    for done in answer["done"]:
        out.line(f"{'would be done' if answer['dry_run'] else 'done'}: {visible(done)}")
    for kept in answer["kept"]:
        out.line(f"kept: {visible(kept)}")
    if answer["declined"]:
        out.line(f"not done: {visible(answer['declined'])}")
    waiting = sum(bool(problem["ways"]) for problem in answer["problems"])
    if waiting:
        out.line(f"{counted(waiting, 'file')} to choose for")
    elif not answer["problems"]:
        out.line("there is nothing to repair")


def _say_running(answer: Answer, out: Output) -> None:
    if answer["running"]:
        out.line(
            f"in the hands of {visible(answer['running'])}: what it has still to write or to take "
            "in may be told here too; nothing is changed as long as it runs (milkctl stop)"
        )


def _settled(answer: Answer) -> int:
    return 0 if answer["settled"] else UNSETTLED


def _backup(client: Client, options: Options) -> Answer:
    if options.action == "list":
        if options.which is not None or options.dry_run:
            raise WrongUsage("list takes a SCOPE at most")
        from milkd.upkeep.versions import versions

        found = versions(client.store, options.of)
        return {"store": client.store, "versions": [each.to_json() for each in found]}
    if options.of is None or options.which is None:
        raise WrongUsage("restore needs a SCOPE and WHICH, as `milkctl backup list` shows them")
    from milkd.upkeep.restoring import restore

    return restore(client.store, options.of, options.which, dry_run=options.dry_run).to_json()


def _say_backup(answer: Answer, out: Output, options: Options) -> None:
    if options.action == "list":
        _say_versions(answer, out, options)
    else:
        _say_restored(answer, out)


def _say_versions(answer: Answer, out: Output, options: Options) -> None:
    if not answer["versions"]:
        whose = f" of {visible(options.of)}" if options.of else ""
        out.line(f"(no backups{whose} in {visible(answer['store'])})")
        return
    columns = [
        Column("SCOPE", stretches=True),
        Column("WHICH"),
        Column("REPLACED", spare=1),
        Column("BYTES", right=True, spare=2),
        Column("FACTS", right=True),
        Column("ENTRY", right=True, spare=3),
        Column("STATE"),
        Column("KIND", spare=4),
    ]
    draw(out, columns, [_row(version) for version in answer["versions"]])
    for version in answer["versions"]:
        if version["problem"] and out.terminal:
            out.line(f"{visible(version['which'])}: {visible(version['problem'])}")


def _row(version: Answer) -> list[str]:
    useless = version["state"] == "useless"
    return [
        version["scope"],
        version["which"],
        time.strftime("%Y-%m-%d %H:%M", time.localtime(version["at"])),
        str(version["size"]),
        "" if useless else str(version["facts"]),
        str(version["seq"] or ""),
        STATES[version["state"]],
        version["kind"],
    ]


def _say_restored(answer: Answer, out: Output) -> None:
    name = f"{visible(answer['scope'])}.json"
    would = " would be" if answer["dry_run"] else ""
    out.line(f"{name}{would or ' is'} what {visible(answer['path'])} holds")
    _say_running(answer, out)
    for kind in ("added", "removed", "changed"):
        _say_facts(kind, answer[kind], out, would.removesuffix(" be"))
    edges, groups = answer["edges_added"] + answer["edges_removed"], answer["engrams_changed"]
    if edges or groups:
        out.line(f"besides: {counted(edges, 'relation')}, {counted(groups, 'group')}")
    if not (answer["added"] or answer["removed"] or answer["changed"]):
        out.line("no fact is added, removed or changed by that")
    for warning in answer["warnings"]:
        out.line(f"mind: {visible(warning)}")
    if answer["dry_run"]:
        out.line("what is there now would be kept in .milkd/quarantine, for seven days at least")
    if answer["kept"]:
        out.line(
            f"what was there before is kept for seven days at least: {visible(answer['kept'])}"
        )
    if answer["undo"]:
        out.line(f"to bring it back: {visible(answer['undo'])}")


def _say_facts(kind: str, facts: list[Answer], out: Output, would: str) -> None:
    if not facts:
        return
    verb = f"would be {kind}" if would else kind
    out.line(f"{counted(len(facts), 'fact')} {verb}:")
    for fact in facts[:MOST_SHOWN]:
        was = f"  (was: {visible(fact['was'])})" if "was" in fact else ""
        fields = f"  ({', '.join(fact['fields'])})" if "fields" in fact and not was else ""
        out.line(f"  {SIGNS[kind]} #{fact['id'][:8]} {visible(fact['content'])}{was}{fields}")
    if len(facts) > MOST_SHOWN:
        out.line(f"  and {len(facts) - MOST_SHOWN} more; --json lists all")


def _repairs(options: Options) -> bool:
    return not options.dry_run


def _restores(options: Options) -> bool:
    return options.action == "restore" and not options.dry_run


def _repair_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--accept-backup",
        metavar="SCOPE",
        help="have what stands in for the damaged file of SCOPE take its place",
    )
    parser.add_argument(
        "--use", metavar="FILE", help="have FILE take the place of the damaged file of --scope"
    )
    parser.add_argument("--scope", metavar="SCOPE", help="global, archive or a session")
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be done")


def _backup_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "restore"))
    parser.add_argument("of", nargs="?", metavar="SCOPE", help="global, archive or a session")
    parser.add_argument(
        "which", nargs="?", metavar="WHICH", help="a name as list shows it, or a file's path"
    )
    parser.add_argument("--dry-run", action="store_true", help="only tell what would change")


STATES = {"sound": "sound", "others": "another program's", "useless": "of no use"}
SIGNS = {"added": "+", "removed": "-", "changed": "~"}

COMMANDS = {
    "repair": Command(
        _repair,
        _say_repaired,
        _repair_arguments,
        about="Make the store sound again; no daemon may be running (milkctl stop), but for\n"
        "--dry-run.  Of damaged\n"
        "journals all entries that are whole are saved, and the files are written anew.  Where a\n"
        "file of facts is damaged, it is said what can take its place, and nothing is done until\n"
        "you choose.  What was damaged is kept in .milkd/quarantine.  Exit code 1 if something is\n"
        "left to be chosen.",
        autostart=False,
        verdict=_settled,
        changes=_repairs,
    ),
    "backup": Command(
        _backup,
        _say_backup,
        _backup_arguments,
        about="list     show the earlier versions that milkd keeps of its files, newest first,\n"
        "         those in .milkd/quarantine among them; a daemon may be running\n"
        "restore  have one of them, or another file, take the place of SCOPE's file; what is\n"
        "         there now is kept in .milkd/quarantine first, for seven days at least; no\n"
        "         daemon may be running (milkctl stop), but for --dry-run",
        autostart=False,
        changes=_restores,
    ),
}
