"""`milkctl service`: have the system start the daemon, and look at that."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from milkd.cli.command import Command, WrongUsage
from milkd.cli.output import visible
from milkd.errors import MilkdError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client

__all__ = ["COMMANDS"]

LINGERING = "/var/lib/systemd/linger"
NOT_NEEDED = (
    "nothing is installed, and nothing need be: the first milkctl starts the daemon, which stops "
    "after two hours without use"
)
Answer = dict[str, "Any"]


def _service(client: Client, options: Options) -> Answer:
    if options.sandbox and options.action != "install":
        raise WrongUsage("--sandbox goes with install")
    if sys.platform == "darwin":
        return _under_launchd(client, options)
    from milkd.cli import manager

    if not manager.is_there():
        return _without_manager(client)
    from milkd.cli import systemd

    if options.action == "install":
        answer = systemd.install(client, options.socket, sandbox=options.sandbox)
    elif options.action == "uninstall":
        answer = systemd.uninstall(client, options.socket)
    else:
        answer = systemd.status(client, options.socket)
    return {**answer, "hints": _hints(answer, options)}


def _under_launchd(client: Client, options: Options) -> Answer:
    from milkd.cli import launchd

    if options.sandbox:
        raise WrongUsage("there is a sandbox under systemd only")
    if options.action == "install":
        answer = launchd.install(client, options.socket)
        hints = [f"start it with: launchctl kickstart gui/{os.getuid()}/{answer['unit']}"]
    elif options.action == "uninstall":
        answer, hints = launchd.uninstall(client), []
    else:
        answer, hints = launchd.status(client), []
    return {**answer, "hints": hints}


def _without_manager(client: Client) -> Answer:
    """Nothing was done: why, what to do instead, and which daemon serves all the same."""
    answer: Answer = {"installed": False, "unit": None, "files": [], "pid": None, "listens": None}
    with suppress(MilkdError):
        hello = client.hello()
        answer |= {"pid": hello["pid"], "version": hello["version"], "listens": hello["socket"]}
    return {**answer, "hints": _instead()}


def _instead() -> list[str]:
    found = "found no systemd of yours ($XDG_RUNTIME_DIR/systemd/private), so nothing was changed"
    hints = [found, NOT_NEEDED]
    if sys.platform == "linux" and os.path.isdir("/run/systemd/system"):
        hints.append(
            "systemd runs here, but not for you: log in, or have it run without a login by: "
            "loginctl enable-linger"
        )
    else:
        hints.append("to have another supervisor keep it, run in the foreground: milkd")
    return hints


def _hints(answer: Answer, options: Options) -> list[str]:
    """What to do next, in the words of systemd."""
    unit = answer["unit"]
    if options.action == "uninstall":
        return ["the first milkctl starts the daemon from now on"]
    if not answer["installed"]:
        return ["to have systemd start the daemon: milkctl service install"]
    hints = []
    if "failed" in (answer.get("socket"), answer.get("service")):
        hints.append(f"what went wrong: journalctl --user -u {unit} -n 20")
        hints.append(
            f"to try again: systemctl --user reset-failed {unit}.socket {unit}.service && "
            f"systemctl --user start {unit}.socket"
        )
    elif answer["listens"] is None:
        hints.append(f"to have it listen: systemctl --user start {unit}.socket")
    elif not answer["found"]:
        hints.append(f"mind: clients like this one look for {answer['expected']}")
    if answer.get("other"):
        hints.append(f"mind: a daemon that systemd did not start serves; it has {answer['other']}")
    if options.action == "install":
        hints.append(f"its log: journalctl --user -u {unit}")
        if not _lingers():
            hints.append(
                "it saves all and ends when you have logged out; to have it stay: "
                "loginctl enable-linger"
            )
    return hints


def _lingers() -> bool:
    """Whether the user's manager outlives the last login."""
    import pwd

    try:
        return os.path.exists(os.path.join(LINGERING, pwd.getpwuid(os.getuid()).pw_name))
    except KeyError:
        return False


def _say(answer: Answer, out: Output, options: Options) -> None:
    for file in answer["files"]:
        kept = f"; what was there is kept as {visible(file['kept'])}" if "kept" in file else ""
        out.line(f"{visible(file['path'])}: {file['state']}{kept}")
    if options.action == "status" and "socket" in answer:
        enabled = "enabled" if answer["enabled"] else "not enabled"
        out.line(f"{answer['unit']}.socket: {answer['socket']}, {enabled}")
        out.line(f"{answer['unit']}.service: {answer['service']}")
    if answer.get("listens"):
        out.line(f"listens on {visible(answer['listens'])}")
    if answer.get("pid"):
        out.line(f"milkd {visible(answer['version'])} serves, pid {answer['pid']}")
    elif answer.get("listens"):
        out.line("the daemon starts with the next connection")
    for hint in answer["hints"]:
        out.line(visible(hint))


def _verdict(answer: Answer) -> int:
    if answer["unit"] is None:
        return 1
    return 0 if "socket" not in answer or answer["listens"] is not None else 1


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("install", "uninstall", "status"))
    parser.add_argument(
        "--sandbox",
        action="store_true",
        help="let the daemon write to nothing but ~/.milk and the store, and see no network",
    )


def _changes(options: Options) -> bool:
    return bool(options.action != "status")


COMMANDS = {
    "service": Command(
        _service,
        _say,
        _arguments,
        about="install    have systemd (launchd on macOS) start the daemon of this store: units\n"
        "           are written, enabled and started; a daemon that a client started is stopped\n"
        "           first.  Files that are there and differ are kept beside.\n"
        "uninstall  stop and disable it, and remove what install wrote\n"
        "status     show what is installed, whether it listens, and which daemon runs; none is\n"
        "           started for that.  Exit code 0 if the daemon is served by the system.\n"
        "None of it is needed: without, the first milkctl starts the daemon.",
        autostart=False,
        changes=_changes,
        verdict=_verdict,
    ),
}
