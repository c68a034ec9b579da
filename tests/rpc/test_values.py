"""What may stand in a message."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd import errors
from milkd.errors import InvalidParams, NotFound, TooLarge, WireError
from milkd.rpc.values import (
    MAX_DEPTH,
    MAX_ITEMS,
    decoded,
    deeper_than,
    error_from_wire,
    error_to_wire,
    found,
    named,
    plain,
)

CODED = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, WireError) and "code" in vars(value)
]


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def make(cls: type[WireError]) -> WireError:
    return InvalidParams("content", "too long") if cls is InvalidParams else cls("so it is")


def test_text_and_binary_text_are_text() -> None:
    assert decoded("ä") == "ä"
    assert decoded("ä".encode()) == "ä"


@pytest.mark.parametrize("value", ["\udcff", b"\xff", None, 1, [], {}])
def test_anything_else_is_no_text(value: object) -> None:
    assert decoded(value) is None


@pytest.mark.parametrize("depth", [1, 2, 23, 24])
def test_nesting_up_to_the_limit_is_not_too_deep(depth: int) -> None:
    assert not deeper_than(24, nested(depth))
    assert not deeper_than(24, {"a": nested(depth - 1)} if depth > 1 else {})


@pytest.mark.parametrize("depth", [25, 33, 1_025, 100_000])
def test_nesting_beyond_the_limit_is_found_without_recursion(depth: int) -> None:
    deep = nested(depth)
    assert deeper_than(24, deep)
    while deep:  # taken apart by hand: freeing it would recurse
        deep = deep.pop()  # type: ignore[assignment]


def test_a_value_is_described_without_its_text() -> None:
    assert found("secret") == "text"
    assert found(b"secret") == "binary data"
    assert found("\udcff") == "text that is not UTF-8"
    assert found({"secret": 1}) == "a map"
    assert found([1, 2]) == "a list of 2"
    assert found(None) == "nil"
    assert found(False) == "false"
    assert found(float("nan")) == "nan"
    assert found(10**5000) == "a number beyond 64 bits"
    assert found(object()) == "an extension type"


def test_a_name_is_cut_and_escaped() -> None:
    assert named("ä\udcff\n" + "x" * 100) == "'\\xe4\\udcff\\n" + "x" * 61 + "'"


def test_odd_values_get_a_form_that_every_client_reads() -> None:
    odd = {
        "text": "a\udcffb",
        "bin": b"\xffb",
        "huge": 2**63,
        "vast": 10**400,
        "nan": float("nan"),
        7: (1, MappingProxyType({"x": None})),
    }
    assert plain(odd) == {
        "text": "a\ufffdb",
        "bin": "\ufffdb",
        "huge": float(2**63),
        "vast": None,
        "nan": None,
        "7": [1, {"x": None}],
    }


def test_ordinary_values_stay_as_they_are() -> None:
    value = {"a": [1, -(2**63), 2**63 - 1, 0.5, True, None, "ä"], "b": {}}
    assert plain(value) == value


def test_what_nests_too_deep_is_cut() -> None:
    assert not deeper_than(MAX_DEPTH - 1, plain(nested(100)))
    assert plain(nested(MAX_DEPTH - 1)) == nested(MAX_DEPTH - 1)


def test_a_list_that_clients_would_refuse_is_not_sent() -> None:
    with pytest.raises(TooLarge, match="65,537 entries"):
        plain([0] * (MAX_ITEMS + 1))


def test_an_object_of_the_program_has_no_place_in_a_message() -> None:
    with pytest.raises(TypeError, match="object has no place"):
        plain({"a": object()})


any_text = st.text(st.characters(exclude_categories=()))  # surrogates too
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    max_leaves=20,
)


@given(json_values)
def test_what_is_sent_is_always_json(value: object) -> None:
    json.dumps(plain(value), allow_nan=False).encode()


@pytest.mark.parametrize("cls", CODED)
@pytest.mark.parametrize("as_string", [True, False])
def test_every_error_survives_the_wire(cls: type[WireError], *, as_string: bool) -> None:
    error = make(cls)
    back = error_from_wire(error_to_wire(error, as_string=as_string))
    assert type(back) is cls
    assert str(back) == str(error)


def test_an_error_is_kind_and_text() -> None:
    assert error_to_wire(NotFound("no percept")) == [1, "not_found: no percept"]
    assert error_to_wire(NotFound("no \udcff")) == [1, "not_found: no \ufffd"]
    assert error_to_wire(NotFound("none"), as_string=True) == "not_found: none"


def test_a_refused_argument_keeps_its_name() -> None:
    back = error_from_wire([1, "invalid_params: roles.when: found 5, expected text"])
    assert isinstance(back, InvalidParams)
    assert back.argument == "roles.when"


@pytest.mark.parametrize("value", [None, 5, [], [1, 2], [1, "a", 3], {"a": 1}])
def test_an_error_of_unknown_form_is_internal(value: object) -> None:
    assert type(error_from_wire(value)) is errors.Internal


def test_an_error_of_unknown_code_keeps_its_text() -> None:
    back = error_from_wire([0, "on_fire: mind the smoke"])
    assert type(back) is errors.Internal
    assert str(back) == "on_fire: mind the smoke"
