"""The method table lets through what it says, and nothing else."""

from __future__ import annotations

import datetime
import math

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milkd.client import CHANGING
from milkd.engine.percept import Consumer, Producer, Relation
from milkd.errors import InvalidParams, MethodNotFound
from milkd.rpc.arguments import Argument, Choice, Flag, Number, Session, Text, Whole
from milkd.rpc.compounds import Choices, Record, Records, Texts
from milkd.rpc.facts import CONSUMERS, PRODUCERS, RELATIONS
from milkd.rpc.schema import METHODS, cancelled, validate

ARGUMENTS = [(name, argument) for name in METHODS for argument in METHODS[name].arguments]
STRANGE: dict[str, object] = {
    "nan": float("nan"),
    "inf": float("inf"),
    "true": True,
    "a number": 7,
    "a negative number": -7,
    "a huge number": 2**64 - 1,
    "a float": 0.25,
    "text": "text",
    "empty text": "",
    "binary data": b"\xff",
    "a surrogate": "\udcff",
    "a list": [1],
    "an empty list": [],
    "a map": {"a": 1},
    "an empty map": {},
    "an extension": msgpack.ExtType(5, b"a"),
    "a timestamp": msgpack.Timestamp(5),
    "a date": datetime.date(2026, 1, 1),
}


def fits(kind: type[Argument], *names: str) -> tuple[type[Argument], frozenset[str]]:
    return kind, frozenset(names)


NOT_STRANGE = dict(
    [
        fits(Text, "text"),
        fits(Choice),
        fits(Session, "text"),
        fits(Number, "a float"),
        fits(Whole, "a number"),
        fits(Flag, "true"),
        fits(Choices),
        fits(Texts, "an empty list", "an empty map"),
        fits(Records, "an empty list"),
        fits(Record, "an empty list", "an empty map", "a map"),
    ]
)


def refusal(method: str, arguments: object) -> InvalidParams:
    with pytest.raises(InvalidParams) as refused:
        validate(method, arguments)
    return refused.value


def sound(method: str) -> dict[str, object]:
    """Arguments that the method takes."""
    return dict(METHODS[method].example.arguments)


def label(value: object) -> str:
    return value.name if isinstance(value, Argument) else str(value)


def each(*kinds: type[Argument]) -> pytest.MarkDecorator:
    """Run a test for every argument, or for every one of these kinds."""
    chosen = [row for row in ARGUMENTS if not kinds or isinstance(row[1], kinds)]
    return pytest.mark.parametrize(("method", "argument"), chosen, ids=label)


@pytest.mark.parametrize("method", METHODS)
def test_the_example_of_every_method_is_accepted(method: str) -> None:
    assert validate(method, [sound(method)]) == sound(method)


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_argument_is_refused_by_name(method: str) -> None:
    error = refusal(method, sound(method) | {"colour": "red"})
    assert error.argument == "colour"
    assert "has no such argument" in str(error)


@each()
def test_a_missing_argument_is_named_if_it_is_required(method: str, argument: Argument) -> None:
    rest = {name: value for name, value in sound(method).items() if name != argument.name}
    for arguments in (rest, rest | {argument.name: None}):
        if argument.required:
            error = refusal(method, arguments)
            assert error.argument == argument.name
            assert str(error).startswith(f"{argument.name}: found nothing, expected ")
        else:
            assert argument.name not in validate(method, arguments)


@each()
@pytest.mark.parametrize("strange", STRANGE)
def test_a_value_of_the_wrong_type_or_range_is_refused_by_name(
    method: str, argument: Argument, strange: str
) -> None:
    accepted = NOT_STRANGE[type(argument)]
    if isinstance(argument, Text) and argument.empty:
        accepted |= {"empty text"}
    arguments = sound(method) | {argument.name: STRANGE[strange]}
    if strange in accepted:
        validate(method, arguments)
    else:
        error = refusal(method, arguments)
        assert error.argument.partition("[")[0].partition(".")[0] == argument.name
        assert "found" in str(error)
        assert "expected" in str(error)


