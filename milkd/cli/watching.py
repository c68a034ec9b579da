"""`milkctl watch`: the memory on a screen, as it changes."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing, suppress

from milkd.cli.command import Command, WrongUsage
from milkd.cli.output import Output, visible
from milkd.cli.panel import Happening, panel
from milkd.cli.screen import Screen
from milkd.cli.strokes import Palette
from milkd.client import Client
from milkd.errors import MilkdError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from milkd.cli.command import Options
    from milkd.events import Events
    from milkd.shapes import Event, Outlook, Percept

__all__ = ["COMMANDS", "Watcher"]

REFRESH = 5.0  # seconds between two looks when nothing is heard of; milk's panel has the same
SETTLING = 0.1  # seconds that events may gather before the next look
RECENT = 60.0  # seconds for which a change is shown as one
FACTS = 200  # of a scope: more than any screen has lines
PASS = ("pruned", "promoted", "merged", "archived", "evicted")


class Watcher:
    """What is known of the memory, and kept up to date.

    The daemon is asked on one connection and heard on another.  It is never started here:
    whoever stops it while somebody looks on wants it to stay so.
    """

    def __init__(self, client: Client) -> None:
        self._client = Client(client.socket, store=client.store, session=client.session)
        self._events: Events | None = None
        self._happenings: list[tuple[float, Happening]] = []
        self._contents: dict[str, str] = {}
        self.outlook: Outlook | None = None

    def look(self) -> None:
        """Ask how things are; without an answer nothing is known."""
        try:
            if self._events is None:
                self._events = self._client.subscribe("percepts", "passes")
            self.outlook = self._client.outlook(limit=FACTS)
        except MilkdError:
            self._part()
            return
        self._contents |= {each["id"]: each["content"] for each in _percepts(self.outlook)}

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What becomes readable when there is something to hear."""
        return () if self._events is None else (self._events.fileno(),)

    def hear(self) -> bool:
        """Take in what was said meanwhile; gives whether there was anything."""
        heard = False
        try:
            while self._events is not None and self._events.has_news():
                self._note(next(self._events))
                heard = True
        except (MilkdError, StopIteration):
            self._part()
            return True
        return heard

    def happenings(self) -> list[Happening]:
        """What happened in the last minute, the latest first."""
        since = time.monotonic() - RECENT
        self._happenings = [(at, each) for at, each in self._happenings if at > since]
        for _, each in self._happenings:
            if each.ident is not None and not each.content:  # it was new when it was heard of
                each.content = self._contents.get(each.ident, "")
        return [each for _, each in reversed(self._happenings)]

    def fresh(self) -> set[str]:
        """The ids of what changed in the last minute, also before anybody looked."""
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - RECENT))
        heard = {each.ident for each in self.happenings() if each.ident is not None}
        if self.outlook is None:
            return heard
        return heard | {p["id"] for p in _percepts(self.outlook) if _utc(p["updated_at"]) > since}

    def close(self) -> None:
        """Let both connections go."""
        self._part()
        self._client.close()

    def _note(self, event: Event) -> None:
        if event.get("event") == "passed":
            counts = [f"{event[name]} {name}" for name in PASS if event.get(name)]  # type: ignore[literal-required]
            self._add(f"pass: {', '.join(counts)}" if counts else "pass", None)
        elif "event" in event:
            self._add(event["event"], event.get("id"))

    def _add(self, what: str, ident: str | None) -> None:
        content = self._contents.get(ident, "") if ident else ""
        happening = Happening(time.strftime("%H:%M:%S"), what, ident, content)
        self._happenings.append((time.monotonic(), happening))

    def _part(self) -> None:
        self.outlook = None
        if self._events is not None:
            self._events.close()
            self._events = None


def _percepts(outlook: Outlook) -> list[Percept]:
    return [percept for shelf in outlook["scopes"] for percept in shelf["percepts"]]


def _utc(stamp: str) -> str:
    """An RFC 3339 time in UTC, to the second; the daemon's are in UTC, files have offsets."""
    from datetime import UTC, datetime

    return datetime.fromisoformat(stamp).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _watch(client: Client, options: Options) -> Outlook | None:
    """The outlook for `--json`; else whatever happens, until the user has seen enough."""
    if options.json:
        return client.outlook()
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise WrongUsage(
            "watch needs a terminal that can move its cursor; elsewhere: milkctl watch --json"
        )
    with client:  # a daemon is started now, but never again
        pass
    client.close()
    with closing(Watcher(client)) as watcher, Screen() as screen, suppress(KeyboardInterrupt):
        _follow(watcher, screen, _title(client))
    return None


def _follow(watcher: Watcher, screen: Screen, title: str) -> None:
    """Look, show and wait, again and again, until the user wants no more."""
    out = Output.standard()
    palette = Palette(colour=out.colour, blocks=out.blocks)
    next_look = -1.0
    while True:
        if time.monotonic() >= next_look:
            watcher.look()
            # Only now: what has just been heard of does not fit what was seen before.
            happenings, fresh = watcher.happenings(), watcher.fresh()
            next_look = time.monotonic() + REFRESH
        screen.paint(
            panel(
                watcher.outlook,
                happenings,
                fresh,
                title=title,
                size=screen.size,
                palette=palette,
            )
        )
        wait = max(0.0, next_look - time.monotonic())
        if "q" in screen.wait(wait, *watcher.descriptors).lower():
            return
        if watcher.hear():
            next_look = min(next_look, time.monotonic() + SETTLING)


def _title(client: Client) -> str:
    home, store = os.path.expanduser("~/"), client.store
    if store.startswith(home):
        store = f"~/{store.removeprefix(home)}"
    return visible(f"{store}, session {client.session}" if client.session else store)


def _say_nothing(_answer: Outlook | None, _out: Output, _options: Options) -> None:
    """All has been said."""


def _no_arguments(_parser: ArgumentParser) -> None:
    pass


COMMANDS = {
    "watch": Command(
        _watch,
        _say_nothing,
        _no_arguments,
        about="Show the facts of the session, the global and the core ones with their strengths,\n"
        "what changed in the last minute (bold), and what is about to be pruned, archived or\n"
        "promoted, as it happens; q or Ctrl-C ends it.  To look on ages nothing and opens no\n"
        "session.  --json prints once what the daemon says, and ends.",
    ),
}
