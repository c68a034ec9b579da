"""What the daemon asks of a store: entries become durable, scopes become files.

Entries are appended one batch at a time, in a thread.  A checkpoint goes in steps:
`rotate`, then on the loop the scopes are captured, then `write` in a thread of its own
beside the appends, and `publish` when all that was captured is durable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from milkd.engine.capture import Capture
    from milkd.engine.changes import Change
    from milkd.engine.percept import ScopeImage
    from milkd.errors import Failure
    from milkd.store.checkpoint import Checkpoint
    from milkd.store.entries import Done, Entry
    from milkd.store.files import Stamp
    from milkd.store.snapshot import Loaded

Numbered = tuple[int, "Change"]
"""A change and the number of its entry."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A store as it is found at start.

    Attributes:
        scopes: Every scope that has a file or entries, global and the archive first.
        operations: Those that were done, the oldest first.
        refusal: Why nothing can be written to it; None if it can.
        notes: Sentences about what was found odd, and needs nobody.
        scrub: Ids of forgotten percepts of which traces may be left, each with its entry.
    """

    scopes: tuple[str, ...] = ()
    operations: tuple[Done, ...] = ()
    refusal: str | None = None
    notes: tuple[str, ...] = ()
    scrub: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stale:
    """An older version in the place of a scope's file, to be merged with what came after it.

    Attributes:
        base: The scope as it was when that version was written; None if nobody knows.
    """

    loaded: Loaded
    base: ScopeImage | None


@dataclass(frozen=True, slots=True)
class Found:
    """A scope as it is found.

    Attributes:
        loaded: What its file holds, or the backup that stands in for it.
        replay: Changes that came after that, in order.
        frozen: Why the scope must not be changed; None if it may.
        dirty: Whether its file is not as a milkd would write it.
        standin: What stands in for its file, in words; empty if nothing has to, or can.
        stale: An older version that is in its file, if `loaded` is what should be there.
        past: What milkd left there, if another program replaced or removed it.
    """

    loaded: Loaded
    replay: tuple[Numbered, ...] = ()
    frozen: str | None = None
    dirty: bool = False
    standin: str = ""
    stale: Stale | None = None
    past: Found | None = None


@dataclass(frozen=True, slots=True)
class Theirs:
    """What another program did to a scope's file.

    Attributes:
        stamp: Of the file as it was read; None if it is gone.
        loaded: What is in it; None if it is gone or cannot be understood.
        problem: Why it cannot be understood.
    """

    stamp: Stamp | None
    loaded: Loaded | None = None
    problem: str = ""


@dataclass(slots=True)
class Published:
    """What became of a checkpoint.

    Attributes:
        images: The scopes whose files are new, as they are in them.
        overtaken: The scopes whose files another program wrote meanwhile; they are as it left them.
        error: Why the rest could not be published.
    """

    images: dict[str, ScopeImage] = field(default_factory=dict)
    overtaken: list[str] = field(default_factory=list)
    error: Failure | None = None


class Store(Protocol):
    """Durable state.  Everything may block; nothing is safe to call from two threads at once,
    but for `write`, which may run beside the others, and `changed`.
    """

    warnings: list[str]
    """Sentences for a person, newest last."""
    all_at_risk: bool
    """Whether the journal was lost: all that it held must be saved to the files at once."""

    def open(self) -> Opened:
        """Read what must be known before anything is loaded; once.

        Raises:
            Failure: It cannot be read.
        """

    def find(self, scope: str) -> Found:
        """A scope as it is on disk; empty if there is nothing of it.

        Raises:
            StoreDamaged: Its file cannot be understood, and no backup stands in.
            VersionMismatch: A newer milkd must read it.
            StorageFailed: The disk did not give it, or the whole store is gone.
        """

    def append(self, entries: Sequence[Entry]) -> None:
        """Make entries durable.

        Raises:
            Failure: StorageFull, ReadOnly or StorageFailed; nothing was changed.
            Poisoned: What is on disk is unknown; no later append will succeed.
        """

    def rotate(self) -> int:
        """Begin a new journal; the number of the newest entry that is not in it.

        Raises:
            Failure: It cannot be made.
        """

    def write(
        self,
        parts: Sequence[Capture | ScopeImage],
        seq: int,
        operations: Sequence[Done],
        pause: Callable[[], None],
    ) -> Checkpoint:
        """Write scopes, as of the entry `seq`, into new files beside the old ones.

        Raises:
            Failure: The disk refused; nothing is left of them.
        """

    def publish(self, written: Checkpoint) -> Published:
        """Put the new files in the old ones' places."""

    def retire(self, *, keep: bool) -> None:
        """Put away the journals that are not needed any more: among the backups, or for good.

        Raises:
            Failure: The disk refused; they are still there, which does no harm.
        """

    def scrub(self, texts: Mapping[str, Collection[str]], live: Callable[[str], bool]) -> None:
        """Remove every trace of forgotten percepts from what is kept besides the files.

        Args:
            texts: By id, what they said in any words, as far as it is known.
            live: Whether a percept of some id is not forgotten.

        Raises:
            Failure: Something could not be removed.
        """

    def changed(self, scopes: Sequence[str]) -> dict[str, Stamp | None] | None:
        """The scopes whose files are not as they were left, with what is there now.

        None while a checkpoint is published.  Waits for nothing but the disk.

        Raises:
            Failure: The disk does not say, or the whole store is gone.
        """

    def theirs(self, scope: str) -> Theirs:
        """Read what another program left in a scope's file."""

    def earlier(self, scope: str, seq: int) -> ScopeImage | None:
        """The scope's file as it was as of an entry, if a backup has it."""

    def adopt(self, scope: str, theirs: Theirs, kind: str | None) -> str | None:
        """Count another program's version as known, so that the next checkpoint replaces it.

        Args:
            scope: Whose file it is.
            theirs: The version.
            kind: Keep a copy under this name; None keeps none.

        Returns:
            Where the copy is.
        """

    def keep_past(self, image: ScopeImage) -> str | None:
        """Keep a scope as it was before another program replaced its file; where that is.

        None if that could not be done, or there is nothing to keep.
        """

    def finish(self) -> None:
        """Close the journal; if the files hold everything it goes, and they are the whole truth.

        Raises:
            Failure: The disk refused; it is still there, which does no harm.
        """

    @property
    def newest(self) -> int:
        """The newest entry that is durable, in the journal or in a file."""

    @property
    def unsaved(self) -> int:
        """Bytes of journal that the files do not hold yet, about."""
