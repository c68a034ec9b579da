"""The values the memory is made of: percepts, edges, engrams, and a scope's image.

All are immutable.  Wall times are seconds since the Unix epoch (float, UTC),
durations are seconds.  What a file held and this version does not know travels
along untouched in `extra` and `stamps`, so that saving loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

GLOBAL = "global"
ARCHIVE = "archive"
SUBJECT_ROLE = "theme"
"""The role that holds a percept's subject."""
NOTHING: Mapping[str, object] = MappingProxyType({})
NO_STAMPS: Mapping[str, str] = MappingProxyType({})
NO_TOUCHES: Mapping[str, float] = MappingProxyType({})


def nothing() -> Mapping[str, object]:
    """The one empty mapping that all values share."""
    return NOTHING


def no_stamps() -> Mapping[str, str]:
    """The one empty mapping of times that all values share."""
    return NO_STAMPS


def no_touches() -> Mapping[str, float]:
    """The one empty mapping of running seconds that all values share."""
    return NO_TOUCHES


class Producer(StrEnum):
    """Who asserted a percept.  A percept loaded from a file may carry another name."""

    USER = "user"
    PRIMARY = "primary"
    ESCALATION = "escalation"
    SYSTEM = "system"


class Consumer(StrEnum):
    """Which agent a percept is for; a percept without a consumer is for all."""

    PRIMARY = "primary"
    ESCALATION = "escalation"


class Relation(StrEnum):
    """How one percept bears on another.  All but `contradicts` are positive."""

    EXTENDS = "extends"
    UPDATES = "updates"
    DERIVES = "derives"
    CONTRADICTS = "contradicts"


AT_ODDS = frozenset({Relation.UPDATES, Relation.CONTRADICTS})
"""The relations whose ends can't both be what holds now."""
POSITIVE = frozenset({Relation.EXTENDS, Relation.UPDATES, Relation.DERIVES})

# ADR-53, "Birth weights unchanged".
CORE_BIRTH_WEIGHT = 1.0
BIRTH_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        Producer.USER: 0.9,
        Producer.PRIMARY: 0.7,
        Producer.ESCALATION: 0.7,
        Producer.SYSTEM: 0.4,
    }
)


@dataclass(frozen=True, slots=True)
class Wording:
    """Another way in which a percept was stated, and when."""

    content: str
    at: float
    extra: Mapping[str, object] = field(default_factory=nothing, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Percept:
    """One natural-language assertion with strength and provenance."""

    id: str
    content: str
    producer: str
    w: float
    """Strength in [0, 1], current as of the last pass or touch."""
    created_at: float
    updated_at: float
    consumer: str | None = None
    roles: Mapping[str, object] = field(default_factory=nothing)
    engram_id: str | None = None
    core: bool = False
    evidence: int = 0
    """Runs in which the percept was corroborated."""
    idle_seconds: float = 0.0
    """Running seconds since its last use (globals only)."""
    last_used_at: float | None = None
    importance: float | None = None
    """Usefulness in [0.1, 1]; None counts as 0.5."""
    recall_count: int = 0
    bad_recall_count: int = 0
    """Consecutive recalls without use."""
    last_confirmed_use_at: float | None = None
    wordings: tuple[Wording, ...] = ()
    content_at: float | None = None
    """When the content was last replaced by other words; None if never."""
    archived_at: float | None = None
    archived_reason: str | None = None
    extra: Mapping[str, object] = field(default_factory=nothing)
    """Keys of the file that this version does not know, verbatim."""
    stamps: Mapping[str, str] = field(default_factory=no_stamps)
    """Times as the file wrote them, by key; valid while they still denote the field's value."""


class Live(NamedTuple):
    """The numbers of a percept that change with the time and with use, and say nothing else."""

    w: float
    idle_seconds: float
    last_used_at: float | None


def live(percept: Percept) -> Live:
    """The numbers that a percept has itself."""
    return Live(percept.w, percept.idle_seconds, percept.last_used_at)


def living(percept: Percept, numbers: Live) -> Percept:
    """The percept with other numbers."""
    w, idle_seconds, last_used_at = numbers
    return replace(percept, w=w, idle_seconds=idle_seconds, last_used_at=last_used_at)


@dataclass(frozen=True, slots=True)
class Edge:
    """A typed, directed statement that one percept (`source`) bears on another (`target`).

    Two edges are equal when ends and relation are.
    """

    source: str
    target: str
    relation: str
    extra: Mapping[str, object] = field(default_factory=nothing, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engram:
    """The percepts of one scope that share a subject label."""

    id: str
    subject_label: str
    composite_w: float
    """Mean strength of its percepts as of the last pass."""
    percept_ids: tuple[str, ...]
    created_at: float
    updated_at: float
    extra: Mapping[str, object] = field(default_factory=nothing)
    stamps: Mapping[str, str] = field(default_factory=no_stamps)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeImage:
    """All of one scope as a value: what a file holds, what the engine loads and gives back."""

    name: str
    """`global`, `archive` or a session id."""
    percepts: tuple[Percept, ...] = ()
    engrams: tuple[Engram, ...] = ()
    edges: tuple[Edge, ...] = ()
    running_seconds: float = 0.0
    """Running time that passes over this scope have accounted for, in all."""
    touched: Mapping[str, float] = field(default_factory=no_touches)
    """Running seconds at which a strength was current, by id, where that is after the last pass."""
    used: tuple[str, ...] = ()
    """Ids of the globals that were used since the last pass: there they count as not idle."""
    shown: tuple[str, ...] = ()
    """Ids of the percepts that a session was shown since it began (echo guard)."""
    extra: Mapping[str, object] = field(default_factory=nothing)
    """Top-level keys of the file that this version does not know."""
    unreadable: tuple[tuple[str, int, object], ...] = ()
    """(list name, position, raw value) of entries that are not valid; kept, not used."""


def birth_weight(producer: str, *, core: bool) -> float:
    """The strength a percept is born with (ADR-53); an unknown producer counts as system."""
    if core:
        return CORE_BIRTH_WEIGHT
    return BIRTH_WEIGHTS.get(producer, BIRTH_WEIGHTS[Producer.SYSTEM])


def unite_consumers(one: str | None, other: str | None) -> str | None:
    """The consumer of a percept stated for both: the same one, or all."""
    return one if one == other else None
