"""The file of operations, there and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.errors import StoreDamaged
from milkd.store.entries import Done
from milkd.store.operations import operations_from_bytes, operations_to_bytes

STORE = "5d2f0000-0000-4000-8000-000000000000"
DONES = [
    Done("op 1", "00" * 16, "record", {"id": "a", "w": 0.7, "edge": {"from": "a", "to": "b"}}),
    Done("ö\n\u2028", "ff" * 16, "import", {"accepted": 0, "refused": [{"index": 3}]}),
]


def test_operations_survive_in_their_order() -> None:
    data = operations_to_bytes(STORE, 7, DONES)
    assert operations_from_bytes(data) == (7, DONES)
    assert operations_from_bytes(data, STORE) == (7, DONES)


def test_the_file_has_a_line_for_each() -> None:
    data = operations_to_bytes(STORE, 7, DONES)
    assert data.isascii()
    assert [line[:7] for line in data.splitlines()] == [b'{"forma', b'["op 1"', b'["\\u00f', b"]}"]
    assert json.loads(data)["operations"][0] == ["op 1", "00" * 16, "record", DONES[0].result]


def test_none_is_a_file_too() -> None:
    assert operations_from_bytes(operations_to_bytes(STORE, 0, [])) == (0, [])


@given(st.lists(st.tuples(st.text(min_size=1), st.dictionaries(st.text(), st.integers()))))
def test_any_operation_survives(found: list[tuple[str, dict[str, int]]]) -> None:
    dones = [Done(op_id, "0" * 32, "record", result) for op_id, result in found]
    assert operations_from_bytes(operations_to_bytes(STORE, 1, dones)) == (1, dones)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 2}, "format: found 2, expected 1"),
        ({"store": "another"}, 'store: found "another", expected 5d2f'),
        ({"seq": -1}, "seq: found -1"),
        ({"seq": True}, "seq: found true"),
        ({"seq": 1.0}, "seq: found 1"),
        ({"operations": None}, "operations: found null, expected a list"),
        ({"operations": [["a", "b", "c", {}], 7]}, r"operations\[1\]: found 7"),
        ({"operations": [["a", "b", "c", []]]}, r"operations\[0\]: found a list"),
        ({"operations": [["a", "b", {}]]}, r"operations\[0\]: found a list"),
    ],
)
def test_damage_is_named(change: dict[str, object], sentence: str) -> None:
    found = json.loads(operations_to_bytes(STORE, 7, DONES)) | change
    with pytest.raises(StoreDamaged, match=r"^operations\.json: " + sentence):
        operations_from_bytes(json.dumps(found).encode(), STORE)


def test_no_part_of_a_file_is_taken_for_one() -> None:
    data = operations_to_bytes(STORE, 7, DONES)
    for cut in range(len(data) - 1):  # without its last newline it is whole
        with pytest.raises(StoreDamaged):
            operations_from_bytes(data[:cut])
    for text in (b"[]", b"null", b"\0" * 99, b"\xff"):
        with pytest.raises(StoreDamaged):
            operations_from_bytes(text)
