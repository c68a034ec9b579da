"""A response is the same bytes whoever encodes it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.daemon import encoding
from milkd.rpc.protocol import MAX_DEPTH, MAX_ITEMS, MAX_RESPONSE, Connection
from milkd.rpc.values import plain
from milkd.store.fields import format_time

Encode = Callable[[int, object], "bytes | None"]

msgids = st.integers(0, 2**32 - 1)
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-70_000, 70_000)
    | st.floats()
    | st.text()
    | st.text("aé\ud800", max_size=40)
    | st.binary(max_size=4)
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=40,
)


class Name(str):
    """Text of another type."""


@pytest.fixture(scope="module")
def encode(request: pytest.FixtureRequest) -> Encode:
    """The compiled encoder, as the daemon calls it."""
    if request.config.getoption("--no-extension"):
        pytest.skip("--no-extension")
    module = importlib.import_module("milkd._wire")
    return lambda msgid, value: module.response(
        msgid, value, encoding.DEPTH, MAX_ITEMS, MAX_RESPONSE
    )


@pytest.fixture(scope="module")
def encode_time(request: pytest.FixtureRequest) -> Callable[[float], str | None]:
    """The compiled clock-reader."""
    if request.config.getoption("--no-extension"):
        pytest.skip("--no-extension")
    chosen: Callable[[float], str | None] = importlib.import_module("milkd._wire").time_text
    return chosen


@given(msgids, values)
def test_what_the_compiled_one_gives_is_what_the_other_gives(
    encode: Encode, msgid: int, value: object
) -> None:
    assert encode(msgid, value) in (None, Connection.response(msgid, value))


@given(msgids, values)
def test_what_is_plain_is_given(encode: Encode, msgid: int, value: object) -> None:
    value = plain(value)
    assert encode(msgid, value) == Connection.response(msgid, value)


@pytest.mark.parametrize("bits", range(64))
def test_every_size_of_number(encode: Encode, bits: int) -> None:
    for number in (2**bits - 1, 2**bits, 2**bits + 1):
        for value in (number, -number):
            expected = Connection.response(1, value) if -(2**63) <= value < 2**63 else None
            assert encode(1, value) == expected
        if number < 2**32:
            assert encode(number, {}) == Connection.response(number, {})


@pytest.mark.parametrize("length", [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536])
@pytest.mark.parametrize(
    "make",
    [
        lambda length: "a" * length,
        lambda length: "é" * length,
        lambda length: [None] * length,
        lambda length: (True,) * length,
        lambda length: {f"{number}": 0.5 for number in range(length)},
    ],
    ids=["ascii", "text", "list", "tuple", "map"],
)
def test_every_length(encode: Encode, length: int, make: Callable[[int], object]) -> None:
    assert encode(7, make(length)) == Connection.response(7, make(length))


@pytest.mark.parametrize(
    "odd",
    [
        2**63,
        -(2**63) - 1,
        2**70,
        float("nan"),
        float("inf"),
        -float("inf"),
        "\ud800",
        b"bytes",
        {1: 2},
        {b"a": 2},
        {"\udcff": 2},
        {Name("a"): 2},
        [None] * (MAX_ITEMS + 1),
        {f"{number}": 0 for number in range(MAX_ITEMS + 1)},
        MappingProxyType({"a": 1}),
        {1, 2},
        object(),
    ],
    ids=lambda odd: type(odd).__name__,
)
def test_what_is_not_plain_is_left_to_the_other(encode: Encode, odd: object) -> None:
    for value in (odd, [odd], {"in": {"a": odd}}, [1, (odd,)]):
        assert encode(1, value) is None


def test_text_of_another_type_is_text(encode: Encode) -> None:
    assert encode(1, {"a": Name("é")}) == Connection.response(1, {"a": "é"})


def test_what_nests_too_deep_is_left_to_the_other(encode: Encode) -> None:
    inmost: tuple[object, ...] = ("here", [], {})
    for leaf in inmost:
        value: object = leaf
        for depth in range(1, MAX_DEPTH + 4):
            value = [value] if depth % 2 else {"in": value}
            whole = depth + isinstance(leaf, list | dict) <= encoding.DEPTH
            assert encode(1, value) == (Connection.response(1, value) if whole else None)


def test_a_response_that_is_too_long_is_left_to_the_other(encode: Encode) -> None:
    head = len(Connection.response(1, "a" * 70_000)) - 70_000
    assert encode(1, "a" * (MAX_RESPONSE - head)) is not None
    assert encode(1, "a" * (MAX_RESPONSE - head + 1)) is None


@pytest.mark.parametrize("msgid", [-1, 2**64, "1", None])
def test_what_is_no_msgid_is_refused(encode: Encode, msgid: object) -> None:
    with pytest.raises((TypeError, OverflowError)):
        encode(msgid, {})  # type: ignore[arg-type]  # on purpose


moments = st.floats(-7e10, 3e11) | st.integers(-70_000_000_000, 300_000_000_000).map(float)


@given(moments | st.floats(0, 2e9) | st.integers(0, 2**52).map(lambda micro: micro / 2**20))
def test_a_time_is_the_same_text(encode_time: Callable[[float], str | None], at: float) -> None:
    assert encode_time(at) in (None, format_time(at))
    assert encoding.time_text(at) == format_time(at)


@pytest.mark.parametrize(
    "year", [1, 2, 4, 100, 400, 1600, 1900, 1969, 1970, 2000, 2024, 2100, 9998]
)
def test_every_day_of_a_year(encode_time: Callable[[float], str | None], year: int) -> None:
    first = datetime(year, 1, 1, tzinfo=UTC)
    for day in range(366):
        at = (first + timedelta(days=day) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
        for second in (at, at + 43_200.5, at + 86_399.999999):
            got = encode_time(second)
            assert got == format_time(second) or (got is None and year == 9998)


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -62_135_596_801.0, 253_402_300_800.0])
def test_a_time_in_no_year_is_left_to_the_other(
    encode_time: Callable[[float], str | None], at: float
) -> None:
    assert encode_time(at) is None


@given(msgids, values, st.booleans())
def test_the_daemon_says_what_the_protocol_says(msgid: int, value: object, as_string: bool) -> None:
    given = encoding.response(msgid, value, as_string=as_string)
    assert given == Connection.response(msgid, value, as_string=as_string)


@pytest.mark.parametrize(
    "odd",
    [object(), [None] * (MAX_ITEMS + 1), "a" * (MAX_RESPONSE + 1)],
    ids=["type", "list", "text"],
)
@pytest.mark.parametrize("as_string", [False, True])
def test_what_cannot_be_sent_is_an_error_of_the_same_words(odd: object, as_string: bool) -> None:
    given = encoding.response(3, {"a": odd}, as_string=as_string)
    assert given == Connection.response(3, {"a": odd}, as_string=as_string)
    assert isinstance(msgpack.unpackb(given)[2], str if as_string else list)


def test_many_responses_leave_no_memory_behind(encode: Encode) -> None:
    tracemalloc = importlib.import_module("tracemalloc")
    body: Mapping[str, object] = {"text": "é" * 5_000, "numbers": [1, 2, 3], "odd": float("nan")}
    tracemalloc.start()
    try:
        for _ in range(3):
            encode(1, body)
            before, _ = tracemalloc.get_traced_memory()
        for _ in range(1_000):
            encode(1, body)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 10_000


def test_the_compiled_one_is_what_the_daemon_uses(encode: Encode) -> None:
    assert encode(1, {}) is not None
    assert encoding.USING_EXTENSION


@pytest.mark.parametrize("pure", ["1", "0"])
def test_a_variable_asks_for_the_pure_one(pure: str) -> None:
    code = "from milkd.daemon import encoding; print(encoding.USING_EXTENSION)"
    run = partial(subprocess.run, check=True, capture_output=True, text=True)
    told = run([sys.executable, "-Pc", code], env={**os.environ, "MILKD_PURE": pure})
    assert told.stdout.strip() == str(pure == "0" and encoding.USING_EXTENSION)
