"""What is promised of a fact's life, by the ADRs or by default: engine and textbook alike.

What is said without a profile holds under both.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from lives import BookLife, Clock, EngineLife
from milkd.engine import commands as ask
from milkd.engine.params import DEFAULT, STRICT, Params
from milkd.engine.percept import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lives import Life
    from plain import Row

HOUR, DAY = 3600.0, 86_400.0
FACT = "deploys go through the west cluster"
KINDS: dict[str, Callable[[Params, Clock], Life]] = {"engine": EngineLife, "textbook": BookLife}
RIVAL = "deploys avoid every cluster but the one in Oslo"


class Kind(NamedTuple):
    """Whose memory it is, and the rules that it has."""

    begin: Callable[[Params, Clock], Life]
    profile: Params


STRICTLY = {f"{n}-strict": Kind(b, STRICT) for n, b in KINDS.items()}
BY_DEFAULT = {f"{n}-default": Kind(b, DEFAULT) for n, b in KINDS.items()}
strictly = pytest.mark.parametrize("life", STRICTLY.values(), ids=STRICTLY)
by_default = pytest.mark.parametrize("life", BY_DEFAULT.values(), ids=BY_DEFAULT)


class Story:
    """One session's sittings over a memory."""

    def __init__(self, life: Kind, **knobs: Any) -> None:
        self.clock = Clock()
        self.life = life.begin(replace(life.profile, **knobs), self.clock)
        self.numbers = count(1)
        self.life.open("mine")

    def says(self, content: str, session: str | None = "mine", **more: Any) -> dict[str, Any]:
        outcome: dict[str, Any] = self.life.do(
            ask.Record(content=content, new_id=self.new_id(), session=session, **more)
        )
        return outcome

    def learns(self, content: str) -> None:
        self.life.do(ask.Learn(content=content, new_id=self.new_id(), session="mine"))

    def new_id(self) -> str:
        return f"{next(self.numbers):08x}-0000-4000-8000-000000000000"

    def relates(self, source: str, relation: str, target: str) -> None:
        self.life.do(ask.Relate(source=source, target=target, relation=relation, session="mine"))

    def forgets(self, ref: str) -> None:
        self.life.do(ask.Forget(ref=ref, session="mine"))

    def injects(self, prompt: str, **more: Any) -> str:
        _, text = self.life.do(ask.Inject(prompt=prompt, session="mine", **more))
        return str(text)

    def recalls(self, text: str, min_confidence: float = 0.4) -> list[str]:
        found = self.life.do(ask.Query(text=text, session="mine", min_confidence=min_confidence))
        held = {row.id: row.content for scope in ("mine", GLOBAL) for row in self.life.rows(scope)}
        return [held[fact] for fact, *_ in found]

    def runs(self, seconds: float) -> None:
        self.clock.wall += seconds
        self.clock.run(seconds, "mine")

    def works(self, hours: float) -> None:
        """With a pass at the end of every hour."""
        for _ in range(round(hours)):
            self.runs(HOUR)
            self.passes()

    def passes(self) -> dict[str, Any]:
        report: dict[str, Any] = self.life.do(ask.Consolidate(session="mine"))
        return report

    def sits_down_again(self) -> None:
        """The session is closed with a pass and opened again, in the same run."""
        self.passes()
        self.life.close("mine")
        self.life.open("mine")

    def begins_a_new_run(self) -> None:
        self.passes()
        self.life.restart()
        self.life.open("mine")

    def only(self, scope: str) -> Row:
        (row,) = self.life.rows(scope)
        return row

    def held(self, scope: str) -> list[str]:
        return [row.content for row in self.life.rows(scope)]

    def weight(self, content: str) -> float:
        rows = [row for scope in ("mine", GLOBAL) for row in self.life.rows(scope)]
        (w,) = [row.w for row in rows if row.content == content]
        return w


