"""The simulated month of `bench/learning.py`."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # milkd itself is the installed one

from bench.learning import RUNS, SESSION, Month, Story, drawn, table
from milkd.engine import commands as ask
from milkd.engine.percept import GLOBAL

if TYPE_CHECKING:
    from bench.learning import Fact


@pytest.fixture(scope="module")
def lives() -> tuple[Month, Month]:
    """A life with feedback, and the same without."""
    story = Story.told(7)
    return Month(story, heeds=True).live(), Month(story, heeds=False).live()


def test_what_is_useful_comes_first_and_what_is_wrong_last(lives: tuple[Month, Month]) -> None:
    heeding, deaf = lives
    first, last = heeding.ranks[0], heeding.ranks[-1]
    assert last["useful"] <= 0.75 * first["useful"]
    assert last["useful"] <= 0.75 * deaf.ranks[-1]["useful"]
    assert last["wrong"] > max(last["all"], last["other"], deaf.ranks[-1]["wrong"])


def test_nothing_else_depends_on_it(lives: tuple[Month, Month]) -> None:
    heeding, deaf = lives
    assert heeding.facts() == deaf.facts()
    assert heeding.promoted == deaf.promoted
    assert sum(heeding.promoted)
    assert all(fact.importance is None for fact in deaf.engine.image(GLOBAL).percepts)


def test_nobody_is_exiled_for_good(lives: tuple[Month, Month]) -> None:
    heeding, _ = lives
    importance = {p.id: p.importance or 0.5 for p in heeding.engine.image(GLOBAL).percepts}
    standing = (fact for fact in heeding.story.facts if _rank(heeding, fact))
    fallen = min(standing, key=lambda fact: importance[fact.id])
    assert importance[fallen.id] < 0.2
    before = _rank(heeding, fallen)
    for _ in range(12):
        heeding.engine.new_run()
        asked = ask.Inject(prompt=f"on the {fallen.topic}", repeat=True, session=SESSION)
        given = cast("Any", heeding._do(asked))
        assert fallen.id in given.ids  # it is still shown, or nobody could make use of it
        heeding._do(ask.TurnEnd(response=f"So: {fallen.own}.", turn=given.turn, session=SESSION))
    assert _rank(heeding, fallen) < before


def test_table_and_plot_tell_both_lives(lives: tuple[Month, Month]) -> None:
    assert len(table(*lives).splitlines()) == 2 + RUNS // 5 + 1
    svg = ET.fromstring(drawn(*lives))
    lines = svg.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [RUNS + 1] * 4


def _rank(month: Month, fact: Fact) -> int:
    """Its place for a prompt on its topic, from 1; 0 where it was corrected or is gone."""
    command = ask.Inject(prompt=f"on the {fact.topic}", repeat=True, explain=True)
    result = cast("Any", month.engine.decide(command, ask.Now(month.wall, {})).result)
    ids = [each.id for each in result.candidates if "superseded" not in each.reason]
    return ids.index(fact.id) + 1 if fact.id in ids else 0
