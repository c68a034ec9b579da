"""Why a fact comes for a prompt, or does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from milkd.engine import commands as ask
from milkd.engine.candidates import MOST
from milkd.engine.params import DEFAULT
from milkd.engine.percept import Edge, ScopeImage
from milkd.errors import NotFound
from sitting import Sitting, percept

if TYPE_CHECKING:
    from milkd.engine.results import Whys

SITE = percept("the site is served by make", 1)


def sit(*facts: Any, **knobs: Any) -> Sitting:
    sitting = Sitting("s1", base=DEFAULT, **knobs)
    sitting.hold("global", *(facts or (SITE,)))
    return sitting


def why(sitting: Sitting, prompt: str, ref: str = SITE.id, **more: Any) -> Whys:
    before = sitting.engine.image("global"), dict(sitting.engine._memory.audiences)
    decision = sitting.decide(ask.Why(ref=ref, prompt=prompt, **more))
    assert decision.changes == ()
    assert (sitting.engine.image("global"), sitting.engine._memory.audiences) == before
    return cast("Whys", decision.result)


def test_it_comes_for_both() -> None:
    found = why(sit(), "where is the site?")
    assert (found.inject.included, found.inject.reason) == (True, "fits the budget")
    assert (found.query.included, found.query.reason) == (True, "among the best")
    assert (found.inject.hits, found.inject.w, found.inject.importance) == (1, 0.75, 0.5)


def test_it_shares_no_word() -> None:
    found = why(sit(), "kittens")
    assert found.inject.reason == found.query.reason == "shares no word with the prompt"
    assert not found.inject.included
    assert not found.query.included


def test_it_is_too_weak_or_for_another() -> None:
    weak = why(sit(percept(SITE.content, 1, w=0.3)), "site")
    assert weak.inject.reason == weak.query.reason == "w 0.300 is below 0.4"
    for_other = why(
        sit(percept(SITE.content, 1, consumer="escalation")), "site", consumer="primary"
    )
    assert for_other.inject.reason == "meant for escalation, asked by primary"


def test_it_was_shown_already() -> None:
    sitting = sit()
    sitting.inject("site", "s1")
    assert why(sitting, "site", session="s1").inject.reason == "shown within the last 8 turns"


def test_it_is_a_neighbour() -> None:
    other = percept("anna owns the pager", 2)
    sitting = sit()
    image = ScopeImage(
        name="global", percepts=(SITE, other), edges=(Edge(other.id, SITE.id, "extends"),)
    )
    sitting.engine.load(image, 0.0)
    found = why(sitting, "site", other.id)
    assert found.inject.reason == "neighbour of #00000001 (extends): fits the budget"
    assert found.query.reason == "neighbour of #00000001 (extends): beside the best"


def test_it_lies_beyond_what_an_explanation_lists() -> None:
    facts = [percept(f"site {n} of the fair", n) for n in range(2, MOST + 3)]
    sitting = sit(*facts, percept("a site", MOST + 5, w=0.4), percept("cranes", MOST + 6))
    injected = sitting.inject("the site", explain=True)
    assert len(injected.candidates or ()) == MOST
    last = why(sitting, "the site", f"{MOST + 5:08x}")
    assert last.inject.reason == "after the first 1,000 that bear on it"
    assert why(sitting, "site", f"{MOST + 6:08x}").query.reason == "shares no word with the prompt"


def test_it_is_archived_or_not_there() -> None:
    sitting = sit()
    sitting.hold("archive", percept("cranes are tall", 9))
    assert why(sitting, "cranes", "cranes are tall").inject.reason == "archived; restore it first"
    with pytest.raises(NotFound):
        why(sitting, "site", "zebra")
