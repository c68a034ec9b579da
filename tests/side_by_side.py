"""The engine and the textbook side by side: the same command to both, and the same to be seen.

After each command every scope is compared, percept by percept.  Then the textbook takes over
the engine's weights to the last bit, so that roundings don't add up to a different history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event
from hypothesis.stateful import RuleBasedStateMachine

from histories import OLD_STORE, Ref, id_of, shelved
from lives import BookLife, Clock, EngineLife
from milkd.engine import commands as ask
from milkd.engine.params import DEFAULT
from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import WireError
from textbook_shelf import Audience

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.engine.commands import Command

    Caller = tuple[str | None, str | None]  # a session, a connection


def unlike(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """In what an answer of the engine is not the textbook's; floats are equal to twelve digits."""
    if isinstance(one, float) and isinstance(other, float | int):
        same = abs(one - other) <= 1e-12 * max(1.0, abs(one))
    elif isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from unlike(one[key], other[key], f"{where}.{key}")
        return
    elif isinstance(one, list | tuple) and len(one) == len(other or ()):
        names = getattr(one, "_fields", range(len(one)))
        for name, mine, theirs in zip(names, one, other, strict=True):
            yield from unlike(mine, theirs, f"{where}.{name}")
        return
    else:
        same = one == other
    if not same:
        yield f"{where or 'answer'}: engine {one!r}, textbook {other!r}"


def agree(one: Any, other: Any, where: str = "") -> None:
    if found := list(unlike(one, other, where)):
        raise AssertionError("\n".join(found))


def attempt(life: EngineLife | BookLife, command: Command) -> Any:
    try:
        return life.do(command)
    except WireError as error:
        return type(error)


class SideBySide(RuleBasedStateMachine):
    """The steps of both, compared after each."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.engine = EngineLife(DEFAULT, self.clock)
        self.book = BookLife(DEFAULT, self.clock)
        self.inserted = 12  # as many as the old store may hold

    def furnish(self) -> None:
        known, archive, session = OLD_STORE
        for image in (known, archive):
            self.engine.load(image)
            self.book.book.scopes[image.name] = shelved(image)
        self.engine.closed[session.name] = session
        self.book.book.closed[session.name] = shelved(session)
        self.engine.restart()

    def both(self, command: Command) -> Any:
        real, told = attempt(self.engine, command), attempt(self.book, command)
        if self.book.book.doubtful:
            event("decided by a rounding")
            self.adopt()
        else:
            agree(real, told)
            self.compare()
        return real

    def compare(self) -> None:
        assert self.engine.sessions() == self.book.sessions()
        for scope in (GLOBAL, ARCHIVE, *self.book.sessions()):
            real, told = self.engine.rows(scope), self.book.rows(scope)
            agree(real, told, scope)
            agree(
                sorted(self.engine.edges(scope)), sorted(self.book.edges(scope)), f"{scope} edges"
            )
            self.book.book.scopes[scope].edges = self.engine.edges(scope)
            agree(self.engine.labels(scope), self.book.labels(scope), f"{scope} labels")
            agree(self.engine.accounted(scope), self.book.accounted(scope), f"{scope} clock")
            if scope in self.book.sessions():
                agree(self.engine.shown(scope), self.book.shown(scope), f"{scope} shown")
            for row, fact in zip(real, self.book.book.scopes[scope].facts, strict=True):
                fact.w = row.w

    def adopt(self) -> None:
        """The textbook takes over what the engine holds, and both go on in a new run."""
        open_ones = self.book.sessions()
        for scope in self.book.book.scopes:
            image = self.engine.engine.image(scope)
            self.book.book.scopes[scope] = shelved(image)
            self.book.book.audiences[scope] = Audience(set(image.shown))
        self.restart()
        for name in open_ones:
            self.opens(name)

    def restart(self) -> None:
        self.engine.restart()
        self.book.restart()
        self.compare()

    def loaded(self, session: str | None) -> str | None:
        """A session as a caller may name it: open."""
        if session is not None and session not in self.book.sessions():
            self.opens(session)
        return session

    def named(self, ref: Ref, session: str | None, manner: str | None = None) -> str:
        """The words for a percept that the caller sees, or that is in the archive."""
        if isinstance(ref, str):
            return ref
        place, usual = ref
        scopes = [self.book.book.scopes[name] for name in (session or GLOBAL, GLOBAL, ARCHIVE)]
        facts = [fact for scope in scopes for fact in scope.facts]
        fact = facts[place % len(facts)] if facts else None
        if fact is None:
            return id_of(place)
        return {"id": fact.id, "short": "#" + fact.id[:8], "text": fact.content}[manner or usual]

    def opens(self, name: str) -> None:
        self.engine.open(name)
        self.book.open(name)
        self.compare()

    def new_id(self) -> str:
        self.inserted += 1
        return id_of(self.inserted)

    # What the rules are made of

    def state(self, content: str, session: str | None, **others: Any) -> str:
        """Gives the id that stands for the fact from now on, if it was one."""
        new_id, session = self.new_id(), self.loaded(session)
        outcome = self.both(ask.Record(content=content, new_id=new_id, session=session, **others))
        return str(outcome["id"]) if isinstance(outcome, dict) else new_id

    def restate(self, words: str, caller: Caller, producer: str = "primary") -> None:
        session, connection = caller
        self.state(words, session, caller=connection, producer=producer)

    def inject(self, prompt: str, caller: Caller) -> None:
        session, connection = caller
        self.both(ask.Inject(prompt=prompt, session=self.loaded(session), caller=connection))

    def pass_over(self, session: str | None, *, ending: bool = False) -> None:
        self.both(ask.Consolidate(session=session, ending=ending))
        names = self.book.sessions() if session is None else [session]
        for scope in (GLOBAL, *names):
            weights = {row.id: row.w for row in self.engine.rows(scope)}
            for engram in self.engine.engine.image(scope).engrams:
                mean = sum(weights[one] for one in engram.percept_ids) / len(engram.percept_ids)
                assert engram.composite_w == pytest.approx(mean)
