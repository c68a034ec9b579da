"""The engine does what the textbook does, over random histories of everything.

After each step every scope is compared, percept by percept.  Then the textbook takes over
the engine's weights to the last bit, so that roundings don't add up to a different history.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from histories import (
    BAD_TEXTS,
    NAMES,
    OLD_STORE,
    PARAMS,
    SECONDS,
    STEPS,
    Ref,
    consumers,
    id_of,
    producers,
    refs,
    relations,
    roles,
    sessions,
    shelved,
    subjects,
    texts,
)
from lives import BookLife, Clock, EngineLife
from milkd.engine import commands as ask
from milkd.engine.params import Params
from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import WireError

if TYPE_CHECKING:
    from milkd.engine.commands import Command

EXAMPLES, STEP_COUNT = 200, 50
TORTURE = os.environ.get("MILKD_TORTURE")


def alike(one: Any, other: Any) -> bool:
    """Equal, floats to twelve digits."""
    if isinstance(one, float) and isinstance(other, float | int):
        return abs(one - other) <= 1e-12 * max(1.0, abs(one))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(alike(a, b) for a, b in pairs)
    return bool(one == other)


def attempt(life: EngineLife | BookLife, command: Command) -> Any:
    try:
        return life.do(command)
    except WireError as error:
        return type(error)


class AgainstTextbook(RuleBasedStateMachine):
    """Both live the same life."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.engine = EngineLife(Params(), self.clock)
        self.book = BookLife(Params(), self.clock)
        self.inserted = 11  # as many as the old store may hold

    @initialize(furnished=st.sampled_from((False, True, True)), params=st.sampled_from(PARAMS))
    def begin(self, furnished: bool, params: Params) -> None:
        if furnished:
            self.furnish()
        self.configures(params)
        self.opens("s1")

    def furnish(self) -> None:
        known, archive, session = OLD_STORE
        for image in (known, archive):
            self.engine.load(image)
            self.book.book.scopes[image.name] = shelved(image)
        self.engine.closed[session.name] = session
        self.book.book.closed[session.name] = shelved(session)
        self.engine.restart()

    # What the steps are made of

    def both(self, command: Command) -> None:
        real, told = attempt(self.engine, command), attempt(self.book, command)
        if self.book.book.doubtful:
            event("decided by a rounding")
            self.adopt()
            return
        assert alike(real, told), f"engine: {real}\ntextbook: {told}"
        self.compare()

    def compare(self) -> None:
        assert self.engine.sessions() == self.book.sessions()
        for scope in (GLOBAL, ARCHIVE, *self.book.sessions()):
            real, told = self.engine.rows(scope), self.book.rows(scope)
            assert alike(real, told), f"{scope}:\nengine: {real}\ntextbook: {told}"
            assert self.engine.edges(scope) == self.book.edges(scope)
            assert self.engine.labels(scope) == self.book.labels(scope)
            assert alike(self.engine.accounted(scope), self.book.accounted(scope))
            for row, fact in zip(real, self.book.book.scopes[scope].facts, strict=True):
                fact.w = row.w

    def adopt(self) -> None:
        """The textbook takes over what the engine holds, and both go on in a new run."""
        open_ones = self.book.sessions()
        for scope in self.book.book.scopes:
            self.book.book.scopes[scope] = shelved(self.engine.engine.image(scope))
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

    def named(self, ref: Ref, session: str | None) -> str:
        """The words for a percept that the caller sees, or that is in the archive."""
        if isinstance(ref, str):
            return ref
        place, manner = ref
        scopes = [self.book.book.scopes[name] for name in (session or GLOBAL, GLOBAL, ARCHIVE)]
        facts = [fact for scope in scopes for fact in scope.facts]
        fact = facts[place % len(facts)] if facts else None
        if fact is None:
            return id_of(place)
        return {"id": fact.id, "short": "#" + fact.id[:8], "text": fact.content}[manner]

    def opens(self, name: str) -> None:
        self.engine.open(name)
        self.book.open(name)
        self.compare()

    def new_id(self) -> str:
        self.inserted += 1
        return id_of(self.inserted)

    # Stating

    def state(self, content: str, session: str | None, **others: Any) -> None:
        session = self.loaded(session)
        self.both(ask.Record(content=content, new_id=self.new_id(), session=session, **others))

    @rule(content=texts, session=sessions, producer=producers)
    def records(self, content: str, session: str | None, producer: str) -> None:
        self.state(content, session, producer=producer)

    @rule(content=texts, session=sessions)
    def records_plainly(self, content: str, session: str | None) -> None:
        self.state(content, session)

    @rule(
        content=texts, session=sessions, producer=producers, consumer=consumers,
        subject=subjects, roles=roles, core=st.booleans(),
    )  # fmt: skip
    def records_with_attributes(self, content: str, session: str | None, **others: Any) -> None:
        self.state(content, session, **others)

    @rule(content=texts, session=sessions, relation=relations, beside=refs, core=st.booleans())
    def records_beside(
        self, content: str, session: str | None, relation: str, beside: Ref, core: bool
    ) -> None:
        related_to = self.named(beside, self.loaded(session))
        self.state(content, session, relation=relation, related_to=related_to, core=core)

    @rule(content=texts, session=sessions, half=st.booleans())
    def records_half_an_edge(self, content: str, session: str | None, half: bool) -> None:
        given = {"relation": "extends"} if half else {"related_to": "west"}
        self.state(content, session, **given)

    @rule(content=st.sampled_from(BAD_TEXTS), session=sessions, verb=st.integers(0, 2))
    def states_no_text(self, content: str, session: str | None, verb: int) -> None:
        session = self.loaded(session)
        if verb == 0:
            self.state(content, session)
        elif verb == 1:
            self.both(ask.Learn(content=content, new_id=self.new_id(), session=session))
        else:
            ref = self.named((0, "id"), session)
            self.both(ask.Edit(ref=ref, content=content, session=session))

    @rule(content=texts, session=sessions, subject=subjects)
    def learns(self, content: str, session: str | None, subject: str | None) -> None:
        session = self.loaded(session)
        self.both(
            ask.Learn(content=content, new_id=self.new_id(), session=session, subject=subject)
        )

    # Changing

    @rule(ref=refs, content=texts, session=sessions)
    def edits(self, ref: Ref, content: str, session: str | None) -> None:
        name = self.named(ref, self.loaded(session))
        self.both(ask.Edit(ref=name, content=content, session=session))

    @rule(ref=refs, session=sessions, everywhere=st.booleans())
    def forgets(self, ref: Ref, session: str | None, everywhere: bool) -> None:
        name = self.named(ref, self.loaded(session))
        self.both(ask.Forget(ref=name, session=session, everywhere=everywhere))

    @rule(ref=refs, session=sessions, archived=st.booleans())
    def restores(self, ref: Ref, session: str | None, archived: bool) -> None:
        name = self.named(ref, ARCHIVE if archived else self.loaded(session))
        self.both(ask.Restore(ref=name, session=self.loaded(session)))

    @rule(source=refs, aim=refs, relation=relations, session=sessions, undo=st.booleans())
    def relates(
        self, source: Ref, aim: Ref, relation: str, session: str | None, undo: bool
    ) -> None:
        one, other = self.named(source, self.loaded(session)), self.named(aim, session)
        verb = ask.Unrelate if undo else ask.Relate
        self.both(verb(source=one, target=other, relation=relation, session=session))

    @rule(place=st.integers(0, 7), undo=st.booleans(), turned=st.booleans())
    def relates_again(self, place: int, undo: bool, turned: bool) -> None:
        edges = [edge for scope in self.book.book.scopes.values() for edge in scope.edges]
        if edges:
            *ends, relation = edges[place % len(edges)]
            source, target = reversed(ends) if turned else ends
            verb = ask.Unrelate if undo else ask.Relate
            self.both(verb(source=source, target=target, relation=relation))

    # Time, passes, sessions, runs

    @rule(
        seconds=st.sampled_from(SECONDS),
        running=st.sets(st.sampled_from(NAMES)),
    )
    def runs(self, seconds: float, running: set[str]) -> None:
        self.clock.run(seconds, *running)
        self.clock.wall += seconds

    @rule(seconds=st.sampled_from(STEPS), back=st.booleans())
    def steps(self, seconds: float, back: bool) -> None:
        self.clock.wall += -seconds if back else seconds

    @rule(session=sessions)
    def consolidates(self, session: str | None) -> None:
        self.pass_over(self.loaded(session))

    @rule(session=sessions, seconds=st.sampled_from((3600.0, 40_000.5)))
    def works_and_consolidates(self, session: str | None, seconds: float) -> None:
        self.clock.run(seconds, *self.book.sessions())
        self.pass_over(self.loaded(session))

    def pass_over(self, session: str | None) -> None:
        self.both(ask.Consolidate(session=session))
        names = self.book.sessions() if session is None else [session]
        for scope in (GLOBAL, *names):
            weights = {row.id: row.w for row in self.engine.rows(scope)}
            for engram in self.engine.engine.image(scope).engrams:
                mean = sum(weights[one] for one in engram.percept_ids) / len(engram.percept_ids)
                assert engram.composite_w == pytest.approx(mean)

    @rule(name=st.sampled_from(NAMES), neat=st.booleans())
    def closes(self, name: str, neat: bool) -> None:
        if name in self.book.sessions():
            if neat:
                self.pass_over(name)
            self.engine.close(name)
            self.book.close(name)
            self.compare()

    @rule(name=st.sampled_from(NAMES), sure=st.integers(0, 3))
    def drops(self, name: str, sure: int) -> None:
        if name in self.book.sessions() and sure == 3:
            self.both(ask.DropSession(session=name))

    @rule(neat=st.booleans(), rebased=st.booleans())
    def restarts(self, neat: bool, rebased: bool) -> None:
        if neat:
            self.pass_over(None)
        if rebased:  # the clocks go on from what the files say
            for scope in (GLOBAL, *self.book.sessions()):
                self.clock.running[scope] = self.engine.accounted(scope)
        self.restart()

    @rule()
    def begins_a_new_run(self) -> None:
        self.engine.new_run()
        self.book.new_run()

    @rule(params=st.sampled_from(PARAMS))
    def configures(self, params: Params) -> None:
        self.engine.configure(params)
        self.book.configure(params)
        self.compare()

    # Reading

    @rule(
        text=st.one_of(texts, st.sampled_from(("", "  ", "west", "tests merge", "! !", "码 west"))),
        session=sessions, consumer=consumers,
        min_confidence=st.sampled_from((0.4, 0.0, 0.7, 0.75)), max_results=st.integers(1, 5),
        explain=st.booleans(),
    )  # fmt: skip
    def queries(self, session: str | None, **others: Any) -> None:
        self.both(ask.Query(session=self.loaded(session), **others))

    @rule(
        prompt=st.one_of(texts, st.sampled_from(("", "west tests merge deploys", "→→"))),
        session=sessions, consumer=consumers,
        max_facts=st.sampled_from((None, None, 0, 1, 3)),
        max_bytes=st.sampled_from((None, None, 20, 90, 120, 160)), explain=st.booleans(),
    )  # fmt: skip
    def injects(self, session: str | None, **others: Any) -> None:
        self.both(ask.Inject(session=self.loaded(session), **others))

    @rule(
        session=st.sampled_from(NAMES),
        scope=st.sampled_from((None, "global", "session", "archive")),
        producer=st.sampled_from((None, None, "user")), consumer=consumers,
        min_w=st.sampled_from((None, 0.7)), core=st.sampled_from((None, None, True, False)),
        pattern=st.sampled_from((None, None, "West", "測")),
        sort=st.sampled_from(("score", "w", "updated_at", "created_at")),
        limit=st.integers(1, 4), offset=st.integers(0, 3),
    )  # fmt: skip
    def lists(self, session: str, **others: Any) -> None:
        self.both(ask.List(session=self.loaded(session), **others))

    @rule(text=texts, session=sessions, limit=st.integers(1, 4))
    def compares(self, text: str, session: str | None, limit: int) -> None:
        self.both(ask.Similar(text=text, session=self.loaded(session), limit=limit))

    @rule(ref=refs, session=sessions, verb=st.sampled_from((ask.Resolve, ask.Show, ask.Explain)))
    def looks_up(self, ref: Ref, session: str | None, verb: Any) -> None:
        self.both(verb(ref=self.named(ref, self.loaded(session)), session=session))


AgainstTextbook.TestCase.settings = settings(
    max_examples=EXAMPLES * (25 if TORTURE else 1),
    stateful_step_count=STEP_COUNT,
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
TestAgainstTextbook = AgainstTextbook.TestCase
