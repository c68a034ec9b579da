"""A scope that is made while other things happen: loaded, it is as if made at one stroke."""

from __future__ import annotations

from dataclasses import replace

from milkd.engine.changes import PerceptDropped, PerceptPut
from milkd.engine.commands import Now, Query
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT, Params
from milkd.engine.percept import GLOBAL, Edge, Engram, Percept, Relation, ScopeImage

NOW = Now(100.0, {})


def percept(number: int, **more: object) -> Percept:
    values = {"content": f"fact {number} of many", "producer": "user", "w": 0.75}
    times = {"created_at": 1.0, "updated_at": float(number)}
    return Percept(id=f"p{number}", **(values | times | more))  # type: ignore[arg-type]


SESSION = ScopeImage(
    name="s1",
    percepts=(
        percept(0, core=True, importance=0.25, consumer="primary", last_used_at=5.0),
        *(percept(number, evidence=number % 3) for number in range(1, 300)),
    ),
    engrams=(Engram(id="e", subject_label="x", composite_w=0.5, percept_ids=("p0",),
                    created_at=1.0, updated_at=1.0),),
    edges=tuple(Edge(f"p{n}", f"p{n + 1}", Relation.UPDATES) for n in range(0, 200, 2)),
    running_seconds=64.0,
    touched={"p3": 70.0},
    shown=("p4",),
    extra={"mood": "calm"},
    unreadable=(("percepts", 7, {"id": "odd"}),),
)  # fmt: skip


def loaded(engine: Engine, image: ScopeImage) -> Engine:
    engine.load(image, image.running_seconds)
    return engine


def found(engine: Engine, text: str) -> object:
    return engine.decide(Query(text=text, session="s1", max_results=20), NOW).result


def test_it_takes_several_steps_and_nothing_is_loaded_before() -> None:
    engine = Engine(DEFAULT)
    steps = 0
    for _ in engine.preparing(SESSION):
        steps += 1
        assert not engine.is_loaded("s1")
    assert steps > 4
    loaded(engine, SESSION)
    assert engine.image("s1") == SESSION
    assert engine.image("s1").percepts[0] is SESSION.percepts[0]
    other = loaded(Engine(DEFAULT), SESSION)
    for text in ("fact 7", "many", "fact 0"):
        assert found(engine, text) == found(other, text)


def test_knobs_that_changed_meanwhile_count() -> None:
    engine, knobs = Engine(DEFAULT), Params(stemmer="none", recency_half_life_days=1.0)
    steps = engine.preparing(SESSION)
    next(steps)
    engine.configure(knobs)
    for _ in steps:
        pass
    loaded(engine, SESSION)
    other = loaded(Engine(knobs), SESSION)
    for text in ("facts", "fact 7"):
        assert found(engine, text) == found(other, text)


def test_what_global_got_meanwhile_is_left_out() -> None:
    engine = Engine(DEFAULT)
    for _ in engine.preparing(SESSION):
        engine.apply(PerceptPut(GLOBAL, percept(9)))
    loaded(engine, SESSION)
    assert "p9" not in {each.id for each in engine.image("s1").percepts}
    assert engine.count("s1") == 299


def test_what_was_prepared_is_used_once() -> None:
    engine = Engine(DEFAULT)
    for _ in engine.preparing(SESSION):
        pass
    loaded(engine, SESSION)
    engine.apply(PerceptDropped("s1", "p5"))
    loaded(engine, SESSION)
    assert engine.image("s1") == SESSION


def test_what_was_prepared_for_another_image_is_not_used() -> None:
    engine = Engine(DEFAULT)
    for _ in engine.preparing(SESSION):
        pass
    other = replace(SESSION, percepts=SESSION.percepts[:5], edges=())
    assert loaded(engine, other).image("s1") == other


def test_the_later_of_two_percepts_of_one_id_counts() -> None:
    image = ScopeImage(name="s1", percepts=(percept(1), percept(2), percept(1, w=0.5)))
    kept = loaded(Engine(DEFAULT), image).image("s1").percepts
    assert kept == (percept(1, w=0.5), percept(2))
