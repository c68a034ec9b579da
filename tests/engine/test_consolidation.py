from __future__ import annotations

from typing import Any

import pytest

from milkd.engine.params import DEFAULT
from milkd.engine.percept import Edge, Engram, Percept, ScopeImage
from sitting import DAY, NOON, Sitting, percept


def holding(scope: str, *percepts: Percept, edges: tuple[Edge, ...] = (), **knobs: Any) -> Sitting:
    sitting = Sitting(**knobs)
    sitting.engine.load(ScopeImage(name=scope, percepts=percepts, edges=edges))
    sitting.running[scope] = 0.0
    return sitting


def edge(source: int, target: int, relation: str) -> Edge:
    return Edge(percept("", source).id, percept("", target).id, relation)


def weights(sitting: Sitting, scope: str) -> list[float]:
    return [p.w for p in sitting.engine.image(scope).percepts]


def test_a_pass_without_time_and_edges_changes_nothing_but_the_report() -> None:
    sitting = holding("global", percept("ports", 1))
    report = sitting.consolidate()
    assert (report.global_decayed, report.global_total, report.running_seconds) == (0, 1, 0.0)
    assert weights(sitting, "global") == [0.75]


def test_a_half_life_halves_a_session_and_the_distance_of_a_global_to_the_floor() -> None:
    sitting = holding("mine", percept("ports", 1, w=0.75), session_half_life_days=0.5)
    sitting.run(DAY / 2)
    report = sitting.consolidate("mine")
    assert weights(sitting, "mine") == [0.375]
    assert (report.decayed, report.sessions["mine"].running_seconds) == (1, DAY / 2)
    sitting = holding(
        "global", percept("ports", 1, w=0.75), global_half_life_days=1.0, prune_threshold=0.25
    )
    sitting.run(DAY)
    assert sitting.consolidate().global_decayed == 1
    assert weights(sitting, "global") == [0.5]


def test_no_more_than_a_day_passes_between_two_passes() -> None:
    sitting = holding("mine", percept("ports", 1, w=0.75), session_half_life_days=1.0)
    sitting.run(400 * DAY)
    report = sitting.consolidate()
    assert weights(sitting, "mine") == [0.375]
    assert report.running_seconds == DAY


def test_a_clock_that_went_back_ages_nothing() -> None:
    sitting = holding("mine", percept("ports", 1, w=0.75))
    sitting.run(3600)
    sitting.consolidate()
    (before,) = weights(sitting, "mine")
    sitting.running = {"mine": 0.0, "global": 0.0}
    sitting.wall -= 10 * 365 * DAY
    assert sitting.consolidate().running_seconds == 0.0
    assert weights(sitting, "mine") == [before]


def test_only_the_named_session_and_global_pass() -> None:
    sitting = Sitting("mine", "theirs")
    for name in ("mine", "theirs"):
        sitting.record(f"{name} is open", name)
    sitting.run(3600)
    report = sitting.consolidate("mine")
    assert list(report.sessions) == ["mine"]
    assert weights(sitting, "theirs") == [0.7]
    assert list(sitting.consolidate().sessions) == ["mine", "theirs"]


def test_an_edge_lifts_its_target_and_that_is_evidence_once_a_run() -> None:
    sitting = holding(
        "global", percept("a", 1, w=0.5), percept("b", 2, w=0.5), edges=(edge(1, 2, "derives"),)
    )
    assert sitting.consolidate().edges_applied == 1
    sitting.consolidate()
    one, two = sitting.engine.image("global").percepts
    assert (one.w, one.evidence) == (0.5, 0)
    assert (two.w, two.evidence) == (0.5 + 0.05 + 0.05, 1)
    assert two.updated_at == NOON


def test_an_edge_at_full_strength_is_no_evidence() -> None:
    sitting = holding(
        "global", percept("a", 1), percept("b", 2, w=1.0), edges=(edge(1, 2, "extends"),)
    )
    assert sitting.consolidate().edges_applied == 0
    assert sitting.engine.image("global").percepts[1].evidence == 0


def test_an_edge_moves_no_core_and_nothing_in_another_file() -> None:
    sitting = Sitting("mine")
    core = percept("a", 1, w=1.0, core=True)
    sitting.hold("global", core, percept("b", 2, w=0.5))
    sitting.engine.load(
        ScopeImage(
            name="mine",
            percepts=(percept("c", 3, w=0.5),),
            edges=(edge(3, 2, "extends"), edge(3, 1, "contradicts")),
        )
    )
    assert sitting.consolidate().edges_applied == 1
    assert weights(sitting, "global") == [1.0, 0.5]
    assert weights(sitting, "mine") == [0.4]


