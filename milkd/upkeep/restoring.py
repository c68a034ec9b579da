"""Having an earlier version of a scope take the place of the present one, without a daemon.

First the store is brought up to date: what the journal holds comes into the files.
Then the earlier version is written under a number that is beyond every entry, so that
none is applied to it; what it replaces is kept in quarantine, and among the backups.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from milkd.engine.percept import ScopeImage
from milkd.errors import Conflict
from milkd.store.files import Files
from milkd.store.identity import store_id
from milkd.upkeep.differences import Differences, differences
from milkd.upkeep.mistaken import mistaken
from milkd.upkeep.onlooking import Onlooker
from milkd.upkeep.refusing import broken_off, check_scope
from milkd.upkeep.sharing import exclusive, looking
from milkd.upkeep.steady import steadily
from milkd.upkeep.taking import Taking
from milkd.upkeep.versions import find, from_file

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class Restored:
    """What became of a restoration.

    Attributes:
        store: The directory.
        scope: What was restored.
        path: The version that took its place.
        dry_run: Whether nothing was touched, for that was asked for.
        differences: What that changed.
        warnings: What is odd about the version.
        kept: Where the file is now that made room for it; None if there was none.
        running: The milkd that works on the store meanwhile, which only a dry run allows.
    """

    store: str
    scope: str
    path: str
    dry_run: bool
    differences: Differences = field(default_factory=Differences)
    warnings: tuple[str, ...] = ()
    kept: str | None = None
    running: str | None = None

    @property
    def undo(self) -> str | None:
        """The command that brings back what was replaced; None if there was nothing sound."""
        name = os.path.basename(self.kept or "").removeprefix(f"{self.scope}.")
        if not name.endswith(".replaced.json"):
            return None
        return f"milkctl backup restore {self.scope} {name.removesuffix('.json')}"

    def to_json(self) -> dict[str, object]:
        """It as plain values."""
        return {
            "store": self.store,
            "scope": self.scope,
            "path": self.path,
            "dry_run": self.dry_run,
            **self.differences.to_json(),
            "warnings": list(self.warnings),
            "kept": self.kept,
            "undo": self.undo,
            "running": self.running,
        }


def restore(
    store: str,
    scope: str,
    which: str,
    *,
    dry_run: bool = False,
    files: Files | None = None,
    now: Callable[[], float] = time.time,
) -> Restored:
    """Have an earlier version of a scope be the present one.

    Args:
        store: The directory.
        scope: Global, the archive or a session, which need not be there any more.
        which: A time stamp as `versions` gives them, or the path of a file.
        dry_run: Only tell what would change; a milkd may work on the store meanwhile.
        files: The calls to go through.
        now: The wall clock.

    Raises:
        AlreadyRunning: A milkd works on the store.
        NotFound: There is no store, or no such version.
        InvalidParams: There can be no such scope.
        StoreDamaged: The version cannot be understood.
        Conflict: The store must be repaired first.
        VersionMismatch: A newer milkd wrote something of it; nothing was touched.
        Failure: The disk did not give or take something.
    """
    files = files or Files()
    check_scope(scope)
    try:
        with looking(store, beside=dry_run) as holder:
            path = find(store, scope, which, files)
            look = partial(_restore, store, scope, path, Onlooker(files), now, act=False)
            seen = steadily(store, files, holder, look)
            seen.running = holder
        if dry_run:
            return seen
        with exclusive(store):
            return _restore(store, scope, path, files, now, act=True)
    except OSError as error:
        raise broken_off("restoration", error) from error


def _restore(
    store: str, scope: str, path: str, files: Files, now: Callable[[], float], *, act: bool
) -> Restored:
    taking = Taking(store, files, now)
    own_id = store_id(files, taking.own)
    version = from_file(files, scope, path, own_id)
    taking.open()
    if taking.opened.refusal is not None:
        raise Conflict(f"{taking.opened.refusal}; `milkctl repair` first")
    if act:
        taking.save(taking.images(all_of_them=False), taking.store.newest)
    warnings = (*version.warnings, *mistaken(taking, scope, path, version, own_id))
    held = taking.scopes.get(scope)
    before = held.image if held is not None and held.image is not None else ScopeImage(name=scope)
    # What is being forgotten does not come back by this.
    images = taking.put(taking.engine.without(version.image, taking.opened.scrub.keys()))
    restored = Restored(store, scope, path, not act, warnings=warnings)
    restored.differences = differences(before, images[scope])
    if act:
        damaged = held is not None and held.problem
        restored.kept = taking.set_aside(scope, "damaged" if damaged else "replaced")
        taking.save(images, taking.store.newest + 1)
    return restored
