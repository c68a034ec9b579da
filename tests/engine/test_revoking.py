"""What a run remembers of a change that the disk refused is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.engine import commands as ask
from milkd.engine.changes import Awarded, EdgeActed
from milkd.engine.params import DEFAULT
from sitting import Sitting, percept

if TYPE_CHECKING:
    from milkd.engine.changes import Change

FACT = "the linter runs nightly"


def test_a_revoked_award_may_be_earned_again() -> None:
    sitting = Sitting(base=DEFAULT)
    sitting.hold("global", percept(FACT))
    (award,) = [c for c in restated(sitting) if isinstance(c, Awarded)]
    sitting.engine.apply(award)
    assert not [c for c in restated(sitting) if isinstance(c, Awarded)]
    sitting.engine.revoke(award)
    assert award in restated(sitting)


def test_a_revoked_edge_may_act_again() -> None:
    sitting = Sitting(base=DEFAULT)
    target = sitting.record(FACT).id
    sitting.record("it starts at two", relation="extends", related_to=target)
    decision = sitting.decide(ask.Consolidate())
    (acted,) = [c for c in decision.changes if isinstance(c, EdgeActed)]
    sitting.engine.apply(acted)
    assert sitting.consolidate().edges_applied == 0
    sitting.engine.revoke(acted)
    assert sitting.consolidate().edges_applied == 1


def test_a_change_that_no_run_remembers_is_none_to_revoke() -> None:
    sitting = Sitting(base=DEFAULT)
    sitting.hold("global", percept(FACT))
    before = sitting.engine.image("global")
    for change in restated(sitting):
        sitting.engine.revoke(change)
    assert sitting.engine.image("global") == before


def test_merging_awards_nothing_that_was_awarded_before() -> None:
    sitting = Sitting("mine", base=DEFAULT)
    sitting.hold("global", percept(FACT, 1))
    sitting.hold("mine", percept(FACT + " again", 2, producer="user", w=0.9))
    sitting.record(FACT)
    sitting.record(FACT + " again", "mine", producer="user")
    decision = sitting.decide(ask.Consolidate(session="mine"))
    assert not [c for c in decision.changes if isinstance(c, Awarded)]


def restated(sitting: Sitting) -> tuple[Change, ...]:
    """The changes that saying the fact again would make."""
    return sitting.decide(ask.Record(content=FACT, new_id="n")).changes
