from __future__ import annotations

from typing import cast

import pytest

from milkd.engine import commands as ask
from milkd.engine import results
from sitting import DAY, NOON, Sitting, percept


def page(sitting: Sitting, **more: object) -> results.Page:
    return cast("results.Page", sitting.do(ask.List(**more)))  # type: ignore[arg-type]


def listed(sitting: Sitting, **more: object) -> list[str]:
    return [view.percept.content for view in page(sitting, **more).views]


def test_hits_come_before_strength() -> None:
    sitting = Sitting()
    sitting.record("the cluster is west", producer="user")
    sitting.record("deploys use the west cluster nightly")
    assert sitting.recall("west cluster deploys")[0] == "deploys use the west cluster nightly"


def test_of_equal_hits_the_stronger_comes_first_then_the_fresher_then_the_older_in_the_store() -> (
    None
):
    sitting = Sitting()
    sitting.hold(
        "global",
        percept("port one", 1, w=0.5),
        percept("port two", 2, w=0.75, updated_at=NOON - 90 * DAY),
        percept("port three", 3, w=0.75),
        percept("port four", 4, w=0.75),
    )
    assert sitting.recall("port") == ["port three", "port four", "port two", "port one"]


def test_of_equal_percepts_global_comes_before_the_session() -> None:
    sitting = Sitting("mine")
    sitting.hold("mine", percept("port one", 1))
    sitting.hold("global", percept("port two", 2))
    assert sitting.recall("port", "mine") == ["port two", "port one"]


def test_the_gate_reads_raw_strength_whatever_age_and_evidence_say() -> None:
    sitting = Sitting()
    sitting.hold("global", percept("port one", 1, w=0.375, evidence=4), percept("port two", 2))
    assert sitting.recall("port") == ["port two"]
    assert sitting.recall("port", min_confidence=0.375) == ["port two", "port one"]


def test_a_consumer_sees_what_is_for_it_and_what_is_for_all() -> None:
    sitting = Sitting()
    sitting.record("port of the parser", consumer="primary")
    sitting.record("port of the judge", consumer="escalation")
    sitting.record("port of everything")
    assert set(sitting.recall("port", consumer="primary")) == {
        "port of the parser",
        "port of everything",
    }
    assert len(sitting.recall("port")) == 3


def test_a_session_recalls_its_own_and_the_global_percepts_only() -> None:
    sitting = Sitting("mine", "theirs")
    sitting.record("port of mine", "mine")
    sitting.record("port of theirs", "theirs")
    sitting.record("port of all")
    assert set(sitting.recall("port", "mine")) == {"port of mine", "port of all"}
    assert sitting.recall("port") == ["port of all"]


def test_an_empty_query_lists_by_score() -> None:
    sitting = Sitting()
    sitting.record("port one")
    sitting.record("the user said so", producer="user")
    assert sitting.recall("  ") == ["the user said so", "port one"]


def test_a_query_of_signs_alone_looks_for_them_as_they_stand() -> None:
    sitting = Sitting()
    sitting.record("write a → b in diagrams")
    sitting.record("ports are open")
    assert sitting.recall("→") == ["write a → b in diagrams"]
    assert sitting.recall("%_*") == []


@pytest.mark.parametrize(
    "text",
    ["pre-edit", "memory:safe", 'say "hi', "don't", "(draft)?", "C++", "%_", "*", "\\", "x" * 9999],
)
def test_no_query_is_an_error(text: str) -> None:
    sitting = Sitting()
    sitting.record("pre-edit the (draft)? in C++")
    sitting.recall(text)


def test_part_of_a_chinese_sentence_finds_it() -> None:
    sitting = Sitting()
    sitting.record("我们不断改进代码质量和测试")
    assert sitting.recall("代码质量") == ["我们不断改进代码质量和测试"]


def test_what_was_recalled_counts_as_used_wherever_it_is() -> None:
    sitting = Sitting("mine")
    sitting.record("port of mine", "mine")
    sitting.record("port of all")
    sitting.wall += 5
    sitting.recall("port", "mine")
    assert sitting.only("mine").last_used_at == sitting.only("global").last_used_at == NOON + 5


