"""Rows that move together: nobody can tell by what is asked that any were empty."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from milkd.engine.changes import Change, Passed, PerceptDropped, PerceptPut, Used
from milkd.engine.commands import Command, Consolidate, List, Now, Query, Record, Similar
from milkd.engine.compaction import FEWEST, is_gappy
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT, Params
from milkd.engine.percept import GLOBAL, Percept, ScopeImage

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = 86_400.0
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")
NOW = Now(1_000.0 * DAY, {GLOBAL: 5_000.0})


def percept(number: int, chance: random.Random) -> Percept:
    """Of few words and few weights, so that many tie."""
    return Percept(
        id=f"{number:04x}",
        content=f"{' '.join(chance.choices(WORDS, k=4))} {number % 7}",
        producer="user",
        w=chance.choice((0.25, 0.5, 0.75)),
        created_at=1.0,
        updated_at=1.0,
        core=number % 50 == 0,
    )


def gappy(params: Params = DEFAULT) -> Engine:
    """2,000 percepts of which every third is left."""
    chance, engine = random.Random(6), Engine(params)
    engine.load(ScopeImage(name=GLOBAL, percepts=tuple(percept(n, chance) for n in range(2_000))))
    for number in range(2_000):
        if number % 3:
            engine.apply(PerceptDropped(GLOBAL, f"{number:04x}"))
    return engine


def changes(chance: random.Random) -> Iterator[Change]:
    """New percepts, other words and weights for old ones, ends and uses, at every place."""
    live = {f"{number:04x}" for number in range(0, 2_000, 3)}
    for number in range(2_000, 2_400):
        yield PerceptPut(GLOBAL, percept(number, chance), chance.choice((None, 4_000.0)))
        live.add(f"{number:04x}")
        kept = chance.choice(sorted(live))
        yield PerceptPut(GLOBAL, percept(int(kept, 16), chance))
        yield Used(GLOBAL, (chance.choice(sorted(live)),), 50.0 + number)
        gone = chance.choice(sorted(live))
        live.remove(gone)
        yield PerceptDropped(GLOBAL, gone)


def answers(engine: Engine) -> list[object]:
    questions = [f"{one} {other}" for one in WORDS for other in WORDS]
    asked: list[Command] = [
        Query(text=text, min_confidence=0.0, max_results=20) for text in questions
    ]
    asked += [Similar(text=text, limit=20) for text in questions]
    # Whether a fact says the same is looked up in what was worked out of it before.
    asked += [
        Record(content=f"{text} {WORDS[n % 8]} {n % 7}", new_id="n")
        for n, text in enumerate(questions)
    ]
    return [engine.decide(each, NOW).result for each in (*asked, List())]


def run_through(steps: Iterator[None]) -> int:
    return sum(1 for _ in steps)


def rows(engine: Engine) -> int:
    return len(engine.capture(GLOBAL).texts)


def test_a_few_gaps_are_left() -> None:
    assert not is_gappy(FEWEST, 0)
    assert is_gappy(FEWEST + 1, 0)
    assert not is_gappy(10_000, 8_000)
    assert is_gappy(10_001, 8_000)
    engine = Engine(DEFAULT)
    chance = random.Random(6)
    engine.load(ScopeImage(name=GLOBAL, percepts=tuple(percept(n, chance) for n in range(1_200))))
    for number in range(FEWEST):
        engine.apply(PerceptDropped(GLOBAL, f"{number:04x}"))
    assert run_through(engine.compacting()) == 0
    assert rows(engine) == 1_200


@pytest.mark.parametrize("stemmer", ["english", "none"])
def test_nothing_comes_out_differently(stemmer: str) -> None:
    params = Params(stemmer=stemmer)
    engine, other = gappy(params), gappy(params)
    assert answers(engine) == answers(other)
    assert run_through(engine.compacting()) > 1
    assert (rows(engine), rows(other)) == (667, 2_000)
    assert engine.image(GLOBAL) == other.image(GLOBAL)
    assert answers(engine) == answers(other)
    assert run_through(engine.compacting()) == 0


def test_what_is_changed_meanwhile_is_changed_after() -> None:
    engine, other = gappy(), gappy()
    steps = engine.compacting()
    for number, change in enumerate(changes(random.Random(7))):
        if number % 40 == 0:
            next(steps, None)
        engine.apply(change)
        other.apply(change)
    run_through(steps)
    assert rows(engine) < rows(other)
    assert engine.image(GLOBAL) == other.image(GLOBAL)
    assert answers(engine) == answers(other)
    passed = Passed(GLOBAL, 9_000.0, 5_000.0, 10 * DAY, 0.125)
    for each in (engine, other):
        each.apply(passed)
    assert engine.image(GLOBAL) == other.image(GLOBAL)
    now = Now(NOW.wall, {GLOBAL: 50_000.0})
    assert engine.decide(Consolidate(), now) == other.decide(Consolidate(), now)


def test_a_pass_ends_it_and_it_begins_anew() -> None:
    engine, other = gappy(), gappy()
    steps = engine.compacting()
    next(steps)
    passed = Passed(GLOBAL, 9_000.0, 9_000.0, 10 * DAY, 0.125)
    for each in (engine, other):
        each.apply(passed)
    assert run_through(steps) == 0
    assert rows(engine) == 2_000
    run_through(engine.compacting())
    assert rows(engine) == 667
    assert engine.image(GLOBAL) == other.image(GLOBAL)
    assert answers(engine) == answers(other)


def test_other_knobs_end_it() -> None:
    engine, other = gappy(), gappy()
    steps = engine.compacting()
    next(steps)
    for each in (engine, other):
        each.configure(Params(stemmer="none"))
    assert run_through(steps) == 0
    assert answers(engine) == answers(other)


def test_a_scope_that_is_put_back_meanwhile_is_left_alone() -> None:
    engine = gappy()
    image = engine.image(GLOBAL)
    steps = engine.compacting()
    next(steps)
    engine.put_back(image)
    assert run_through(steps) <= 1
    assert engine.image(GLOBAL) == image


def test_percepts_made_of_a_capture_before_it_are_not_taken_over_after_it() -> None:
    engine = gappy()
    engine.apply(Passed(GLOBAL, 9_000.0, 9_000.0, 10 * DAY, 0.125))
    capture = engine.capture(GLOBAL)
    image = capture.image()
    run_through(engine.compacting())
    engine.freshen(capture, image, range(len(image.percepts)))
    assert engine.image(GLOBAL) == image
