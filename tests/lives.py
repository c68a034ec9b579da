"""One way to drive both: the real engine and the textbook, and to see them in plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from milkd.engine import commands as ask
from milkd.engine import results
from milkd.engine.engine import Engine
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Percept, ScopeImage
from textbook import Textbook
from textbook_shelf import EPOCH, Fact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.engine.commands import Command, Now
    from milkd.engine.params import Params


class Row(NamedTuple):
    """A percept as both sides can show it; all but `w` and `idle` must be equal."""

    id: str
    content: str
    producer: str
    consumer: str | None
    core: bool
    evidence: int
    created_at: float
    updated_at: float
    last_used_at: float | None
    roles: Mapping[str, object]
    archived_at: float | None
    archived_reason: str | None
    w: float
    idle: float


@dataclass
class Clock:
    """Wall time, and the running seconds of every scope."""

    wall: float = EPOCH
    running: dict[str, float] = field(default_factory=lambda: {GLOBAL: 0.0})

    def run(self, seconds: float, *sessions: str) -> None:
        for name in (GLOBAL, *sessions):
            self.running[name] = self.running.get(name, 0.0) + seconds

    def now(self) -> Now:
        return ask.Now(self.wall, dict(self.running))


class Life(Protocol):
    """A memory, real or textbook."""

    def open(self, name: str) -> None: ...
    def close(self, name: str) -> None: ...
    def restart(self) -> None: ...
    def new_run(self) -> None: ...
    def configure(self, params: Params) -> None: ...
    def sessions(self) -> list[str]: ...
    def do(self, command: Command) -> Any: ...
    def rows(self, scope: str) -> list[Row]: ...
    def edges(self, scope: str) -> list[tuple[str, str, str]]: ...
    def labels(self, scope: str) -> dict[str, list[str]]: ...
    def accounted(self, scope: str) -> float: ...


class BookLife:
    """The textbook."""

    def __init__(self, params: Params, clock: Clock) -> None:
        self.book = Textbook(params)
        self.clock = clock

    def open(self, name: str) -> None:
        self.book.open_session(name, self.clock.running.setdefault(name, 0.0))

    def close(self, name: str) -> None:
        self.book.close_session(name)

    def restart(self) -> None:
        self.book.restart(self.clock.running[GLOBAL])

    def new_run(self) -> None:
        self.book.awarded.clear()

    def configure(self, params: Params) -> None:
        self.book.params = params

    def sessions(self) -> list[str]:
        return self.book.sessions()

    def do(self, command: Command) -> Any:
        book, now = self.book, self.clock.now()
        book.be_sure()
        match command:
            case ask.Record():
                return book.record(command, now)
            case ask.Learn():
                return book.learn(command, now)
            case ask.Edit():
                return book.edit(command, now)
            case ask.Forget():
                return book.forget(command)
            case ask.Restore():
                return book.restore(command, now)
            case ask.Relate():
                return book.relate(command)
            case ask.Unrelate():
                return book.unrelate(command)
            case ask.Consolidate():
                return book.consolidate(command, now)
            case ask.DropSession():
                return book.drop_session(command)
            case ask.Query():
                return book.query(command, now)
            case ask.Inject():
                return book.inject(command, now)
            case ask.List():
                return book.page(command, now)
            case ask.Similar():
                return book.similar(command)
            case ask.Resolve():
                return book.resolve(command)
            case ask.Show():
                return book.show(command)
            case ask.Explain():
                return book.explain(command, now)
        raise TypeError(f"the textbook knows no {command!r}")

    def rows(self, scope: str) -> list[Row]:
        return [row_of_fact(fact) for fact in self.book.scopes[scope].facts]

    def edges(self, scope: str) -> list[tuple[str, str, str]]:
        return self.book.scopes[scope].edges

    def labels(self, scope: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for fact in self.book.scopes[scope].facts:
            if fact.label is not None:
                found.setdefault(fact.label, []).append(fact.id)
        return {label: sorted(members) for label, members in found.items()}

    def accounted(self, scope: str) -> float:
        return self.book.scopes[scope].passed


class EngineLife:
    """The engine, and a second one that only hears of the changes.

    After every command both must be the same, and deciding alone must have changed nothing.
    """

    def __init__(self, params: Params, clock: Clock) -> None:
        self.clock = clock
        self.closed: dict[str, ScopeImage] = {}
        self._begin(params, (ScopeImage(name=GLOBAL), ScopeImage(name=ARCHIVE)))

    def _begin(self, params: Params, images: tuple[ScopeImage, ...]) -> None:
        self.engine, self.follower = Engine(params), Engine(params)
        for image in images:
            self.load(image)
        for name, image in self.closed.items():
            for engine in (self.engine, self.follower):
                engine.set_dormant(name, {p.id: p.content for p in image.percepts})

    def load(self, image: ScopeImage) -> None:
        for engine in (self.engine, self.follower):
            engine.load(image, self.clock.running.get(image.name, 0.0))

    def open(self, name: str) -> None:
        self.clock.running.setdefault(name, 0.0)
        self.load(self.closed.pop(name, ScopeImage(name=name)))

    def close(self, name: str) -> None:
        self.closed[name] = self.engine.image(name)
        for engine in (self.engine, self.follower):
            engine.unload(name)

    def restart(self) -> None:
        self.closed |= {name: self.engine.image(name) for name in self.engine.sessions()}
        images = (self.engine.image(GLOBAL), self.engine.image(ARCHIVE))
        self._begin(self.engine.params, images)

    def new_run(self) -> None:
        for engine in (self.engine, self.follower):
            engine.new_run()

    def configure(self, params: Params) -> None:
        for engine in (self.engine, self.follower):
            engine.configure(params)

    def sessions(self) -> list[str]:
        return list(self.engine.sessions())

    def do(self, command: Command) -> Any:
        before = self.images(self.engine)
        try:
            decision = self.engine.decide(command, self.clock.now())
        finally:
            assert self.images(self.engine) == before, "deciding changed the state"
        for change in decision.changes:
            self.engine.apply(change)
            self.follower.apply(change)
        if isinstance(command, ask.DropSession):
            self._drop(command.session)
        assert self.images(self.follower) == self.images(self.engine), "the replay differs"
        return plain(decision.result)

    def _drop(self, name: str) -> None:
        for engine in (self.engine, self.follower):
            if engine.is_loaded(name):
                assert engine.count(name) == 0
                engine.unload(name)

    def images(self, engine: Engine) -> dict[str, ScopeImage]:
        return {name: engine.image(name) for name in (GLOBAL, ARCHIVE, *engine.sessions())}

    def rows(self, scope: str) -> list[Row]:
        return [row_of_percept(percept) for percept in self.engine.image(scope).percepts]

    def edges(self, scope: str) -> list[tuple[str, str, str]]:
        return [ends(edge) for edge in self.engine.image(scope).edges]

    def labels(self, scope: str) -> dict[str, list[str]]:
        engrams = self.engine.image(scope).engrams
        return {e.subject_label.casefold(): sorted(e.percept_ids) for e in engrams if e.percept_ids}

    def accounted(self, scope: str) -> float:
        return self.engine.image(scope).running_seconds


def ends(edge: Edge) -> tuple[str, str, str]:
    return (edge.source, edge.target, str(edge.relation))


def row_of_percept(p: Percept) -> Row:
    return Row(p.id, p.content, p.producer, p.consumer, p.core, p.evidence, p.created_at,
               p.updated_at, p.last_used_at, p.roles, p.archived_at, p.archived_reason,
               p.w, p.idle_seconds)  # fmt: skip


def row_of_fact(f: Fact) -> Row:
    return Row(f.id, f.content, f.producer, f.consumer, f.core, f.evidence, f.created_at,
               f.updated_at, f.used_at, f.roles, f.archived_at, f.reason, f.w, f.idle)  # fmt: skip


def plain(result: results.Result) -> Any:
    """An engine's answer as the textbook would give it."""
    match result:
        case results.Outcome():
            return plain_outcome(result)
        case results.View():
            return result.percept.id
        case results.Forgotten():
            return result.id, result.others
        case results.Related():
            return ends(result.edge), result.changed
        case results.Report():
            return plain_report(result)
        case results.Dropped():
            return result.percepts
        case results.Recalled():
            found = [(hit.view.percept.id, hit.hits) for hit in result.hits]
            assert explained(result.candidates) in (None, [one for one, _ in found])
            return found
        case results.Injection():
            assert result.bytes == len(result.text.encode())
            assert explained(result.candidates) in (None, list(result.ids))
            return list(result.ids), result.text
        case results.Page():
            return [view.percept.id for view in result.views], result.total
        case results.Alike():
            return [(a.view.percept.id, a.similarity) for a in result.likenesses], result.duplicate
        case results.Detail():
            return result.view.percept.id, [ends(edge) for edge in result.edges]
        case results.Explanation():
            return result.view.percept.id, result.w_now
        case tuple():
            return [view.percept.id for view in result]
    return result


def explained(candidates: tuple[results.Candidate, ...] | None) -> list[str] | None:
    """The ids that the reasons say are in the answer."""
    return None if candidates is None else [c.id for c in candidates if c.included]


def plain_outcome(o: results.Outcome) -> dict[str, Any]:
    known, edge = o.existing, None if o.edge is None else ends(o.edge)
    return {
        "id": o.id,
        "status": o.status,
        "similarity": o.similarity,
        "w": o.w,
        "evidence": o.evidence,
        "scope": o.scope,
        "existing": known and (known.id, known.content, known.w, known.similarity),
        "edge": edge,
        "edge_error": o.edge_error is not None,
    }


TOTALS = ("global_decayed", "archived", "evicted", "global_total")
EVERYWHERE = (
    "decayed", "pruned", "promoted", "promotion_deferred", "edges_applied", "running_seconds"
)  # fmt: skip


def plain_report(report: results.Report) -> dict[str, Any]:
    found = {name: getattr(report, name) for name in (*EVERYWHERE, *TOTALS)}
    return found | {
        "sessions": {
            name: {key: getattr(own, key) for key in EVERYWHERE}
            for name, own in report.sessions.items()
        }
    }
