"""Each scope as far as it is durable: undoing is exact, and nothing is taken for saved too soon."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.homes import edge, engram, holding, percept
from milkd.daemon.kept import KeptScopes
from milkd.engine.capture import Capture
from milkd.engine.changes import (
    Annotated,
    AudienceLeft,
    Awarded,
    Change,
    EdgeActed,
    EdgeDropped,
    EdgePut,
    EngramDropped,
    EngramPut,
    Passed,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
    Shown,
    Used,
)
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.engine.percept import ScopeImage
from milkd.store.entries import Entry
from milkd.store.interface import Found
from milkd.store.snapshot import Loaded

GLOBAL = holding(
    "global",
    percepts=(
        percept("a", engram_id="e", wordings=(), idle_seconds=3.0),
        percept("b", w=0.75, engram_id="e"),
        percept("core", core=True, w=1.0),
    ),
    engrams=(engram("e", "a", "b"),),
    edges=(edge("a", "b"), edge("b", "a")),
    running_seconds=100.0,
    touched={"b": 120.0},
    used=("a",),
    extra={"theme": {"accent": "x"}},
    unreadable=(("percepts", 1, {"id": 5}),),
)
SESSION = holding("s1", "x", "y", running_seconds=7.0, shown=("a",), touched={"x": 9.0})
IMAGES = {image.name: image for image in (GLOBAL, SESSION, ScopeImage(name="archive"))}
CHANGES: list[Change] = [
    PerceptPut("global", percept("a", content="it says something else"), 130.0),
    PerceptPut("global", percept("new")),
    PerceptPut("s1", percept("z"), 8.0),
    PerceptDropped("global", "b"),
    PerceptDropped("s1", "x"),
    EdgePut("global", edge("a", "core")),
    EdgeDropped("global", edge("a", "b")),
    EngramPut("global", engram("f", "core")),
    EngramPut("global", replace(engram("e", "a"), composite_w=0.25)),
    EngramDropped("global", "e"),
    Passed("global", 86_500.0, 86_400.0, 604_800.0, 0.125),
    Passed("s1", 3_600.0, 3_593.0, 3_600.0, 0.0),
    Used("global", ("a", "b"), 5.0),
    Awarded("a"),
    EdgeActed(edge("a", "b")),
    Shown("s1", "s1", {"b": "- fact b"}, "a prompt"),
    Shown(None, "connection 1", {"b": "- fact b"}, "a prompt"),
    AudienceLeft("s1"),
    ScopeDropped("s1"),
    Annotated("global", {}, ()),
]


class Scene:
    """An engine whose scopes are all durable."""

    def __init__(self) -> None:
        self.engine = Engine(DEFAULT)
        self.kept = KeptScopes(self.engine)
        self.seq = 0
        for image in IMAGES.values():
            self.engine.put_back(image)
            self.kept.loaded(Found(Loaded(image)), image)

    def do(self, *changes: Change) -> Entry:
        self.seq += 1
        self.engine.apply_all(changes)
        return Entry(self.seq, 1.0, "test", changes)

    def can(self, change: Change) -> bool:
        """Whether the change can be; no decision has a percept end twice."""
        if not isinstance(change, PerceptDropped):
            return True
        return any(each.id == change.id for each in self.engine.image(change.scope).percepts)

    def settle(self, *changes: Change) -> None:
        self.kept.durable([self.do(*changes)])

    def images(self) -> dict[str, ScopeImage]:
        return {name: self.engine.image(name) for name in IMAGES}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: type(change).__name__)
def test_every_change_is_undone_exactly(change: Change) -> None:
    scene = Scene()
    assert scene.images() == IMAGES
    scene.kept.undo([scene.do(change)])
    assert scene.images() == IMAGES
    assert scene.kept.dirty() == []


@given(
    durable=st.lists(st.sampled_from(CHANGES), max_size=6),
    lost=st.lists(st.sampled_from(CHANGES), max_size=6),
    saved=st.booleans(),
)
def test_undoing_goes_back_to_what_is_durable(
    durable: list[Change], lost: list[Change], *, saved: bool
) -> None:
    scene = Scene()
    for change in durable:
        if scene.can(change):
            scene.settle(change)
    if saved:
        parts = {name: scene.kept.part(name) for name in scene.kept.dirty()}
        images = {n: p.image() if isinstance(p, Capture) else p for n, p in parts.items()}
        scene.kept.saved(images, scene.seq)
        assert scene.kept.dirty() == []
    before = scene.images()
    scene.kept.undo([scene.do(change) for change in lost if scene.can(change)])
    assert scene.images() == before


def test_what_this_run_alone_remembers_is_undone() -> None:
    scene = Scene()
    entry = scene.do(Awarded("a"), EdgeActed(edge("a", "b")))
    scene.kept.undo([entry])
    assert scene.images() == IMAGES


def test_what_is_undone_does_not_touch_other_scopes() -> None:
    scene = Scene()
    pending = scene.do(PerceptPut("s1", percept("pending")))
    before = scene.engine.image("s1")
    scene.kept.undo([scene.do(PerceptDropped("global", "a"))])
    assert scene.engine.image("s1") == before
    scene.kept.durable([pending])
    assert scene.kept.dirty() == ["s1"]


def test_what_became_durable_after_the_capture_is_still_to_be_saved() -> None:
    scene = Scene()
    scene.settle(PerceptPut("global", percept("one")))
    part, seq = scene.kept.part("global"), scene.seq
    assert isinstance(part, Capture)
    scene.settle(PerceptPut("global", percept("two")))
    image = part.image()
    scene.kept.saved({"global": image}, seq)
    assert scene.kept.dirty() == ["global"]
    assert scene.kept.file("global") == (image, seq)
    now = scene.engine.image("global")
    scene.kept.undo([scene.do(PerceptDropped("global", "two"))])
    assert scene.engine.image("global") == now
    scene.kept.saved({"global": now}, scene.seq)
    assert scene.kept.dirty() == []


def test_a_clean_session_that_goes_is_forgotten() -> None:
    scene = Scene()
    image = scene.engine.image("s1")
    scene.engine.unload("s1")
    scene.kept.unloaded(image, scene.seq)
    assert scene.kept.parked("s1") is None
    assert "s1" not in scene.kept.all()


def test_a_session_that_goes_before_it_is_saved_is_parked() -> None:
    scene = Scene()
    scene.settle(PerceptPut("s1", percept("z")))
    image = scene.engine.image("s1")
    assert scene.kept.parked("s1") is None  # it is loaded
    scene.engine.unload("s1")
    scene.kept.unloaded(image, scene.seq)
    assert scene.kept.parked("s1") is image
    assert scene.kept.part("s1") is image
    scene.kept.saved({"s1": image}, scene.seq)
    assert scene.kept.parked("s1") is None
    assert scene.kept.all() == ["global", "archive"]


def test_a_session_that_comes_back_goes_on_from_where_it_was() -> None:
    scene = Scene()
    scene.settle(PerceptPut("s1", percept("z")))
    image = scene.engine.image("s1")
    scene.engine.unload("s1")
    scene.kept.unloaded(image, scene.seq)
    scene.engine.put_back(image)
    scene.kept.loaded(Found(Loaded(SESSION)), SESSION)  # the file knows less, and does not count
    before = scene.engine.image("s1")
    scene.kept.undo([scene.do(PerceptDropped("s1", "z"))])
    assert scene.engine.image("s1") == before == image


def test_a_session_that_went_during_a_checkpoint_is_not_set_back() -> None:
    scene = Scene()
    scene.settle(PerceptPut("s1", percept("z")))
    part, seq = scene.kept.part("s1"), scene.seq
    assert isinstance(part, Capture)
    scene.settle(PerceptPut("s1", percept("later")))
    image = scene.engine.image("s1")
    scene.engine.unload("s1")
    scene.kept.unloaded(image, scene.seq)

    scene.kept.saved({"s1": part.image()}, seq)

    assert scene.kept.parked("s1") is image
    assert scene.kept.dirty() == ["s1"]
    scene.engine.put_back(image)
    scene.kept.undo([scene.do(PerceptDropped("s1", "later"))])
    assert scene.engine.image("s1") == image


def test_a_session_that_went_and_came_during_a_checkpoint_is_saved_next_time() -> None:
    scene = Scene()
    scene.settle(PerceptPut("s1", percept("z")))
    part, seq = scene.kept.part("s1"), scene.seq
    assert isinstance(part, Capture)
    image = scene.engine.image("s1")
    scene.engine.unload("s1")
    scene.kept.unloaded(image, scene.seq)
    scene.engine.put_back(image)
    scene.settle(PerceptPut("s1", percept("later")))
    before = scene.engine.image("s1")

    scene.kept.saved({"s1": part.image()}, seq)

    assert scene.kept.dirty() == ["s1"]
    scene.kept.undo([scene.do(PerceptDropped("s1", "later"))])
    assert scene.engine.image("s1") == before


def test_a_scope_that_was_found_unlike_its_file_is_to_be_written() -> None:
    engine = Engine(DEFAULT)
    kept = KeptScopes(engine)
    kept.loaded(Found(Loaded(SESSION, seq=5)), replace(SESSION, shown=()))
    kept.loaded(Found(Loaded(GLOBAL), dirty=True), GLOBAL)
    archive = ScopeImage(name="archive")
    kept.loaded(Found(Loaded(archive)), archive)
    assert kept.dirty() == ["s1", "global"]
    assert kept.file("s1") == (SESSION, 5)


def test_what_others_wrote_is_to_be_replaced() -> None:
    scene = Scene()
    theirs = holding("global", "theirs")
    scene.kept.rewrite("global", theirs)
    assert scene.kept.dirty() == ["global"]
    assert scene.kept.file("global")[0] is theirs
    assert scene.engine.image("global") == GLOBAL


def test_anything_can_be_written_anew() -> None:
    scene = Scene()
    scene.kept.want(["archive", "s1"])
    assert sorted(scene.kept.dirty()) == ["archive", "s1"]