@pytest.fixture(params=[*STRICTLY.values(), *BY_DEFAULT.values()], ids=[*STRICTLY, *BY_DEFAULT])
def life(request: pytest.FixtureRequest) -> Kind:
    kind: Kind = request.param
    return kind


@pytest.fixture
def story(life: Kind) -> Story:
    return Story(life)


# Restatement


def test_restatements_lead_from_070_to_090_and_no_further(story: Story) -> None:
    path = [story.says(FACT)["w"] for _ in range(7)]
    assert path == pytest.approx([0.7, 0.75, 0.8, 0.85, 0.9, 0.9, 0.9], abs=1e-12)


def test_a_fact_above_the_cap_keeps_its_weight(life: Kind) -> None:
    story = Story(life, reconfirm_cap=0.85)
    story.says(FACT, producer="user")
    assert story.says(FACT)["w"] == 0.9
    assert story.only("mine").evidence == 1


def test_a_restatement_counts_from_the_strength_that_is_left(story: Story) -> None:
    story.says(FACT)
    story.runs(6 * HOUR)
    left = 0.7 * 2 ** (-0.25 / 3)
    outcome = story.says(FACT)
    assert outcome["existing"][2] == pytest.approx(left, abs=1e-12)
    assert outcome["w"] == pytest.approx(left + 0.05, abs=1e-12)


def test_one_sentence_said_twice_by_all_fifty_times_is_fifty_facts(story: Story) -> None:
    for number in range(50):
        for _ in ("one client", "another client"):
            story.says(f"host{number} listens at port 80{number}", session=None)
    rows = story.life.rows(GLOBAL)
    assert [(row.w, row.evidence) for row in rows] == [(0.75, 1)] * 50


# Promotion


def test_corroborated_in_two_runs_a_fact_is_promoted(story: Story) -> None:
    story.says(FACT)
    first = story.says(FACT)
    assert (first["w"], first["evidence"]) == (0.75, 1)
    story.begins_a_new_run()
    assert story.only("mine").content == FACT
    second = story.says(FACT)
    assert (second["w"], second["evidence"]) == (pytest.approx(0.8), 2)
    report = story.passes()
    assert (report["promoted"], report["promotion_deferred"]) == (1, 0)
    assert story.held("mine") == []
    kept = story.only(GLOBAL)
    assert (kept.id, kept.w, kept.evidence) == (second["id"], second["w"], 2)


def test_restated_four_times_in_one_run_a_fact_is_held_back(story: Story) -> None:
    for _ in range(5):
        story.says(FACT)
    report = story.passes()
    assert (report["promoted"], report["promotion_deferred"]) == (0, 1)
    assert (story.only("mine").w, story.only("mine").evidence) == (0.9, 1)


@by_default
@pytest.mark.parametrize("hours", [1, 4, 8, 16, 40])
def test_restated_once_a_run_a_fact_is_promoted_in_the_second(life: Kind, hours: int) -> None:
    story = Story(life)
    story.says(FACT)
    story.works(hours)
    assert story.says(FACT)["evidence"] == 1
    story.works(hours)
    story.begins_a_new_run()
    assert story.held(GLOBAL) == []
    assert story.says(FACT)["evidence"] == 2
    assert story.passes()["promoted"] == 1
    assert story.held(GLOBAL) == [FACT]


@by_default
@pytest.mark.parametrize("hours", [1, 4, 8, 16, 40])
def test_without_a_second_run_it_never_is(life: Kind, hours: int) -> None:
    story = Story(life)
    for _ in range(10):
        story.says(FACT)
        story.works(hours)
    assert story.held("mine") == [FACT]
    assert story.held(GLOBAL) == []


@by_default
def test_a_faded_fact_said_again_is_as_strong_as_one_never_heard(life: Kind) -> None:
    story = Story(life)
    story.says(FACT)
    story.works(80)
    assert story.weight(FACT) < 0.35
    assert story.says(FACT)["w"] == 0.7
    assert story.says(FACT, producer="user")["w"] == 0.9
    assert story.only("mine").producer == "user"


