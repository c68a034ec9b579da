"""Each scope as far as it is durable: where undoing goes back to, and what must be saved.

In memory a scope may be ahead of that.  It is kept as an image and the durable changes
since, so that keeping it costs nothing but references.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.engine.changes import scope_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from milkd.engine.capture import Capture
    from milkd.engine.engine import Engine
    from milkd.engine.percept import ScopeImage
    from milkd.store.entries import Entry
    from milkd.store.interface import Found, Numbered


@dataclass(slots=True)
class Kept:
    """A scope as far as it is durable.

    Attributes:
        base: The scope as of the entry `base_seq`.
        changes: What became of it since.
        file: What its file holds, for comparing it with what others make of that.
        file_seq: The newest entry in the file.
        dirty: Whether the file is to be written.
    """

    base: ScopeImage
    file: ScopeImage
    base_seq: int = 0
    changes: list[Numbered] = field(default_factory=list)
    file_seq: int = 0
    dirty: bool = False


class KeptScopes:
    """The loaded scopes, and the others that are not in their files yet."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._scopes: dict[str, Kept] = {}

    def loaded(self, found: Found, image: ScopeImage) -> None:
        """Take note of a scope as it was found, and as it is after what was to be replayed."""
        known = self._scopes.get(image.name)
        if known is None:
            loaded = found.loaded
            dirty = found.dirty or image is not loaded.image
            self._scopes[image.name] = Kept(image, loaded.image, file_seq=loaded.seq, dirty=dirty)

    def unloaded(self, image: ScopeImage, seq: int) -> None:
        """A scope was let go, as of an entry; it is still here if its file lacks something."""
        kept = self._scopes[image.name]
        kept.base, kept.base_seq = image, seq
        kept.changes.clear()
        if not kept.dirty:
            del self._scopes[image.name]

    def parked(self, scope: str) -> ScopeImage | None:
        """A scope that is not loaded and whose file lacks something."""
        kept = self._scopes.get(scope)
        return None if kept is None or self._engine.is_loaded(scope) else kept.base

    def file(self, scope: str) -> tuple[ScopeImage, int]:
        """What the file of a loaded scope holds, and the newest entry in it."""
        kept = self._scopes[scope]
        return kept.file, kept.file_seq

    def rewrite(self, scope: str, file: ScopeImage) -> None:
        """The scope's file holds this now, by another's hand, and is to be written anew."""
        kept = self._scopes[scope]
        kept.file, kept.dirty = file, True

    def want(self, scopes: Iterable[str]) -> None:
        """Have loaded scopes written to their files, whether that is needed or not."""
        for scope in scopes:
            self._scopes[scope].dirty = True

    def durable(self, entries: Iterable[Entry]) -> None:
        """Entries of loaded scopes are on the medium."""
        for entry in entries:
            for change in entry.changes:
                if (scope := scope_of(change)) in self._scopes:
                    kept = self._scopes[scope]
                    kept.changes.append((entry.seq, change))
                    kept.dirty = True

    def undo(self, entries: Iterable[Entry]) -> None:
        """Put back the scopes that entries changed which will not be durable."""
        changes = [change for entry in entries for change in entry.changes]
        for scope in dict.fromkeys(map(scope_of, changes)):
            if scope is not None and self._engine.is_loaded(scope):
                kept = self._scopes[scope]
                self._engine.put_back(kept.base)
                self._engine.apply_all(change for _, change in kept.changes)
        for change in changes:
            self._engine.revoke(change)

    def dirty(self) -> list[str]:
        """The scopes whose files lack something."""
        return [scope for scope, kept in self._scopes.items() if kept.dirty]

    def all(self) -> list[str]:
        """The scopes that are loaded, or not in their files yet."""
        return list(self._scopes)

    def part(self, scope: str) -> Capture | ScopeImage:
        """A scope as it is now."""
        parked = self.parked(scope)
        return self._engine.capture(scope) if parked is None else parked

    def saved(self, images: Mapping[str, ScopeImage], seq: int) -> None:
        """Scopes are in their files as of an entry."""
        for scope, image in images.items():
            kept = self._scopes[scope]
            kept.file, kept.file_seq = image, seq
            if kept.base_seq <= seq:  # else it was let go meanwhile, with more in it
                kept.base, kept.base_seq = image, seq
                kept.changes = [each for each in kept.changes if each[0] > seq]
                kept.dirty = bool(kept.changes)
            if not kept.dirty and not self._engine.is_loaded(scope):
                del self._scopes[scope]
