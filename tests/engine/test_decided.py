"""What milkd decided beyond the ADRs: each rule at work, and gone when its knob is strict.

The table in docs/decisions.md has the reasons.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from milkd.engine.params import DEFAULT, STRICT
from milkd.engine.percept import Edge, ScopeImage, Wording
from sitting import NOON, Sitting, percept

if TYPE_CHECKING:
    from collections.abc import Callable

    Life = Callable[[Sitting], object]

LIVES: list[tuple[str, object, object, Life]] = []
"""(knob, what is seen by default, what is seen when it is strict, the life that shows it)"""


def seen(knob: str, by_default: object, strictly: object) -> Callable[[Life], Life]:
    def note(life: Life) -> Life:
        LIVES.append((knob, by_default, strictly, life))
        return life

    return note


def edge(source: int, target: int, relation: str) -> Edge:
    return Edge(percept("", source).id, percept("", target).id, relation)


def load(sitting: Sitting, scope: str, *percepts_and_edges: object) -> None:
    things = percepts_and_edges
    sitting.engine.load(
        ScopeImage(
            name=scope,
            percepts=tuple(p for p in things if not isinstance(p, Edge)),  # type: ignore[misc]
            edges=tuple(e for e in things if isinstance(e, Edge)),
        )
    )
    sitting.running.setdefault(scope, 0.0)


@seen("distinctness_guard", "inserted", "reinforced")
def versions_are_two_facts(sitting: Sitting) -> object:
    sitting.record("the build of the parser runs on Python 3.11")
    return sitting.record("the build of the parser runs on Python 3.12").status


@seen("wordings", ["the linter runs before every commit, in the hook"], [])
def a_restatement_keeps_its_own_words(sitting: Sitting) -> object:
    sitting.record("the linter runs before every commit")
    sitting.record("the linter runs before every commit, in the hook")
    return [wording.content for wording in sitting.only("global").wordings]


@seen("stemmer", ["deploys run nightly"], [])
def words_are_found_in_other_forms(sitting: Sitting) -> object:
    sitting.record("deploys run nightly")
    return sitting.recall("deploying")


@seen("hit_fields", ["ports are open", "cranes are tall"], [])
def wordings_and_subject_are_found(sitting: Sitting) -> object:
    worded = percept("ports are open", 1, w=0.875, wordings=(Wording("harbour is open", NOON),))
    about = percept("cranes are tall", 2, roles={"theme": "harbour"})
    sitting.hold("global", worded, about)
    return sitting.recall("harbour")


@seen("restate_to_birth", 0.7, 0.25 + 0.05)
def a_faded_fact_said_again_is_no_weaker_than_a_new_one(sitting: Sitting) -> object:
    sitting.hold("mine", percept("linter runs", w=0.25))
    return sitting.record("linter runs", "mine").w


@seen("user_restatement", "user", "primary")
def what_the_user_says_again_is_the_users(sitting: Sitting) -> object:
    sitting.record("linter runs")
    sitting.record("linter runs", producer="user")
    return sitting.only("global").producer


@seen("echo_guard", ("echoed", 0, 0.75), ("reinforced", 1, 0.75 + 0.05))
def repeating_what_was_shown_is_no_evidence(sitting: Sitting) -> object:
    sitting.hold("global", percept("linter runs nightly"))
    sitting.inject("anything about the linter?", "mine")
    outcome = sitting.record("the linter runs nightly", "mine")
    return outcome.status, outcome.evidence, outcome.w


@seen("verify_user_claims", ("primary", True), ("user", False))
def a_models_claim_that_the_user_said_it_is_checked(sitting: Sitting) -> object:
    sitting.inject("please fix the parser", "mine")
    outcome = sitting.record("the user loves tabs", "mine", producer="user", claimed=True)
    return sitting.only("mine").producer, outcome.doubted


@seen("superseded", ["port is 49222", "port is 22"], ["port is 22", "port is 49222"])
def what_updates_comes_before_what_it_updates(sitting: Sitting) -> object:
    old = percept("port is 22", 1, w=0.875, evidence=4)
    load(sitting, "global", old, percept("port is 49222", 2), edge(2, 1, "updates"))
    return sitting.recall("port")


@seen("neighbours", ["west cluster is up", "east is down"], ["west cluster is up"])
def what_contradicts_a_result_stands_beside_it(sitting: Sitting) -> object:
    up, down = percept("west cluster is up", 1), percept("east is down", 2)
    load(sitting, "global", up, down, edge(2, 1, "contradicts"))
    block = sitting.inject("how is the cluster?")
    return [line[2:].partition(" (in")[0] for line in block.text.splitlines()[1:-1]]


@seen("inject_chance_words", "", "the moon is full of holes")
def a_large_store_that_shares_one_word_with_a_long_prompt_is_silent(sitting: Sitting) -> object:
    others = [percept(f"gadget{n} of vendor{n}", 100 + n) for n in range(120)]
    sitting.hold("global", percept("the moon is full of holes", 1), *others)
    text = sitting.inject("which tide does the moon cause near brittany today?").text
    return "\n".join(text.splitlines()[1:-1]).removeprefix("- ")


@seen("recency_unit_days", ["port one", "port two"], ["port two", "port one"])
def facts_of_one_day_are_of_one_age(sitting: Sitting) -> object:
    sitting.hold("global", percept("port one", 1), percept("port two", 2, updated_at=NOON + 60))
    sitting.wall += 3600
    return sitting.recall("port")


@seen("edge_cadence", 0.5 + 0.05, 0.5 + 0.05 + 0.05)
def an_edge_acts_once_a_run(sitting: Sitting) -> object:
    load(sitting, "global", percept("a", 1), percept("b", 2, w=0.5), edge(1, 2, "extends"))
    sitting.consolidate()
    sitting.consolidate()
    return sitting.engine.image("global").percepts[1].w


@seen("contradiction_floor", [0.3, 0.25], [0.375 - 0.1, 0.25 - 0.1])
def a_contradiction_does_not_push_below_its_floor(sitting: Sitting) -> object:
    a, b = percept("a", 1, w=0.375), percept("b", 2, w=0.25)
    load(sitting, "global", a, b, edge(1, 2, "contradicts"))
    sitting.consolidate()
    return [p.w for p in sitting.engine.image("global").percepts]


@seen("updates_boosts", (0.5, 0), (0.5 + 0.05, 1))
def an_update_does_not_lift_what_it_replaces(sitting: Sitting) -> object:
    load(sitting, "global", percept("a", 1), percept("b", 2, w=0.5), edge(1, 2, "updates"))
    sitting.consolidate()
    replaced = sitting.engine.image("global").percepts[1]
    return replaced.w, replaced.evidence


@seen("keep_updates", ["new"], [])
def what_updates_a_live_global_is_not_pruned(sitting: Sitting) -> object:
    load(sitting, "global", percept("old", 1))
    load(sitting, "mine", percept("new", 2, w=0.125), edge(2, 1, "updates"))
    sitting.consolidate("mine")
    return sitting.contents("mine")


@seen("promote_corroborated_threshold", 1, 0)
def two_runs_are_enough_at_sixty_per_cent(sitting: Sitting) -> object:
    sitting.hold("mine", percept("linter runs", w=0.625, evidence=2))
    return sitting.consolidate("mine").promoted


@seen(
    "merge_on_promote",
    (1, ["linter runs nightly"], ["linter runs nightly again"]),
    (0, ["linter runs nightly", "linter runs nightly again"], []),
)
def a_promoted_fact_joins_the_global_of_its_meaning(sitting: Sitting) -> object:
    sitting.hold("global", percept("linter runs nightly", 1))
    twin = percept("linter runs nightly again", 2, producer="user", w=0.875)
    sitting.hold("mine", twin)
    merged = sitting.consolidate("mine").merged
    words = [w.content for w in sitting.engine.image("global").percepts[0].wordings]
    return merged, sitting.contents("global"), words


@seen("revive", ("revived", []), ("inserted", ["telnet is shut"]))
def an_archived_fact_said_again_comes_back(sitting: Sitting) -> object:
    sitting.hold("archive", percept("telnet is shut"))
    return sitting.record("telnet is shut", "mine").status, sitting.contents("archive")


@seen("evict_to_archive", ["weak"], [])
def what_exceeds_the_cap_is_archived(sitting: Sitting) -> object:
    sitting.hold("global", percept("weak", 1, w=0.25), percept("strong", 2))
    sitting.consolidate()
    return sitting.contents("archive")


@seen("inject_order", "- two of the deploy approvals", "- a deploy")
def most_words_in_common_come_first(sitting: Sitting) -> object:
    sitting.hold("global", percept("a deploy", 1, w=1.0), percept("two of the deploy approvals", 2))
    return sitting.inject("deploy approvals").text.splitlines()[1]


@seen("inject_repeat_turns", "", "- a deploy")
def what_was_just_shown_is_not_shown_again(sitting: Sitting) -> object:
    sitting.hold("global", percept("a deploy"))
    sitting.inject("deploy", "mine")
    return "".join(sitting.inject("deploy", "mine").text.splitlines()[1:2])


@seen("importance_weight", ["port two", "port one"], ["port one", "port two"])
def what_proved_useful_comes_first(sitting: Sitting) -> object:
    sitting.hold("global", percept("port one", 1), percept("port two", 2, importance=1.0))
    return sitting.recall("port")


KNOBS_FOR = {"evict_to_archive": {"percept_store_max": 1}}


@pytest.mark.parametrize(
    ("knob", "by_default", "strictly", "life"),
    [pytest.param(*entry, id=f"{entry[0]}-{entry[3].__name__}") for entry in LIVES],
)
def test_the_rule_holds_by_default_and_not_when_its_knob_is_strict(
    knob: str, by_default: object, strictly: object, life: Life
) -> None:
    more = KNOBS_FOR.get(knob, {})
    assert life(Sitting("mine", base=DEFAULT, **more)) == by_default
    strict = {knob: getattr(STRICT, knob)}
    assert life(Sitting("mine", base=DEFAULT, **more, **strict)) == strictly


def test_every_knob_in_which_the_profiles_differ_has_a_life_that_shows_it() -> None:
    differing = {
        field.name
        for field in fields(DEFAULT)
        if getattr(DEFAULT, field.name) != getattr(STRICT, field.name)
    }
    # The clocks and the run gap are the daemon's: tests/daemon/test_clock.py.
    clocks = {"running_time", "run_gap_hours"}
    assert differing - {"profile"} - clocks == {knob for knob, _, _, _ in LIVES}


def test_with_idf_a_rare_word_counts_for_more() -> None:
    facts = [percept(f"the test of step {n} is green", n) for n in range(1, 9)]
    rare = percept("the parser is old", 9)
    for weight, first in (("count", "the test of step 1 is green"), ("idf", "the parser is old")):
        sitting = Sitting(base=DEFAULT, hit_weight=weight)
        sitting.hold("global", *facts, rare)
        assert sitting.recall("which green parser?")[0] == first
