from __future__ import annotations

from dataclasses import replace

import pytest

from milkd.engine.params import DEFAULT, STRICT, Params
from milkd.engine.percept import Edge
from milkd.errors import InvalidParams
from sitting import DAY, NOON, Sitting, percept


@pytest.mark.parametrize(
    ("producer", "w"),
    [("user", 0.9), ("primary", 0.7), ("escalation", 0.7), ("system", 0.4), ("oracle", 0.4)],
)
def test_a_fact_is_born_with_the_weight_of_who_states_it(producer: str, w: float) -> None:
    assert Sitting().record("ports are open", producer=producer).w == w


def test_a_fact_belongs_to_the_session_that_states_it_or_to_all() -> None:
    sitting = Sitting("mine")
    assert sitting.record("ports are open", "mine").scope == "mine"
    assert sitting.record("cranes are tall").scope == "global"
    assert sitting.record("ships are long", "mine", core=True).scope == "global"


def test_a_restatement_is_reported_with_what_it_restates() -> None:
    sitting = Sitting()
    first = sitting.record("the linter runs before each commit")
    again = sitting.record("before each commit, the linter runs!")
    assert (again.status, again.id, again.similarity) == ("reinforced", first.id, 1.0)
    assert again.existing is not None
    assert (again.existing.content, again.existing.w) == ("the linter runs before each commit", 0.7)
    assert sitting.only("global").content == "the linter runs before each commit"


def test_content_is_kept_byte_for_byte() -> None:
    content = "  Café\u0301 \tuses\r\n≥2 shifts 🙂 "
    sitting = Sitting()
    sitting.record(content)
    assert sitting.only("global").content == content


def test_sixty_per_cent_in_common_is_the_same_fact_and_less_is_not() -> None:
    sitting = Sitting()
    sitting.record("red green blue grey black")
    assert sitting.record("red green blue").status == "reinforced"
    assert sitting.record("red green").status == "inserted"


def test_of_equally_similar_ones_global_is_reinforced_before_the_session() -> None:
    sitting = Sitting("mine")
    sitting.hold("mine", percept("linter runs", 1))
    sitting.hold("global", percept("linter runs", 2))
    assert sitting.record("linter runs", "mine").id == percept("", 2).id


def test_of_equally_similar_ones_the_older_in_the_store_is_reinforced() -> None:
    sitting = Sitting()
    sitting.hold("global", percept("linter runs one", 2), percept("linter runs two", 1))
    assert sitting.record("linter runs").id == percept("", 2).id


def test_the_same_sentence_in_two_sessions_is_two_facts() -> None:
    sitting = Sitting("mine", "theirs")
    sitting.record("linter runs", "mine")
    assert sitting.record("linter runs", "theirs").status == "inserted"


def test_evidence_grows_once_a_run() -> None:
    sitting = Sitting()
    sitting.record("linter runs")
    assert [sitting.record("linter runs").evidence for _ in range(3)] == [1, 1, 1]
    sitting.engine.new_run()
    assert [sitting.record("linter runs").evidence for _ in range(3)] == [2, 2, 2]


def test_a_restatement_for_another_agent_widens_the_fact_to_all() -> None:
    sitting = Sitting()
    sitting.record("linter runs", consumer="primary")
    sitting.record("linter runs", consumer="primary")
    assert sitting.only("global").consumer == "primary"
    sitting.record("linter runs", consumer="escalation")
    assert sitting.only("global").consumer is None


def test_a_restatement_fills_empty_roles_and_leaves_filled_ones() -> None:
    sitting = Sitting()
    sitting.record("linter runs", roles={"agent": "hook", "when": ""})
    sitting.record("linter runs", roles={"agent": "ci", "when": "nightly"}, subject="quality")
    assert sitting.only("global").roles == {"agent": "hook", "when": "nightly", "theme": "quality"}


def test_percepts_of_one_subject_share_an_engram() -> None:
    sitting = Sitting()
    one = sitting.record("linter runs nightly", subject="Quality")
    two = sitting.record("tests are fast", subject=" quality ")
    (engram,) = sitting.engine.image("global").engrams
    assert (engram.subject_label, engram.percept_ids) == ("Quality", (one.id, two.id))
    assert {p.engram_id for p in sitting.engine.image("global").percepts} == {engram.id}


def test_a_subject_already_there_stays() -> None:
    sitting = Sitting()
    sitting.record("linter runs", subject="quality")
    sitting.record("linter runs", subject="speed")
    assert sitting.only("global").roles["theme"] == "quality"
    assert [e.subject_label for e in sitting.engine.image("global").engrams] == ["quality"]


def test_a_fact_may_say_how_it_bears_on_another() -> None:
    sitting = Sitting()
    old = sitting.record("ssh on birch is port 22")
    new = sitting.record("ssh on birch is port 49222", relation="updates", related_to=old.id)
    assert new.status == "inserted"
    assert new.edge == Edge(new.id, old.id, "updates")
    assert list(sitting.engine.image("global").edges) == [new.edge]


