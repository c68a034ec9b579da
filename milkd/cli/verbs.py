"""The commands of `milkctl`: their names, what they are for, and where they are.

A command's module is imported when the command is used: a hook that recalls must not
wait for the table that `list` draws.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkd.cli.command import Command

__all__ = ["GROUPS", "command", "overview", "resembling"]

GROUPS = {
    "Stating and changing facts": {
        "record": ("stating", "state a fact, or reinforce the one it restates"),
        "learn": ("stating", "state a fact for good: global, never fading"),
        "edit": ("facts", "give a fact other words"),
        "forget": ("facts", "delete a fact"),
        "restore": ("facts", "bring a fact back from the archive"),
        "relate": ("facts", "say that one fact bears on another"),
        "unrelate": ("facts", "take such a relation back"),
    },
    "Reading": {
        "recall": ("reading", "find facts by words"),
        "inject": ("reading", "print the facts that bear on a prompt as a block for an agent"),
        "list": ("looking", "list facts"),
        "show": ("looking", "show one fact in full"),
        "why": ("explained", "say why a fact comes for a prompt, or does not"),
        "explain": ("looking", "say why a fact is as it is, and what comes next for it"),
        "watch": ("watching", "see the memory change, on a panel"),
        "similar": ("looking", "say what a fact would be held for if it were stated"),
    },
    "Feedback": {
        "turn-end": ("feedback", "judge the facts that a turn showed by what came of it"),
        "confirm": ("feedback", "say that a fact was right"),
        "reject": ("feedback", "say that a fact was wrong"),
    },
    "Sessions": {
        "session": ("sessions", "open, close, drop or list sessions"),
        "consolidate": ("sessions", "let facts fade, and promote or archive those that are due"),
    },
    "The whole memory": {
        "export": ("carrying", "write all that is remembered as one JSON document"),
        "import": ("carrying", "add what such a document holds"),
        "snapshot": ("service", "have the JSON files written that milk reads"),
        "check": ("keeping", "look whether the store is sound"),
        "repair": ("mending", "make a damaged store sound again"),
        "backup": ("mending", "list earlier versions of the files, or restore one"),
    },
    "The daemon and the shell": {
        "stats": ("service", "print counts and times"),
        "health": ("service", "print whether the daemon can do its work"),
        "config": ("configure", "show the settings, or write them to the config file"),
        "ping": ("service", "see whether the daemon answers"),
        "stop": ("service", "stop the daemon"),
        "service": ("install", "have the system start the daemon, or no longer"),
        "completion": ("completing", "have a shell complete verbs, options and ids"),
    },
}

USAGE = "usage: milkctl [--session ID] [--store DIR] [--socket PATH] [--json] VERB …"
ABOUT = "The memory that agents share: facts that fade, are restated, and are recalled."
FOOT = """\
  --session ID   session to work in ($MILK_SESSION); without one, facts are global
  --store DIR    directory of the memory ($MILK_MEMORY_DIR, ~/.milk/memory)
  --socket PATH  socket of the daemon ($MILKD_SOCKET)
  --json         print the daemon's answer as it is; an error too
  --version      print the version

`milkctl help VERB` tells more.  Except for check, repair, backup, health, ping, stop and
service, a daemon is started if none runs.  Exit codes: 0 done, 1 refused, 2 wrong usage,
3 no daemon."""


def command(verb: str) -> Command | None:
    """The command of that name, from its module."""
    for verbs in GROUPS.values():
        if verb in verbs:
            return _commands(verbs[verb][0])[verb]
    return None


def overview() -> str:
    """What bare `milkctl` prints."""
    parts = [USAGE, f"\n{ABOUT}"]
    for title, verbs in GROUPS.items():
        parts.append(f"\n{title}:")
        parts += [f"  {verb:<12} {summary}" for verb, (_, summary) in verbs.items()]
    return "\n".join([*parts, "\nBefore or after the verb:", FOOT])


def resembling(word: str) -> str | None:
    """The verb that was probably meant."""
    from difflib import get_close_matches

    names = [verb for verbs in GROUPS.values() for verb in verbs]
    return next(iter(get_close_matches(word, [*names, "help"], 1)), None)


def _commands(module: str) -> dict[str, Command]:
    """The commands of a module; `importlib` would take longer than all of them."""
    if module == "stating":
        from milkd.cli.stating import COMMANDS
    elif module == "facts":
        from milkd.cli.facts import COMMANDS
    elif module == "reading":
        from milkd.cli.reading import COMMANDS
    elif module == "looking":
        from milkd.cli.looking import COMMANDS
    elif module == "explained":
        from milkd.cli.explained import COMMANDS
    elif module == "feedback":
        from milkd.cli.feedback import COMMANDS
    elif module == "sessions":
        from milkd.cli.sessions import COMMANDS
    elif module == "service":
        from milkd.cli.service import COMMANDS
    elif module == "carrying":
        from milkd.cli.carrying import COMMANDS
    elif module == "keeping":
        from milkd.cli.keeping import COMMANDS
    elif module == "mending":
        from milkd.cli.mending import COMMANDS
    elif module == "watching":
        from milkd.cli.watching import COMMANDS
    elif module == "completing":
        from milkd.cli.completing import COMMANDS
    elif module == "install":
        from milkd.cli.install import COMMANDS
    else:
        from milkd.cli.configure import COMMANDS
    return COMMANDS