def test_to_be_shown_makes_nothing_truer(life: Kind) -> None:
    shown, unseen = Story(life), Story(life)
    for story in (shown, unseen):
        story.says(FACT)
        story.says(FACT)
        for _ in range(30):
            if story is shown:
                assert FACT in story.injects("the west cluster?", repeat=True)
            story.works(1)
    one, other = shown.only("mine"), unseen.only("mine")
    assert (one.w, one.evidence, one.updated_at) == (other.w, other.evidence, other.updated_at)


def test_a_hundred_starts_and_nothing_else_make_nothing_truer(story: Story) -> None:
    story.says(FACT)
    stated_at = story.clock.wall
    for _ in range(100):
        story.clock.wall += HOUR
        story.begins_a_new_run()
    kept = story.only("mine")
    assert (kept.w, kept.evidence, kept.updated_at) == (0.7, 0, stated_at)


@by_default
def test_an_agent_that_repeats_what_it_was_told_corroborates_nothing(life: Kind) -> None:
    story = Story(life)
    story.says(FACT)
    for _ in range(3):
        story.injects("what about the cluster?", repeat=True)
        outcome = story.says(FACT)
        assert (outcome["status"], outcome["evidence"], outcome["w"]) == ("echoed", 0, 0.7)
        story.begins_a_new_run()
    assert story.held(GLOBAL) == []


def test_twenty_passes_and_restatements_later_global_holds_it_once(story: Story) -> None:
    story.says(FACT, producer="user")
    for _ in range(20):
        story.passes()
        story.says(FACT)
    assert story.only(GLOBAL).content == FACT
    assert story.held("mine") == []


@pytest.mark.parametrize("profile", [STRICT, DEFAULT], ids=["strict", "default"])
def test_explain_says_that_one_run_is_not_two(profile: Params) -> None:
    story = Story(Kind(EngineLife, profile))
    for _ in range(11):
        story.says(FACT)
    story.passes()
    assert story.held("mine") == [FACT]
    assert isinstance(story.life, EngineLife)
    question = ask.Explain(ref=FACT, session="mine")
    explanation: Any = story.life.engine.decide(question, story.clock.now()).result
    assert "1 run, needs 2" in " ".join(explanation.next)


def test_what_the_user_said_is_promoted_at_its_first_pass(story: Story) -> None:
    story.says(FACT, producer="user")
    story.runs(2 * HOUR)
    assert story.passes()["promoted"] == 1
    assert story.only(GLOBAL).evidence == 0


def test_what_is_promoted_is_not_decayed_again_in_the_same_pass(story: Story) -> None:
    story.says(FACT, producer="user")
    story.runs(2 * HOUR)
    story.passes()
    assert story.only(GLOBAL).w == pytest.approx(0.9 * 2 ** (-2 / 72), abs=1e-12)
    story.passes()
    assert story.only(GLOBAL).w == pytest.approx(0.9 * 2 ** (-2 / 72), abs=1e-12)


# Contradiction


@pytest.fixture
def conflict(story: Story) -> Story:
    """Two facts of the user's that contradict each other, after a pass."""
    for fact in (FACT, RIVAL):
        story.says(fact, producer="user")
    story.relates(FACT, "contradicts", RIVAL)
    report = story.passes()
    assert (report["promoted"], report["promotion_deferred"], report["edges_applied"]) == (0, 2, 1)
    return story


def test_a_contradiction_weakens_and_blocks_both_sides(conflict: Story) -> None:
    assert conflict.held("mine") == [FACT, RIVAL]
    assert [row.w for row in conflict.life.rows("mine")] == pytest.approx([0.8, 0.8])
    assert conflict.held(GLOBAL) == []


@pytest.mark.parametrize(("gone", "kept"), [(FACT, RIVAL), (RIVAL, FACT)])
def test_forgetting_one_side_frees_the_other(conflict: Story, gone: str, kept: str) -> None:
    conflict.forgets(gone)
    assert conflict.passes()["promoted"] == 1
    assert conflict.held(GLOBAL) == [kept]