def test_an_update_is_never_swallowed_by_what_it_updates() -> None:
    sitting = Sitting()
    old = sitting.record("ssh on birch is port 22")
    new = sitting.record("ssh on birch is port 22", relation="updates", related_to=old.id)
    assert new.status == "inserted"


@pytest.mark.parametrize(
    ("related_to", "code"), [("nothing like it", "not_found"), ("ssh", "ambiguous")]
)
def test_a_target_that_cannot_be_found_never_loses_the_fact(related_to: str, code: str) -> None:
    sitting = Sitting()
    sitting.record("ssh on birch is open")
    sitting.record("ssh for guests needs keys")
    outcome = sitting.record("telnet was closed", relation="extends", related_to=related_to)
    assert outcome.status == "inserted"
    assert outcome.edge is None
    assert outcome.edge_error is not None
    assert outcome.edge_error.startswith(f"{code}: ")


def test_an_archived_target_is_named_as_such() -> None:
    sitting = Sitting()
    sitting.hold("archive", percept("telnet was open"))
    outcome = sitting.record("telnet closed", relation="extends", related_to="telnet was")
    assert outcome.edge_error == (
        "not_found: the percept is archived; restore it before relating to it"
    )


@pytest.mark.parametrize(
    ("more", "argument"),
    [({"relation": "extends"}, "related_to"), ({"related_to": "ports"}, "relation")],
)
def test_relation_and_target_go_together(more: dict[str, str], argument: str) -> None:
    sitting = Sitting()
    with pytest.raises(InvalidParams, match=f"^{argument}: missing"):
        sitting.record("cranes are tall", **more)
    assert sitting.contents("global") == []


def test_content_is_checked_against_the_knob() -> None:
    with pytest.raises(InvalidParams, match="at most 64"):
        Sitting(percept_max_bytes=64).record("x" * 65)


def test_learning_makes_a_core_fact() -> None:
    sitting = Sitting("mine")
    outcome = sitting.learn("tabs, never spaces", "mine", subject="style")
    fact = sitting.only("global")
    assert (outcome.status, outcome.scope, fact.core, fact.w) == ("inserted", "global", True, 1.0)
    assert (fact.producer, fact.roles["theme"]) == ("user", "style")


def test_learning_what_is_known_takes_the_explicit_words_and_makes_it_core_and_global() -> None:
    sitting = Sitting("mine")
    first = sitting.record("tabs never spaces please", "mine", subject="style")
    other = sitting.record("makefiles need them", "mine")
    sitting.record("linter checks", "mine", relation="extends", related_to=other.id)
    outcome = sitting.learn("Tabs, never spaces", "mine")
    fact = sitting.only("global")
    assert (outcome.status, outcome.id) == ("reinforced", first.id)
    assert (fact.content, fact.core, fact.w, fact.producer) == (
        "Tabs, never spaces",
        True,
        1.0,
        "user",
    )
    assert fact.created_at == NOON
    assert [e.subject_label for e in sitting.engine.image("global").engrams] == ["style"]
    assert sitting.engine.image("mine").engrams == ()


def test_a_core_record_by_an_agent_stays_the_agents() -> None:
    sitting = Sitting()
    sitting.record("tabs never spaces")
    sitting.record("tabs never spaces", core=True)
    assert (sitting.only("global").producer, sitting.only("global").core) == ("primary", True)


def test_a_core_fact_restated_stays_at_full_strength() -> None:
    sitting = Sitting()
    sitting.learn("tabs never spaces")
    assert sitting.record("tabs never spaces").w == 1.0


def test_a_restatement_later_starts_from_the_strength_of_the_moment() -> None:
    sitting = Sitting("mine")
    sitting.record("linter runs", "mine")
    sitting.run(1 * DAY)
    outcome = sitting.record("linter runs", "mine")
    assert outcome.existing is not None
    assert outcome.existing.w == pytest.approx(0.7 * 0.5 ** (1 / 3), rel=1e-14)
    assert outcome.w == outcome.existing.w + 0.05


@pytest.mark.parametrize(
    ("stamp", "expected"), [(-DAY, 0.0), (DAY, DAY), (DAY + 1, 0.0), (3600.0, 3600.0)]
)
def test_updated_at_never_goes_back_unless_it_lay_over_a_day_ahead(
    stamp: float, expected: float
) -> None:
    sitting = Sitting()
    sitting.hold("global", percept("linter runs", updated_at=NOON + stamp))
    sitting.record("linter runs")
    assert sitting.only("global").updated_at == NOON + expected


@pytest.mark.parametrize("relation", ["updates", "contradicts"])
@pytest.mark.parametrize("base", [STRICT, replace(DEFAULT, distinctness_guard="off")])
def test_no_earlier_part_of_a_chain_swallows_the_next(relation: str, base: Params) -> None:
    sitting = Sitting(base=base)
    west = sitting.record("deploys go through the west cluster")
    east = sitting.record(
        "deploys go through the east cluster", relation="updates", related_to=west.id
    )
    central = sitting.record(
        "deploys go through the central cluster", relation=relation, related_to=east.id
    )
    assert central.status == "inserted"
    assert list(sitting.engine.image("global").edges) == [
        Edge(east.id, west.id, "updates"),
        Edge(central.id, east.id, relation),
    ]
