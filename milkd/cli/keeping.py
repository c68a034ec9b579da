"""Commands that work on a store itself, without a daemon."""

from __future__ import annotations

from milkd.cli.command import Command
from milkd.cli.output import counted, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client

__all__ = ["COMMANDS"]

UNSOUND = 1
Answer = dict[str, "Any"]


def _check(client: Client, _options: Options) -> Answer:
    from milkd.upkeep.check import check  # which takes longer to import than most commands run

    return check(client.store).to_json()


def _say_checked(answer: Answer, out: Output, _options: Options) -> None:
    out.line(f"store {visible(answer['store'])}")
    if answer["running"]:
        out.line(f"in the hands of {visible(answer['running'])}")
    levels = [finding["level"] for finding in answer["findings"]]
    for finding in answer["findings"]:
        level = finding["level"]
        line = f"{level:<7}  {visible(finding['file'])}: {visible(finding['sentence'])}"
        out.line(out.dim(line) if level == "ok" else out.bold(line) if level == "error" else line)
    counts = [counted(levels.count(level), level) for level in ("error", "warning", "note")]
    said = ", ".join(count for count in counts if not count.startswith("0 "))
    out.line(f"{'sound' if answer['sound'] else 'not sound'}{said and ': ' + said}")


def _soundness(answer: Answer) -> int:
    return 0 if answer["sound"] else UNSOUND


def _no_arguments(_parser: ArgumentParser) -> None:
    pass


COMMANDS = {
    "check": Command(
        _check,
        _say_checked,
        _no_arguments,
        about="Read every file of the store and change none: is it whole, does it fit to the\n"
        "journal and to the others, can it be replaced from a backup?  It needs no daemon; beside\n"
        "a running one it may be used too.  Exit code 0 if the store is sound, 1 if an error is\n"
        "among what it finds.",
        autostart=False,
        verdict=_soundness,
    ),
}