def test_taking_the_contradiction_back_frees_both(conflict: Story) -> None:
    conflict.life.do(
        ask.Unrelate(source=FACT, target=RIVAL, relation="contradicts", session="mine")
    )
    assert conflict.passes()["promoted"] == 2


def test_a_contradiction_of_a_closed_session_blocks_nobody(conflict: Story) -> None:
    conflict.life.open("theirs")
    conflict.says("lunch is served at noon", session="theirs", producer="user")
    conflict.life.close("mine")
    report = conflict.life.do(ask.Consolidate())
    assert (report["promoted"], report["promotion_deferred"]) == (1, 0)


# Decay


def test_unrestated_a_fact_is_pruned_after_three_times_log2_of_3_5_running_days(
    story: Story,
) -> None:
    story.says(FACT)
    hours = 3 * math.log2(3.5) * 24
    for _ in range(math.floor(hours)):
        story.runs(HOUR)
        assert story.passes()["pruned"] == 0
    story.runs(HOUR)
    assert story.passes()["pruned"] == 1
    assert story.held("mine") == []


def test_at_the_threshold_itself_a_fact_is_pruned(life: Kind) -> None:
    story = Story(life, session_half_life_days=1.0)
    story.says(FACT, producer="system")
    story.runs(DAY)
    assert story.passes()["pruned"] == 1


def test_a_contradiction_down_to_the_threshold_prunes_both_sides(life: Kind) -> None:
    story = Story(life, reconfirm_boost=0.1, prune_threshold=0.4)
    for fact in (FACT, RIVAL):
        story.says(fact, producer="system")
        story.says(fact, producer="system")
    story.relates(FACT, "contradicts", RIVAL)
    assert (story.passes()["pruned"], story.life.edges("mine")) == (2, [])


def sitting_of_two_hours(life: Kind, scope: str, seconds: float, *, apart: bool) -> Row:
    """A fact restated after 45 and 100.5 minutes, with a pass every so many seconds."""
    story = Story(life)
    session = None if scope == GLOBAL else "mine"
    story.says(FACT, session=session)
    for moment, restated in moments(seconds):
        story.runs(moment)
        if restated:
            story.says(FACT, session=session)
        elif apart:
            story.sits_down_again()
        else:
            story.passes()
    return story.only(scope)


def moments(seconds: float) -> Iterator[tuple[float, bool]]:
    """How long until the next restatement or pass, over two hours, and which it is."""
    passes = [(n * seconds, False) for n in range(1, round(2 * HOUR / seconds) + 1)]
    before = 0.0
    for at, restated in sorted([*passes, (2700.0, True), (6030.0, True)]):
        yield at - before, restated
        before = at


@pytest.mark.parametrize("scope", ["mine", GLOBAL])
def test_two_hours_are_four_half_hours_are_240_passes(life: Kind, scope: str) -> None:
    once = sitting_of_two_hours(life, scope, 2 * HOUR, apart=False)
    four = sitting_of_two_hours(life, scope, HOUR / 2, apart=True)
    many = sitting_of_two_hours(life, scope, 30.0, apart=False)
    assert [four.w, many.w] == pytest.approx([once.w] * 2, abs=1e-12, rel=0)
    assert once.evidence == four.evidence == many.evidence == 1


def test_a_running_day_in_one_pass_is_1440_passes_a_minute_apart(life: Kind) -> None:
    weights = []
    for times in (1, 1440):
        story = Story(life)
        story.says(FACT)
        for _ in range(times):
            story.runs(DAY / times)
            story.passes()
        weights.append(story.only("mine").w)
    assert abs(weights[0] - weights[1]) < 1e-12


