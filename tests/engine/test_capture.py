"""A scope frozen, put back, and gone on with: nothing may come out differently."""

from __future__ import annotations

import pytest

from milkd.engine.changes import Annotated, Passed, PerceptDropped, PerceptPut, Used
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.engine.percept import GLOBAL, Percept, ScopeImage

DAY = 86_400.0


def percept(name: str, w: float = 0.8) -> Percept:
    return Percept(
        id=name, content=f"fact {name}", producer="user", w=w, created_at=1.0, updated_at=1.0
    )


def filled(*, scope: str = GLOBAL) -> Engine:
    """Three percepts: one as of the last pass, one touched since, one used since."""
    engine = Engine(DEFAULT)
    engine.put_back(
        ScopeImage(
            name=scope,
            percepts=(percept("plain"), percept("touched"), percept("used")),
            running_seconds=100.0,
        )
    )
    engine.apply(PerceptPut(scope, percept("touched", 0.9), running=5_000.0))
    engine.apply(Used(scope, ("used",), 2.0))
    return engine


@pytest.mark.parametrize("scope", [GLOBAL, "s1"])
def test_what_was_put_back_decays_as_if_it_had_never_left(scope: str) -> None:
    engine, again = filled(scope=scope), Engine(DEFAULT)
    again.put_back(engine.image(scope))
    assert again.image(scope) == engine.image(scope)
    assert again.read_at(scope) == engine.read_at(scope) == 5_000.0
    passed = Passed(scope, 9_000.0, 8_900.0, 10 * DAY, 0.2)
    for each in (engine, again):
        each.apply(passed)
    assert again.image(scope) == engine.image(scope)
    plain, touched, used = engine.image(scope).percepts
    assert touched.w > plain.w
    assert touched.w < 0.9
    assert (used.idle_seconds, plain.idle_seconds > 0) == (0.0, scope == GLOBAL)


def test_an_image_tells_what_was_touched_and_used_since_the_last_pass() -> None:
    engine = filled()
    image = engine.image(GLOBAL)
    assert image.touched == {"touched": 5_000.0}
    assert image.used == ("used",)
    engine.apply(Passed(GLOBAL, 9_000.0, 8_900.0, 10 * DAY, 0.2))
    image = engine.image(GLOBAL)
    assert (dict(image.touched), image.used) == ({}, ())


def test_a_capture_stays_as_it_was_whatever_comes_after() -> None:
    engine = filled()
    before = engine.image(GLOBAL)
    capture = engine.capture(GLOBAL)
    engine.apply(PerceptDropped(GLOBAL, "plain"))
    engine.apply(PerceptPut(GLOBAL, percept("new"), running=6_000.0))
    engine.apply(Passed(GLOBAL, 9_000.0, 8_900.0, 10 * DAY, 0.2))
    engine.apply(Annotated(GLOBAL, {"mood": "calm"}, (("percepts", 0, "?"),)))
    assert capture.image() == before


def test_percepts_that_were_made_of_a_capture_are_taken_over_where_nothing_changed() -> None:
    engine = filled()
    engine.apply(Passed(GLOBAL, 9_000.0, 8_900.0, 10 * DAY, 0.2))
    capture = engine.capture(GLOBAL)
    image = capture.image()
    engine.apply(PerceptPut(GLOBAL, percept("touched", 0.5), running=9_500.0))
    engine.freshen(capture, image, range(3))
    after = engine.image(GLOBAL).percepts
    assert after[0] is image.percepts[0]
    assert after[1].w == 0.5
    assert after[2] is image.percepts[2]


def test_percepts_of_before_a_pass_are_not_taken_over_after_it() -> None:
    engine = filled()
    engine.apply(Passed(GLOBAL, 9_000.0, 8_900.0, 10 * DAY, 0.2))
    capture = engine.capture(GLOBAL)
    image = capture.image()
    engine.apply(Passed(GLOBAL, 90_000.0, 81_000.0, 10 * DAY, 0.2))
    engine.freshen(capture, image, range(3))
    assert engine.image(GLOBAL).percepts[0].w < image.percepts[0].w


def test_a_scope_that_was_let_go_needs_no_percepts() -> None:
    engine = filled(scope="s1")
    capture = engine.capture("s1")
    engine.unload("s1")
    engine.freshen(capture, capture.image(), range(3))
    assert not engine.is_loaded("s1")


def test_what_is_kept_of_a_file_can_be_replaced() -> None:
    engine = filled()
    extra, unreadable = {"mood": "calm"}, (("percepts", 1, {"id": "odd", "w": "high"}),)
    engine.apply(Annotated(GLOBAL, extra, unreadable))
    image = engine.image(GLOBAL)
    assert (image.extra, image.unreadable) == (extra, unreadable)
    assert engine.exists("odd")
    assert not engine.exists("odd", beside=GLOBAL)


def test_ids_contents_and_texts_of_all_there_is() -> None:
    engine = filled()
    engine.set_dormant("asleep", {"closed": "a closed fact"})
    assert engine.ids() == {"plain", "touched", "used", "closed"}
    assert engine.content("used") == "fact used"
    assert engine.content("closed") is None
    assert engine.texts("used") == {"fact used"}
