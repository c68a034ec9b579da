"""Which decoded values are messages."""

from __future__ import annotations

import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.errors import InvalidParams, InvalidRequest
from milkd.rpc.frames import message
from milkd.rpc.messages import Notification, Request, Response


def request(value: object) -> Request:
    return cast("Request", message(value))


def test_the_three_kinds_of_message() -> None:
    assert message([0, 1, "query", [{"text": "a"}]]) == Request(1, "query", {"text": "a"})
    assert message([1, 1, None, {"a": 1}]) == Response(1, None, {"a": 1})
    assert message([2, "cancel", [7]]) == Notification("cancel", [7])


@pytest.mark.parametrize("params", [[], [{}], [[]], {}])
def test_no_arguments_may_be_written_in_four_ways(params: object) -> None:
    assert message([0, 1, "ping", params]) == Request(1, "ping", {})


def test_a_bare_map_is_taken_for_a_list_of_one() -> None:
    assert message([0, 1, "query", {"text": "a"}]) == Request(1, "query", {"text": "a"})
    assert message([2, "cancel", {"msgid": 7}]) == Notification("cancel", [{"msgid": 7}])


def test_a_method_may_be_binary() -> None:
    assert message([0, 1, b"ping", []]) == Request(1, "ping", {})


@pytest.mark.parametrize("msgid", [0, 2**32 - 1])
def test_a_msgid_is_any_32_bit_number(msgid: int) -> None:
    assert request([0, msgid, "ping", []]).msgid == msgid


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (123, "found 123, expected"),
        (None, "found nil, expected"),
        ("ping", "found text, expected"),
        ({0: 1}, "found a map, expected"),
        ([], r"found \[\], expected"),
        ([0], "found a list of 1 that begins with 0"),
        ([0, 1, "ping"], "found a list of 3 that begins with 0"),
        ([0, 1, "ping", [], 5], "found a list of 5 that begins with 0"),
        ([2, "ping", [], 5], "found a list of 4 that begins with 2"),
        ([3, 1, "ping", []], "found a list of 4 that begins with 3"),
        ([-1, 1, "ping", []], "found a list of 4 that begins with -1"),
        ([False, 1, "ping", []], "found a list of 4 that begins with false"),
        ([0.0, 1, "ping", []], "found a list of 4 that begins with 0.0"),
        (["0", 1, "ping", []], "found a list of 4 that begins with text"),
        ([None, 1, "ping", []], "found a list of 4 that begins with nil"),
        ([0, -1, "ping", []], "msgid: found -1, expected 0 to 4294967295"),
        ([0, 2**32, "ping", []], "msgid: found 4294967296"),
        ([0, True, "ping", []], "msgid: found true"),
        ([0, 1.0, "ping", []], "msgid: found 1.0"),
        ([0, "1", "ping", []], "msgid: found text"),
        ([0, None, "ping", []], "msgid: found nil"),
        ([1, -1, None, None], "msgid: found -1"),
        ([2, 7, []], "method: found 7"),
        ([2, "\udcff", []], "method: found text that is not UTF-8"),
        ([2, "event", 7], "params: found 7"),
        ([2, "event", [[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]], "nested deeper than 24"),
    ],
)
def test_what_cannot_be_answered_breaks_the_connection(value: object, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        message(value)


@pytest.mark.parametrize(
    ("method", "params", "problem"),
    [
        (7, [], "method: found 7, expected the name of a method"),
        (None, [], "method: found nil, expected the name of a method"),
        ([], [], "method: found a list of 0, expected the name of a method"),
        ("", [], "method: found 0 bytes, expected 1 to 64"),
        ("x" * 65, [], "method: found 65 bytes, expected 1 to 64"),
        ("ä" * 33, [], "method: found 66 bytes, expected 1 to 64"),
        ("\udcff", [], "method: found text that is not UTF-8, expected the name of a method"),
        (b"\xff", [], "method: found text that is not UTF-8, expected the name of a method"),
        ("ping", None, "params: found nil, expected a list of one map"),
        ("ping", 7, "params: found 7, expected a list of one map"),
        ("ping", "text", "params: found text, expected a list of one map"),
        ("ping", ["text"], "params: found text, expected one map of named arguments"),
        ("ping", [None], "params: found nil, expected one map of named arguments"),
        ("ping", [[1]], "params: found a list of 1, expected one map of named arguments"),
        ("ping", [{}, {}], "params: found 2 values, expected one map of named arguments"),
    ],
)
def test_a_request_with_a_msgid_is_answered_whatever_else_it_is(
    method: object, params: object, problem: str
) -> None:
    got = request([0, 9, method, params])
    assert (got.msgid, got.method, got.params) == (9, "", {})
    assert type(got.problem) is InvalidRequest
    assert str(got.problem) == problem


def test_a_request_nested_too_deep_is_answered() -> None:
    deep: object = "here"
    for _ in range(21):
        deep = [deep]
    assert request([0, 9, "record", [{"content": deep}]]).problem is None
    problem = request([0, 9, "record", [{"content": [deep]}]]).problem
    assert type(problem) is InvalidParams
    assert str(problem) == "params: nested deeper than 24 levels"


names = st.sampled_from(["ping", "query", "x" * 64, "x" * 65, "", "ä" * 32, "ä" * 33, "\udcff"])
nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)
params = st.lists(st.dictionaries(st.text(max_size=3), nested, max_size=4), max_size=2) | nested


@given(st.integers(-2, 2**32 + 1), names, params)
def test_a_request_is_the_same_however_it_is_spelled(
    msgid: int, method: str, arguments: object
) -> None:
    """Nearly all are seen through at a glance; one whose method is binary never is."""
    try:
        binary = request([0, msgid, method.encode("utf-8", "surrogateescape"), arguments])
    except InvalidRequest as problem:
        with pytest.raises(InvalidRequest, match=re.escape(str(problem))):
            message([0, msgid, method, arguments])
        return
    got = request([0, msgid, method, arguments])
    assert (got.msgid, got.method, got.params) == (binary.msgid, binary.method, binary.params)
    assert (type(got.problem), str(got.problem)) == (type(binary.problem), str(binary.problem))


@given(st.integers(-2, 2**32 + 1), nested, nested)
def test_a_response_is_the_same_whether_it_is_empty_or_not(
    msgid: int, error: object, result: object
) -> None:
    if 0 <= msgid < 2**32:
        assert message([1, msgid, error, result]) == Response(msgid, error, result)
    else:
        with pytest.raises(InvalidRequest, match="msgid: found"):
            message([1, msgid, error, result])
