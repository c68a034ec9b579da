"""A percept is written in a hurry just as it would be written at leisure."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.percept import Percept, Producer, Wording
from milkd.store.gojson import dumps
from milkd.store.percepttext import INDENT, percept_text
from milkd.store.records import percept_from_json, percept_to_json

words = st.text(max_size=12) | st.sampled_from(["<b>&", "\u2028", "\ud800", "é", '"', "\\"])
numbers = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.1, 1e-7])
seconds = st.floats(0, 1e9) | st.sampled_from([0.0, 1.0, 2.0**53, 1e22])
moments = st.floats(-6.2e10, 2.5e11) | st.sampled_from([0.0, -62_135_596_800.0])
counts = st.integers(0, 2**32 - 1)
role = st.sampled_from(["theme", "agent", "<&>"])
roles = st.dictionaries(role, words | st.none() | st.lists(words), max_size=3)
stamps = st.dictionaries(
    st.sampled_from(["created_at", "updated_at", "content_at", "wordings[0].at"]),
    st.sampled_from(["1970-01-01T00:00:00+00:00", "1970-01-01T01:00:00.000000001+01:00"]),
)
percepts = st.builds(
    Percept,
    id=words,
    content=words,
    producer=words | st.sampled_from(Producer),
    w=numbers,
    created_at=moments,
    updated_at=moments,
    consumer=words | st.none(),
    roles=roles,
    engram_id=words | st.none(),
    core=st.booleans(),
    evidence=counts,
    idle_seconds=seconds,
    last_used_at=moments | st.none(),
    importance=numbers | st.none(),
    recall_count=counts,
    bad_recall_count=counts,
    last_confirmed_use_at=moments | st.none(),
    wordings=st.just(()) | st.builds(lambda *each: each, st.builds(Wording, words, moments)),
    content_at=moments | st.none(),
    archived_at=moments | st.none(),
    archived_reason=words | st.none(),
    extra=st.just({}) | st.dictionaries(st.sampled_from(["mood", "ID"]), words, max_size=2),
    stamps=stamps,
)


def at_leisure(percept: Percept) -> str:
    return dumps(percept_to_json(percept), INDENT)


@given(percepts)
def test_it_is_what_the_object_of_a_percept_gives(percept: Percept) -> None:
    assert percept_text(percept) == at_leisure(percept)


PLAIN = Percept(id="p", content="c", producer="user", w=0.5, created_at=0.0, updated_at=0.0)
FULL: dict[str, object] = {
    "consumer": "primary",
    "roles": {"theme": "tea"},
    "engram_id": "e",
    "core": True,
    "evidence": 3,
    "idle_seconds": 12.5,
    "last_used_at": 1.5,
    "importance": 0.25,
    "recall_count": 4,
    "bad_recall_count": 2,
    "last_confirmed_use_at": 2.5,
    "wordings": (Wording("d", 1.0),),
    "content_at": 3.5,
    "archived_at": 4.5,
    "archived_reason": "weak",
    "extra": {"mood": "calm"},
    "stamps": {"created_at": "1970-01-01T01:00:00+01:00"},
}


@pytest.mark.parametrize("name", FULL)
def test_no_field_is_left_out(name: str) -> None:
    percept = replace(PLAIN, **{name: FULL[name]})  # type: ignore[arg-type]  # by name

    assert percept_text(percept) == at_leisure(percept)
    assert percept_text(percept) != percept_text(PLAIN)


def test_the_fields_above_are_all_there_are() -> None:
    always = {"id", "content", "producer", "w", "created_at", "updated_at"}

    assert {each.name for each in fields(Percept)} == always | FULL.keys()


def test_what_is_written_in_a_hurry_is_read_back() -> None:
    percept = replace(PLAIN, **FULL)  # type: ignore[arg-type]  # by name

    assert percept_from_json(json.loads(percept_text(percept))) == percept


@pytest.mark.parametrize("name", ["w", "idle_seconds", "importance"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_know_is_not_written(name: str, value: float) -> None:
    with pytest.raises(ValueError, match="no place in JSON"):
        percept_text(replace(PLAIN, **{name: value}))  # type: ignore[arg-type]  # by name