@each(Text, Choice, Session)
def test_text_beyond_the_limit_is_refused_by_name(method: str, argument: Argument) -> None:
    limit = argument.max_bytes if isinstance(argument, Text) else 64
    for text in ("a" * (limit + 1), "ä" * (limit // 2 + 1), b"a" * (limit + 1)):
        error = refusal(method, sound(method) | {argument.name: text})
        assert error.argument == argument.name
        assert len(str(error)) < 300


@each(Text)
def test_text_of_exactly_the_limit_is_accepted(method: str, argument: Text) -> None:
    longest = "a" * argument.max_bytes
    assert validate(method, sound(method) | {argument.name: longest})[argument.name] == longest


@each(Text)
def test_white_space_is_no_text_where_a_fact_is_meant(method: str, argument: Text) -> None:
    arguments = sound(method) | {argument.name: " \n\u2003"}
    if argument.blank:
        assert validate(method, arguments)[argument.name] == " \n\u2003"
    else:
        assert "only white space" in str(refusal(method, arguments))


@each(Text, Choice, Session)
def test_binary_data_in_utf_8_is_text(method: str, argument: Argument) -> None:
    text = argument.choices[0] if isinstance(argument, Choice) else "ab"
    read = validate(method, sound(method) | {argument.name: text.encode()})
    assert read[argument.name] == text


@each(Number, Whole)
def test_numbers_are_taken_from_bound_to_bound(method: str, argument: Number | Whole) -> None:
    for bound in (argument.low, argument.high):
        value = validate(method, sound(method) | {argument.name: bound})[argument.name]
        assert value == bound
        assert type(value) is (float if isinstance(argument, Number) else int)
    for beyond in (argument.low - 1, argument.high + 1, -(2**63), 2**63):
        error = refusal(method, sound(method) | {argument.name: beyond})
        assert error.argument == argument.name


def test_a_whole_number_is_a_number_but_not_the_other_way_round() -> None:
    value = validate("query", {"text": "", "min_confidence": 1})["min_confidence"]
    assert (value, type(value)) == (1.0, float)
    assert refusal("query", {"text": "", "max_results": 1.0}).argument == "max_results"


def test_every_changing_method_takes_an_op_id_and_no_other() -> None:
    taking = {name for name, method in METHODS.items() if "op_id" in method.by_name}
    assert taking == {name for name, method in METHODS.items() if method.changes} == CHANGING


def test_the_words_are_those_of_the_engine() -> None:
    assert set(PRODUCERS) == set(Producer)
    assert set(CONSUMERS) == set(Consumer)
    assert set(RELATIONS) == set(Relation)


@pytest.mark.parametrize("argument", ["content", "subject"])
def test_nul_has_no_place_in_a_fact(argument: str) -> None:
    error = refusal("record", {"content": "a", argument: "a\0b"})
    assert str(error).startswith(f"{argument}: found text with a NUL")


def test_content_stays_byte_for_byte() -> None:
    content = "  a\r\n\tb\u0308 "
    assert validate("record", {"content": content}) == {"content": content}


@pytest.mark.parametrize(
    ("roles", "argument"),
    [
        ({"agent": "a\0"}, "roles.agent"),
        ({"agent": " "}, "roles.agent"),
        ({"agent": "a" * 1025}, "roles.agent"),
        ({"agent": 7}, "roles.agent"),
        ({"agent": {"agent": "a"}}, "roles.agent"),
        ({"who": "a"}, "roles"),
        ({7: "a"}, "roles"),
        ({b"\xff": "a"}, "roles"),
    ],
)
def test_a_bad_role_is_refused_by_name(roles: object, argument: str) -> None:
    assert refusal("record", {"content": "a", "roles": roles}).argument == argument


def test_roles_are_a_map_of_texts() -> None:
    roles = {"agent": "ada", b"when": b"now", "where": None}
    expected = {"agent": "ada", "when": "now"}
    assert validate("record", {"content": "a", "roles": roles})["roles"] == expected


@pytest.mark.parametrize(
    "session", [".a", "a/b", "a\n", "ä", "a" * 65, "Global", "ARCHIVE", "..", ""]
)
def test_a_session_is_named_so_that_it_can_be_a_file(session: str) -> None:
    assert refusal("session_open", {"session": session}).argument == "session"


def test_topics_count_once() -> None:
    topics = ["passes", "percepts", "passes"]
    assert validate("subscribe", {"topics": topics}) == {"topics": ["passes", "percepts"]}


@pytest.mark.parametrize(
    ("topics", "argument"),
    [(["passes", "colours"], "topics[1]"), (["passes", 1], "topics[1]"), ([], "topics")],
)
def test_a_bad_topic_is_refused_by_place(topics: object, argument: str) -> None:
    assert refusal("subscribe", {"topics": topics}).argument == argument


@pytest.mark.parametrize(
    "record",
    [
        7,
        [],
        {7: 1},
        {"a": msgpack.ExtType(5, b"a")},
        {"a": float("nan")},
        {"a": [{"b": "\udcff"}]},
        {"a": [[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]},
    ],
)
def test_a_record_that_is_no_plain_map_is_refused(record: object) -> None:
    assert refusal("import", {"records": [{}, record]}).argument == "records"


def test_records_are_plain_values() -> None:
    records = [{"a": [1, 0.5, True, None, b"b"], b"c": {"d": "e"}}]
    expected = [{"a": [1, 0.5, True, None, "b"], "c": {"d": "e"}}]
    assert validate("import", {"records": records})["records"] == expected


def test_too_many_records_are_refused() -> None:
    assert refusal("import", {"records": [{}] * 10_001}).argument == "records"


@pytest.mark.parametrize("params", [[], [{}], [[]], {}])
def test_no_arguments_are_no_arguments(params: object) -> None:
    assert validate("ping", params) == {}


@pytest.mark.parametrize("params", [None, 7, "text", [1], [{}, {}], [None]])
def test_anything_but_one_map_is_refused(params: object) -> None:
    assert refusal("ping", params).argument == "params"


@pytest.mark.parametrize("key", [7, None, b"\xff", "\udcff", 0.5])
def test_a_name_that_is_no_text_is_refused(key: object) -> None:
    assert refusal("ping", {key: 1}).argument == "params"


def test_a_slip_of_the_pen_is_met_with_a_suggestion() -> None:
    assert str(refusal("record", {"contnt": "a"})).endswith("did you mean content?")
    with pytest.raises(MethodNotFound, match="no method 'recrod', did you mean record"):
        validate("recrod", {})


def test_without_a_suggestion_all_arguments_are_named() -> None:
    assert str(refusal("resolve", {"zzz": 1})).endswith("it takes ref, session")
    assert str(refusal("ping", {"zzz": 1})).endswith("it takes no arguments")


def test_a_strange_name_is_repeated_escaped_and_cut() -> None:
    error = refusal("ping", {"ä\n" + "x" * 1000: 1})
    assert str(error).isascii()
    assert str(error).isprintable()
    assert len(str(error)) < 200


@pytest.mark.parametrize("params", [[7], [{"msgid": 7}], {"msgid": 7}])
def test_a_cancel_names_a_msgid(params: object) -> None:
    assert cancelled(params) == 7


@pytest.mark.parametrize("params", [[], [None], ["7"], [True], {}, None, [{"id": 7}]])
def test_a_cancel_that_names_none_is_no_error(params: object) -> None:
    assert cancelled(params) is None


text = st.text(st.characters(exclude_categories=()), max_size=20)  # surrogates too
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | text
    | st.binary(max_size=20)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=4))
    | st.builds(msgpack.Timestamp, st.integers(0, 2**34 - 1))
)
keys = text | st.integers(-(2**63), 2**64 - 1) | st.binary(max_size=8) | st.booleans() | st.none()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=15,
)


