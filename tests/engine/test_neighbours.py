"""What stands beside results: by an edge or by words; results stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milkd.engine import commands as ask
from milkd.engine.params import DEFAULT
from milkd.engine.percept import Edge, Percept, ScopeImage
from sitting import Sitting, percept

if TYPE_CHECKING:
    from milkd.engine.results import Injection, Recalled

WEST = percept("deploys go through the west cluster", 1)
ANNA = percept("anna owns the pager", 2)
DOWN = percept("that cluster burnt down", 3)
LIKE = percept("deploys go through the west tunnel", 4)


def sit(*held: Percept | Edge, session: str | None = None, **knobs: Any) -> Sitting:
    sitting = Sitting("s1", "s2", base=DEFAULT, **knobs)
    facts = tuple(each for each in held if isinstance(each, Percept))
    edges = tuple(each for each in held if isinstance(each, Edge))
    sitting.engine.load(ScopeImage(name=session or "global", percepts=facts, edges=edges), 0.0)
    return sitting


def edge(source: Percept, relation: str, target: Percept) -> Edge:
    return Edge(source.id, target.id, relation)


def query(sitting: Sitting, text: str, **more: Any) -> Recalled:
    return cast("Recalled", sitting.do(ask.Query(text=text, **more)))


def beside(answer: Recalled | Injection) -> list[tuple[str, str, str]]:
    near: Any = answer.neighbours
    views = [getattr(each, "view", None) for each in near]
    ids = [view.percept.id if view else each.id for view, each in zip(views, near, strict=True)]
    return [(found, each.of, each.via) for found, each in zip(ids, near, strict=True)]


@pytest.mark.parametrize("relation", ["extends", "derives", "contradicts"])
def test_what_an_edge_joins_stands_beside_from_either_end(relation: str) -> None:
    for joined in (edge(ANNA, relation, WEST), edge(WEST, relation, ANNA)):
        sitting = sit(WEST, ANNA, joined)
        assert beside(query(sitting, "cluster")) == [(ANNA.id, WEST.id, relation)]
        assert beside(sitting.inject("cluster")) == [(ANNA.id, WEST.id, relation)]


def test_a_contradiction_comes_first_and_is_labelled() -> None:
    sitting = sit(WEST, ANNA, DOWN, edge(ANNA, "extends", WEST), edge(DOWN, "contradicts", WEST))
    block = sitting.inject("deploys")
    assert block.text.splitlines()[1:-1] == [
        f"- {WEST.content}",
        f"- {DOWN.content} (in conflict with the fact above)",
        f"- {ANNA.content}",
    ]
    assert block.ids == (WEST.id,)


def test_neighbours_stand_behind_their_result_and_results_keep_their_order() -> None:
    other = percept("deploys need two people", 5)
    sitting = sit(WEST, other, ANNA, edge(ANNA, "extends", WEST))
    block = sitting.inject("deploys go through")
    assert block.text.splitlines()[1:-1] == [f"- {each.content}" for each in (WEST, ANNA, other)]


def test_words_in_common_count_by_their_rarity() -> None:
    sitting = sit(WEST, LIKE, ANNA, neighbour_overlap=0.5)
    near = query(sitting, "cluster").neighbours
    assert [(each.view.percept.id, each.via) for each in near] == [(LIKE.id, "overlap")]
    assert near[0].overlap == pytest.approx(0.5, abs=0.3)
    assert not beside(query(sit(WEST, LIKE, ANNA, neighbour_overlap=0.99), "cluster"))
    assert not beside(query(sit(WEST, LIKE, ANNA), "cluster"))  # by relations alone


def test_a_neighbour_is_no_use_but_it_was_shown() -> None:
    sitting = sit(WEST, ANNA, edge(ANNA, "extends", WEST))
    sitting.run(60)
    sitting.inject("cluster", "s1")
    used = {each.id: each.last_used_at for each in sitting.engine.image("global").percepts}
    assert used == {WEST.id: sitting.wall, ANNA.id: None}
    assert sitting.record(ANNA.content, "s1").status == "echoed"


def test_it_is_judged_with_the_turn_and_not_repeated_at_once() -> None:
    sitting = sit(WEST, ANNA, edge(ANNA, "extends", WEST))
    sitting.inject("cluster", "s1")
    assert beside(sitting.inject("cluster", "s1", repeat=True)) == [(ANNA.id, WEST.id, "extends")]
    assert sitting.inject("cluster", "s1").text == ""
    ended = cast("Any", sitting.do(ask.TurnEnd(response="anna has the pager", session="s1")))
    assert [(each.id, each.verdict) for each in ended.judged][1] == (ANNA.id, "used")


@pytest.mark.parametrize(
    "hidden",
    [
        percept(ANNA.content, 2, w=0.3),
        percept(ANNA.content, 2, consumer="escalation"),
    ],
)
def test_it_passes_the_gates_of_a_result(hidden: Percept) -> None:
    sitting = sit(WEST, hidden, edge(hidden, "extends", WEST))
    assert not beside(sitting.inject("cluster", consumer="primary"))
    assert not beside(query(sitting, "cluster", consumer="primary"))


def test_it_is_not_what_was_archived_superseded_or_forgotten() -> None:
    new = percept("boris owns the pager", 6)
    sitting = sit(WEST, ANNA, new, edge(ANNA, "extends", WEST), edge(new, "updates", ANNA))
    assert not beside(sitting.inject("cluster"))
    sitting = sit(WEST, edge(ANNA, "extends", WEST))
    sitting.hold("archive", ANNA)
    assert not beside(sitting.inject("cluster"))
    sitting = sit(WEST, ANNA, edge(ANNA, "extends", WEST))
    sitting.do(ask.Forget(ref=ANNA.id))
    assert not beside(sitting.inject("cluster"))


def test_nothing_of_another_session_not_even_an_edge_of_its() -> None:
    sitting = sit(WEST, ANNA)
    image = ScopeImage(name="s2", percepts=(DOWN,), edges=(edge(DOWN, "contradicts", WEST),))
    sitting.engine.load(image, 0.0)
    assert not beside(sitting.inject("cluster", "s1"))
    assert beside(sitting.inject("west", "s2")) == [(DOWN.id, WEST.id, "contradicts")]
    sitting.engine.load(ScopeImage(name="s2", edges=(edge(ANNA, "extends", WEST),)), 0.0)
    assert not beside(sitting.inject("west", "s1", repeat=True))
    assert beside(sitting.inject("west", "s2", repeat=True)) == [(ANNA.id, WEST.id, "extends")]


def test_one_that_several_share_comes_once_and_no_result_does() -> None:
    other = percept("deploys need two people", 5)
    edges = (
        edge(ANNA, "extends", WEST),
        edge(ANNA, "extends", other),
        edge(other, "extends", WEST),
    )
    sitting = sit(WEST, other, ANNA, *edges)
    assert beside(query(sitting, "deploys")) == [(ANNA.id, WEST.id, "extends")]


def test_so_many_a_result_and_so_many_in_all() -> None:
    results = [percept(f"deploy number{n} runs", n) for n in range(1, 5)]
    near = [percept(f"detail{n}", 100 + n) for n in range(12)]
    edges = [edge(each, "extends", results[n // 3]) for n, each in enumerate(near)]
    sitting = sit(*results, *near, *edges)
    found = beside(query(sitting, "deploy"))
    assert [of for _, of, _ in found] == [each.id for each in results for _ in range(2)]
    few = sit(*results, *near, *edges, neighbours_max=3)
    assert len(beside(query(few, "deploy"))) == len(beside(few.inject("deploy"))) == 3
    one = sit(*results, *near, *edges, neighbours_per_result=1)
    assert len(beside(query(one, "deploy"))) == 4
    assert not beside(query(sit(*results, *near, *edges, neighbours_max=0), "deploy"))


def test_they_get_what_the_results_left_of_the_budget() -> None:
    other = percept("deploys need two people", 5)
    held = (WEST, other, ANNA, edge(ANNA, "extends", WEST))
    assert not beside(sit(*held).inject("deploys", max_facts=2))
    assert beside(sit(*held).inject("deploys", max_facts=3))
    whole = sit(*held).inject("deploys")
    assert beside(whole)
    tight = sit(*held).inject("deploys", max_bytes=whole.bytes - 1)
    assert not beside(tight)
    assert tight.ids == whole.ids
    assert len(tight.text.encode()) <= whole.bytes - 1


@pytest.mark.parametrize("where", ["off", "inject", "query", "both"])
def test_where_they_come_is_a_knob(where: str) -> None:
    sitting = sit(WEST, ANNA, edge(ANNA, "extends", WEST), neighbours=where)
    assert bool(beside(query(sitting, "cluster"))) == (where in ("query", "both"))
    assert bool(beside(sitting.inject("cluster"))) == (where in ("inject", "both"))


def test_an_edge_that_was_taken_back_joins_nothing() -> None:
    sitting = sit(WEST, ANNA, edge(ANNA, "extends", WEST))
    sitting.do(ask.Unrelate(source=ANNA.id, target=WEST.id, relation="extends"))
    assert not beside(query(sitting, "cluster"))
    assert not sitting.engine._memory.scopes["global"].ends._edges


WORDS = ("west", "east", "cluster", "deploy", "pager", "anna", "tunnel")
contents = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), max_size=12)
pairs = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=12)


@settings(max_examples=150)
@given(
    contents,
    pairs,
    st.sampled_from(["extends", "contradicts", "updates"]),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.integers(40, 400),
    st.sampled_from([0.0, 0.2, 0.6]),
)
def test_results_are_the_same_with_neighbours_and_without(
    texts: list[list[str]],
    joined: list[tuple[int, int]],
    relation: str,
    prompt: list[str],
    room: int,
    overlap: float,
) -> None:
    facts = [percept(" ".join(words), n + 1) for n, words in enumerate(texts)]
    edges = [
        edge(facts[one], relation, facts[other])
        for one, other in joined
        if one != other and max(one, other) < len(facts)
    ]
    text = " ".join(prompt)
    lists, blocks = [], []
    for where in ("off", "both"):
        sitting = sit(*facts, *edges, neighbours=where, neighbour_overlap=overlap)
        lists.append([hit.view.percept.id for hit in query(sitting, text).hits])
        blocks.append(sitting.inject(text, max_bytes=room))
    assert lists[0] == lists[1]
    without, with_them = blocks
    assert with_them.ids == without.ids
    assert with_them.bytes <= max(room, 0) or not with_them.text
    near = [each.id for each in with_them.neighbours]
    assert len(near) == len(set(near)) <= 20
    assert not set(near) & set(with_them.ids)
    assert all(each.of in with_them.ids for each in with_them.neighbours)
    shown = [each for each in with_them.text.splitlines() if each in without.text.splitlines()]
    assert not near or shown[0] == without.text.splitlines()[0]
