"""What the daemon asks of a store, and what one batch of changes does to its files.

Scopes come in, changes go out, durable on return.  The one writer calls `prepare` where
the state lives and `commit` in a thread, one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from milkd.engine.changes import PerceptDropped, PerceptPut, ScopeDropped, scope_of
from milkd.engine.percept import ARCHIVE, GLOBAL, ScopeImage
from milkd.store.own import OWN_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from milkd.engine.changes import Change
    from milkd.store.snapshot import Loaded


@dataclass(frozen=True, slots=True)
class Commit:
    """What one batch of changes does to the files.

    Attributes:
        images: The touched scopes as they are now.  In this order they are written, so that
            what moves between files is in its new one before it leaves the old one.
        dropped: Sessions whose files go.
        returned: Percepts that left the archive in a batch in which others entered it.
    """

    images: tuple[ScopeImage, ...] = ()
    dropped: tuple[str, ...] = ()
    returned: frozenset[str] = frozenset()


class Store(Protocol):
    """Durable state.  All but `prepare` may block."""

    warnings: list[str]
    """Sentences for a person, newest last."""

    def load(self, scope: str) -> Loaded:
        """A scope as it is on disk; empty if it has no file."""

    def sessions(self) -> tuple[str, ...]:
        """The sessions that have a file."""

    def contents(self, session: str) -> dict[str, str]:
        """The ids of a session's percepts and what they say."""

    def prepare(self, changes: Sequence[Change], image: Callable[[str], ScopeImage]) -> Commit:
        """Note what the changes, already applied, do to the files.  Cheap; touches no file."""

    def commit(self, commit: Commit) -> None:
        """Make it durable.

        Raises:
            Failure: StorageFull, ReadOnly or StorageFailed; nothing was changed.
            Poisoned: What is on disk is unknown; no later commit will succeed.
        """

    def finish_moves(self) -> None:
        """Take out of the loaded files what global holds too: a move to it was cut off.

        Until that is done every commit begins with it, or what is forgotten in global would
        come back from the other file.  Raises as `commit` does.
        """

    def foreign(self, scopes: Sequence[str]) -> dict[str, str] | None:
        """By scope, what other programs did to its file since it was loaded or written.

        None while a commit is under way, which looks itself.  Changes nothing, and waits for
        nothing but the disk.
        """

    def close(self) -> None:
        """Let go of what is held in memory."""


def commit_of(changes: Sequence[Change], image: Callable[[str], ScopeImage]) -> Commit:
    """What the changes, already applied, do to the files; asks for each scope they touch."""
    last = {scope: change for change in changes if (scope := scope_of(change)) is not None}
    dropped = [scope for scope, change in last.items() if isinstance(change, ScopeDropped)]
    archive = [change for change in changes if scope_of(change) == ARCHIVE]
    entered = any(isinstance(change, PerceptPut) for change in archive)
    left = {change.id for change in archive if isinstance(change, PerceptDropped)}
    first = (ARCHIVE, GLOBAL) if entered and not left else (GLOBAL, ARCHIVE)
    live = [scope for scope in first if scope in last]
    live += [scope for scope in last if scope not in (*first, *dropped)]
    return Commit(
        images=tuple(image(scope) for scope in live),
        dropped=tuple(dropped),
        returned=frozenset(left) if entered else frozenset(),
    )


def in_order(commit: Commit, archive: ScopeImage | None) -> Iterator[ScopeImage]:
    """The images in the order in which they are to be written.

    When percepts leave and enter the archive at once, neither it nor global can be first:
    then the archive is written before global with those that leave, and again after.

    Args:
        commit: What is to be written.
        archive: The archive as it is on disk.
    """
    if commit.returned and archive is not None:
        after = next(image for image in commit.images if image.name == ARCHIVE)
        gone = commit.returned - {percept.id for percept in after.percepts}
        leaving = tuple(percept for percept in archive.percepts if percept.id in gone)
        yield replace(after, percepts=leaving + after.percepts)
    for image in commit.images:
        if not is_void(image):
            yield image


def is_void(image: ScopeImage) -> bool:
    """Whether a session's image holds nothing worth a file."""
    if image.name in (GLOBAL, ARCHIVE):
        return False
    held = image.percepts or image.engrams or image.edges or image.unreadable or image.shown
    return not held and not image.extra.keys() - {OWN_KEY}