def is_plain(value: object) -> bool:
    """Whether a value is what milkd's own code may expect: sound text, finite numbers."""
    if type(value) is dict:
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    if type(value) is str:
        return value.encode("utf-8", "replace").decode() == value
    return value is None or (isinstance(value, (bool, int, float)) and math.isfinite(value))


def attempt(method: str, params: object) -> None:
    problem, arguments = "", dict[str, object]()
    try:
        arguments = validate(method, params)
    except InvalidParams as error:
        problem = str(error)
    assert problem.isprintable()
    assert is_plain(arguments)
    assert arguments.keys() <= METHODS[method].by_name.keys()


@settings(max_examples=50, deadline=None)
@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_no_arguments_at_all_raise_anything_but_a_refusal(method: str, data: st.DataObject) -> None:
    names = st.sampled_from([*METHODS[method].by_name, "colour"])
    attempt(method, data.draw(values | st.dictionaries(names, values, max_size=6)))


@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_one_odd_argument_among_sound_ones_raises_nothing_but_a_refusal(
    method: str, data: st.DataObject
) -> None:
    names = [*METHODS[method].by_name, "colour"]
    attempt(method, [sound(method) | {data.draw(st.sampled_from(names)): data.draw(values)}])


@given(text.filter(lambda name: name not in METHODS))
def test_any_other_name_is_not_found(name: str) -> None:
    with pytest.raises(MethodNotFound):
        validate(name, {})