def test_a_relation_of_a_later_version_is_kept_and_moves_nothing() -> None:
    sitting = holding(
        "global", percept("a", 1), percept("b", 2), edges=(edge(1, 2, "illustrates"),)
    )
    assert sitting.consolidate().edges_applied == 0
    assert sitting.engine.image("global").edges == (edge(1, 2, "illustrates"),)


def test_an_edge_with_an_end_that_is_nowhere_is_dropped() -> None:
    sitting = holding("global", percept("a", 1), edges=(edge(1, 9, "extends"),))
    sitting.consolidate()
    assert sitting.engine.image("global").edges == ()


@pytest.mark.parametrize("where", ["archive", "asleep", "unreadable"])
def test_an_edge_whose_end_is_out_of_reach_is_kept_and_moves_nothing(where: str) -> None:
    sitting = Sitting()
    other = percept("b", 2)
    raw = (("percepts", 0, {"id": other.id, "w": "high"}),) if where == "unreadable" else ()
    sitting.engine.load(
        ScopeImage(
            name="global",
            percepts=(percept("a", 1),),
            edges=(edge(1, 2, "contradicts"),),
            unreadable=raw,
        )
    )
    if where == "archive":
        sitting.hold("archive", other)
    if where == "asleep":
        sitting.engine.set_dormant("asleep", {other.id: "b"})
    assert sitting.consolidate().edges_applied == 0
    assert len(sitting.engine.image("global").edges) == 1
    assert weights(sitting, "global") == [0.75]


def test_faded_session_percepts_are_pruned_with_their_edges() -> None:
    sitting = holding(
        "mine",
        percept("a", 1, w=0.2),
        percept("b", 2, w=0.25),
        percept("core", 3, w=0.125, core=True, producer="system"),
        edges=(edge(2, 1, "illustrates"), edge(2, 3, "extends")),
    )
    report = sitting.consolidate()
    assert (report.pruned, report.sessions["mine"].pruned) == (1, 1)
    assert sitting.contents("mine") == ["b"]
    assert sitting.contents("global") == ["core"]
    assert sitting.engine.image("mine").edges == (edge(2, 3, "extends"),)


def test_a_contradiction_can_push_a_session_percept_out() -> None:
    sitting = holding(
        "mine", percept("a", 1, w=0.25), percept("b", 2), edges=(edge(2, 1, "contradicts"),)
    )
    assert sitting.consolidate().pruned == 1
    assert sitting.contents("mine") == ["b"]


def test_a_global_is_archived_when_idle_for_long_enough() -> None:
    sitting = holding(
        "global",
        percept("a", 1, idle_seconds=13.5 * DAY),
        percept("b", 2, idle_seconds=13 * DAY),
        percept("core", 3, idle_seconds=99 * DAY, core=True),
        edges=(edge(1, 2, "extends"),),
    )
    sitting.run(DAY / 2)
    assert sitting.consolidate().archived == 1
    (archived,) = sitting.engine.image("archive").percepts
    assert (
        archived.content,
        archived.archived_reason,
        archived.archived_at,
        archived.w < 0.75,
    ) == (
        "a",
        "stale",
        sitting.wall,
        True,
    )
    assert archived.idle_seconds == 14 * DAY
    assert sitting.engine.image("archive").edges == (edge(1, 2, "extends"),)
    assert sitting.contents("global") == ["b", "core"]


def test_use_starts_the_idle_clock_anew() -> None:
    sitting = holding("global", percept("a b", 1, idle_seconds=13.5 * DAY), percept("c", 2))
    sitting.run(DAY / 2)
    sitting.recall("b")
    sitting.consolidate()
    sitting.run(DAY / 4)
    sitting.consolidate()
    assert [p.idle_seconds for p in sitting.engine.image("global").percepts] == [
        DAY / 4,
        0.75 * DAY,
    ]


def test_a_promoted_percept_keeps_what_it_is_and_takes_its_edges_along() -> None:
    fact = percept("a", 1, w=0.875, evidence=2, idle_seconds=5.0, extra={"mood": "calm"})
    sitting = holding("mine", fact, percept("b", 2), edges=(edge(1, 2, "extends"),))
    report = sitting.consolidate()
    assert (report.promoted, report.sessions["mine"].promoted) == (1, 1)
    promoted = sitting.only("global")
    assert (promoted.id, promoted.w, promoted.evidence, promoted.idle_seconds) == (
        fact.id,
        0.875,
        2,
        0.0,
    )
    assert promoted.extra == {"mood": "calm"}
    assert sitting.engine.image("global").edges == (edge(1, 2, "extends"),)
    assert sitting.contents("mine") == ["b"]


