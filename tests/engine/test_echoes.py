"""The echo guard, from all sides (model.md, reinforce)."""

from __future__ import annotations

import pytest

from milkd.engine.params import DEFAULT
from sitting import Sitting, percept

FACT = "the linter runs nightly"


@pytest.fixture
def sitting() -> Sitting:
    sitting = Sitting("mine", "theirs", base=DEFAULT)
    sitting.hold("global", percept(FACT))
    return sitting


def status(sitting: Sitting, words: str = FACT, session: str | None = "mine", **more: str) -> str:
    return sitting.record(words, session, **more).status


def test_a_fact_that_was_recalled_is_echoed(sitting: Sitting) -> None:
    sitting.recall("linter", "mine")
    assert status(sitting) == "echoed"


def test_a_fact_that_was_never_shown_is_corroborated(sitting: Sitting) -> None:
    assert status(sitting) == "reinforced"


def test_what_another_session_saw_does_not_matter(sitting: Sitting) -> None:
    sitting.recall("linter", "theirs")
    assert status(sitting) == "reinforced"


def test_the_user_never_echoes(sitting: Sitting) -> None:
    sitting.recall("linter", "mine")
    assert status(sitting, producer="user") == "reinforced"


def test_a_statement_with_a_word_of_its_own_is_no_echo(sitting: Sitting) -> None:
    sitting.recall("linter", "mine")
    assert status(sitting, FACT + " again") == "reinforced"
    assert status(sitting, FACT + " again") == "echoed"  # it is a wording now


def test_other_forms_of_the_same_words_are_an_echo(sitting: Sitting) -> None:
    sitting.hold("global", percept("the linter runs nightly on every branch"))
    sitting.recall("linter", "mine")
    assert status(sitting, "on every branch the linter run nightly") == "echoed"


def test_what_the_users_prompt_says_is_the_users_and_no_echo(sitting: Sitting) -> None:
    sitting.inject("remember that the linter runs nightly", "mine")
    assert status(sitting) == "reinforced"


def test_the_prompt_of_an_earlier_turn_does_not_count(sitting: Sitting) -> None:
    sitting.inject("remember that the linter runs nightly", "mine")
    sitting.inject("now something else", "mine")
    assert status(sitting) == "echoed"


def test_an_outcome_a_list_and_a_look_show_nothing(sitting: Sitting) -> None:
    sitting.record("cranes are tall", "mine")
    assert status(sitting, "cranes are tall") == "reinforced"


def test_without_a_session_the_connection_remembers(sitting: Sitting) -> None:
    sitting.recall("linter", None, caller="connection 7")
    assert status(sitting, session=None, caller="connection 7") == "echoed"
    assert status(sitting, session=None, caller="connection 8") == "reinforced"
    sitting.engine.leave("connection 7")
    assert status(sitting, session=None, caller="connection 7") == "reinforced"


def test_without_either_nobody_remembers(sitting: Sitting) -> None:
    sitting.recall("linter")
    assert status(sitting, session=None) == "reinforced"


def test_an_echo_counts_as_use_and_changes_nothing_else(sitting: Sitting) -> None:
    sitting.recall("linter", "mine")
    before = sitting.only("global")
    sitting.run(60)
    status(sitting)
    after = sitting.only("global")
    assert after.last_used_at == sitting.wall
    assert (after.w, after.evidence, after.updated_at) == (
        before.w,
        before.evidence,
        before.updated_at,
    )


def test_a_session_remembers_over_a_restart_and_until_it_ends(sitting: Sitting) -> None:
    sitting.recall("linter", "mine")
    image = sitting.engine.image("mine")
    assert image.shown == (percept("").id,)
    sitting.engine.unload("mine")
    sitting.engine.load(image)
    assert status(sitting) == "echoed"
    sitting.end("mine")
    assert sitting.engine.image("mine").shown == ()
    assert status(sitting) == "reinforced"


def test_a_fact_that_was_merged_into_another_was_shown_all_the_same() -> None:
    sitting = Sitting("mine", base=DEFAULT)
    sitting.record(FACT, "mine", producer="user")
    sitting.record(FACT + " again")
    sitting.recall("linter", "mine", max_results=1)
    assert sitting.consolidate("mine").merged == 1
    assert status(sitting) == "echoed"


def test_a_core_statement_is_never_an_echo(sitting: Sitting) -> None:
    sitting.recall("linter", "mine")
    assert sitting.learn(FACT, "mine").status == "reinforced"


def test_ten_repetitions_of_an_injected_fact_over_ten_runs_make_nothing_true() -> None:
    sitting = Sitting("mine", base=DEFAULT)
    sitting.record(FACT, "mine")
    for _ in range(10):
        sitting.inject("anything about the linter?", "mine", repeat=True)
        sitting.record(FACT, "mine")
        sitting.consolidate("mine")
        sitting.engine.new_run()
    assert sitting.only("mine").evidence == 0


def test_an_echo_for_another_agent_makes_the_fact_one_for_all_and_fills_its_subject() -> None:
    sitting = Sitting("mine", base=DEFAULT)
    sitting.hold("global", percept(FACT, consumer="escalation"))
    sitting.recall("linter", "mine")
    outcome = sitting.record(FACT, "mine", consumer="primary", subject="quality")
    assert outcome.status == "echoed"
    assert (sitting.only("global").consumer, sitting.only("global").roles["theme"]) == (
        None,
        "quality",
    )
