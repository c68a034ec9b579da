"""The engine does what the textbook does, over random histories of everything.

By either profile, and by mixtures of both.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from histories import (
    BAD_TEXTS,
    NAMES,
    SECONDS,
    STEPS,
    Ref,
    additions,
    callers,
    consumers,
    params,
    producers,
    refs,
    relations,
    roles,
    sessions,
    subjects,
    texts,
)
from milkd.engine import commands as ask
from milkd.engine.percept import ARCHIVE, GLOBAL
from side_by_side import SideBySide

if TYPE_CHECKING:
    from milkd.engine.params import Params
    from side_by_side import Caller

EXAMPLES, STEP_COUNT = 300, 50
TORTURE = os.environ.get("MILKD_TORTURE")


class AgainstTextbook(SideBySide):
    """Both live the same life."""

    @initialize(furnished=st.sampled_from((False, True, True)), params=params)
    def begin(self, furnished: bool, params: Params) -> None:
        if furnished:
            self.furnish()
        self.configures(params)
        self.opens("s1")

    # Stating

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

    @rule(
        ref=refs, added=additions, archived=st.sampled_from((False, False, True)),
        caller=callers, producer=producers,
    )  # fmt: skip
    def restates(self, ref: Ref, added: str, archived: bool, caller: Caller, producer: str) -> None:
        words = self.named(ref, ARCHIVE if archived else self.loaded(caller[0]), "text")
        self.restate(words + added, caller, producer)

    @rule(ref=refs, added=st.lists(additions, min_size=2, max_size=6), caller=callers)
    def restates_in_many_words(self, ref: Ref, added: list[str], caller: Caller) -> None:
        words = self.named(ref, self.loaded(caller[0]), "text")
        self.inject(words, caller)
        for more in added:
            self.restate(words + more, caller, "user")
        self.inject(words, caller)

    @rule(
        ref=refs, caller=callers, asked=st.booleans(), added=additions,
        share=st.integers(0, 6),
    )  # fmt: skip
    def echoes(self, ref: Ref, caller: Caller, asked: bool, added: str, share: int) -> None:
        """What was shown, after a prompt that has said so many words of it."""
        session, connection = caller
        words = self.named(ref, self.loaded(session), "text")
        self.both(ask.Query(text=words, session=session, caller=connection, min_confidence=0.0))
        if asked:
            self.inject(" ".join(words.split()[:share]), caller)
        self.clock.wall += 60.25
        self.restate(words + added, caller)

    @rule(
        content=texts, added=additions, session=st.sampled_from(NAMES), consumer=consumers,
        relation=st.one_of(st.none(), st.none(), relations), twice=st.booleans(),
    )  # fmt: skip
    def states_apart(
        self, content: str, added: str, session: str, consumer: str | None, relation: str | None,
        twice: bool,
    ) -> None:  # fmt: skip
        """In a session and where nobody sees the session's, until a pass brings them together."""
        for _ in range(1 + twice):
            one = self.state(content, session, producer="user", consumer=consumer)
        self.clock.wall += 60.25
        for more in ("", added)[: 1 + twice]:
            other = self.state(content + more, None)
        if relation is not None:
            self.both(ask.Relate(source=one, target=other, relation=relation, session=session))
        self.pass_over(session)
        self.state(content + added, session)

    @rule(
        ref=refs, contents=st.lists(texts, min_size=1, max_size=3), session=sessions,
        producer=st.sampled_from(("system", "user")), consumer=consumers, shared=st.booleans(),
        min_confidence=st.sampled_from((0.0, 0.5)),
    )  # fmt: skip
    def brings_up_to_date(
        self, ref: Ref, contents: list[str], session: str | None, producer: str,
        consumer: str | None, shared: bool, min_confidence: float,
    ) -> None:  # fmt: skip
        old = self.named(ref, GLOBAL if shared else self.loaded(session), "id")
        for content in contents:
            self.state(
                content, session, producer=producer, relation="updates", related_to=old,
                consumer=consumer,
            )  # fmt: skip
            producer, consumer = "primary", None
        text = self.named(ref, GLOBAL if shared else session, "text")
        self.both(ask.Query(text=text, session=session, min_confidence=min_confidence))
        self.inject(text, (session, None))

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

    @rule(session=sessions, ending=st.booleans())
    def consolidates(self, session: str | None, ending: bool) -> None:
        self.pass_over(self.loaded(session), ending=ending)

    @rule(session=sessions, seconds=st.sampled_from((3600.0, 40_000.5)))
    def works_and_consolidates(self, session: str | None, seconds: float) -> None:
        self.clock.run(seconds, *self.book.sessions())
        self.pass_over(self.loaded(session))

    @rule(name=st.sampled_from(NAMES), neat=st.booleans(), ending=st.booleans())
    def closes(self, name: str, neat: bool, ending: bool) -> None:
        if name in self.book.sessions():
            if neat:
                self.pass_over(name, ending=ending)
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
    def a_connection_ends(self) -> None:
        self.engine.leave("c1")
        self.book.leave("c1")

    @rule()
    def begins_a_new_run(self) -> None:
        self.engine.new_run()
        self.book.new_run()

    @rule(params=params)
    def configures(self, params: Params) -> None:
        self.engine.configure(params)
        self.book.configure(params)
        self.compare()

    # Reading

    @rule(
        text=st.one_of(texts, st.sampled_from(("", " ", "west", "tests merge", "→", "码 west"))),
        caller=callers, consumer=consumers,
        min_confidence=st.sampled_from((0.4, 0.0, 0.7, 0.75)), max_results=st.integers(1, 5),
        explain=st.booleans(),
    )  # fmt: skip
    def queries(self, caller: Caller, **others: Any) -> None:
        session, connection = caller
        self.both(ask.Query(session=self.loaded(session), caller=connection, **others))

    @rule(
        prompt=st.one_of(texts, st.sampled_from(("", "west tests merge deploys", "→→", "the"))),
        caller=callers, consumer=consumers, repeat=st.sampled_from((False, False, False, True)),
        max_facts=st.sampled_from((None, None, 0, 1, 3)),
        max_bytes=st.sampled_from((None, None, 20, 90, 120, 160)), explain=st.booleans(),
    )  # fmt: skip
    def injects(self, caller: Caller, **others: Any) -> None:
        session, connection = caller
        self.both(ask.Inject(session=self.loaded(session), caller=connection, **others))

    @rule(
        prompt=st.sampled_from(("west tests merge deploys", "the gates", "")), caller=callers,
        times=st.sampled_from((2, 3, 9, 10)),
    )  # fmt: skip
    def injects_again(self, prompt: str, caller: Caller, times: int) -> None:
        for _ in range(times):
            self.inject(prompt, caller)

    @rule(prompt=texts, name=st.sampled_from(NAMES))
    def sits_down_again(self, prompt: str, name: str) -> None:
        self.inject(prompt, (name, None))
        self.engine.close(name)
        self.book.close(name)
        self.opens(name)
        self.restate(prompt, (name, None))
        self.inject(prompt, (name, None))

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
