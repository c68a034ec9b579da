"""T11: random lives of a store, cut off, edited and refused at random, against a dictionary."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from crashfs import Tree
from milkd.engine.changes import (
    EdgeDropped,
    EdgePut,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
)
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge
from milkd.errors import Failure
from milkd.store.files import Poisoned
from milkd.store.poisonings import forget
from sitting import NOON, percept
from torture.cuts import FILLS, GROWTHS, SECTORS, Choice, Disk
from torture.faulty import Fault, FaultyFiles
from torture.keeper import STORE, Facts, Keeper
from torture.size import size
from torture.stories import RESERVE, edit, id_of, passed, started

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.engine.changes import Change
    from torture.keeper import Step

DAY = 86_400.0
SESSIONS = ("s1", "s2")
LIVE = (GLOBAL, *SESSIONS)
NUMBERS = st.integers(100, 112)
LETTERS = 'abc ÄΩ语\U0001f600"\\\n\u2028\x00<&'


class Lives(RuleBasedStateMachine):
    """A store in use.  `expected` is what was acknowledged, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.wall = NOON
        self.running = 0.0
        self.files = FaultyFiles(Tree.of(RESERVE))
        self.expected: Facts = {}
        self.edited = False
        self.edits = 200

    @initialize(used=st.booleans())
    def begin(self, used: bool) -> None:
        self.open(started() if used else Tree.of(RESERVE))
        self.expected = self.keeper.facts()

    def open(self, tree: Tree) -> None:
        self.files = FaultyFiles(tree)
        forget(self.files, f"{STORE}/.milkd")  # how often the disk failed of late is not the point
        self.keeper = Keeper(self.files, lambda: self.wall)
        assert self.keeper.refusal is None
        assert self.keeper.frozen == {}

    def reopen(self, tree: Tree, *possible: Facts) -> None:
        """Start again; what was acknowledged is there, and what others wrote is taken in."""
        self.open(tree)
        found = self.keeper.facts()
        before = (self.expected, *possible)
        if self.edited:
            assert any(ids(facts) <= ids(found) for facts in before)
        else:
            assert found in before
        self.expected, self.edited = found, False

    # What is done

    def do(self, *step: Step, kind: str = "record") -> None:
        """Do something; refused, it has not happened; in doubt, the process ends."""
        keeper, before, seq = self.keeper, self.keeper.shelf.copy(), self.keeper.seq
        dirty, scrubbing = set(keeper.dirty), dict(keeper.scrubbing)
        entries, after = [], []
        for changes in step:
            entries.append(keeper.entry(changes, kind=kind))
            after.append(keeper.facts())
        try:
            keeper.append(entries)
        except Failure:
            keeper.shelf, keeper.seq = before, seq
            keeper.dirty, keeper.scrubbing = dirty, scrubbing
        except Poisoned:
            self.reopen(self.files.tree, *after)  # each stands for itself
        else:
            self.expected = after[-1]
        self.files.fault = Fault()

    def held(self, scope: str) -> list[str]:
        return sorted(self.keeper.shelf.held[scope].percepts) if self.has(scope) else []

    def has(self, scope: str) -> bool:
        return scope in self.keeper.shelf.held

    def somewhere(self, percept_id: str) -> bool:
        return any(percept_id in facts for facts in self.keeper.facts().values())

    @rule(scope=st.sampled_from(LIVE), number=NUMBERS, text=st.text(LETTERS, min_size=1))
    def record(self, scope: str, number: int, text: str) -> None:
        if not self.somewhere(id_of(number)):
            self.do((PerceptPut(scope, percept(text, number), self.running),))

    @rule(scope=st.sampled_from(LIVE), times=st.integers(1, 3), data=st.data())
    def reinforce(self, scope: str, times: int, data: st.DataObject) -> None:
        if held := self.held(scope):
            each = self.keeper.shelf.held[scope].percepts[data.draw(st.sampled_from(held))]
            grown = [replace(each, evidence=each.evidence + n + 1) for n in range(times)]
            self.do(*((PerceptPut(scope, one, self.running),) for one in grown))

    @rule(data=st.data(), scope=st.sampled_from(LIVE), there=st.booleans())
    def relate(self, data: st.DataObject, scope: str, there: bool) -> None:
        if held := self.held(scope):
            ends = [data.draw(st.sampled_from(held)) for _ in range(2)]
            edge = Edge(ends[0], ends[1], "extends")
            self.do((EdgePut(scope, edge) if there else EdgeDropped(scope, edge),))

    @rule(seconds=st.floats(1.0, DAY))
    def let_pass(self, seconds: float) -> None:
        self.running += seconds
        self.do(tuple(passed(scope, self.running) for scope in LIVE if self.has(scope)))

    @rule(source=st.sampled_from(SESSIONS), to=st.sampled_from((GLOBAL, ARCHIVE)))
    def move(self, source: str, to: str) -> None:
        if held := self.held(source):
            each = self.keeper.shelf.held[source].percepts[held[0]]
            gone = self.edges_of(source, held[0])
            step: Step = (*gone, PerceptDropped(source, held[0]), PerceptPut(to, each))
            self.do(step)

    @rule(scope=st.sampled_from(LIVE), number=st.integers(0, 10))
    def forget(self, scope: str, number: int) -> None:
        if held := self.held(scope):
            percept_id = held[number % len(held)]
            step = (*self.edges_of(scope, percept_id), PerceptDropped(scope, percept_id))
            self.do(step, kind="forget")

    def edges_of(self, scope: str, percept_id: str) -> list[Change]:
        edges = self.keeper.shelf.held[scope].edges
        return [EdgeDropped(scope, e) for e in edges if percept_id in (e.source, e.target)]

    @rule(session=st.sampled_from(SESSIONS))
    def drop(self, session: str) -> None:
        if self.has(session):
            self.do((ScopeDropped(session),))

    # What becomes of the store

    def attempt(self, call: Callable[[], None]) -> None:
        """Do something that changes no fact, and may be refused."""
        try:
            call()
        except Failure:
            pass
        except Poisoned:
            self.reopen(self.files.tree)
        self.files.fault = Fault()

    @rule()
    def checkpoint(self) -> None:
        self.attempt(self.keeper.checkpoint)

    @rule()
    def restart(self) -> None:
        self.attempt(self.keeper.stop)
        self.reopen(self.files.tree)

    @rule(seed=st.integers(0, 2**32))
    def power_cut(self, seed: int) -> None:
        random, disk = Random(seed), Disk(self.files)
        for event in self.files.log:
            disk.follow(event)
        sector, share = random.choice(SECTORS), random.random()
        kept = tuple(random.random() < share for _ in disk.units(sector))
        choice = Choice(kept, sector, random.choice(FILLS), random.choice(GROWTHS))
        self.reopen(disk.after(choice))

    @rule(
        at=st.integers(1, 60),
        how=st.sampled_from(("EIO", "ENOSPC", "EROFS", "short")),
        always=st.booleans(),
    )
    def trouble(self, at: int, how: str, always: bool) -> None:
        self.files.fault = Fault(at, how, always)

    @rule(days=st.sampled_from((-3_650.0, -1.0, -0.001, 0.5, 3_650.0)))
    def clock_jumps(self, days: float) -> None:
        self.wall = max(0.0, self.wall + days * DAY)

    @precondition(lambda self: not self.files.fault.at)
    @rule(scope=st.sampled_from(LIVE))
    def edit(self, scope: str) -> None:
        if f"{STORE}/{scope}.json" in self.files.tree.texts():
            self.edits += 1
            edit(self.files, scope, self.edits)
            self.edited = True

    @precondition(lambda self: self.edited and not self.files.fault.at)
    @rule()
    def merge(self) -> None:
        before = self.keeper.facts()
        for changes in self.keeper.merge():
            self.do(changes, kind="merge")
        assert ids(before) <= ids(self.keeper.facts())
        self.edited = False

    def teardown(self) -> None:
        self.files.fault = Fault()
        if hasattr(self, "keeper"):
            self.keeper.stop()
            self.reopen(self.files.tree)


def ids(facts: Facts) -> set[tuple[str, str]]:
    """What there is, and where."""
    return {(scope, each) for scope, inner in facts.items() for each in inner}


TestLives = pytest.mark.lasting(Lives.TestCase)
TestLives.settings = settings(
    max_examples=size(100, 2_000),
    stateful_step_count=size(40, 50),
    derandomize=size(True, False),
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
