"""Changing entries of a JSON text and nothing else in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.store.gojson import dumps
from milkd.store.pieces import GONE, rewritten

if TYPE_CHECKING:
    from collections.abc import Callable

ODD = '\ufeff {"a" :[ 1.0,\t{"n":1e3} , "x"  ] ,"b":{"c":[1.50]},\n"a":[],"d":null}  tail'


def same(_: str, value: object) -> object:
    return value


def without(*values: object) -> Callable[[str, object], object]:
    return lambda _, value: GONE if value in values else value


def changed(text: str, *values: object) -> str:
    return rewritten(text, without(*values), without(*values))[0]


def test_what_is_not_changed_stays_as_it_was_written() -> None:
    assert rewritten(ODD, same, same) == (ODD, len(ODD) - len("  tail"))


def test_entries_and_other_values_are_told_apart() -> None:
    entries: list[tuple[str, object]] = []
    values: list[tuple[str, object]] = []

    def entry(key: str, value: object) -> object:
        entries.append((key, value))
        return value

    def value(key: str, found: object) -> object:
        values.append((key, found))
        return found

    rewritten(ODD, entry, value)
    assert entries == [("a", 1.0), ("a", {"n": 1000.0}), ("a", "x")]
    assert values == [("b", {"c": [1.5]}), ("d", None)]


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ((1.0,), '[ {"n":1e3} , "x"  ]'),
        (({"n": 1000.0},), '[ 1.0 , "x"  ]'),
        (("x",), '[ 1.0,\t{"n":1e3}  ]'),
        ((1.0, "x"), '[ {"n":1e3}  ]'),
        ((1.0, {"n": 1000.0}, "x"), "[]"),
    ],
)
def test_an_entry_goes_with_one_comma(gone: tuple[object, ...], left: str) -> None:
    expected = ODD.replace('[ 1.0,\t{"n":1e3} , "x"  ]', left)
    assert changed(ODD, *gone) == expected


def test_the_end_of_the_object_is_told_after_the_change() -> None:
    text, end = rewritten('{"a": [1, 2, 3], "b": 4} {"c": 5}', without(2), without(4))
    assert (text, text[:end]) == ('{"a": [1, 3], "b": null} {"c": 5}', '{"a": [1, 3], "b": null}')


def test_another_value_is_written_as_milk_would() -> None:
    text = '{\n  "a": [\n    {"x": 1},\n    2\n  ],\n  "b": 1.0\n}\n'
    new, _ = rewritten(
        text,
        lambda _, entry: {"x": "<"} if isinstance(entry, dict) else entry,
        lambda _, value: [1.0],
    )
    assert new == (
        '{\n  "a": [\n    {\n      "x": "\\u003c"\n    },\n    2\n  ],\n  "b": [\n    1\n  ]\n}\n'
    )


BROKEN = """
    [] null { {"a" {"a": {"a":} {"a":1 {"a":1,} {"a":[1 {"a":[1,]} {"a"1} {"a":1"b":2} {1:2}
    {"a":[1"b"]} {"a":[1],"b J1{} {"a":[}
"""


@pytest.mark.parametrize("text", ["", *BROKEN.split()])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\bchar"):
        rewritten(text, same, same)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=3), VALUES | st.lists(st.integers(0, 3), max_size=6)),
    st.integers(0, 3),
    st.sampled_from([None, 1, 2]),
)
def test_any_object_is_taken_apart_and_put_together(
    value: dict[str, object], gone: int, indent: int | None
) -> None:
    def entry(_: str, found: object) -> object:
        return GONE if type(found) is int and found == gone else found

    expected = {
        key: [x for x in item if type(x) is not int or x != gone] if type(item) is list else item
        for key, item in value.items()
    }
    for text in (json.dumps(value, indent=indent), dumps(value)):
        assert rewritten(text, same, same) == (text, len(text))
        new, end = rewritten(text, entry, same)
        assert json.loads(new) == expected
        assert end == len(new)
