"""Entries on their way to the disk, and the answers that wait for them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trio

from milkd.daemon.fatal import trace
from milkd.engine.changes import scope_of
from milkd.errors import WireError

if TYPE_CHECKING:
    from milkd.store.entries import Done, Entry

Settled = Callable[[WireError | None], None]

_log = logging.getLogger(__name__)


def guarded(hook: Callable[..., None], *arguments: object) -> None:
    """Call what is to know of a commit.  The commit stands: a fault here is told, and no more."""
    try:
        hook(*arguments)
    except Exception as error:
        _log.error("what follows a commit failed\n%s", trace(error))


@dataclass(slots=True, eq=False)
class Batch:
    """Entries that become durable, or are undone, together.

    Attributes:
        urgent: Whether somebody may be waiting; side effects of reading alone are not urgent.
        error: Why the batch was undone; None while under way and when durable.
    """

    entries: list[Entry] = field(default_factory=list)
    scopes: set[str] = field(default_factory=set)
    urgent: bool = False
    done: trio.Event = field(default_factory=trio.Event)
    error: WireError | None = None
    hooks: list[Settled] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """Append an entry, whose changes were applied."""
        self.entries.append(entry)
        for change in entry.changes:
            if (scope := scope_of(change)) is not None:
                self.scopes.add(scope)

    def settle(self, error: WireError | None = None) -> None:
        """Tell those who wait that the batch is durable, or why it was undone."""
        self.error = error
        self.done.set()
        for hook in self.hooks:
            guarded(hook, error)


@dataclass(slots=True, eq=False)  # frozen ones take twice as long to make
class Answer:
    """What to reply, and the batch that must be durable before; never changed.

    Attributes:
        body: Gives the result; called when the answer leaves.
        need: None when nothing that the answer depends on is under way.
        changes: Whether the request changed something, so that it cannot be taken back.
        done: What is kept of an operation for good.
    """

    body: Callable[[], dict[str, Any]]
    need: Batch | None = None
    changes: bool = False
    done: Done | None = None

    @property
    def pending(self) -> bool:
        """Whether the answer has to wait for the disk."""
        return self.need is not None and not self.need.done.is_set()

    @property
    def failed(self) -> bool:
        """Whether what the answer reports was undone."""
        return self.need is not None and self.need.error is not None

    def when_settled(self, hook: Settled) -> None:
        """Run a hook as soon as it is known whether the answer holds; perhaps now."""
        if self.need is not None and self.pending:
            self.need.hooks.append(hook)
        else:
            guarded(hook, self.need.error if self.need is not None else None)


def at_once(value: dict[str, Any]) -> Answer:
    """An answer that depends on nothing."""
    return Answer(lambda: value)
