"""Whether a file that is to become a scope looks like one of another scope, or store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from milkd.store.backups import NAME
from milkd.store.copies import ASIDE
from milkd.upkeep.report import counted
from milkd.upkeep.versions import PRE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.store.snapshot import Loaded
    from milkd.upkeep.taking import Held, Taking


def mistaken(
    taking: Taking, scope: str, path: str, version: Loaded, store: str | None
) -> Iterator[str]:
    """Sentences about why a file may be the wrong one; it is taken all the same.

    Args:
        taking: The store as it is.
        scope: What the file is to become.
        path: Of the file.
        version: What is in it.
        store: The id of the store.
    """
    named = _named(taking, path)
    if named not in (None, scope):
        yield f"by its name this is a version of {named}, not of {scope}"
    if store is not None and version.store not in (None, store):
        yield f"it was written for another store, {version.store}"
    ids = {percept.id for percept in version.image.percepts}
    counts = {each: _common(ids, held) for each, held in taking.scopes.items()}
    if held := taking.scopes.get(scope):
        counts[scope] = 0 if held.problem else counts[scope]
    most = max(counts, key=counts.__getitem__, default=scope)
    if counts.get(most, 0) > max(counts.get(scope, 0), len(ids) // 2):
        yield f"{counts[most]} of its {counted(len(ids), 'fact')} are in {most}.json now"


def _named(taking: Taking, path: str) -> str | None:
    """The scope by whose name milkd would call a file at this place; None if it would not."""
    folder, name = os.path.split(taking.files.resolve(path))
    if match := NAME.fullmatch(name) or ASIDE.fullmatch(name):
        return match[1]
    ours = folder == os.path.dirname(taking.own) or os.path.basename(folder).startswith(PRE)
    return name.removesuffix(".json") if ours else None


def _common(ids: set[str], held: Held) -> int:
    """How many of some percepts are in a scope, be it that another one takes them over."""
    images = (held.image, None if held.found is None else held.found.loaded.image)
    there = {percept.id for image in images if image is not None for percept in image.percepts}
    return len(ids & there)
