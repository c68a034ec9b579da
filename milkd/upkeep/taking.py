"""A store taken in as a milkd does at its start, by somebody who serves nobody.

Each scope is its file, or what stands in for it, and the entries of the journal that
came after, applied by the engine.  Then all of it can be written anew.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import Conflict, StoreDamaged
from milkd.paths import OWN_DIRECTORY
from milkd.store.interface import Opened
from milkd.store.recovery import recovered, without_forgotten
from milkd.store.seal import Seal
from milkd.store.store import JournalStore, is_void

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from milkd.engine.percept import ScopeImage
    from milkd.store.entries import Done
    from milkd.store.files import Files
    from milkd.store.interface import Found
    from milkd.store.salvage import Salvaged
    from milkd.store.snapshot import Loaded

# What the store says to a daemon's log is told by whoever uses this.
logging.getLogger("milkd.store").addHandler(logging.NullHandler())

OPERATIONS = 4_096  # that are remembered


@dataclass(slots=True)
class Held:
    """A scope as it was found.

    Attributes:
        found: Its file or what stands in for that; None if nothing does.
        image: The same with the entries that came after; None if there is nothing.
        problem: Why its file cannot be understood; empty if it can.
    """

    found: Found | None
    image: ScopeImage | None
    problem: str = ""

    @property
    def waits(self) -> bool:
        """Whether somebody must choose what becomes of it."""
        return self.found is None or self.found.frozen is not None

    @property
    def has_standin(self) -> bool:
        """Whether something that is worth it stands in for its file."""
        found, image = self.found, self.image
        return bool(found and found.standin and image and not is_void(image))

    @property
    def has_file(self) -> bool:
        """Whether it has one; global ought to."""
        found = self.found
        sealed = Seal.NONE if found is None else found.loaded.sealed
        return sealed is not Seal.NONE or (self.image is not None and self.image.name == GLOBAL)

    @property
    def lacks(self) -> bool:
        """Whether its file is not as a milkd would write it."""
        found = self.found
        return found is not None and (found.dirty or found.loaded.image is not self.image)


class Taking:
    """All scopes of a store, in one pair of hands."""

    def __init__(self, directory: str, files: Files, now: Callable[[], float] = time.time) -> None:
        """Prepare; nothing is touched.

        Args:
            directory: The store.
            files: The calls to go through.
            now: The wall clock.
        """
        self.files = files
        self._now = now
        self.own = os.path.join(files.resolve(directory), OWN_DIRECTORY)
        self.store = JournalStore(directory, files=files, now=now)
        self.engine = Engine(DEFAULT)
        self.opened = Opened()
        self.scopes: dict[str, Held] = {}

    def open(
        self, salvaged: Salvaged | None = None, chosen: Mapping[str, Loaded] | None = None
    ) -> None:
        """Take everything in.

        Args:
            salvaged: What could be saved of journals that cannot be relied on.
            chosen: By scope, what somebody wants in place of its file if that is damaged.

        Raises:
            VersionMismatch: A newer milkd must read it.
            Failure: The disk does not give it.
        """
        chosen = chosen or {}
        self.opened = self.store.open(salvaged)
        for scope in dict.fromkeys((*self.opened.scopes, *chosen)):
            self.scopes[scope] = self._held(scope, chosen.get(scope))

    def put(self, image: ScopeImage) -> dict[str, ScopeImage]:
        """Have another image of a scope; what changes by that, this one and others, by name."""
        changed = {image.name: self._settled(image)}
        if image.name == GLOBAL:
            for scope, held in self.scopes.items():
                if scope != GLOBAL and held.image is not None and not held.waits:
                    rest = self._settled(held.image)
                    if rest is not held.image:
                        changed[scope] = rest
        return changed

    def images(self, *, all_of_them: bool) -> dict[str, ScopeImage]:
        """The scopes that are to be written, but for those that wait for a choice.

        As long as there is a journal these are all: only then is it known not to be needed.
        """
        all_of_them = all_of_them or self.store.unsaved > 0
        return {
            scope: held.image
            for scope, held in self.scopes.items()
            if held.image is not None
            and not held.waits
            and (held.lacks or (all_of_them and held.has_file))
        }

    def save(self, images: Mapping[str, ScopeImage], seq: int) -> None:
        """Write scopes into their files, and put away the journals that are not needed any more.

        Whenever this breaks off, doing it again from the beginning goes on from there.

        Raises:
            Conflict: Another program wrote a file meanwhile.
            Failure: The disk refused.
        """
        operations = tuple(self._operations())
        written = self.store.write(list(images.values()), seq, operations, lambda: None)
        try:
            published = self.store.publish(written)
        finally:
            written.discard()
        if published.error is not None:
            raise published.error
        if published.overtaken:
            names = ", ".join(f"{scope}.json" for scope in published.overtaken)
            raise Conflict(f"another program wrote {names} meanwhile; run this again")
        if self.opened.scrub:
            live = self.engine.ids()
            texts: dict[str, tuple[str, ...]] = dict.fromkeys(self.opened.scrub, ())
            self.store.scrub(texts, live.__contains__)
        self.store.retire(keep=not self.opened.scrub)

    def set_aside(self, scope: str, kind: str = "damaged") -> str | None:
        """Keep a file that is about to be replaced; where it is.

        Args:
            scope: Whose file.
            kind: Why: "damaged" if it cannot be understood, or "replaced".

        Raises:
            Failure: It cannot be kept.
        """
        return self.store.adopt(scope, self.store.theirs(scope), kind)

    def _held(self, scope: str, chosen: Loaded | None) -> Held:
        problem = ""
        try:
            found = self.store.find(scope)
            if found.frozen is not None or found.loaded.lossy:
                problem = self.store.theirs(scope).problem
        except StoreDamaged as error:
            if chosen is None:
                return Held(None, None, str(error))
            problem = str(error)
        if chosen is not None and problem:
            found = self.store.with_entries(scope, chosen)
        image = recovered(self.engine, found, self._now())
        image = without_forgotten(self.engine, found, image, self.opened.scrub)
        return Held(found, self._settled(image), problem)

    def _settled(self, image: ScopeImage) -> ScopeImage:
        """An image without what global has too; the engine knows then where each percept is."""
        scope = image.name
        rest = self.engine.without_known(image)
        if scope in (GLOBAL, ARCHIVE):
            self.engine.put_back(rest)
        else:
            if self.engine.is_loaded(scope):
                self.engine.unload(scope)
            self.engine.set_dormant(scope, {each.id: each.content for each in rest.percepts})
        return rest

    def _operations(self) -> list[Done]:
        """What was done, each once."""
        dones = {done.op_id: done for done in reversed(self.opened.operations)}
        return list(reversed(dones.values()))[-OPERATIONS:]
