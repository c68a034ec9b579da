"""Entries as JSON payloads: nothing is lost, nothing odd gets in."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journalled import BARE, DONE, ENTRIES, EVERY_CHANGE, VALUES
from milkd.engine.changes import (
    Awarded,
    EdgeActed,
    EdgeDropped,
    EdgePut,
    PerceptDropped,
    PerceptPut,
    Shown,
)
from milkd.engine.percept import Edge
from milkd.store.entries import (
    MAX_RECORD,
    Done,
    Entry,
    RecordTooLong,
    entry_from_payload,
    entry_to_payload,
    fits,
    parse_payload,
)

ENTRY = Entry(7, 2.5, "record", (PerceptDropped("global", "p1"),), DONE, ("p1",))
PAYLOAD = {
    "s": 7,
    "d": 6,
    "t": "record",
    "at": 2.5,
    "ch": [{"c": "drop", "in": "global", "id": "p1"}],
    "oid": "op-1",
    "dig": "00ff",
    "op": "record",
    "res": {"id": "p1", "status": "new", "rows": [1, True, None]},
    "scrub": ["p1"],
}


def read(payload: bytes) -> Entry:
    """The entry of a payload."""
    return entry_from_payload(parse_payload(payload))


def test_an_entry_is_written_key_by_key_and_read_back() -> None:
    payload = entry_to_payload(ENTRY, 6)

    assert payload == json.dumps(PAYLOAD, separators=(",", ":")).encode()
    assert read(payload) == ENTRY


def test_what_an_entry_has_not_is_left_out() -> None:
    bare = Entry(1, 0.0, "uses", ())

    payload = entry_to_payload(bare, 0)

    assert payload == b'{"s":1,"d":0,"t":"uses","at":0.0,"ch":[]}'
    assert read(payload) == bare


def test_an_entry_that_is_a_part_says_so() -> None:
    part = Entry(1, 0.0, "import", (), more=True)

    payload = entry_to_payload(part, 0)

    assert payload == b'{"s":1,"d":0,"t":"import","at":0.0,"ch":[],"more":true}'
    assert read(payload) == part


def test_what_ends_with_the_process_is_left_out() -> None:
    kept = PerceptDropped("global", "p1")
    passing = (Awarded("p1"), kept, EdgeActed(Edge("a", "b", "extends")), Shown(None, "c1", {}))

    assert read(entry_to_payload(Entry(1, 0.0, "pass", passing), 0)).changes == (kept,)


def test_no_text_that_was_shown_is_written() -> None:
    shown = Shown("s-1", "s-1", {"p1": "a secret line"}, "a secret prompt")

    payload = entry_to_payload(Entry(1, 0.0, "recall", (shown,)), 0)

    assert b"secret" not in payload
    assert read(payload).changes == (Shown("s-1", "s-1", {"p1": ""}),)


def test_a_payload_is_one_line_of_ascii() -> None:
    payload = entry_to_payload(Entry(1, 0.0, "record", EVERY_CHANGE), 0)

    assert payload.isascii()
    assert b"\n" not in payload
    assert payload.startswith(b'{"')


def test_mappings_of_any_kind_are_written() -> None:
    done = Done("op", "ff", "record", MappingProxyType({"inner": MappingProxyType({"n": 1})}))

    assert read(entry_to_payload(Entry(1, 0.0, "x", (), done), 0)).done == Done(
        "op", "ff", "record", {"inner": {"n": 1}}
    )


def test_what_json_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        entry_to_payload(Entry(1, float("nan"), "x", ()), 0)
    with pytest.raises(TypeError, match="set has no place in the journal"):
        entry_to_payload(Entry(1, 0.0, "x", (), Done("op", "ff", "x", {"n": {1}})), 0)


def test_half_a_surrogate_pair_survives() -> None:
    entry = Entry(1, 0.0, "\ud800x", ())

    assert read(entry_to_payload(entry, 0)) == entry


def test_a_payload_has_a_size_that_it_may_not_exceed() -> None:
    assert fits(bytes(MAX_RECORD))
    assert not fits(bytes(MAX_RECORD + 1))
    with pytest.raises(RecordTooLong, match=f"entry 1 has .* bytes, at most {MAX_RECORD} fit"):
        entry_to_payload(Entry(1, 0.0, "x" * MAX_RECORD, ()), 0)


@given(ENTRIES, st.data())
def test_whatever_is_written_is_read_back(entry: Entry, data: st.DataObject) -> None:
    durable = data.draw(st.integers(0, entry.seq - 1))

    found = read(entry_to_payload(entry, durable))

    assert found == entry
    assert extras(found) == extras(entry)


def extras(entry: Entry) -> list[object]:
    """What equality leaves out: the keys of edges that nobody knows."""
    edges = [change.edge for change in entry.changes if isinstance(change, EdgePut | EdgeDropped)]
    return [edge.extra for edge in edges]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b'{"s":1} x',
        b"\xff",
        '{"t":"ä"}'.encode(),
        b'{"at":NaN}',
        b'{"at":-Infinity}',
        b'{"at":1e999}',
        b'{"at":' + b"9" * 5000 + b"}",
        b'{"at":' + b"[" * 100_000,
        b'{"at":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"[]",
        b"5",
        b"null",
    ],
)
def test_a_payload_that_is_no_json_object_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_payload(payload)


@pytest.mark.parametrize("obj", [None, 5, "x", [], True])
def test_what_is_no_object_is_no_entry(obj: object) -> None:
    with pytest.raises(ValueError, match="expected an object"):
        entry_from_payload(obj)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("s", None, "s: found nothing, expected a whole number, 1 or more"),
        ("s", 0, "s: found 0, expected a whole number, 1 or more"),
        ("s", 7.0, "s: found 7, expected"),
        ("s", True, "s: found true, expected"),
        ("s", "7", 's: found "7", expected'),
        ("d", None, "d: found nothing, expected a whole number, less than s"),
        ("d", -1, "d: found -1, expected"),
        ("d", 7, "d: found 7, expected"),
        ("d", False, "d: found false, expected"),
        ("t", None, "t: found nothing, expected a string"),
        ("t", "", 't: found "", expected a string'),
        ("at", None, "at: found nothing, expected a number"),
        ("at", "2.5", 'at: found "2.5", expected a number'),
        ("at", True, "at: found true, expected a number"),
        ("at", 10**400, "at: found 10000000"),
        ("ch", None, "ch: found nothing, expected a list"),
        ("ch", {}, "ch: found an object, expected a list"),
        ("ch", [5], "ch[0]: found 5, expected an object"),
        ("oid", None, "oid: found nothing, expected a string"),
        ("dig", None, "dig: found nothing, expected a string"),
        ("op", 5, "op: found 5, expected a string"),
        ("res", None, "res: found nothing, expected an object"),
        ("res", [], "res: found a list, expected an object"),
        ("more", 1, "more: found 1, expected true or false"),
        ("scrub", "p1", 'scrub: found "p1", expected a list of strings'),
    ],
)
def test_what_is_wrong_is_named(key: str, value: object, sentence: str) -> None:
    with pytest.raises(ValueError, match="found") as caught:
        entry_from_payload(PAYLOAD | {key: value})

    assert str(caught.value).startswith(sentence)


def test_a_whole_number_is_a_time_too() -> None:
    assert entry_from_payload(PAYLOAD | {"at": 2}).at == 2.0


def test_keys_of_a_later_version_are_passed_over() -> None:
    assert entry_from_payload(PAYLOAD | {"mood": "calm"}) == ENTRY


def test_the_change_that_is_wrong_is_counted() -> None:
    good = {"c": "left", "in": "s-1"}

    with pytest.raises(ValueError, match=r"^ch\[2\]: c: found nothing"):
        entry_from_payload(PAYLOAD | {"ch": [good, good, {}, good]})


@given(VALUES)
def test_any_value_is_an_entry_or_a_value_error(value: object) -> None:
    with pytest.raises(ValueError, match="found"):
        entry_from_payload(value)


def test_a_loaded_percept_shares_nothing_with_the_payload() -> None:
    entry = Entry(1, 0.0, "record", (PerceptPut("global", BARE),))
    payload = entry_to_payload(entry, 0)

    assert read(payload) == read(payload) == entry
