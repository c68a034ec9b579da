"""What a reference means: a full id, a prefix of one, or a text that fits one percept."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE
from milkd.engine.scope import Scope
from milkd.errors import Ambiguous, NotFound

if TYPE_CHECKING:
    from milkd.engine.memory import Memory

_ID_PREFIX = re.compile("#?([0-9a-f][0-9a-f-]{3,})", re.IGNORECASE)
MAX_LISTED = 10
FEW = 5
"""Percepts whose whole ids fit into a sentence."""
SHORT_ID = 8
"""Digits of an id that are shown to people, as milk does."""

Place = tuple[Scope, int]
"""A percept where it is: its scope, and its row there."""


def matches(memory: Memory, ref: str, session: str | None) -> list[Place]:
    """Every percept that a reference could mean, by the first rule that finds any.

    What the caller sees comes first; the archive is asked only when that has nothing.
    """
    for scopes in (memory.visible(session), (memory.scopes[ARCHIVE],)):
        for rule in (_by_id, _by_whole_text, _by_part_of_text):
            found = [(scope, slot) for scope in scopes for slot in rule(scope, ref)]
            if found:
                return found
    return []


def resolve(memory: Memory, ref: str, session: str | None) -> Place:
    """The one percept that a reference means.

    Raises:
        NotFound: Nothing fits; says so if another open session has it.
        Ambiguous: Several fit; lists them.
    """
    found = matches(memory, ref, session)
    if not found:
        raise NotFound(_not_found(memory, ref))
    if len(found) > 1:
        raise Ambiguous(_listing(found), tuple(scope.text(slot).id for scope, slot in found))
    return found[0]


def resolve_archived(memory: Memory, ref: str) -> Place:
    """The one percept of the archive that a reference means.

    Raises:
        NotFound: The archive has nothing that fits.
        Ambiguous: Several fit; lists them.
    """
    archive = memory.scopes[ARCHIVE]
    for rule in (_by_id, _by_whole_text, _by_part_of_text):
        found = [(archive, slot) for slot in rule(archive, ref)]
        if len(found) > 1:
            raise Ambiguous(_listing(found), tuple(archive.text(slot).id for _, slot in found))
        if found:
            return found[0]
    raise NotFound("no percept of the archive fits the reference; archive_list shows what is there")


def short(percept_id: str) -> str:
    """An id as people see it."""
    return f"#{percept_id[:SHORT_ID]}"


def shown(w: float) -> str:
    """A strength for people, cut and not rounded: 0.7999 has not reached 0.8."""
    return f"{math.floor(w * 1000) / 1000:.3f}"


def _by_id(scope: Scope, ref: str) -> list[int]:
    wanted = _ID_PREFIX.fullmatch(ref.strip())
    if wanted is None:
        slot = scope.slots.get(ref)  # milk's ids are UUIDs, but a file may hold any string
        return [] if slot is None else [slot]
    prefix = wanted[1].lower()
    exact = scope.slots.get(prefix)
    if exact is not None:
        return [exact]
    return [slot for i, slot in scope.slots.items() if i.lower().startswith(prefix)]


def _by_whole_text(scope: Scope, ref: str) -> list[int]:
    wanted = ref.strip().casefold()
    return [s for s in scope.slots.values() if scope.text(s).content.strip().casefold() == wanted]


def _by_part_of_text(scope: Scope, ref: str) -> list[int]:
    wanted = ref.strip().casefold()
    if not wanted:
        return []
    return [s for s in scope.slots.values() if wanted in scope.text(s).content.casefold()]


def _not_found(memory: Memory, ref: str) -> str:
    for session in memory.sessions():
        if _by_id(memory.scopes[session], ref):
            return f"no percept visible here fits; session {session} has it, so name that session"
    return "no percept visible here fits the reference (an id, 4 or more digits of one, or a text)"


def _listing(found: list[Place]) -> str:
    ids = [scope.text(slot).id for scope, slot in found]
    size = _digits(ids)
    shown = [
        f"#{scope.text(slot).id[:size]} {scope.text(slot).content[:60]!r}"
        for scope, slot in found[:MAX_LISTED]
    ]
    more = len(found) - len(shown)
    rest = f" and {more} more" if more > 0 else ""
    return f"{len(found)} percepts fit: " + "; ".join(shown) + rest


def _digits(ids: list[str]) -> int:
    """How much of each id tells them apart: the usual digits, or else as many as it takes.

    Of few that the usual digits do not tell apart, all: then none need be asked for again.
    """
    size, longest = SHORT_ID, max(map(len, ids))
    if len(ids) <= FEW and _alike(ids, size):
        return longest
    while size < longest and _alike(ids, size):
        size += 1
    return size


def _alike(ids: list[str], size: int) -> bool:
    return len({each[:size] for each in ids}) < len(ids)
