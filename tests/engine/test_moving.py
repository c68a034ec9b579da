from __future__ import annotations

from typing import cast

import pytest

from milkd.engine import commands as ask
from milkd.engine import results
from milkd.engine.percept import Edge, ScopeImage
from milkd.errors import Ambiguous, InvalidParams, NotFound
from sitting import NOON, Sitting, percept


def edges(sitting: Sitting, scope: str) -> list[Edge]:
    return list(sitting.engine.image(scope).edges)


def test_forgetting_takes_the_percept_its_edges_and_its_place_in_the_engram() -> None:
    sitting = Sitting("mine")
    gone = sitting.record("telnet is open", subject="ports")
    sitting.record("ssh is safer", "mine", relation="updates", related_to=gone.id)
    result = sitting.do(ask.Forget(ref="telnet"))
    assert result == results.Forgotten(gone.id, "telnet is open", 0)
    assert sitting.contents("global") == []
    assert edges(sitting, "mine") == []
    assert sitting.engine.image("global").engrams == ()


def test_forgetting_an_unknown_or_ambiguous_percept_changes_nothing() -> None:
    sitting = Sitting()
    sitting.record("port one is closed")
    sitting.record("port nine needs paint")
    before = sitting.engine.image("global")
    with pytest.raises(NotFound):
        sitting.do(ask.Forget(ref="kittens"))
    with pytest.raises(Ambiguous):
        sitting.do(ask.Forget(ref="port"))
    assert sitting.engine.image("global") == before


def test_forgetting_reports_the_same_text_elsewhere_and_takes_it_when_asked() -> None:
    sitting = Sitting("mine", "theirs")
    sitting.record("telnet is open", "mine")
    sitting.record("telnet is open", "theirs")
    sitting.engine.set_dormant("asleep", {"some-id": "telnet is open"})
    forgotten = cast("results.Forgotten", sitting.do(ask.Forget(ref="telnet", session="mine")))
    assert forgotten.others == 2
    assert sitting.contents("theirs") == ["telnet is open"]
    sitting.do(ask.Forget(ref="telnet", session="theirs", everywhere=True))
    assert sitting.contents("theirs") == []


def test_forgetting_everywhere_takes_every_loaded_twin() -> None:
    sitting = Sitting("mine", "theirs")
    for session in ("mine", "theirs"):
        sitting.record("telnet is open", session)
    sitting.do(ask.Forget(ref="telnet", session="mine", everywhere=True))
    assert sitting.contents("mine") == sitting.contents("theirs") == []


def test_closed_sessions_that_hold_a_text_can_be_named() -> None:
    sitting = Sitting("mine")
    sitting.record("telnet is open", "mine")
    sitting.engine.unload("mine")
    assert not sitting.engine.is_loaded("mine")
    assert sitting.engine.dormant_with("telnet is open") == ("mine",)
    assert sitting.engine.dormant_with("telnet is shut") == ()
    sitting.engine.load(ScopeImage(name="mine"))
    assert sitting.engine.dormant_with("telnet is open") == ()


def test_an_empty_session_leaves_nothing_behind_when_it_closes() -> None:
    sitting = Sitting("mine")
    sitting.record("telnet is open", "mine")
    sitting.do(ask.Forget(ref="telnet", session="mine"))
    sitting.engine.unload("mine")
    assert sitting.engine.dormant_with("telnet is open") == ()


def test_restoring_brings_a_percept_back_as_if_just_used() -> None:
    sitting = Sitting()
    sitting.hold("global", percept("ssh is open", 2))
    archived = percept(
        "telnet is open", idle_seconds=9e9, archived_at=NOON - 9, archived_reason="stale"
    )
    edge = Edge(archived.id, percept("", 2).id, "extends")
    sitting.engine.load(ScopeImage(name="archive", percepts=(archived,), edges=(edge,)))
    view = cast("results.View", sitting.do(ask.Restore(ref="telnet")))
    assert view.scope == "global"
    back = sitting.engine.image("global").percepts[-1]
    assert back == view.percept
    assert (back.idle_seconds, back.last_used_at, back.archived_at, back.archived_reason) == (
        0.0,
        NOON,
        None,
        None,
    )
    assert sitting.contents("archive") == []
    assert edges(sitting, "global") == [edge]


def test_only_the_archive_can_be_restored_from() -> None:
    sitting = Sitting()
    sitting.record("ssh is open")
    with pytest.raises(NotFound, match="archive"):
        sitting.do(ask.Restore(ref="ssh"))
    sitting.hold("archive", percept("telnet one", 1), percept("telnet two", 2))
    with pytest.raises(Ambiguous, match="2 percepts fit"):
        sitting.do(ask.Restore(ref="telnet"))


def test_dropping_a_session_takes_all_of_it_and_the_edges_to_it() -> None:
    sitting = Sitting("mine")
    own = sitting.record("telnet is open", "mine")
    shared = sitting.record("ssh is safe")
    sitting.do(ask.Relate(source=shared.id, target=own.id, relation="extends", session="mine"))
    assert sitting.do(ask.DropSession(session="mine")) == results.Dropped(1)
    assert sitting.contents("mine") == []
    assert edges(sitting, "global") == []


