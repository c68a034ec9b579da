"""Bytes to messages and back, with two connections and no socket."""

from __future__ import annotations

import contextlib
import gc
import itertools
import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milkd.errors import (
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    NotFound,
    ParseError,
    TooLarge,
)
from milkd.rpc.messages import Message, Notification, Request, Response
from milkd.rpc.protocol import MAX_MESSAGE, MAX_RESPONSE, READ_SIZE, Connection, error_from_wire
from milkd.rpc.schema import METHODS, validate

if TYPE_CHECKING:
    from collections.abc import Iterable

PING = b"\x94\x00\x07\xa4ping\x90"
STREAM = (
    Connection.request(1, "query", {"text": "tabs – spaces", "max_results": 3})
    + Connection.response(1, {"percepts": [{"w": 0.75}], "total": 1})
    + Connection.notification("event", {"lost": 3})
    + Connection.error(2, NotFound("no such percept"))
    + Connection.request(3, "ping", {})
)
MESSAGES = [
    Request(1, "query", {"text": "tabs – spaces", "max_results": 3}),
    Response(1, None, {"percepts": [{"w": 0.75}], "total": 1}),
    Notification("event", [{"lost": 3}]),
    Response(2, [1, "not_found: no such percept"], None),
    Request(3, "ping", {}),
]


def arrays(depth: int) -> bytes:
    """So many arrays within each other."""
    return b"\x91" * (depth - 1) + b"\x90"


def record(content: bytes) -> bytes:
    """A request whose content is already MessagePack."""
    return b"\x94\x00\x07\xa6record\x91\x81\xa7content" + content


def receive(pieces: Iterable[bytes]) -> tuple[list[Message], type[Exception] | None]:
    """What a connection makes of a stream in the end: its messages, and the fault after them."""
    connection = Connection()
    messages: list[Message] = []
    try:
        for piece in (*pieces, b""):
            messages += connection.receive_data(piece)
    except (ParseError, InvalidRequest) as error:
        return messages, type(error)
    return messages, None


def test_every_split_of_a_stream_gives_the_same_messages() -> None:
    for cut in range(len(STREAM) + 1):
        assert receive([STREAM[:cut], STREAM[cut:]]) == (MESSAGES, None)


def test_every_split_in_three_gives_the_same_messages() -> None:
    for one, two in itertools.combinations(range(0, len(STREAM), 5), 2):
        assert receive([STREAM[:one], STREAM[one:two], STREAM[two:]]) == (MESSAGES, None)


def test_a_stream_byte_by_byte_gives_the_same_messages() -> None:
    assert receive(STREAM[at : at + 1] for at in range(len(STREAM))) == (MESSAGES, None)


def test_messages_before_a_fault_are_not_lost_wherever_the_stream_is_split() -> None:
    stream = PING + b"\xc1" + PING
    for cut in range(len(stream) + 1):
        assert receive([stream[:cut], stream[cut:]]) == ([Request(7, "ping", {})], ParseError)


def test_a_fault_behind_messages_shows_at_once_and_raises_next() -> None:
    connection = Connection()
    assert connection.receive_data(PING + b"\xc1") == [Request(7, "ping", {})]
    assert connection.broken
    with pytest.raises(ParseError):
        connection.receive_data(b"")


def test_a_broken_connection_stays_broken() -> None:
    connection = Connection()
    for _ in range(3):
        with pytest.raises(ParseError, match="not MessagePack"):
            connection.receive_data(b"\xc1")
    with pytest.raises(ParseError):
        connection.receive_data(PING)


def test_a_half_received_message_is_known() -> None:
    connection = Connection()
    assert not connection.has_partial()
    connection.receive_data(PING[:1])
    assert connection.has_partial()
    connection.receive_data(PING[1:])
    assert not connection.has_partial()
    connection.receive_data(PING + PING[:3])
    assert connection.has_partial()


def check(request: Request) -> dict[str, object]:
    """The arguments of a request, as the daemon would read them."""
    if request.problem is not None:
        raise request.problem
    return validate(request.method, request.params)