def test_a_global_never_sinks_below_020_by_decay(life: Kind) -> None:
    story = Story(life, global_archive_after_days=1e6)
    story.says(FACT, session=None)
    path = []
    for _ in range(1000):
        story.runs(DAY)
        story.passes()
        path.append(story.only(GLOBAL).w)
    assert path == sorted(path, reverse=True)
    assert 0.2 <= path[-1] < 0.2001


def test_core_never_moves(life: Kind) -> None:
    story = Story(life)
    story.learns(FACT)
    story.says(RIVAL, session=None)
    story.says("clusters are called by their cities", session=None)
    story.relates(RIVAL, "contradicts", FACT)
    story.relates("clusters are called", "extends", FACT)
    for _ in range(10):
        story.runs(DAY)
        story.says(FACT)
        story.begins_a_new_run()
        assert story.weight(FACT) == 1.0
    assert story.weight(RIVAL) <= life.profile.contradiction_floor


def test_no_clock_makes_a_fact_stronger(story: Story) -> None:
    tomorrow = story.clock.wall + DAY
    story.clock.wall = tomorrow
    story.says(FACT)
    path = [story.weight(FACT)]
    for step in (-DAY, -2 * HOUR, 3 * DAY, 0.0, 3650 * DAY, -7300 * DAY):
        story.clock.wall += step
        story.clock.run(60.0, "mine")
        story.passes()
        path.append(story.weight(FACT))
    assert path == sorted(path, reverse=True)
    assert story.only("mine").updated_at == tomorrow
    story.says(FACT)
    assert story.only("mine").updated_at == story.clock.wall


def test_a_machine_that_sleeps_ages_nothing(story: Story) -> None:
    story.says(FACT)
    for _ in range(10):
        story.clock.wall += 30 * DAY
        story.passes()
    assert story.only("mine").w == 0.7


# Recall


def test_hits_come_before_score(story: Story) -> None:
    story.says("the west gate is open", producer="system")
    story.runs(HOUR)
    story.clock.wall += 300 * DAY
    story.learns("the west wing is warm")
    assert story.recalls("west gate", min_confidence=0.3) == [
        "the west gate is open",
        "the west wing is warm",
    ]


@by_default
def test_what_updates_comes_before_what_it_updates_however_strong_that_is(life: Kind) -> None:
    old, new = "SSH port of host birch is 22", "SSH on birch listens on 49222"
    story = Story(life)
    for _ in range(5):
        story.says(old, session=None)
        story.begins_a_new_run()
    assert story.only(GLOBAL).evidence == 4
    story.clock.wall += 120 * DAY
    story.says(new, relation="updates", related_to=old)
    assert story.recalls("SSH port of host birch") == [new, old]
    assert story.injects("SSH port of host birch").splitlines()[1:-1] == ["- " + new]


def test_of_equal_hits_and_weights_the_fresher_comes_first(story: Story) -> None:
    story.says("the west gate is open")
    story.clock.wall += DAY
    story.says("the west wing is warm")
    assert story.recalls("west") == ["the west wing is warm", "the west gate is open"]


def test_of_equal_scores_the_older_in_the_store_comes_first(story: Story) -> None:
    for content in ("the west gate is open", "the west wing is warm"):
        story.says(content)
    story.says("our west entrance", session=None)
    assert story.recalls("west") == [
        "our west entrance",
        "the west gate is open",
        "the west wing is warm",
    ]


def test_the_gate_reads_the_strength_and_not_the_score(story: Story) -> None:
    story.says(FACT, producer="system")
    assert story.recalls("west") == [FACT]
    story.runs(60.0)
    story.passes()
    assert story.weight(FACT) < 0.4 < story.weight(FACT) * 1.1
    assert story.recalls("west") == []
    assert story.recalls("west", min_confidence=0.39) == [FACT]


def test_age_hides_no_fact(story: Story) -> None:
    story.says(FACT, session=None)
    story.clock.wall += 3650 * DAY
    story.passes()
    assert story.recalls("west", min_confidence=0.7) == [FACT]
