"""From what is found of a scope to the scope as it was last acknowledged.

The daemon does this when it starts, and whoever repairs a store does the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine.changes import PerceptPut
from milkd.store.merging import merge
from milkd.store.seal import Seal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.engine.engine import Engine
    from milkd.engine.percept import ScopeImage
    from milkd.store.interface import Found


def recovered(engine: Engine, found: Found, wall: float) -> ScopeImage:
    """The scope, with the entries of the journal and what an older version of its file adds.

    Args:
        engine: Has the scope loaded afterwards, if there was anything to add.
        found: The scope as it is on disk.
        wall: Now: see `merge`.
    """
    if not found.replay and found.stale is None:
        return found.loaded.image
    image = replayed(engine, found)
    if found.stale is None:
        return image
    merged = merge(found.stale.base, found.stale.loaded.image, image, wall=wall)
    engine.apply_all(merged.changes)
    return engine.image(image.name)


def replayed(engine: Engine, found: Found) -> ScopeImage:
    """The scope of a file with the entries of the journal that came after it; it is loaded then."""
    name = found.loaded.image.name
    engine.put_back(found.loaded.image)
    engine.apply_all(change for _, change in found.replay)
    engine.leave(name)  # what the journal tells of who was shown what is for the file alone
    return engine.image(name)


def without_forgotten(
    engine: Engine, found: Found, image: ScopeImage, forgotten: Mapping[str, int]
) -> ScopeImage:
    """An image without what was forgotten in another scope, and not taken in again after that.

    Milk may have been stopped between two files, and a hand may have put it back.  What milkd
    itself saved later than it forgot it was taken in again.
    """
    loaded = found.loaded
    saved = loaded.image.percepts if loaded.sealed is Seal.OURS else ()
    again = {
        change.percept.id
        for seq, change in found.replay
        if isinstance(change, PerceptPut) and seq > forgotten.get(change.percept.id, seq)
    }
    again |= {each.id for each in saved if loaded.seq > forgotten.get(each.id, loaded.seq)}
    return engine.without(image, forgotten.keys() - again)