BAD_STREAMS = {
    "a reserved byte": b"\xc1",
    "JSON": b'{"method": "ping"}',
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "nil": b"\xc0",
    "a float": b"\xcb" + bytes(8),
    "text": b"\xa4ping",
    "a map": b"\x81\x00\x07",
    "an empty list": b"\x90",
    "3 elements": b"\x93\x00\x07\xa4ping",
    "5 elements": b"\x95\x00\x07\xa4ping\x90\xc0",
    "type false": b"\x94\xc2\x07\xa4ping\x90",
    "type 0.0": b"\x94\xcb" + bytes(8) + b"\x07\xa4ping\x90",
    "type 3": b"\x94\x03\x07\xa4ping\x90",
    "type -1": b"\x94\xff\x07\xa4ping\x90",
    "type in binary": b"\x94\xc4\x01\x00\x07\xa4ping\x90",
    "msgid -1": b"\x94\x00\xff\xa4ping\x90",
    "msgid 2^32": b"\x94\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xa4ping\x90",
    "msgid true": b"\x94\x00\xc3\xa4ping\x90",
    "msgid nil": b"\x94\x00\xc0\xa4ping\x90",
    "a list as a key": b"\x94\x00\x07\xa4ping\x91\x81\x90\xc0",
    "a map as a key": b"\x94\x00\x07\xa4ping\x91\x81\x80\xc0",
    "nesting of 1,025": record(arrays(1_025)),
    "nesting of 100,000": record(arrays(100_000)),
    "a list of 2^31-1": b"\xdd\x7f\xff\xff\xff",
    "a list of 100 Mi": b"\xdd\x06\x40\x00\x00",
    "64 nested lists of 100 Mi": b"\xdd\x06\x40\x00\x00" * 64,
    "a map of 2^32-1": b"\xdf\xff\xff\xff\xff",
    "a list of 65,537": b"\xdd\x00\x01\x00\x01",
    "2 MiB of text": record(b"\xdb\x00\x20\x00\x00" + b"a" * (2 << 20)),
    "2 MiB of bin": record(b"\xc6\x00\x20\x00\x00" + bytes(2 << 20)),
    "2 MiB of nil in small lists": record(b"\xdc\xff\xff" + (b"\x9f" + b"\xc0" * 15) * 140_000),
    "a bad timestamp": record(b"\xd7\xff" + b"\xff" * 8),
}


@pytest.mark.parametrize("stream", BAD_STREAMS.values(), ids=BAD_STREAMS)
def test_what_is_no_message_breaks_the_connection_in_the_end(stream: bytes) -> None:
    messages, fault = receive([stream])
    assert messages == []
    assert fault in (ParseError, InvalidRequest)