def test_promotion_moves_the_percept_to_the_engram_of_its_label() -> None:
    engrams = [
        Engram(
            id=f"engram-{number}",
            subject_label=label,
            composite_w=0.0,
            percept_ids=(percept("", number).id,),
            created_at=NOON,
            updated_at=NOON,
        )
        for number, label in ((1, "Ports"), (2, "ports"))
    ]
    sitting = Sitting("mine")
    for name, number in (("global", 2), ("mine", 1)):
        fact = percept(name, number, w=0.875, evidence=2, engram_id=f"engram-{number}")
        engram = engrams[number - 1]
        sitting.engine.load(ScopeImage(name=name, percepts=(fact,), engrams=(engram,)))
    sitting.consolidate()
    (engram,) = sitting.engine.image("global").engrams
    assert (engram.id, engram.composite_w) == ("engram-2", 0.875)
    assert engram.percept_ids == (percept("", 2).id, percept("", 1).id)
    assert sitting.engine.image("mine").engrams == ()


@pytest.mark.parametrize(
    ("fact", "promoted", "deferred"),
    [
        (percept("a", core=True, w=1.0), 1, 0),
        (percept("a", producer="user", w=0.875), 1, 0),
        (percept("a", producer="user", w=0.75), 0, 0),
        (percept("a", evidence=2, w=0.875), 1, 0),
        (percept("a", evidence=1, w=0.875), 0, 1),
        (percept("a", evidence=9, w=0.75), 0, 0),
    ],
)
def test_who_is_promoted_and_who_is_held_back(fact: Percept, promoted: int, deferred: int) -> None:
    report = holding("mine", fact).consolidate()
    assert (report.promoted, report.promotion_deferred) == (promoted, deferred)


def test_a_contradiction_between_scopes_blocks_both_ends() -> None:
    sitting = Sitting("mine", "theirs")
    sitting.hold("global", percept("a", 1))
    sitting.engine.load(
        ScopeImage(
            name="mine",
            percepts=(percept("b", 2, producer="user", w=1.0),),
            edges=(edge(2, 1, "contradicts"),),
        )
    )
    assert sitting.consolidate("mine").promotion_deferred == 1
    assert sitting.consolidate("theirs").promotion_deferred == 0


def test_over_the_cap_the_lowest_ranks_go_and_core_stays() -> None:
    sitting = holding(
        "global",
        percept("weak", 1, w=0.25),
        percept("strong", 2, w=0.875),
        percept("core", 3, w=0.125, core=True),
        percept("weak too", 4, w=0.25),
        percept_store_max=2,
    )
    report = sitting.consolidate()
    assert (report.evicted, report.global_total) == (2, 2)
    assert sitting.contents("global") == ["strong", "core"]


def test_of_equal_ranks_the_older_is_evicted_and_only_core_may_exceed_the_cap() -> None:
    sitting = holding("global", percept("old", 1), percept("new", 2), percept_store_max=1)
    sitting.consolidate()
    assert sitting.contents("global") == ["new"]
    sitting = holding(
        "global",
        *(percept(f"core {n}", n, core=True, w=1.0) for n in range(3)),
        percept_store_max=1,
    )
    assert sitting.consolidate().evicted == 0


def test_time_already_passed_over_is_reported_and_not_counted_twice() -> None:
    sitting = holding("mine", percept("a", 1))
    sitting.run(600)
    assert sitting.consolidate("mine").running_seconds == 600
    assert sitting.consolidate("mine").running_seconds == 0
    assert sitting.engine.image("mine").running_seconds == 600


def test_what_updates_a_global_at_second_hand_is_not_pruned_either() -> None:
    sitting = Sitting("mine", base=DEFAULT)
    sitting.hold("global", percept("old", 1))
    sitting.engine.load(
        ScopeImage(
            name="mine",
            percepts=(percept("newer", 2, w=0.125), percept("newest", 3, w=0.125)),
            edges=(edge(2, 1, "updates"), edge(3, 2, "updates")),
        )
    )
    assert sitting.consolidate("mine").pruned == 0


def test_a_fresh_fact_of_an_agent_is_not_counted_as_held_back() -> None:
    sitting = Sitting("mine", base=DEFAULT)
    sitting.record("ports are open", "mine")
    assert sitting.consolidate("mine").promotion_deferred == 0
    sitting.record("ports are open", "mine")
    assert sitting.consolidate("mine").promotion_deferred == 1
