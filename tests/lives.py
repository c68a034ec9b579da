"""One way to drive both: the real engine and the textbook, and to see them in plain values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from milkd.engine import commands as ask
from milkd.engine.engine import Engine
from milkd.engine.percept import ARCHIVE, GLOBAL, NO_TOUCHES, ScopeImage
from plain import Row, ends, plain, row_of_fact, row_of_percept
from textbook import Textbook
from textbook_shelf import EPOCH
from textbook_text import LEXICON

if TYPE_CHECKING:
    from milkd.engine.commands import Command, Now
    from milkd.engine.params import Params


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
    def leave(self, caller: str) -> None: ...
    def configure(self, params: Params) -> None: ...
    def sessions(self) -> list[str]: ...
    def do(self, command: Command) -> Any: ...
    def rows(self, scope: str) -> list[Row]: ...
    def edges(self, scope: str) -> list[tuple[str, str, str]]: ...
    def labels(self, scope: str) -> dict[str, list[str]]: ...
    def accounted(self, scope: str) -> float: ...
    def shown(self, session: str) -> set[str]: ...


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
        self.book.new_run()

    def leave(self, caller: str) -> None:
        self.book.audiences.pop(caller, None)

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

    def shown(self, session: str) -> set[str]:
        return self.book.audience(session, None).shown


class EngineLife:
    """The engine, and a second one that only hears of the changes.

    After every command both must be the same, and deciding alone must have changed nothing.
    """

    def __init__(self, params: Params, clock: Clock) -> None:
        self.clock = clock
        self.closed: dict[str, ScopeImage] = {}
        self._begin(params, (ScopeImage(name=GLOBAL), ScopeImage(name=ARCHIVE)))

    def _begin(self, params: Params, images: tuple[ScopeImage, ...]) -> None:
        self.engine, self.follower = Engine(params, LEXICON), Engine(params, LEXICON)
        for image in images:
            self.load(image)
        for name, image in self.closed.items():
            for engine in (self.engine, self.follower):
                engine.set_dormant(name, {p.id: p.content for p in image.percepts})

    def load(self, image: ScopeImage) -> None:
        # In these lives a scope is loaded as of now, as if a pass had just gone over it.
        image = replace(image, touched=NO_TOUCHES, used=())
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

    def leave(self, caller: str) -> None:
        for engine in (self.engine, self.follower):
            engine.leave(caller)

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
        assert decision == self.follower.decide(command, self.clock.now()), "the replay differs"
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

    def shown(self, session: str) -> set[str]:
        return set(self.engine.image(session).shown)
