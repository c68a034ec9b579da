"""Which percepts and engrams of an import can be taken, given what each says of the others.

An engram lists percepts of its scope, and a percept names its engram: neither is
taken into the void.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine.guarding import secret_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from milkd.engine.draft import Draft
    from milkd.engine.percept import Engram, Percept, ScopeImage
    from milkd.engine.results import Place

Key = tuple[str, str]
"""Scope and id of an engram or a percept."""


class Groups:
    """The percepts and engrams of an import that may be taken.

    Args:
        draft: What the scopes hold already.
        refused: Takes the reasons for what may not be.
    """

    def __init__(self, draft: Draft, refused: dict[Place, str]) -> None:
        self._draft = draft
        self._refused = refused
        self._named: set[Key] = set()
        self._percepts: dict[str, tuple[Place, Percept]] = {}
        self._engrams: dict[Key, tuple[Place, Engram]] = {}
        self._labels: dict[str, dict[str, str]] = {}
        self._joining: dict[Key, list[str]] = defaultdict(list)
        """Percepts by the engram that they name."""

    def name(self, scope: str, percept_id: str) -> None:
        """The import has a percept of this id in the scope, whether it can be taken or not."""
        self._named.add((scope, percept_id))

    def propose(self, place: Place, percept: Percept) -> None:
        """A percept that is sound by itself."""
        self._percepts[percept.id] = place, percept
        if percept.engram_id is not None:
            self._joining[place[0], percept.engram_id].append(percept.id)

    def sift(self, images: Iterable[ScopeImage]) -> None:
        """Look at the engrams, and at what percepts and engrams say of each other.

        An engram loses the percepts that are refused.  One that has none left is refused, and so
        are the percepts that name it, which may have been the last of another.
        """
        for image in images:
            for position, engram in enumerate(image.engrams):
                self._sift_engram((image.name, "engrams", position), engram)
        listing, left = self._members()
        refused = [key for key in self._engrams if not left[key]]
        refused += [key for key in self._joining if not self._is_there(key)]
        while refused:
            key = refused.pop()
            for percept_id in self._refuse(key):
                others = [other for other in listing[percept_id] if other[0] == key[0]]
                left.subtract(others)
                refused += [other for other in others if not left[other]]

    def percepts_of(self, scope: str) -> Iterator[Percept]:
        """The percepts of a scope that are taken, in order."""
        return (percept for place, percept in self._percepts.values() if place[0] == scope)

    def engrams_of(self, scope: str) -> Iterator[Engram]:
        """The engrams of a scope that are taken, and those of the store that get new members."""
        here = self._draft.scope(scope)
        for (name, _), (_, engram) in self._engrams.items():
            if name == scope:
                left = tuple(each for each in engram.percept_ids if each in here)
                yield engram if left == engram.percept_ids else replace(engram, percept_ids=left)
        for (name, engram_id), joining in self._joining.items():
            known = here.base.engrams.get(engram_id)
            if name == scope and known is not None:
                members = tuple(dict.fromkeys((*known.percept_ids, *joining)))
                if members != known.percept_ids:
                    yield replace(known, percept_ids=members, updated_at=self._draft.now.wall)

    def takes(self, percept_id: str) -> bool:
        """Whether the percept is taken."""
        return percept_id in self._percepts

    def count(self) -> int:
        """How many percepts and engrams are taken."""
        return len(self._percepts) + len(self._engrams)

    def _sift_engram(self, place: Place, engram: Engram) -> None:
        problem = self._problem(place[0], engram)
        if problem is not None:
            self._refused[place] = problem
            return
        self._engrams[place[0], engram.id] = place, engram
        self._labels[place[0]][folded(engram.subject_label)] = engram.subject_label

    def _problem(self, scope: str, engram: Engram) -> str | None:
        here = self._draft.scope(scope)
        if self._is_there((scope, engram.id)):
            return "id: an engram of this id exists already"
        if scope not in self._labels:
            labels = [known.subject_label for known in here.base.engrams.values()]
            self._labels[scope] = {folded(label): label for label in labels}
        known = self._labels[scope].get(folded(engram.subject_label))
        if known is not None:
            how = "this label" if known == engram.subject_label else "this label in another case"
            return f"subject_label: an engram of {scope} has {how}"
        if problem := secret_in("subject_label", engram.subject_label, self._draft.params):
            return problem
        if not engram.percept_ids:
            return "percept_ids: found none, expected at least one"
        if len(set(engram.percept_ids)) < len(engram.percept_ids):
            return "percept_ids: found a percept twice, expected each once"
        for position, member in enumerate(engram.percept_ids):
            if member not in here and (scope, member) not in self._named:
                return f"percept_ids[{position}]: no percept of {scope} has this id"
        return None

    def _members(self) -> tuple[dict[str, list[Key]], Counter[Key]]:
        """The engrams that list each percept, and how many each has that may stay."""
        listing: dict[str, list[Key]] = defaultdict(list)
        left: Counter[Key] = Counter()
        for key, (_, engram) in self._engrams.items():
            here = self._draft.scope(key[0])
            for member in engram.percept_ids:
                listing[member].append(key)
                left[key] += member in here or self._is_taken(key[0], member)
        return listing, left

    def _refuse(self, key: Key) -> list[str]:
        """Refuse an engram, if it is one of the import, and the percepts that name it."""
        if key in self._engrams:
            place, _ = self._engrams.pop(key)
            self._refused[place] = "percept_ids: none of its percepts can be taken"
        gone = [each for each in self._joining.pop(key, ()) if each in self._percepts]
        for percept_id in gone:
            place, _ = self._percepts.pop(percept_id)
            self._refused[place] = f"engram_id: no engram of {key[0]} has this id"
        return gone

    def _is_there(self, key: Key) -> bool:
        return key in self._engrams or key[1] in self._draft.scope(key[0]).base.engrams

    def _is_taken(self, scope: str, percept_id: str) -> bool:
        return percept_id in self._percepts and self._percepts[percept_id][0][0] == scope


def folded(label: str) -> str:
    """The label as it is looked for."""
    return label.strip().casefold()
