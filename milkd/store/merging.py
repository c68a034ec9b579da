"""What another program did to a scope's file, as changes to the scope as it is here.

The file may have been edited by hand, or saved by milk, while the daemon went on.
Images in, changes out: a three-way merge, entry by entry and field by field.  What
one side changed is that side's; where both changed the same, ours stays and is
named.  Order says nothing, nor does how a time is spelled.  The clocks, the shown
and the used of their file are not looked at: those are ours alone.

If nobody knows what their file came from, because the `_milkd` block is gone,
absence says nothing: nothing is deleted, and of two versions the newer one wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.engine.changes import Change, PerceptDropped, PerceptPut
from milkd.engine.percept import ARCHIVE, Edge, ScopeImage
from milkd.store.leftovers import broken, merge_leftovers
from milkd.store.regrouping import Moves, merge_groups, with_our_labels
from milkd.store.relinking import merge_edges
from milkd.store.sameness import is_restated, same_percept
from milkd.store.versions import merge_percepts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from milkd.engine.percept import Percept
    from milkd.store.leftovers import Key


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge comes to.

    Attributes:
        changes: To be applied to ours, in order.
        conflicts: What both sides changed, and what of theirs cannot be taken: ids of percepts
            and engrams, sources of edges, top-level keys.  If there are any, their file holds
            something that is nowhere else.
        refused: Percepts that are new in theirs, but whose ids another scope has.
        summary: A sentence for a person.
    """

    changes: tuple[Change, ...] = ()
    conflicts: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    summary: str = ""


def nowhere(_percept_id: str) -> bool:
    """No other scope has any percept."""
    return False


def merge(
    base: ScopeImage | None,
    theirs: ScopeImage,
    ours: ScopeImage,
    *,
    wall: float,
    running: float | None = None,
    elsewhere: Callable[[str], bool] = nowhere,
) -> Merged:
    """Bring what another program did to a scope's file into the scope as it is here.

    Args:
        base: What their file came from: the scope as milkd wrote it or, if changes of theirs to
            that are in ours already, as they left it then.  None if that is not known.
        theirs: What is in the file.
        ours: The scope as it is here.
        wall: Now: when content that they replaced without saying when counts as replaced.
        running: The scope's running seconds, as of which a strength of theirs is current.
        elsewhere: Whether another scope has a percept.  One that was forgotten may count as
            being there: then a file that still has it cannot bring it back.
    """
    base = base or ScopeImage(name=ours.name)
    theirs = with_our_labels(base, theirs, ours)
    lost = broken(base, theirs, ours)
    percepts = _Percepts(ours.name, wall, None if ours.name == ARCHIVE else running, elsewhere)
    percepts.merge(base, theirs, ours, lost)
    parts = (
        (percepts.changes, [*map(_name, lost), *percepts.conflicts]),
        merge_groups((base, theirs, ours), percepts.moves, lost),
        merge_edges((base, theirs, ours), percepts.moves, elsewhere, lost),
        merge_leftovers((base, theirs, ours), lost, percepts.refused),
    )
    changes = tuple(change for found, _ in parts for change in found)
    conflicts = tuple(dict.fromkeys(name for _, names in parts for name in names))
    refused = tuple(percepts.refused)
    others = len(changes) - len(percepts.changes)
    return Merged(changes, conflicts, refused, percepts.summary(others, len(conflicts)))


class _Percepts:
    """The merge of the percepts, which come first: the rest hangs on them."""

    def __init__(
        self, scope: str, wall: float, running: float | None, elsewhere: Callable[[str], bool]
    ) -> None:
        self.changes: list[Change] = []
        self.conflicts: list[str] = []
        self.refused: list[str] = []
        self.moves = Moves()
        self._scope = scope
        self._wall = wall
        self._running = running
        self._elsewhere = elsewhere
        self._counts = {"changed": 0, "added": 0, "removed": 0}

    def merge(
        self, base: ScopeImage, theirs: ScopeImage, ours: ScopeImage, lost: Collection[Key]
    ) -> None:
        """Take what they changed, added and removed."""
        before, there, here = (
            {percept.id: percept for percept in image.percepts} for image in (base, theirs, ours)
        )
        self.moves.missing = (before.keys() | there.keys()) - here.keys()
        for percept_id, new in there.items():
            old, mine = before.get(percept_id), here.get(percept_id)
            if old is not None and same_percept(new, old):
                continue
            if mine is not None:
                self._change(old, new, mine)
            elif old is None:
                self._add(new)
            else:  # it left the scope here, and an edit does not call it back
                self.conflicts.append(percept_id)
        unread = {name for where, name in lost if where == "percepts"}
        for percept_id, mine in here.items():
            if percept_id in unread:
                self.moves.keep(mine)
            elif percept_id in before and percept_id not in there:
                self._remove(before[percept_id], mine)

    def summary(self, others: int, conflicts: int) -> str:
        """What happened, for a person."""
        counts = [f"{count} {what}" for what, count in self._counts.items() if count]
        if counts:
            number, _, what = counts[0].partition(" ")
            counts[0] = f"{number} {'fact' if number == '1' else 'facts'} {what}"
        elif others:
            counts = ["groups, edges or other keys changed"]
        text = f"{', '.join(counts) or 'nothing changed'} by another program"
        if conflicts:
            text += f"; {conflicts} changed on both sides, or not readable any more"
        if self.refused:
            text += f"; {len(self.refused)} not taken: in another file of the store, or forgotten"
        return text

    def _change(self, old: Percept | None, new: Percept, mine: Percept) -> None:
        merged, clash = merge_percepts(old, new, mine, self._wall)
        if clash:
            self.conflicts.append(mine.id)
        self.moves.settle(merged, new, mine)
        if merged is not mine:
            weighed = merged.w != mine.w or merged.core != mine.core
            self.changes.append(PerceptPut(self._scope, merged, self._running if weighed else None))
            self._counts["changed"] += 1

    def _add(self, new: Percept) -> None:
        if self._elsewhere(new.id):
            self.refused.append(new.id)
            return
        self.changes.append(PerceptPut(self._scope, new, self._running))
        self.moves.missing.discard(new.id)
        self.moves.settle(new)
        self._counts["added"] += 1

    def _remove(self, old: Percept, mine: Percept) -> None:
        if is_restated(old, mine):
            self.conflicts.append(mine.id)
            self.moves.keep(mine)
            return
        self.changes.append(PerceptDropped(self._scope, mine.id))
        self.moves.dropped.add(mine.id)
        self._counts["removed"] += 1


def _name(key: Key) -> str:
    _, name = key
    return name.source if isinstance(name, Edge) else name
