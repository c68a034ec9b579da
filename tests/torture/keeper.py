"""What a daemon does with its store, without the daemon: one step after the other.

A `Keeper` remembers, numbers what it does, and appends it; it makes checkpoints, merges
what others wrote, forgets without a trace, and starts again from what it finds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.engine.changes import PerceptDropped, scope_of
from milkd.store.entries import Entry
from milkd.store.merging import merge
from milkd.store.store import JournalStore
from sitting import NOON
from torture.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crashfs import CrashFiles
    from milkd.engine.changes import Change
    from milkd.engine.percept import ScopeImage
    from milkd.store.entries import Done
    from milkd.store.interface import Stale

STORE = "/home/memory"
Facts = dict[str, dict[str, tuple[object, ...]]]
"""By scope and id, what there is of each percept, engram and edge."""
Step = tuple["Change", ...]


@dataclass
class Keeper:
    """A store in use."""

    files: CrashFiles
    now: Callable[[], float] = lambda: NOON
    operations: list[Done] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Open the store and take in all of it."""
        self.shelf = Shelf()
        self.store = JournalStore(STORE, files=self.files, now=self.now)
        opened = self.store.open()
        self.refusal = opened.refusal
        self.notes = list(opened.notes)
        self.operations = list(opened.operations)
        self.scrubbing = dict.fromkeys(opened.scrub, frozenset[str]())
        self.frozen: dict[str, str] = {}
        self.dirty: set[str] = set()
        self.bases: dict[str, tuple[int, ScopeImage]] = {}
        for scope in opened.scopes:
            self._find(scope)
        self.seq = self.store.newest

    def _find(self, scope: str) -> None:
        found = self.store.find(scope)
        image = found.loaded.image
        self.bases[scope] = found.loaded.seq, image
        self.shelf.load(image)
        for _, change in found.replay:
            self.shelf.apply(scope, change)
        if found.stale is not None:
            self._take_in(scope, found.stale)
        self.shelf.leave_to_global(scope)
        if found.dirty or found.replay:
            self.dirty.add(scope)
        if found.frozen is not None:
            self.frozen[scope] = found.frozen

    def _take_in(self, scope: str, stale: Stale) -> None:
        """Add what an older version of a file says, which somebody put in its place."""
        ours, wall = self.shelf.image(scope), self.now()
        for change in merge(stale.base, stale.loaded.image, ours, wall=wall).changes:
            self.shelf.apply(scope, change)

    # What is done

    def entry(self, changes: Step, *, kind: str = "record", more: bool = False) -> Entry:
        """Apply changes, and number them."""
        for change in changes:
            scope = scope_of(change)
            assert scope is not None
            self.shelf.apply(scope, change)
            self.dirty.add(scope)
        self.seq += 1
        scrub = tuple(c.id for c in changes if isinstance(c, PerceptDropped) and kind == "forget")
        self.scrubbing |= dict.fromkeys(scrub, frozenset())
        return Entry(self.seq, self.now(), kind, changes, scrub=scrub, more=more)

    def append(self, entries: Sequence[Entry]) -> None:
        """Make entries durable."""
        self.store.append(entries)

    def checkpoint(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Write what has changed into the files; something may go on beside that."""
        seq = self.store.rotate()
        assert seq == self.seq
        names = self.dirty - self.frozen.keys()
        parts = [self.shelf.image(name) for name in sorted(names)]
        scrubbing = dict(self.scrubbing)
        self.dirty -= names
        try:
            written = self.store.write(parts, seq, self.operations, lambda: None)
        except BaseException:
            self.dirty |= names
            raise
        meanwhile()
        published = self.store.publish(written)
        self.bases |= {name: (seq, image) for name, image in published.images.items()}
        self.dirty |= names - published.images.keys()
        if published.error is not None:
            raise published.error
        if scrubbing and not published.overtaken:
            self.store.scrub(scrubbing, self._lives)
            for percept_id in scrubbing:
                del self.scrubbing[percept_id]
        # Not before: the entry that says what is to be scrubbed lies in one of these.
        self.store.retire(keep=not scrubbing)

    def merge(self) -> Iterator[Step]:
        """Take in what other programs wrote: what must become durable, one file after another."""
        for scope in self.store.changed(tuple(self.shelf.held)) or ():
            theirs = self.store.theirs(scope)
            if theirs.loaded is None:
                self.store.adopt(scope, theirs, "conflict" if theirs.problem else None)
                self.dirty.add(scope)
                continue
            loaded, (seq, base) = theirs.loaded, self.bases[scope]
            known = loaded.store is not None and loaded.seq == seq
            merged = merge(
                base if known else None,
                loaded.image,
                self.shelf.image(scope),
                wall=self.now(),
                elsewhere=self._beside(scope).__contains__,
            )
            if merged.changes:
                yield merged.changes
            self.store.adopt(scope, theirs, "conflict" if merged.conflicts else None)
            self.dirty.add(scope)

    def _beside(self, scope: str) -> set[str]:
        """The percepts of all other scopes: an edit that brings one back is behind the times."""
        others = (held for name, held in self.shelf.held.items() if name != scope)
        return {percept_id for held in others for percept_id in held.percepts}

    def settle(self) -> None:
        """Write what is not in the files yet, as a daemon does when it starts."""
        if self.dirty and self.refusal is None:
            self.checkpoint()

    def stop(self) -> None:
        """Stop in good order."""
        if self.dirty or self.scrubbing:
            self.checkpoint()
        self.store.finish()

    def _lives(self, percept_id: str) -> bool:
        return any(percept_id in facts for facts in self.facts().values())

    # What is so

    def facts(self) -> Facts:
        """Everything there is, in plain values; scopes that hold nothing are left out."""
        found = {name: facts_of(self.shelf.image(name)) for name in self.shelf.held}
        return {name: facts for name, facts in found.items() if facts}


def facts_of(image: ScopeImage) -> dict[str, tuple[object, ...]]:
    """What an image holds, by id."""
    facts: dict[str, tuple[object, ...]] = {
        p.id: (p.content, round(p.w, 12), p.evidence, p.producer, p.wordings)
        for p in image.percepts
    }
    facts |= {f"engram {e.id}": (e.subject_label, e.percept_ids) for e in image.engrams}
    facts |= {f"{e.source} {e.relation} {e.target}": () for e in image.edges}
    return facts
