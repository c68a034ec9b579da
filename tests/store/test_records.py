"""Percepts, engrams and edges as JSON objects."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from milkd.engine.percept import Edge, Engram, Percept, Wording
from milkd.store.fields import GO_ZERO_TIME
from milkd.store.records import (
    edge_from_json,
    edge_to_json,
    engram_from_json,
    engram_to_json,
    percept_from_json,
    percept_to_json,
)

BARE = Percept(
    id="p1", content="tea at four", producer="user", w=0.5, created_at=0.0, updated_at=1.5
)
BARE_JSON = {
    "id": "p1",
    "content": "tea at four",
    "producer": "user",
    "w": 0.5,
    "roles": {},
    "created_at": "1970-01-01T00:00:00Z",
    "updated_at": "1970-01-01T00:00:01.5Z",
}
FULL = replace(
    BARE,
    consumer="primary",
    roles={"theme": "tea", "steam": [1]},
    engram_id="e1",
    core=True,
    evidence=2,
    idle_seconds=60.5,
    last_used_at=2.0,
    importance=0.75,
    recall_count=4,
    bad_recall_count=1,
    last_confirmed_use_at=3.0,
    wordings=(Wording("tea, four o'clock", 4.0),),
    archived_at=5.0,
    archived_reason="stale",
    extra={"mood": {"is": None}},
)
FULL_JSON = {
    "id": "p1",
    "content": "tea at four",
    "producer": "user",
    "consumer": "primary",
    "w": 0.5,
    "roles": {"theme": "tea", "steam": [1]},
    "engram_id": "e1",
    "created_at": "1970-01-01T00:00:00Z",
    "updated_at": "1970-01-01T00:00:01.5Z",
    "core": True,
    "evidence": 2,
    "idle_seconds": 60.5,
    "last_used_at": "1970-01-01T00:00:02Z",
    "importance": 0.75,
    "recall_count": 4,
    "bad_recall_count": 1,
    "last_confirmed_use_at": "1970-01-01T00:00:03Z",
    "wordings": [{"content": "tea, four o'clock", "at": "1970-01-01T00:00:04Z"}],
    "archived_at": "1970-01-01T00:00:05Z",
    "archived_reason": "stale",
    "mood": {"is": None},
}


@pytest.mark.parametrize(("percept", "obj"), [(BARE, BARE_JSON), (FULL, FULL_JSON)])
def test_a_percept_is_written_key_by_key_and_read_back(
    percept: Percept, obj: dict[str, object]
) -> None:
    assert list(percept_to_json(percept).items()) == list(obj.items())
    assert percept_from_json(obj) == percept


@pytest.mark.parametrize(
    ("found", "meant"),
    [("local", "primary"), ("claude", "escalation"), ("oracle", "oracle"), (None, "")],
)
def test_old_producers_get_their_new_names_and_unknown_ones_stay(
    found: str | None, meant: str
) -> None:
    assert percept_from_json(BARE_JSON | {"producer": found}).producer == meant


def test_absent_and_null_are_what_go_makes_of_them() -> None:
    absent = {"id": "p1", "content": "tea at four", "w": 0}
    nulls = dict.fromkeys([*FULL_JSON, "wordings"]) | absent

    percept = percept_from_json(absent)

    assert percept.created_at == percept.updated_at == GO_ZERO_TIME
    assert percept_from_json(nulls) == replace(percept, extra={"mood": None})


def test_counts_and_importance_are_taken_in_either_spelling() -> None:
    percept = percept_from_json(BARE_JSON | {"evidence": 2.0, "importance": 1, "w": 1})

    assert (percept.evidence, percept.importance, percept.w) == (2, 1.0, 1.0)
    assert percept_from_json(BARE_JSON | {"importance": 0}).importance is None


def test_role_names_match_whatever_their_case() -> None:
    roles = percept_from_json(BARE_JSON | {"roles": {"Theme": "tea", "Pot": 1}}).roles

    assert roles == {"theme": "tea", "Pot": 1}


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("id", None, "id: found nothing, expected a string that is not empty"),
        ("id", 5, "id: found 5, expected a string"),
        ("content", "", 'content: found "", expected a string that is not empty'),
        ("content", ["a"], "content: found a list, expected a string"),
        ("producer", {}, "producer: found an object, expected a string"),
        ("consumer", 1, "consumer: found 1, expected a string"),
        ("w", None, "w: found nothing, expected a number, 0 to 1"),
        ("w", "high", 'w: found "high", expected a number, 0 to 1'),
        ("w", True, "w: found true, expected a number, 0 to 1"),
        ("w", 1.25, "w: found 1.25, expected a number, 0 to 1"),
        ("w", -0.25, "w: found -0.25, expected a number, 0 to 1"),
        ("roles", "none", 'roles: found "none", expected an object'),
        ("core", 1, "core: found 1, expected true or false"),
        ("evidence", 1.5, "evidence: found 1.5, expected a whole number"),
        ("evidence", -1, "evidence: found -1, expected a number, 0 to 4.29497e+09"),
        ("recall_count", 2**32, "recall_count: found 4294967296, expected a number, 0 to"),
        ("idle_seconds", -1, "idle_seconds: found -1, expected a number, 0 or more"),
        ("idle_seconds", 10**400, "idle_seconds: found 1000000"),
        ("importance", 4, "importance: found 4, expected a number, 0.1 to 1"),
        ("importance", False, "importance: found false, expected a number"),
        ("created_at", 5, "created_at: found 5, expected a time like"),
        ("updated_at", "", 'updated_at: found "", expected a time like'),
        ("last_used_at", "2026-05-24T10:11:60Z", "last_used_at: found"),
        ("wordings", {}, "wordings: found an object, expected a list"),
        ("wordings", ["a"], 'wordings[0]: found "a", expected an object'),
        ("wordings", [{"content": 1}], "wordings[0].content: found 1, expected a string"),
        ("wordings", [{"content": "a", "at": 1}], "wordings[0].at: found 1, expected a time"),
    ],
)
def test_what_is_wrong_is_named(key: str, value: object, sentence: str) -> None:
    with pytest.raises(ValueError, match="found") as caught:
        percept_from_json(BARE_JSON | {key: value})

    assert sentence in str(caught.value)


@pytest.mark.parametrize("obj", [None, 5, "p1", []])
def test_what_is_no_object_is_no_percept(obj: object) -> None:
    with pytest.raises(ValueError, match="expected an object"):
        percept_from_json(obj)


def test_a_time_keeps_its_spelling_while_it_is_that_time() -> None:
    text = "2026-05-24T10:11:12.123456789+02:00"
    percept = percept_from_json(BARE_JSON | {"created_at": text, "updated_at": text})

    touched = percept_to_json(replace(percept, updated_at=1.5))

    assert percept_to_json(percept)["updated_at"] == text
    assert touched["created_at"] == text
    assert touched["updated_at"] == "1970-01-01T00:00:01.5Z"


def test_a_wording_keeps_the_spelling_of_its_time() -> None:
    wordings = [{"content": "a", "at": "2026-05-24T10:11:12+02:00"}]
    percept = percept_from_json(BARE_JSON | {"wordings": wordings})

    assert percept_to_json(percept)["wordings"] == wordings


def test_a_wording_keeps_keys_that_nobody_knows() -> None:
    wordings = [
        {"content": "a", "at": "1970-01-01T00:00:04Z", "mood": ["calm"]},
        {"Content": "b", "AT": "1970-01-01T00:00:05Z"},
    ]
    percept = percept_from_json(BARE_JSON | {"wordings": wordings})

    assert percept.wordings == (Wording("a", 4.0, {"mood": ["calm"]}), Wording("b", 5.0))
    assert percept_to_json(percept)["wordings"] == [
        wordings[0],
        {"content": "b", "at": "1970-01-01T00:00:05Z"},
    ]


def test_an_engram_is_written_and_read_back() -> None:
    engram = Engram(
        id="e1",
        subject_label="tea",
        composite_w=0.5,
        percept_ids=("p1", "p2"),
        created_at=0.0,
        updated_at=1.0,
        extra={"shade": "dark"},
    )
    obj = engram_to_json(engram)

    assert list(obj) == [
        "id",
        "subject_label",
        "composite_w",
        "percept_ids",
        "created_at",
        "updated_at",
        "shade",
    ]
    assert engram_from_json(obj) == engram
    assert engram_from_json(obj | {"percept_ids": None}).percept_ids == ()


@pytest.mark.parametrize(
    ("key", "value"), [("percept_ids", ["p1", 2]), ("subject_label", None), ("composite_w", "x")]
)
def test_what_is_wrong_in_an_engram_is_named(key: str, value: object) -> None:
    obj: dict[str, object] = {"id": "e1", "subject_label": "tea", "composite_w": 0.5}

    with pytest.raises(ValueError, match=f"^{key}: found"):
        engram_from_json(obj | {key: value})


def test_an_edge_is_written_and_read_back() -> None:
    obj = {"from": "p1", "to": "p2", "relation": "haunts", "since": 1}
    edge = edge_from_json(obj)

    assert edge == Edge("p1", "p2", "haunts")
    assert edge.extra == {"since": 1}
    assert list(edge_to_json(edge).items()) == list(obj.items())


@pytest.mark.parametrize("key", ["from", "to", "relation"])
def test_an_edge_needs_both_ends_and_a_relation(key: str) -> None:
    with pytest.raises(ValueError, match=f"^{key}: found nothing"):
        edge_from_json({"from": "p1", "to": "p2", "relation": "extends", key: None})


def test_a_known_key_that_another_one_outdid_is_never_left_out() -> None:
    """Or its namesake in another case would count the next time."""
    found = {**BARE_JSON, "core": False, "Core": 5, "evidence": 0, "EVIDENCE": 7}
    percept = percept_from_json(found)
    written = percept_to_json(percept)
    assert written["core"] is False
    assert list(written).index("Core") < list(written).index("core")
    assert percept_from_json(json.loads(json.dumps(written))) == percept
