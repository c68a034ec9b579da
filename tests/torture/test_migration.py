"""T18: a store of milk's becomes milkd's, and milk's again, and nothing is lost on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import go_reader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torture.household import Household

TWICE = "6f0d8a52-41c1-4c5e-9d7e-0b7a52c0f9a1"
CREATED = go_reader.Time(1_779_610_272_123_456_789, 7_200)  # with the nanoseconds of Go
SESSION = "3b1f0000-0000-4000-8000-00000000000a"

pytestmark = pytest.mark.lasting


def percept(number: int, content: str, **more: object) -> go_reader.Percept:
    made = go_reader.Percept(
        f"{number:08x}-0000-4000-8000-00000000000a",
        content,
        "user",
        w=0.7,
        created_at=CREATED,
        updated_at=CREATED,
    )
    for name, value in more.items():
        setattr(made, name, value)
    return made


def stores() -> dict[str, go_reader.Store]:
    """Lists that are null, letters that Go escapes, a fact in two files, an engram, an edge."""
    twice = percept(1, "the user wants <tests> & proofs first")
    subject = percept(2, "releases leave through the harbour", engram_id="e1")
    subject.roles.theme = "releases"
    engram = go_reader.Engram("e1", "releases", 0.7, [subject.id], CREATED, CREATED)
    shared = go_reader.Store(
        [twice, subject, percept(3, "the printer is upstairs \u2028 Ärzte \U0001f600", core=True)],
        [engram],
        [go_reader.Edge(subject.id, twice.id, "extends")],
    )
    return {
        "global": shared,
        SESSION: go_reader.Store([twice, percept(4, "lunch is at noon")]),
        "empty": go_reader.Store(),
    }


def lay_out(household: Household) -> None:
    household.store.mkdir(parents=True)
    for name, store in stores().items():
        (household.store / f"{name}.json").write_bytes(go_reader.write(store))


def read(household: Household, name: str) -> go_reader.Store:
    return go_reader.read((household.store / f"{name}.json").read_bytes())


def said(percepts: Iterable[go_reader.Percept]) -> set[str]:
    return {each.content for each in percepts}


def known(percept: go_reader.Percept) -> go_reader.Percept:
    """A fact but for its strength, which may have been restated or have faded a little."""
    return replace(percept, w=0.0, updated_at=CREATED)


def test_to_look_at_a_store_leaves_all_that_milk_knows_of_it(household: Household) -> None:
    lay_out(household)
    old = stores()
    for end in (household.kill, household.end):
        household.start()
        assert len(household.contents()) == 4
        end()
        shared, own = read(household, "global"), read(household, SESSION)
        assert list(map(known, shared.percepts)) == list(map(known, old["global"].percepts))
        assert [each.w for each in shared.percepts] == pytest.approx([0.7] * 3, abs=0.1)
        assert shared.edges == old["global"].edges
        assert said(own.percepts) | said(shared.percepts) == {
            each.content for store in old.values() for each in store.percepts
        }


def test_there_and_back_again(household: Household) -> None:
    lay_out(household)
    old = stores()
    for number in range(3):
        household.start()
        with household.client(session=SESSION) as client:
            client.record(f"ferry{number} calls at pier{number} and quay{number}", producer="user")
            client.record(f"mill{number} grinds for town{number}", session=None, producer="user")
        if number == 1:
            household.kill()
            household.start()
        assert household.end() == 0
        # Milk opens it, and saves what it has understood.
        for path in household.store.glob("*.json"):
            path.write_bytes(go_reader.write(go_reader.read(path.read_bytes())))
    shared, own = read(household, "global"), read(household, SESSION)
    assert said(old["global"].percepts) <= said(shared.percepts)
    everything = said([*shared.percepts, *own.percepts])
    assert said(old[SESSION].percepts) <= everything
    assert {f"mill{n} grinds for town{n}" for n in range(3)} <= everything
    assert {f"ferry{n} calls at pier{n} and quay{n}" for n in range(3)} <= everything
    assert len(everything) == len([*shared.percepts, *own.percepts])
    by_id = {each.id: each for each in shared.percepts}
    for each in old["global"].percepts:
        now = by_id[each.id]
        assert (now.created_at, now.roles, now.core) == (each.created_at, each.roles, each.core)
    assert [(edge.source, edge.target) for edge in shared.edges] == [
        (edge.source, edge.target) for edge in old["global"].edges
    ]
    assert old["global"].engrams[0].id in {engram.id for engram in shared.engrams}


def test_the_store_as_milk_left_it_is_kept(household: Household) -> None:
    lay_out(household)
    before = {path.name: path.read_bytes() for path in household.store.glob("*.json")}
    household.start()
    with household.client() as client:
        client.record("the first fact of milkd")
    assert household.end() == 0
    (kept,) = (household.store / ".milkd" / "backup").glob("pre-milkd-*")
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
