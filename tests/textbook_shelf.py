"""Where the textbook keeps its facts: plain lists.  Every search looks at every fact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textbook_text import meant, only

if TYPE_CHECKING:
    from milkd.engine.params import Params

GLOBAL, ARCHIVE = "global", "archive"
DAY = 86_400.0
EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z, from which recency is measured

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
    importance: float | None = None
    recalls: int = 0
    bad_recalls: int = 0
    confirmed_at: float | None = None
    wordings: list[tuple[str, float]] = field(default_factory=list)
    """Other ways in which it was stated, and when, the latest last."""
    content_at: float | None = None
    """When explicit words or an edit replaced the content."""
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


@dataclass
class Audience:
    """What a session, or a connection without one, was shown."""

    shown: set[str] = field(default_factory=set)
    """The facts it saw since it began."""
    turn: int = 0
    prompt: str | None = None
    """Of the present turn."""
    lines: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By fact: the turn in which it was last put before a prompt, and how it read."""


def touched(before: float, wall: float) -> float:
    """The new `updated_at`: never back, unless it lay more than a day ahead."""
    return wall if before > wall + DAY else max(before, wall)


class Shelf:
    """Global, archive and the open sessions."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.scopes: dict[str, Scope] = {GLOBAL: Scope(), ARCHIVE: Scope()}
        self.closed: dict[str, Scope] = {}
        self.awarded: set[str] = set()
        self.acted: set[Edge] = set()
        self.audiences: dict[str, Audience] = {}

    # Sessions and runs

    def sessions(self) -> list[str]:
        return [name for name in self.scopes if name not in (GLOBAL, ARCHIVE)]

    def open_session(self, name: str, running: float) -> None:
        """Loading counts as a pass: the time since the session was closed ages nothing."""
        self.scopes[name] = self.closed.pop(name, Scope())
        self.begin(name, running)

    def close_session(self, name: str) -> None:
        """It remembers what it was shown, but not in which turn."""
        self.closed[name] = self.scopes.pop(name)
        if name in self.audiences:
            self.audiences[name] = Audience(self.audiences[name].shown)

    def restart(self, running: float) -> None:
        """Sessions are closed, connections go, and a new run begins."""
        for name in self.sessions():
            self.close_session(name)
        kept = self.audiences.items()
        self.audiences = {name: seen for name, seen in kept if name in self.closed}
        self.new_run()
        self.begin(GLOBAL, running)

    def new_run(self) -> None:
        """Every fact may earn evidence, and every edge act, again."""
        self.awarded.clear()
        self.acted.clear()

    def audience(self, session: str | None, caller: str | None) -> Audience:
        """A caller without a name is never remembered."""
        name = session or caller
        return Audience() if name is None else self.audiences.setdefault(name, Audience())

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
