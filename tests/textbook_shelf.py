"""Where the textbook keeps its facts: plain lists, and what may be asked of one fact.

Every search looks at every fact.  Where a threshold was decided within rounding error,
`doubtful` is set: two right implementations may then differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from textbook_text import meant, only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from milkd.engine import commands as ask
    from milkd.engine.params import Params

GLOBAL, ARCHIVE = "global", "archive"
DAY = 86_400.0
EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z, from which recency is measured
CLOSE = 1e-9  # weights as near to a threshold as this may fall on either side of it

Edge = tuple[str, str, str]  # source, target, relation


@dataclass(eq=False, kw_only=True)
class Fact:
    """A percept, and what its scope remembers of it between passes."""

    id: str
    content: str
    producer: str
    w: float
    created_at: float
    updated_at: float
    consumer: str | None = None
    roles: dict[str, object] = field(default_factory=dict)
    label: str | None = None
    core: bool = False
    evidence: int = 0
    idle: float = 0.0
    used_at: float | None = None
    archived_at: float | None = None
    reason: str | None = None
    at: float = 0.0
    """Running seconds of its scope at which `w` is current."""
    busy: bool = False
    """Used or touched since the last pass."""


@dataclass
class Scope:
    """A file's worth of facts, the oldest first."""

    facts: list[Fact] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    passed: float = 0.0
    """Running seconds at its last pass."""


def touched(before: float, wall: float) -> float:
    """The new `updated_at`: never back, unless it lay more than a day ahead."""
    return wall if before > wall + DAY else max(before, wall)


def power(exponent: float) -> float:
    return float(2.0 ** max(-1000.0, min(1000.0, exponent)))


class Shelf:
    """Global, archive and the open sessions, by the strict profile."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.scopes: dict[str, Scope] = {GLOBAL: Scope(), ARCHIVE: Scope()}
        self.closed: dict[str, Scope] = {}
        self.awarded: set[str] = set()
        self.doubtful = False
        self.rounded: set[Fact] = set()  # facts whose weight a power of two went into

    # Sessions and runs

    def sessions(self) -> list[str]:
        return [name for name in self.scopes if name not in (GLOBAL, ARCHIVE)]

    def open_session(self, name: str, running: float) -> None:
        """Loading counts as a pass: the time since the session was closed ages nothing."""
        self.scopes[name] = self.closed.pop(name, Scope())
        self.begin(name, running)

    def close_session(self, name: str) -> None:
        self.closed[name] = self.scopes.pop(name)

    def restart(self, running: float) -> None:
        """A new run: sessions are closed, and evidence may be awarded again."""
        for name in self.sessions():
            self.close_session(name)
        self.awarded.clear()
        self.begin(GLOBAL, running)

    def begin(self, name: str, running: float) -> None:
        self.scopes[name].passed = running
        for fact in self.scopes[name].facts:
            fact.at, fact.busy = running, False

    # Finding facts

    def visible(self, session: str | None) -> list[tuple[str, Fact]]:
        names = [GLOBAL] if session is None else [GLOBAL, session]
        return [(name, fact) for name in names for fact in self.scopes[name].facts]

    def where(self, wanted: str) -> str | None:
        holding = (n for n, s in self.scopes.items() if any(fact.id == wanted for fact in s.facts))
        return next(holding, None)

    def live(self, wanted: str) -> bool:
        return self.where(wanted) not in (None, ARCHIVE)

    def exists(self, wanted: str) -> bool:
        dormant = [fact.id for scope in self.closed.values() for fact in scope.facts]
        return self.where(wanted) is not None or wanted in dormant

    def archived(self) -> list[tuple[str, Fact]]:
        return [(ARCHIVE, fact) for fact in self.scopes[ARCHIVE].facts]

    def candidates(self, ref: str, session: str | None) -> list[tuple[str, Fact]]:
        return meant(ref, self.visible(session)) or meant(ref, self.archived())

    def one(self, ref: str, session: str | None) -> tuple[str, Fact]:
        return only(ref, self.candidates(ref, session))

    def for_agent(self, session: str | None, consumer: str | None) -> list[Fact]:
        facts = [fact for _, fact in self.visible(session)]
        return [fact for fact in facts if consumer is None or fact.consumer in (None, consumer)]

    def drop_edges(self, end: str) -> None:
        for scope in self.scopes.values():
            scope.edges = [edge for edge in scope.edges if end not in edge[:2]]

    def delete(self, scope: str, fact: Fact) -> None:
        self.scopes[scope].facts.remove(fact)
        self.drop_edges(fact.id)

    def move(self, fact: Fact, source: str, target: str) -> None:
        """To the end of another scope, with the edges that start from it."""
        here, there = self.scopes[source], self.scopes[target]
        here.facts.remove(fact)
        there.facts.append(fact)
        going = [edge for edge in here.edges if edge[0] == fact.id]
        here.edges = [edge for edge in here.edges if edge not in going]
        there.edges += [edge for edge in going if edge not in there.edges]

    # Strength and score

    def strength(self, scope: str, fact: Fact, now: ask.Now) -> float:
        """ADR-90, "Decay": one exponential since the fact's own last touch."""
        elapsed = 0.0 if scope == ARCHIVE else min(DAY, now.running[scope] - fact.at)
        floor, days = 0.0, self.params.session_half_life_days
        if scope == GLOBAL:
            floor, days = self.params.prune_threshold, self.params.global_half_life_days
        if fact.core or elapsed == 0.0 or fact.w <= floor:
            return fact.w
        self.rounded.add(fact)
        return float(floor + (fact.w - floor) * 2.0 ** (-elapsed / (days * DAY)))

    def score(self, fact: Fact, wall: float) -> float:
        """ADR-90, "Weighing": rank_score."""
        half_life = self.params.recency_half_life_days * DAY
        u = power((min(fact.updated_at, wall) - EPOCH) / half_life)
        c = self.params.recency_boost * power((EPOCH - wall) / half_life)
        return fact.w * (1 + 0.05 * min(fact.evidence, 4)) * (1 + c * u)

    def ranked(self, facts: Iterable[Fact], key: Callable[[Fact], float]) -> list[Fact]:
        """The highest first, equal ones as they came."""
        keys = {fact: key(fact) for fact in facts}
        order = sorted(keys, key=lambda fact: -keys[fact])
        for one, next_one in pairwise(order):
            gap = keys[one] - keys[next_one]
            self.doubtful |= 0 < gap < 1e-12 * keys[one]
        return order

    def reaches(self, fact: Fact, threshold: float) -> bool:
        self.doubtful |= fact in self.rounded and abs(fact.w - threshold) < CLOSE
        return fact.w >= threshold

    def be_sure(self) -> None:
        """Take all weights for exact from here on."""
        self.doubtful = False
        self.rounded.clear()
