"""Reading entry by entry gives what parsing the whole gives, or nothing at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.store.gojson import MAX_DEPTH, parse
from milkd.store.walking import UNUSUAL, Walk

LISTS = ("percepts", "edges")
NAMES = st.text(max_size=3)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
EXTRA = st.dictionaries(st.sampled_from(["a", "_milkd", "\N{GREEK SMALL LETTER MU}"]), VALUES)
ENTRIES = st.fixed_dictionaries({key: st.lists(VALUES, max_size=4) for key in LISTS})


def walked(data: bytes) -> dict[str, object] | None:
    walk = Walk(data)
    return {key: list(walk.entries()) if key in LISTS else walk.value() for key in walk.members()}


@given(EXTRA, ENTRIES, st.sampled_from([None, 0, 2]))
def test_all_is_as_when_parsed(
    extra: dict[str, object], entries: dict[str, object], indent: int | None
) -> None:
    text = json.dumps(extra | entries, indent=indent, ensure_ascii=False)
    data = f" \r\n{text}\t\n".encode(errors="replace")
    assert walked(data) == parse("x.json", data).value


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "{",
        '{"percepts": [',
        '{"percepts": [1',
        '{"percepts": [1 2]}',
        '{"percepts": [1,]}',
        '{"percepts": {}}',
        '{"percepts": null}',
        '{"percepts": [1]',
        '{"percepts": [1]} {',
        '{"percepts": [1],}',
        '{"percepts": [1], "percepts": [2]}',
        '{"percepts": [{"a": 1, "a": 2}]}',
        '{"percepts": [NaN]}',
        '{"percepts": [1e999]}',
        '{"percepts": ["\\ud800"]}',
        '{"percepts" [1]}',
        "{1: 2}",
        '\ufeff{"percepts": [1]}',
        json.dumps({"percepts": [nested(MAX_DEPTH - 1)]}),
        json.dumps({"other": nested(MAX_DEPTH)}),
        json.dumps({"other": 1}).replace("1", "[" * 100_000),
    ],
)
def test_what_is_unusual_is_left_to_others(text: str) -> None:
    with pytest.raises(UNUSUAL):
        walked(text.encode())


def test_bytes_that_are_no_text_are_left_to_others() -> None:
    with pytest.raises(UNUSUAL):
        walked(b'{"percepts": ["\xff"]}')


def test_the_deepest_that_is_allowed_is_read() -> None:
    file = {"percepts": [nested(MAX_DEPTH - 2)], "other": nested(MAX_DEPTH - 1)}
    data = json.dumps(file).encode()
    assert walked(data) == parse("x.json", data).value == file
