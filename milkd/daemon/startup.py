"""Bringing back what is on disk, before anybody is served.

Each scope is its file and the entries of the journal that came after it, applied by the
same engine.  If there were any, which a clean stop does not leave, the files are
written at once: an old journal is never appended to.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import Failure, StorageFailed, StoreDamaged, VersionMismatch
from milkd.paths import short
from milkd.store.interface import Theirs
from milkd.store.recovery import recovered, replayed, without_forgotten
from milkd.store.seal import Seal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.daemon.core import Core
    from milkd.engine.percept import ScopeImage
    from milkd.store.interface import Found

EDITED = (Seal.EDITED, Seal.BARE)

_log = logging.getLogger(__name__)


def load_store(core: Core) -> None:
    """Load the scopes that are always loaded, and take note of the sessions.

    Raises:
        VersionMismatch: A newer milkd wrote global.json or archive.json.
        Failure: The disk does not give them.
    """
    opened = core.store.open()
    core.commits.refusal = opened.refusal
    for note in opened.notes:
        _log.warning("%s", note)
        core.health.tell(note)
    core.replays.load(opened.operations)
    for name in (GLOBAL, ARCHIVE):
        _bring_back(core, name, opened.scrub)
    core.clocks.start_global(core.engine.read_at(GLOBAL))
    for name in opened.scopes:
        if name not in (GLOBAL, ARCHIVE):
            _adopt(core, name, opened.scrub)
    core.commits.start_at(core.store.newest)
    core.checkpoints.to_scrub(tuple(opened.scrub))
    if opened.refusal is not None:
        core.health.note("refusal", opened.refusal, read_only=True)
    elif core.commits.dirty():
        _save(core, retire=not opened.scrub)


def _bring_back(core: Core, name: str, forgotten: Mapping[str, int]) -> None:
    """Have a scope loaded as it was last acknowledged."""
    found = _found(core, name)
    image = recovered(core.engine, found, core.now().wall)
    rest = _rest(core, found, image, forgotten)
    if rest is not image or not core.engine.is_loaded(name) or image is found.loaded.image:
        core.engine.put_back(rest)
    core.commits.kept.loaded(found, rest)


def _adopt(core: Core, name: str, forgotten: Mapping[str, int]) -> None:
    """Take note of a session; it is loaded when it opens."""
    try:
        found = _found(core, name)
    except (StoreDamaged, VersionMismatch, StorageFailed) as error:
        core.sessions.adopt_unreadable(name)
        core.loading.complain(name, error)
        return
    image = recovered(core.engine, found, core.now().wall)
    if core.engine.is_loaded(name):
        core.engine.unload(name)
    rest = _rest(core, found, image, forgotten)
    core.commits.kept.loaded(found, rest)
    core.commits.kept.unloaded(rest, core.store.newest)
    core.sessions.adopt(rest)


def _rest(core: Core, found: Found, image: ScopeImage, forgotten: Mapping[str, int]) -> ScopeImage:
    """The image without what global holds too, and without what was forgotten elsewhere."""
    rest = core.engine.without_known(image)
    if rest is not image:
        _log.warning("%s.json held what is in global.json too; that counts", image.name)
    return without_forgotten(core.engine, found, rest, forgotten)


def _found(core: Core, name: str) -> Found:
    found = core.store.find(name)
    core.health.note_file(name, found.loaded.warnings)
    if found.frozen is not None:
        core.commits.frozen[name] = found.frozen
        if name == GLOBAL:
            core.health.note("frozen", found.frozen, read_only=True)
            core.health.note_file(name, found.loaded.warnings[:-1])
    elif core.commits.refusal is None:
        if found.stale is not None or (found.replay and found.loaded.sealed in EDITED):
            _keep(core, name, found)
        if found.past is not None:
            _tell_past(core, found, found.past)
    return found


def _tell_past(core: Core, found: Found, past: Found) -> None:
    """Keep what milkd had left in a file that another program replaced, and tell what it lacks."""
    before, name = replayed(core.engine, past), past.loaded.image.name
    core.engine.unload(name)
    here = {percept.id for percept in found.loaded.image.percepts}
    missing = sum(percept.id not in here for percept in before.percepts)
    kept = core.store.keep_past(before)
    if kept is None or not missing:
        return
    facts = "a fact" if missing == 1 else f"{missing} facts"
    what = "removed" if found.loaded.sealed is Seal.NONE else "written by another program"
    core.health.tell(
        f"{name}.json was {what} while milkd was not running, and lacks {facts} that it had; the "
        f"version before is kept as {short(kept)} (`milkctl repair` and `backup restore` take it)"
    )


def _keep(core: Core, name: str, found: Found) -> None:
    """Keep a copy of an edit to which entries of the journal were added."""
    theirs = core.store.theirs(name)
    try:
        core.store.adopt(name, Theirs(theirs.stamp, found.loaded), "conflict")
    except Failure as error:
        _log.warning("no copy of %s.json could be kept: %s", name, error)


def _save(core: Core, *, retire: bool) -> None:
    """Write the files anew; if the disk does not take them the journal keeps what it has."""
    kept = core.commits.kept
    parts = [kept.part(name) for name in core.commits.dirty()]
    try:
        written = core.store.write(parts, core.commits.seq, core.replays.dones(), lambda: None)
        published = core.store.publish(written)
        kept.saved(published.images, core.commits.seq)
        for name in published.images:
            core.health.let_pass(name)
        if published.error is None and retire:
            core.store.retire(keep=True)
        error = published.error
    except Failure as failure:
        error = failure
    if error is not None:
        core.checkpoints.failed(error)