def test_explain_says_why_each_percept_with_a_hit_is_in_or_out() -> None:
    sitting = Sitting()
    sitting.hold(
        "global",
        percept("port one of two", 1),
        percept("port two", 2),
        percept("port three", 3, w=0.25),
        percept("port four", 4, consumer="escalation"),
        percept("starboard", 5),
    )
    command = ask.Query(text="port one", consumer="primary", max_results=1, explain=True)
    candidates = cast("results.Recalled", sitting.do(command)).candidates
    assert candidates is not None
    assert [(c.hits, c.included, c.reason) for c in candidates] == [
        (2, True, "among the best"),
        (1, False, "after the first 1"),
        (1, False, "meant for escalation, asked by primary"),
        (1, False, "w 0.250 is below 0.4"),
    ]


def test_a_stamp_in_the_future_ranks_as_new_and_no_higher() -> None:
    sitting = Sitting()
    sitting.hold(
        "global",
        percept("port one", 1),
        percept("port two", 2, updated_at=NOON + 400 * DAY),
    )
    assert sitting.recall("port") == ["port one", "port two"]
    one, two = page(sitting).views
    assert one.rank_score == two.rank_score


@pytest.mark.parametrize("years", [-10, 10, -2000, 5000])
def test_any_clock_gives_a_score(years: int) -> None:
    sitting = Sitting()
    sitting.record("port one")
    sitting.wall += years * 365 * DAY
    assert sitting.recall("port") == ["port one"]


def test_a_list_shows_global_and_the_own_session_the_best_first() -> None:
    sitting = Sitting("mine", "theirs")
    sitting.record("port of theirs", "theirs")
    sitting.record("port of mine", "mine", producer="user")
    sitting.record("starboard of all")
    assert listed(sitting, session="mine") == ["port of mine", "starboard of all"]
    assert listed(sitting, session="mine", scope="session") == ["port of mine"]
    assert listed(sitting, session="mine", scope="global") == ["starboard of all"]
    assert listed(sitting, scope="session") == []


def test_a_list_can_be_narrowed() -> None:
    sitting = Sitting()
    sitting.learn("core of the user")
    sitting.record("guess of the system", producer="system")
    sitting.record("For Escalation", consumer="escalation")
    assert listed(sitting, core=True) == ["core of the user"]
    assert listed(sitting, producer="system") == ["guess of the system"]
    assert listed(sitting, min_w=0.5, core=False) == ["For Escalation"]
    assert listed(sitting, pattern="ESCALATION") == ["For Escalation"]
    assert listed(sitting, consumer="primary") == ["core of the user", "guess of the system"]


def test_a_list_is_sorted_as_asked() -> None:
    sitting = Sitting()
    sitting.hold(
        "global",
        percept("old", 1, created_at=NOON - 9, w=0.5),
        percept("new", 2, created_at=NOON + 9, updated_at=NOON - 9, w=0.25),
    )
    assert listed(sitting, sort="created_at") == ["new", "old"]
    assert listed(sitting, sort="updated_at") == ["old", "new"]
    assert listed(sitting, sort="w") == ["old", "new"]


def test_a_list_comes_in_pages() -> None:
    sitting = Sitting()
    sitting.hold("global", *(percept(f"fact {n}", n) for n in range(5)))
    first = page(sitting, limit=2)
    assert (first.total, first.next_offset) == (5, 2)
    last = page(sitting, limit=2, offset=4)
    assert [view.percept.content for view in last.views] == ["fact 4"]
    assert last.next_offset is None


def test_list_and_show_are_no_use() -> None:
    sitting = Sitting()
    sitting.record("port one")
    for command in (
        ask.List(),
        ask.Show(ref="port"),
        ask.Similar(text="port"),
        ask.Explain(ref="port"),
    ):
        assert sitting.decide(command).changes == ()


def test_show_gives_the_edges_in_both_directions() -> None:
    sitting = Sitting()
    one, two = sitting.record("port one is busy"), sitting.record("two went home")
    sitting.do(ask.Relate(source="two went", target="port one", relation="extends"))
    for ref in (one.id, two.id):
        detail = cast("results.Detail", sitting.do(ask.Show(ref=ref)))
        assert [(e.source, e.target) for e in detail.edges] == [(two.id, one.id)]


def test_similar_ranks_by_likeness_and_names_the_duplicate() -> None:
    sitting = Sitting()
    same = sitting.record("linter runs before commit")
    sitting.record("linter is strict")
    alike = cast("results.Alike", sitting.do(ask.Similar(text="the linter runs before a commit")))
    assert [likeness.similarity for likeness in alike.likenesses] == [1.0, 0.2]
    assert alike.duplicate == same.id
    assert cast("results.Alike", sitting.do(ask.Similar(text="kittens"))).likenesses == ()
