"""Any two sides of any scope: what a merge must keep, whatever they did to it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from milkd.engine.changes import PerceptDropped, PerceptPut
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.engine.percept import GLOBAL, Edge, Engram, Percept, ScopeImage, Wording
from milkd.store.merging import Merged, merge

NOW, READING = 1_000.0, 7.0
IDS = [f"p{number}" for number in range(4)]
MAPS: tuple[dict[str, object], ...] = (
    {},
    {"a": 1},
    {"a": True},
    {"a": "x", "b": [1]},
    {"b": [1, 2]},
)
FIELDS: dict[str, tuple[Any, ...]] = {
    "content": ("one", "two", "three"),
    "w": (0.5, 0.25, 0.75),
    "updated_at": (10.0, 20.0, 30.0, 30.0000005),
    "content_at": (None, 10.0, 20.0, 30.0),
    "engram_id": (None, "e0", "e1"),
    "core": (False, True),
    "producer": ("user", "primary"),
    "consumer": (None, "primary"),
    "roles": MAPS,
    "extra": MAPS,
    "evidence": (0, 1, 2),
    "idle_seconds": (0.0, 5.0),
    "wordings": ((), (Wording("so", 15.0),)),
}
ALL = math.prod(map(len, FIELDS.values()))


def decoded(percept_id: str, number: int) -> Percept:
    """One of all the percepts there are; one number instead of many draws is fast."""
    values = {}
    for name, options in FIELDS.items():
        number, choice = divmod(number, len(options))
        values[name] = options[choice]
    return Percept(id=percept_id, created_at=10.0, **values)


def percept_of(percept_id: str) -> st.SearchStrategy[Percept]:
    return st.integers(0, ALL - 1).map(lambda number: decoded(percept_id, number))


maps = st.sampled_from(MAPS)


def consistent(percepts: tuple[Percept, ...], edges: tuple[Edge, ...], **values: Any) -> ScopeImage:
    """A scope as the engine keeps it: groups list who names them, ends of edges exist."""
    here = {each.id for each in percepts}
    groups = {}
    for group in ("e0", "e1"):
        members = tuple(each.id for each in percepts if each.engram_id == group)
        if members:
            groups[group] = Engram(
                id=group,
                subject_label=f"label {group}",
                composite_w=0.5,
                percept_ids=members,
                created_at=10.0,
                updated_at=20.0,
            )
    linked = tuple(each for each in edges if {each.source, each.target} <= here)
    return ScopeImage(
        name=GLOBAL, percepts=percepts, engrams=tuple(groups.values()), edges=linked, **values
    )


edges_of = st.lists(
    st.builds(Edge, st.sampled_from(IDS), st.sampled_from(IDS), st.just("extends"), maps),
    unique=True,
    max_size=3,
)
unreadables = st.lists(
    st.tuples(st.just("percepts"), st.integers(0, 3), st.sampled_from(["?", 1, True, {"w": 1}])),
    max_size=2,
    unique_by=lambda entry: repr(entry[2]),
)
scopes = st.builds(
    lambda ids, values, edges, extra, unreadable: consistent(
        tuple(values[each] for each in ids), tuple(edges), extra=extra, unreadable=tuple(unreadable)
    ),
    st.lists(st.sampled_from(IDS), unique=True),
    st.fixed_dictionaries({each: percept_of(each) for each in IDS}),
    edges_of,
    maps,
    unreadables,
)


@st.composite
def grown(draw: st.DrawFn, base: ScopeImage) -> ScopeImage:
    """A scope that has much in common with another one."""
    new = draw(scopes)
    fresh = {each.id: each for each in new.percepts}
    percepts = []
    for each in base.percepts:
        what = draw(st.sampled_from(["keep", "keep", "drop", "mix", "other"]))
        if what == "keep":
            percepts.append(each)
        elif what == "mix":
            other = draw(percept_of(each.id))
            names = draw(st.sets(st.sampled_from(["content", "w", "updated_at", "extra", "core"])))
            percepts.append(replace(each, **{name: getattr(other, name) for name in names}))
        elif what == "other":
            percepts.append(draw(percept_of(each.id)))
    known = {each.id for each in base.percepts}
    percepts += [each for each_id, each in fresh.items() if each_id not in known]
    kept = [each for each in base.edges if draw(st.booleans())]
    edges = {edge: edge for edge in (*kept, *new.edges)}
    return consistent(tuple(percepts), tuple(edges), extra=new.extra, unreadable=new.unreadable)


histories = scopes.flatmap(lambda base: st.tuples(st.just(base), grown(base), grown(base)))


def after(
    base: ScopeImage | None, theirs: ScopeImage, ours: ScopeImage
) -> tuple[ScopeImage, Merged]:
    merged = merge(base, theirs, ours, wall=NOW, running=READING)
    engine = Engine(DEFAULT)
    engine.load(ours)
    engine.apply_all(merged.changes)
    return engine.image(GLOBAL), merged


def said(image: ScopeImage) -> dict[str, object]:
    """What a scope says, without the order, the dates of an edit, or what is below a moment."""
    plain: dict[str, Any] = {"content_at": None, "updated_at": 0.0}
    return {
        "percepts": {each.id: repr(replace(each, **plain)) for each in image.percepts},
        "engrams": {each.id: set(each.percept_ids) for each in image.engrams},
        "edges": {
            (e.source, e.target, e.relation): repr(sorted(e.extra.items(), key=repr))
            for e in image.edges
        },
        "extra": repr(sorted(image.extra.items(), key=repr)),
        "unreadable": {repr(raw) for _, _, raw in image.unreadable},
    }


def in_order(image: ScopeImage) -> ScopeImage:
    """With the keys of every mapping in one order, so that texts can be compared."""

    def sort(mapping: Any) -> dict[str, object]:
        return dict(sorted(mapping.items()))

    percepts = (replace(p, roles=sort(p.roles), extra=sort(p.extra)) for p in image.percepts)
    return replace(image, percepts=tuple(percepts))


def assert_sound(image: ScopeImage) -> None:
    here = {each.id: each for each in image.percepts}
    for group in image.engrams:
        assert group.percept_ids
        assert len(set(group.percept_ids)) == len(group.percept_ids)
        assert all(here[each].engram_id == group.id for each in group.percept_ids)
    grouped = {each for group in image.engrams for each in group.percept_ids}
    assert grouped == {each.id for each in image.percepts if each.engram_id is not None}
    assert all({edge.source, edge.target} <= here.keys() for edge in image.edges)


@given(scopes.flatmap(lambda base: st.tuples(st.just(base), grown(base))))
def test_if_they_did_nothing_nothing_changes(pair: tuple[ScopeImage, ScopeImage]) -> None:
    base, ours = pair
    merged = merge(base, base, ours, wall=NOW)
    assert (merged.changes, merged.conflicts, merged.refused) == ((), (), ())


@given(scopes.flatmap(lambda base: st.tuples(st.just(base), grown(base))))
def test_if_we_did_nothing_it_is_as_they_left_it(pair: tuple[ScopeImage, ScopeImage]) -> None:
    base, theirs = pair
    image, merged = after(base, theirs, base)
    assert said(in_order(image)) == said(in_order(theirs))
    assert merged.conflicts == ()


@given(histories, st.booleans())
def test_the_result_is_sound_and_merging_again_changes_nothing(
    history: tuple[ScopeImage, ScopeImage, ScopeImage], known: bool
) -> None:
    base, theirs, ours = history
    image, merged = after(base if known else None, theirs, ours)
    assert_sound(image)
    again = merge(base if known else None, theirs, image, wall=NOW + 1, running=READING)
    assert again.changes == ()
    assert set(again.conflicts) <= set(merged.conflicts)


@given(histories)
def test_a_fact_goes_only_where_one_side_took_it_out(
    history: tuple[ScopeImage, ScopeImage, ScopeImage],
) -> None:
    base, theirs, ours = history
    image, merged = after(base, theirs, ours)
    before, there, here, now = (
        {each.id for each in side.percepts} for side in (base, theirs, ours, image)
    )
    assert (there - before) | (here - before) <= now
    assert before & there & here <= now
    named = set(merged.conflicts)
    for gone in (there | here) - now:
        assert gone in before
        assert gone not in there or gone not in here
    assert now - named <= (there & here) | (there - before) | (here - before)


@given(histories)
def test_an_edit_of_theirs_is_taken_or_named(
    history: tuple[ScopeImage, ScopeImage, ScopeImage],
) -> None:
    base, theirs, ours = history
    image, merged = after(base, theirs, ours)
    before, there, now = (
        {each.id: each for each in side.percepts} for side in (base, theirs, image)
    )
    for percept_id, new in there.items():
        for name in ("content", "w", "core", "producer", "consumer", "engram_id", "evidence"):
            old = before.get(percept_id)
            if percept_id in merged.conflicts or (old and getattr(old, name) == getattr(new, name)):
                continue
            if old:
                assert getattr(now[percept_id], name) == getattr(new, name)
            else:
                assert percept_id in now


@given(histories)
def test_without_a_base_nothing_goes_and_what_gives_way_is_seen(
    history: tuple[ScopeImage, ScopeImage, ScopeImage],
) -> None:
    _, theirs, ours = history
    image, merged = after(None, theirs, ours)
    assert not any(isinstance(change, PerceptDropped) for change in merged.changes)
    put = {change.percept.id for change in merged.changes if isinstance(change, PerceptPut)}
    there, here, now = ({p.id: p for p in side.percepts} for side in (theirs, ours, image))
    assert now.keys() == there.keys() | here.keys()
    assert set(theirs.edges) | set(ours.edges) == set(image.edges)
    for percept_id in there.keys() & here.keys():
        if here[percept_id].content != there[percept_id].content:
            assert percept_id in put | set(merged.conflicts)


@given(histories)
def test_order_says_nothing(history: tuple[ScopeImage, ScopeImage, ScopeImage]) -> None:
    base, theirs, ours = history
    turned = replace(theirs, percepts=theirs.percepts[::-1], edges=theirs.edges[::-1])
    assume(turned != theirs)
    one, other = after(base, theirs, ours), after(base, turned, ours)
    assert said(in_order(one[0])) == said(in_order(other[0]))
    assert set(one[1].conflicts) == set(other[1].conflicts)
