"""The referee itself, where a trajectory would not show its mistake."""

from __future__ import annotations

from dataclasses import replace

import pytest

from milkd.engine import commands as ask
from milkd.engine.params import DEFAULT, STRICT
from milkd.errors import Ambiguous, NotFound
from textbook import Textbook
from textbook_shelf import DAY, EPOCH, Fact, touched
from textbook_text import block, hits, line, meant, only, similarity, tokens

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
    assert hits("west west gate", ["the gate of the west"], STRICT) == {"west", "gate"}
    assert hits(" → ", ["b", "a → b"], STRICT) == {"→"}
    assert hits("  ", ["a → b"], STRICT) == set()


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
    assert block(["- two lines", "- " + line("tab\tbed \x1b[0m")]) == (
        "[Remembered facts]\n- two lines\n- tab bed [0m\n[End of remembered facts]\n"
    )


def test_by_default_words_are_found_in_any_form_wherever_they_were_said() -> None:
    contents = ["the gates", "a cluster at night"]
    assert hits("gated clusters", contents, DEFAULT) == {"gate", "cluster"}
    assert hits("gated clusters", contents, STRICT) == set()


def test_the_latest_wording_that_adds_a_word_stands_behind_the_content() -> None:
    book = Textbook(DEFAULT)
    gate = fact(1, "west gate")
    for at, words in enumerate(
        ("west gate now", "gate west", "west gate at noon", "west gate now")
    ):
        book.keep_wording(gate, words, float(at))
    assert gate.wordings == [("west gate at noon", 2.0), ("west gate now", 3.0)]
    assert book.line(gate) == "- west gate (later stated: west gate now)"
    assert Textbook(STRICT).line(gate) == "- west gate"


def test_a_line_is_silent_for_eight_turns() -> None:
    book = Textbook(DEFAULT)
    book.scopes["global"].facts.append(fact(1, "west gate"))
    question = ask.Inject(prompt="gate", caller="c1")
    shown = [bool(book.inject(question, NOW)[0]) for _ in range(19)]
    assert [turn for turn, seen in enumerate(shown) if seen] == [0, 9, 18]
    assert book.inject(replace(question, repeat=True), NOW)[0]
    assert book.inject(replace(question, caller="c2"), NOW)[0]


def test_the_chain_of_updates_stands_before_what_they_update() -> None:
    book = Textbook(DEFAULT)
    old, mid, new, late = (fact(n, f"{n} west") for n in range(4))
    book.scopes["global"].facts += [old, mid, new, late]
    edges = [(mid, old), (new, mid), (late, mid)]
    book.scopes["global"].edges = [(a.id, b.id, "updates") for a, b in edges]
    assert book.placed([old], [old, mid, new, late], None) == [
        (late, None),
        (new, None),
        (mid, late),
        (old, mid),
    ]


def test_by_default_ages_are_counted_in_days() -> None:
    book = Textbook(DEFAULT)
    early, evening = (
        fact(1, "west", updated_at=EPOCH),
        fact(2, "west", updated_at=EPOCH + 0.75 * DAY),
    )
    assert book.score(early, EPOCH + 1.5 * DAY) == book.score(evening, EPOCH + DAY)
    assert book.score(early, EPOCH + DAY) < book.score(early, EPOCH + 0.9 * DAY)


def test_a_touch_never_goes_back_but_from_more_than_a_day_ahead() -> None:
    assert [touched(before, 10.0) for before in (9.0, 10.0 + DAY, 10.5 + DAY)] == [
        10.0,
        10.0 + DAY,
        10.0,
    ]


def test_the_score_is_strength_times_recency_times_evidence() -> None:
    book = Textbook(replace(STRICT, recency_boost=0.5, recency_half_life_days=2.0))
    aged = fact(1, "west", w=0.5, updated_at=EPOCH - 4 * DAY)
    aged.evidence = 9
    assert book.score(aged, EPOCH) == 0.5 * 1.2 * 1.125
    assert book.score(fact(2, "east", updated_at=EPOCH + DAY), EPOCH) == 0.5 * 1.5


def test_near_a_threshold_it_says_that_rounding_may_have_decided() -> None:
    book = Textbook(replace(STRICT, session_half_life_days=1.0))
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
    book = Textbook(STRICT)
    book.scopes["global"].facts.append(fact(1, "west", w=0.2))
    report = book.consolidate(ask.Consolidate(), NOW)
    assert (report["global_decayed"], report["global_total"]) == (0, 1)
    assert not book.doubtful