def test_relating_is_idempotent_and_kept_with_the_source() -> None:
    sitting = Sitting("mine")
    own, shared = sitting.record("telnet is open", "mine"), sitting.record("ssh is safe")
    command = ask.Relate(source=own.id, target=shared.id, relation="extends", session="mine")
    edge = Edge(own.id, shared.id, "extends")
    assert sitting.do(command) == results.Related(edge, changed=True)
    assert sitting.do(command) == results.Related(edge, changed=False)
    assert edges(sitting, "mine") == [edge]
    assert edges(sitting, "global") == []


def test_unrelating_is_idempotent() -> None:
    sitting = Sitting()
    one, two = sitting.record("telnet is open"), sitting.record("ssh is safe")
    sitting.do(ask.Relate(source=one.id, target=two.id, relation="extends"))
    command = ask.Unrelate(source=one.id, target=two.id, relation="extends")
    edge = Edge(one.id, two.id, "extends")
    assert sitting.do(command) == results.Related(edge, changed=True)
    assert sitting.do(command) == results.Related(edge, changed=False)


def test_a_percept_does_not_relate_to_itself() -> None:
    sitting = Sitting()
    sitting.record("telnet is open")
    with pytest.raises(InvalidParams, match=r"^to: "):
        sitting.do(ask.Relate(source="telnet", target="telnet is", relation="extends"))


def test_an_update_takes_the_place_of_the_opposite_update() -> None:
    sitting = Sitting()
    one, two = sitting.record("telnet is open"), sitting.record("ssh is safe")
    sitting.do(ask.Relate(source=one.id, target=two.id, relation="updates"))
    sitting.do(ask.Relate(source=two.id, target=one.id, relation="updates"))
    assert edges(sitting, "global") == [Edge(two.id, one.id, "updates")]


def test_editing_changes_the_words_and_nothing_of_what_they_earned() -> None:
    sitting = Sitting()
    sitting.record("telnet is open")
    sitting.record("telnet is open")
    sitting.run(60)
    view = cast("results.View", sitting.do(ask.Edit(ref="telnet", content="ssh is open")))
    fact = sitting.only("global")
    assert fact == view.percept
    assert (fact.content, fact.w, fact.evidence) == ("ssh is open", 0.75, 1)
    assert (fact.created_at, fact.updated_at) == (NOON, NOON + 60)
    assert sitting.recall("telnet") == []
    assert sitting.recall("ssh") == ["ssh is open"]


@pytest.mark.parametrize("content", ["", "a\0b", "x" * 8193])
def test_an_edit_is_checked_like_a_record(content: str) -> None:
    sitting = Sitting()
    sitting.record("telnet is open")
    with pytest.raises(InvalidParams, match=r"^content: "):
        sitting.do(ask.Edit(ref="telnet", content=content))
    assert sitting.contents("global") == ["telnet is open"]


@pytest.mark.parametrize("other", ["mine", "archive"])
def test_an_id_in_both_files_is_kept_in_global(other: str) -> None:
    sitting = Sitting()
    sitting.hold("global", percept("ssh is open"))
    sitting.hold(other, percept("ssh is open"), percept("telnet is shut", 2))
    assert sitting.contents("global") == ["ssh is open"]
    assert sitting.contents(other) == ["telnet is shut"]


def test_import_adds_what_is_new_and_names_what_it_refuses() -> None:
    sitting = Sitting()
    sitting.hold("global", percept("ssh is open", 1))
    images = (
        ScopeImage(
            name="global",
            percepts=(percept("ssh again", 1), percept("telnet is shut", 2), percept(" ", 3)),
            edges=(Edge(percept("", 2).id, percept("", 1).id, "extends"),),
        ),
    )
    result = cast("results.Imported", sitting.do(ask.Import(images=images)))
    assert result.accepted == 2
    assert [reason.split(":")[0] for _, reason in result.refused] == ["id", "content"]
    assert sitting.contents("global") == ["ssh is open", "telnet is shut"]
    assert len(edges(sitting, "global")) == 1
    sitting.do(ask.Import(images=images))
    assert sitting.contents("global") == ["ssh is open", "telnet is shut"]


def test_an_imported_edge_is_refused_away_from_its_source_or_against_its_opposite() -> None:
    sitting = Sitting("mine")
    facts = percept("ssh is open", 1), percept("telnet is shut", 2)
    there, back = (Edge(facts[a].id, facts[b].id, "updates") for a, b in ((0, 1), (1, 0)))
    sitting.engine.load(ScopeImage(name="global", percepts=facts, edges=(there,)))
    images = ScopeImage(name="mine", edges=(there,)), ScopeImage(name="global", edges=(back,))
    result = cast("results.Imported", sitting.do(ask.Import(images=images)))
    assert result.accepted == 0
    assert [reason.split(":")[0] for _, reason in result.refused] == ["from", "relation"]
