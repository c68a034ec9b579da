"""The referee itself, where a trajectory would not show its mistake."""

from __future__ import annotations

import pytest

from milkd.engine import commands as ask
from milkd.engine.params import Params
from milkd.errors import Ambiguous, NotFound
from textbook import Textbook
from textbook_shelf import DAY, EPOCH, Fact, touched
from textbook_text import block, hits, meant, only, similarity, tokens

NOW = ask.Now(EPOCH, {"global": 0.0})


def fact(number: int, content: str, w: float = 0.5, updated_at: float = EPOCH) -> Fact:
    return Fact(
        id=f"aaaa000{number}-0000-4000-8000-000000000000",
        content=content,
        producer="primary",
        w=w,
        created_at=EPOCH,
        updated_at=updated_at,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Deploys run on FRIDAYS, at 3.10!", {"deploys", "run", "fridays", "3", "10"}),
        ("snake_case and pre-edit", {"snake", "case", "pre", "edit"}),
        ("the and of", set()),
        ("→ !!!", set()),
        ("Café", {"café"}),
        ("Cafe\u0301", {"café"}),
        ("Ｃｌｏｕｄ", {"cloud"}),
        ("STRASSE", {"strasse"}),
        ("straße", {"strasse"}),
        ("代码质量", {"代码", "码质", "质量"}),
        ("用Python写代码", {"用", "python", "写代", "代码"}),
        ("ไทยง", {"ไท", "ทย", "ยง"}),
        ("서울 사람", {"서울", "사람"}),
        ("", set()),
    ],
)
def test_a_text_is_cut_into_words(text: str, words: set[str]) -> None:
    assert tokens(text) == words


def test_likeness_is_the_share_of_common_words() -> None:
    assert similarity("tests run before merge", "tests run after merge") == 0.6
    assert similarity("!!!", "！！！") == 1.0
    assert similarity("!!!", "???") == similarity("!!!", "tests") == 0.0


def test_hits_are_different_words_or_else_a_part_of_the_text() -> None:
    assert hits("west west gate", "the gate of the west") == 2
    assert hits(" → ", "a → b") == 1
    assert hits("  ", "a → b") == 0


def test_a_reference_is_an_id_before_a_text_before_a_part_of_one() -> None:
    facts = [("global", fact(1, "aaaa0002 is a word")), ("global", fact(2, "west"))]
    facts += [("global", fact(3, "west gate"))]
    assert [f.id[:8] for _, f in meant("#aaaa0002", facts)] == ["aaaa0002"]
    assert [f.content for _, f in meant(" WEST ", facts)] == ["west"]
    assert [f.content for _, f in meant("gate", facts)] == ["west gate"]
    with pytest.raises(Ambiguous):
        only("aaaa", meant("aaaa", facts))
    with pytest.raises(NotFound):
        only("east", meant("east", facts))


def test_the_block_is_a_line_a_fact() -> None:
    assert block(["two\nlines", "tab\tbed \x1b[0m"]) == (
        "[Remembered facts]\n- two lines\n- tab bed [0m\n[End of remembered facts]\n"
    )


def test_a_touch_never_goes_back_but_from_more_than_a_day_ahead() -> None:
    assert [touched(before, 10.0) for before in (9.0, 10.0 + DAY, 10.5 + DAY)] == [
        10.0,
        10.0 + DAY,
        10.0,
    ]


def test_the_score_is_strength_times_recency_times_evidence() -> None:
    book = Textbook(Params(recency_boost=0.5, recency_half_life_days=2.0))
    aged = fact(1, "west", w=0.5, updated_at=EPOCH - 4 * DAY)
    aged.evidence = 9
    assert book.score(aged, EPOCH) == 0.5 * 1.2 * 1.125
    assert book.score(fact(2, "east", updated_at=EPOCH + DAY), EPOCH) == 0.5 * 1.5


def test_near_a_threshold_it_says_that_rounding_may_have_decided() -> None:
    book = Textbook(Params(session_half_life_days=1.0))
    book.open_session("mine", 0.0)
    for content, w in (("west", 0.4), ("east", 0.7)):
        book.scopes["mine"].facts.append(fact(len(content), content, w))
    book.consolidate(ask.Consolidate(session="mine"), ask.Now(EPOCH, {"global": 0.0, "mine": 60.0}))
    assert not book.doubtful
    book.scopes["mine"].facts[0].w = 0.4
    book.consolidate(
        ask.Consolidate(session="mine"), ask.Now(EPOCH, {"global": 0.0, "mine": 60.0 + DAY})
    )
    assert book.doubtful
    assert [fact.content for fact in book.scopes["mine"].facts] == ["east"]


def test_without_time_nothing_is_doubtful() -> None:
    book = Textbook(Params())
    book.scopes["global"].facts.append(fact(1, "west", w=0.2))
    report = book.consolidate(ask.Consolidate(), NOW)
    assert (report["global_decayed"], report["global_total"]) == (0, 1)
    assert not book.doubtful
