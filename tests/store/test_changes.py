"""Changes as JSON objects: what was put is what comes back, to the last bit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given

from journalled import BARE, CHANGES, ENGRAM, EVERY_CHANGE, FULL, VALUES
from milkd.engine.audience import Turn
from milkd.engine.changes import (
    Annotated,
    Awarded,
    Change,
    EdgeActed,
    EdgePut,
    EngramPut,
    PerceptPut,
    Shown,
    Stepped,
    TurnEnded,
)
from milkd.engine.percept import NO_STAMPS, Edge
from milkd.store.changes import READERS, change_from_json, change_to_json
from milkd.store.records import percept_to_json

OBJECTS: dict[str, dict[str, object]] = {
    "put": {"c": "put", "in": "global", "percept": percept_to_json(BARE)},
    "drop": {"c": "drop", "in": "archive", "id": "p1"},
    "link": {"c": "link", "in": "global", "edge": {"from": "a", "to": "b", "relation": "r"}},
    "group": {"c": "group", "in": "global", "engram": {"id": "e1", "subject_label": "tea"}},
    "pass": {
        "c": "pass",
        "in": "global",
        "running": 5.5,
        "elapsed": 2.0,
        "half_life": 4.0,
        "floor": 0.25,
    },
    "used": {"c": "used", "in": "global", "ids": ["p1"], "at": 1.5},
    "notes": {"c": "notes", "in": "global", "extra": {}, "unreadable": [["edges", 0, None]]},
}


def again(change: Change) -> Change:
    """The change after a journey through text."""
    return change_from_json(json.loads(json.dumps(change_to_json(change))))


@pytest.mark.parametrize("change", EVERY_CHANGE)
def test_every_kind_of_change_comes_back(change: Change) -> None:
    assert again(change) == change


def test_every_kind_that_is_read_is_written_too() -> None:
    written = [change_to_json(change) or {} for change in EVERY_CHANGE]

    assert {obj["c"] for obj in written} == READERS.keys()
    assert all(list(obj)[:2] == ["c", "in"] for obj in written)


@given(CHANGES)
def test_whatever_was_put_comes_back(change: Change) -> None:
    assert again(change) == change


@pytest.mark.parametrize(
    "change",
    [
        Awarded("p1"),
        EdgeActed(Edge("a", "b", "extends")),
        Shown(None, "c1", {}),
        TurnEnded("s1", Turn(1, "what for?")),
        Stepped("p1", "used"),
    ],
)
def test_what_ends_with_the_process_has_no_form(change: Change) -> None:
    assert change_to_json(change) is None


def test_what_a_file_has_as_it_is_goes_without_exact_values() -> None:
    assert change_to_json(PerceptPut("global", BARE)) == OBJECTS["put"]


def test_times_that_a_file_rounds_go_along_exactly() -> None:
    percept = replace(BARE, created_at=1796070535.7833912, archived_at=0.0000001, updated_at=0.25)

    obj = change_to_json(PerceptPut("global", percept)) or {}

    assert obj["exact"] == {"created_at": 1796070535.7833912, "archived_at": 0.0000001}


@pytest.mark.parametrize(
    "at", [1e300, -1e300, 253402300799.99999, 4294967296.4999995, -62135596800.0, 0.1 + 0.2]
)
def test_times_beyond_what_a_file_can_spell_come_back(at: float) -> None:
    change = PerceptPut("global", replace(BARE, created_at=at, last_used_at=at))

    assert again(change) == change


def test_the_spelling_of_times_that_have_passed_comes_back() -> None:
    touched = replace(FULL, created_at=7.0, wordings=())
    renamed = replace(ENGRAM, updated_at=8.0)

    assert again(PerceptPut("global", touched)) == PerceptPut("global", touched)
    assert again(EngramPut("global", renamed)) == EngramPut("global", renamed)


def test_the_order_of_keys_comes_back() -> None:
    extra = {"z": 1, "a": {"y": 1, "b": 2}, "m": 3}
    percept = replace(BARE, extra=extra, roles={"when": "noon", "agent": "me"})

    put = again(PerceptPut("global", percept))
    notes = again(Annotated("global", extra, ()))

    assert isinstance(put, PerceptPut)
    assert isinstance(notes, Annotated)
    assert json.dumps(put.percept.extra) == json.dumps(notes.extra) == json.dumps(extra)
    assert list(put.percept.roles) == ["when", "agent"]


def test_keys_that_differ_from_known_ones_by_case_alone_come_back() -> None:
    extra = {"Core": 5, "CONSUMER": "x", "Updated_At": 7, "Last_Used_At": "no", "W": "high"}
    percept = replace(BARE, extra=extra, updated_at=1796070535.7833912)
    used = replace(percept, last_used_at=1796070535.7833912, core=True)

    assert again(PerceptPut("global", percept)) == PerceptPut("global", percept)
    assert again(PerceptPut("global", used)) == PerceptPut("global", used)


def test_the_unknown_keys_of_an_edge_come_back() -> None:
    put = again(EdgePut("global", Edge("a", "b", "haunts", {"since": 2**70})))

    assert isinstance(put, EdgePut)
    assert put.edge.extra == {"since": 2**70}


def test_a_percept_without_spellings_has_none_afterwards() -> None:
    put = again(PerceptPut("global", replace(BARE, created_at=1796070535.7833912)))

    assert isinstance(put, PerceptPut)
    assert put.percept.stamps is NO_STAMPS
    assert put.running is None


@pytest.mark.parametrize(
    ("kind", "key", "value", "sentence"),
    [
        ("drop", "c", None, "c: found nothing, expected a string"),
        ("drop", "c", "dorp", 'c: found "dorp", expected one of put, drop, link'),
        ("drop", "in", None, "in: found nothing, expected a string"),
        ("drop", "in", "../x", 'in: found "../x", expected global, archive or a session'),
        ("drop", "in", "Global", 'in: found "Global", expected global'),
        ("drop", "id", "", 'id: found "", expected a string'),
        ("put", "percept", None, "percept: found nothing, expected an object"),
        ("put", "percept", {"id": "p1"}, "content: found nothing"),
        ("put", "running", None, "running: found nothing, expected a number"),
        ("put", "running", -0.5, "running: found -0.5, expected a number, 0 to 1e+12"),
        ("put", "exact", None, "exact: found nothing, expected an object"),
        ("put", "exact", [], "exact: found a list, expected an object"),
        ("put", "exact", {"created_at": "now"}, 'created_at: found "now", expected a number'),
        ("put", "exact", {"stamps": []}, "stamps: found a list, expected an object"),
        ("put", "exact", {"stamps": {"a": 1}}, "a: found 1, expected a string"),
        ("put", "exact", {"stamps": {"a": "noon"}}, 'found "noon", expected a time'),
        ("put", "exact", {"wordings": {}}, "wordings: found an object, expected a list of 0"),
        ("put", "exact", {"wordings": [1]}, "wordings: found a list, expected a list of 0 times"),
        ("link", "edge", [], "edge: found a list, expected an object"),
        ("link", "edge", {"from": "a"}, "to: found nothing"),
        ("group", "engram", "e1", 'engram: found "e1", expected an object'),
        ("group", "exact", 1, "exact: found 1, expected an object"),
        ("pass", "running", None, "running: found nothing, expected a number"),
        ("pass", "running", -1, "running: found -1, expected a number, 0 to 1e+12"),
        ("pass", "running", 1e13, "running: found 10000000000000, expected"),
        ("pass", "elapsed", None, "elapsed: found nothing, expected a number"),
        ("pass", "elapsed", "a day", 'elapsed: found "a day", expected a number'),
        ("pass", "half_life", 0, "half_life: found 0, expected more than 0"),
        ("pass", "half_life", None, "half_life: found nothing, expected a number"),
        ("pass", "floor", None, "floor: found nothing, expected a number"),
        ("pass", "floor", 1.5, "floor: found 1.5, expected a number, 0 to 1"),
        ("used", "ids", None, "ids: found nothing, expected a list of strings"),
        ("used", "ids", [1], "ids: found a list, expected a list of strings"),
        ("used", "at", None, "at: found nothing, expected a number"),
        ("notes", "extra", None, "extra: found nothing, expected an object"),
        ("notes", "unreadable", None, "unreadable: found nothing, expected a list"),
        ("notes", "unreadable", {}, "unreadable: found an object, expected a list"),
        ("notes", "unreadable", [5], "unreadable: found 5, expected a list name"),
        ("notes", "unreadable", [["edges", 0]], "unreadable: found a list, expected a list name"),
        ("notes", "unreadable", [["edges", -1, 0]], "unreadable: found a list, expected"),
        ("notes", "unreadable", [["edges", 1.0, 0]], "unreadable: found a list, expected"),
        ("notes", "unreadable", [["secrets", 0, 0]], "unreadable: found a list, expected"),
    ],
)
def test_what_is_wrong_is_named(kind: str, key: str, value: object, sentence: str) -> None:
    with pytest.raises(ValueError, match="found") as caught:
        change_from_json(OBJECTS[kind] | {key: value})

    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("kind", OBJECTS)
def test_the_objects_above_are_right_before_something_is_made_wrong(kind: str) -> None:
    assert again(change_from_json(OBJECTS[kind])) == change_from_json(OBJECTS[kind])


def test_the_times_of_wordings_are_as_many_as_the_wordings() -> None:
    obj = change_to_json(PerceptPut("global", FULL)) or {}

    for times in ([1.5], [1.5, "noon"], [1.5, 2.5, 3.5]):
        with pytest.raises(ValueError, match=r"^wordings: found .*, expected a"):
            change_from_json(obj | {"exact": {"wordings": times}})


def test_an_engram_takes_no_exact_values_but_its_own() -> None:
    obj = OBJECTS["group"] | {"exact": {"created_at": 1.5, "archived_at": 2.5, "wordings": [3.5]}}

    put = change_from_json(obj)

    assert isinstance(put, EngramPut)
    assert put.engram.created_at == 1.5


@given(VALUES)
def test_any_value_is_a_change_or_a_value_error(value: object) -> None:
    with pytest.raises(ValueError, match="found"):
        change_from_json(value)
