"""JSON as milk writes it."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.errors import StoreDamaged
from milkd.store.gojson import dumps, parse, to_bytes

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_it_looks_like_go() -> None:
    value = {"a": [1.0, 0.25, True, None, "<&>\u2028é\n"], "b": {}, "c": []}

    assert dumps(value) == (
        '{\n  "a": [\n    1,\n    0.25,\n    true,\n    null,\n'
        '    "\\u003c\\u0026\\u003e\\u2028é\\n"\n  ],\n  "b": {},\n  "c": []\n}'
    )


@given(JSON)
def test_what_is_written_is_read_back(value: object) -> None:
    assert parse("x.json", to_bytes(dumps(value))).value == value


@given(JSON)
def test_any_json_reader_reads_what_is_written(value: object) -> None:
    assert json.loads(dumps(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_know_is_not_written(value: float) -> None:
    with pytest.raises(ValueError, match="no place in JSON"):
        dumps({"w": value})


def test_a_value_that_json_does_not_know_is_not_written() -> None:
    with pytest.raises(TypeError, match="bytes has no place in JSON"):
        dumps([b""])


def test_half_a_surrogate_pair_is_not_written() -> None:
    assert to_bytes("a\ud800b") == "a\ufffdb".encode()


def test_half_a_surrogate_pair_is_replaced_on_reading_and_told() -> None:
    parsed = parse("x.json", b'{"k\\udc00": ["\\uD83D\\uDE00", "a\\ud800"]}')

    assert parsed.value == {"k\ufffd": ["\U0001f600", "a\ufffd"]}
    assert parsed.losses == ("x.json: half of a surrogate pair is replaced by U+FFFD",)


def test_a_whole_surrogate_pair_is_one_character_and_no_loss() -> None:
    parsed = parse("x.json", b'["\\ud83d\\ude00"]')

    assert parsed.value == ["\U0001f600"]
    assert parsed.losses == ()


def test_a_byte_order_mark_is_accepted() -> None:
    assert parse("x.json", b'\xef\xbb\xbf {"a": 1}').value == {"a": 1}


def test_of_equal_keys_the_last_one_counts_and_is_told() -> None:
    parsed = parse("x.json", b'{"a": 1, "b": 2, "a": 3}')

    assert parsed.value == {"a": 3, "b": 2}
    assert parsed.losses == ('x.json: the key "a" occurs twice in an object; the last one counts',)


def test_what_follows_a_whole_value_is_told_with_its_place() -> None:
    parsed = parse("x.json", b'{"a": 1}\n{"b": ')

    assert parsed.value == {"a": 1}
    assert parsed.losses == ("x.json: what follows line 2, column 1 (byte 9) is left out",)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "x.json is empty, expected a JSON object"),
        (b"\0\0\0", "x.json holds nothing but 3 blank bytes, expected a JSON object"),
        (b'{"a": 1', "line 1, column 8 (byte 7)"),
        (b'{\n  "\xc3\xa9": ]', "line 2, column 8 (byte 10)"),
        (b'\xef\xbb\xbf{"a": ]', "line 1, column 7 (byte 9)"),
        (b'{"a": "\xff"}', "x.json is not UTF-8: invalid start byte at byte 7"),
        (b'\xef\xbb\xbf"\xff"', "x.json is not UTF-8: invalid start byte at byte 4"),
        (b'{"NaN": NaN}', "the number NaN at line 1, column 9 (byte 8) is refused"),
        (b'{"a": -Infinity}', "the number -Infinity at line 1, column 7 (byte 6) is refused"),
        (b'["1e999",\n1e999]', "the number 1e999 at line 2, column 1 (byte 10) is refused"),
        (b"[" * 25 + b"]" * 25, "nests more than 24 levels deep at line 1, column 25 (byte 24)"),
        (b'{"a":' * 100_000, "nests more than 24 levels deep at line 1, column 121 (byte 120)"),
        (b"1" * 5_000, "x.json: Exceeds the limit"),
    ],
)
def test_damage_is_told_with_its_place(data: bytes, sentence: str) -> None:
    with pytest.raises(StoreDamaged) as caught:
        parse("x.json", data)

    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 200


def test_twenty_four_levels_are_read() -> None:
    data = b"[" * 24 + b"]" * 24

    assert parse("x.json", data).losses == ()


@given(st.binary(max_size=60))
def test_no_bytes_do_anything_but_load_or_be_refused(data: bytes) -> None:
    with contextlib.suppress(StoreDamaged):
        parse("x.json", data)