@pytest.mark.parametrize("stream", BAD_STREAMS.values(), ids=BAD_STREAMS)
def test_pieces_make_no_difference_to_a_fault(stream: bytes) -> None:
    size = max(1, len(stream) // 50)
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert receive(pieces) == receive([stream])


BAD_REQUESTS = {
    "method 7": (b"\x94\x00\x07\x07\x90", InvalidRequest),
    "an empty method": (b"\x94\x00\x07\xa0\x90", InvalidRequest),
    "a method of 65 bytes": (b"\x94\x00\x07\xd9\x41" + b"x" * 65 + b"\x90", InvalidRequest),
    "a method that is not UTF-8": (b"\x94\x00\x07\xa2a\xff\x90", InvalidRequest),
    "params nil": (b"\x94\x00\x07\xa4ping\xc0", InvalidRequest),
    "params text": (b"\x94\x00\x07\xa4ping\xa1a", InvalidRequest),
    "two params": (b"\x94\x00\x07\xa4ping\x92\x80\x80", InvalidRequest),
    "an unknown method": (b"\x94\x00\x07\xa4pong\x90", MethodNotFound),
    "content in bad UTF-8": (record(b"\xa2a\xff"), InvalidParams),
    "content with a surrogate": (record(b"\xa3\xed\xa0\x80"), InvalidParams),
    "content of a timestamp": (record(b"\xd6\xff" + bytes(4)), InvalidParams),
    "content of an extension": (record(b"\xd4\x05\x00"), InvalidParams),
    "a number as a name": (b"\x94\x00\x07\xa4ping\x91\x81\x05\xc0", InvalidParams),
    "nesting of 25": (record(arrays(22)), InvalidParams),
    "nesting of 33": (record(arrays(30)), InvalidParams),
    "nesting of 200": (record(arrays(197)), InvalidParams),
}


@pytest.mark.parametrize(("stream", "expected"), BAD_REQUESTS.values(), ids=BAD_REQUESTS)
def test_a_bad_request_is_answered_and_the_connection_goes_on(
    stream: bytes, expected: type[Exception]
) -> None:
    connection = Connection()
    bad, good = connection.receive_data(stream + PING)
    assert isinstance(bad, Request)
    assert bad.msgid == 7
    with pytest.raises(expected):
        check(bad)
    assert good == Request(7, "ping", {})


def test_a_request_of_exactly_the_limit_is_read_and_one_byte_more_is_not() -> None:
    head = len(record(b"\xc6\x00\x00\x00\x00"))
    for excess, fault in ((0, None), (1, ParseError)):
        size = MAX_MESSAGE - head + excess
        stream = record(b"\xc6" + size.to_bytes(4) + bytes(size))
        assert len(stream) == MAX_MESSAGE + excess
        assert receive([stream])[1] is fault
        assert receive([PING + stream])[1] is fault


def test_many_small_messages_at_once_are_not_one_too_large() -> None:
    messages, fault = receive([PING * 200_000])
    assert (len(messages), fault) == (200_000, None)


def test_headers_that_promise_gigabytes_reserve_no_memory() -> None:
    tracemalloc.start()
    try:
        assert receive([b"\xdd\x7f\xff\xff\xff"]) == ([], ParseError)
        assert receive([b"\xdf\xff\xff\xff\xff"]) == ([], ParseError)
        assert receive([b"\xdd\x06\x40\x00\x00" * 64]) == ([], ParseError)
        assert receive([record(b"\xdb\xff\xff\xff\xff"), b"a" * 1000])[0] == []
        assert receive([record(b"\xdc\xff\xff" * 20)]) == ([], None)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@settings(max_examples=500)
@given(st.lists(st.binary(max_size=200)))
def test_arbitrary_bytes_raise_nothing_but_the_two_faults(pieces: list[bytes]) -> None:
    receive(pieces)


@settings(max_examples=500)
@given(st.data())
def test_a_damaged_stream_raises_nothing_but_the_two_faults(data: st.DataObject) -> None:
    stream = bytearray(STREAM)
    for _ in range(data.draw(st.integers(1, 5))):
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    whole = receive([bytes(stream)])
    cut = data.draw(st.integers(0, len(stream)))
    split = receive([bytes(stream[:cut]), bytes(stream[cut:])])
    assert repr(split) == repr(whole)  # as text, since NaN is not equal to itself


def test_two_connections_back_to_back_understand_each_other() -> None:
    client, daemon = Connection(max_message=MAX_RESPONSE), Connection()
    arguments = {"content": "tabs – not spaces", "core": True, "roles": {"when": "now"}}
    (call,) = daemon.receive_data(client.request(5, "record", arguments))
    assert isinstance(call, Request)
    assert validate(call.method, call.params) == arguments
    (answer,) = client.receive_data(daemon.response(call.msgid, {"id": "a"}))
    assert answer == Response(5, None, {"id": "a"})


def test_a_refusal_arrives_as_what_it_was() -> None:
    client, daemon = Connection(max_message=MAX_RESPONSE), Connection()
    (call,) = daemon.receive_data(client.request(6, "query", {"txt": "tabs"}))
    assert isinstance(call, Request)
    with pytest.raises(InvalidParams) as refusal:
        validate(call.method, call.params)
    (answer,) = client.receive_data(daemon.error(call.msgid, refusal.value))
    assert isinstance(answer, Response)
    back = error_from_wire(answer.error)
    assert isinstance(back, InvalidParams)
    assert (back.argument, str(back)) == ("txt", str(refusal.value))


@pytest.mark.parametrize("name", METHODS)
def test_the_example_of_every_method_crosses_the_wire(name: str) -> None:
    client, daemon = Connection(max_message=MAX_RESPONSE), Connection()
    example = METHODS[name].example
    (call,) = daemon.receive_data(client.request(5, name, example.arguments))
    assert isinstance(call, Request)
    assert validate(call.method, call.params) == example.arguments
    (answer,) = client.receive_data(daemon.response(5, example.result))
    assert answer == Response(5, None, example.result)


def test_an_answer_too_large_becomes_an_error() -> None:
    client = Connection(max_message=MAX_RESPONSE)
    (answer,) = client.receive_data(Connection.response(5, {"text": "a" * MAX_RESPONSE}))
    assert isinstance(answer, Response)
    assert type(error_from_wire(answer.error)) is TooLarge
    (answer,) = client.receive_data(Connection.response(5, {"ids": [0] * 70_000}))
    assert isinstance(answer, Response)
    assert type(error_from_wire(answer.error)) is TooLarge


def test_an_answer_just_small_enough_is_read() -> None:
    client = Connection(max_message=MAX_RESPONSE)
    result = "a" * (MAX_RESPONSE - 9)
    data = Connection.response(5, result)
    assert len(data) == MAX_RESPONSE
    assert client.receive_data(data) == [Response(5, None, result)]


def test_an_answer_that_cannot_be_written_becomes_an_error() -> None:
    text = msgpack.unpackb(Connection.response(5, object(), as_string=True))
    assert text == [1, 5, "internal: the answer has no MessagePack form", None]


def test_an_answer_with_odd_values_is_written_all_the_same() -> None:
    frame = msgpack.unpackb(Connection.response(5, {"text": "\udcff", "n": 2**64, "b": b"\xff"}))
    assert frame == [1, 5, None, {"text": "\ufffd", "n": float(2**64), "b": "\ufffd"}]


def test_errors_come_as_a_string_for_those_who_ask() -> None:
    error = NotFound("none")
    assert msgpack.unpackb(Connection.error(5, error)) == [1, 5, [1, "not_found: none"], None]
    text = msgpack.unpackb(Connection.error(5, error, as_string=True))
    assert text == [1, 5, "not_found: none", None]


@pytest.mark.parametrize("value", ["a\udcffb", 2**64, ["\ud800"]])
def test_a_client_is_told_which_argument_cannot_be_sent(value: object) -> None:
    with pytest.raises(InvalidParams) as refusal:
        Connection.request(1, "record", {"session": "s1", "content": value})
    assert refusal.value.argument == "content"


def test_a_client_is_told_that_its_request_is_too_large() -> None:
    with pytest.raises(TooLarge, match="at most 1,048,576"):
        Connection.request(1, "record", {"content": "a" * MAX_MESSAGE})


def test_the_peers_bytes_do_not_come_back_in_an_error() -> None:
    (call,) = Connection().receive_data(b"\x94\x00\x07\xa4p\xffng\x90")
    assert isinstance(call, Request)
    assert str(call.problem).isascii()
    with pytest.raises(MethodNotFound) as unknown:
        validate("p\udcffng\n", {})
    assert str(unknown.value).isascii()
    assert str(unknown.value).isprintable()


def test_the_clients_side_imports_nothing_slow() -> None:
    slow = [
        "trio",
        "typing",
        "dataclasses",
        "enum",
        "re",
        "inspect",
        "logging",
        "json",
        "pathlib",
        "argparse",
        "difflib",
    ]
    code = f"import sys, milkd.rpc.protocol; print([m for m in {slow} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"


def test_a_read_is_no_larger_than_what_a_turn_may_take() -> None:
    assert READ_SIZE < MAX_MESSAGE < MAX_RESPONSE


@pytest.mark.parametrize("data", [b"\xc1", b"\x90", PING + b"\xc1", PING + b"\xc0"])
def test_a_broken_connection_is_no_garbage_that_has_to_be_found(data: bytes) -> None:
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            connection = Connection()
            for piece in (data, b"", b""):
                with contextlib.suppress(ParseError, InvalidRequest):
                    connection.receive_data(piece)
            assert connection.broken
            del connection
        assert gc.collect() == 0
    finally:
        gc.enable()
