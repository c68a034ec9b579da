"""Any value in place of any argument: what passes the gate is fit for those behind it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgpack
from hypothesis import given, settings

from milkd.errors import InvalidRequest, ParseError, RequestError
from milkd.rpc.messages import Request
from milkd.rpc.protocol import Connection
from milkd.rpc.schema import METHODS, validate
from rpc.calls import Call, calls, mangled

if TYPE_CHECKING:
    from milkd.rpc.messages import Message

SESSION = [Connection.request(1, name, METHODS[name].example.arguments) for name in METHODS]
LONGEST = 1_000  # characters of an error, however much the client sent


def asked(call: Call) -> Request:
    """The request as the daemon reads it."""
    (request,) = Connection().receive_data(call.encoded(7))
    assert isinstance(request, Request)
    return request


def arguments(request: Request) -> dict[str, Any]:
    """What the gate makes of it."""
    if request.problem is not None:
        raise request.problem
    return validate(request.method, request.params)


@settings(max_examples=500)
@given(calls())
def test_what_passes_is_plain_and_what_does_not_is_told_why(call: Call) -> None:
    try:
        passed = arguments(asked(call))
    except RequestError as error:
        check_refusal(error)
    else:
        check_passed(call, passed)


def check_passed(call: Call, passed: dict[str, Any]) -> None:
    """Known by name, of types that JSON has, without text that has no UTF-8 form; and for good."""
    assert passed.keys() <= METHODS[call.method].by_name.keys()
    assert validate(call.method, passed) == passed
    json.dumps(passed, allow_nan=False, ensure_ascii=False).encode()


def check_refusal(error: RequestError) -> None:
    """Short, and fit to be shown anywhere."""
    text = str(error)
    assert text.isascii()
    assert text.isprintable()
    assert len(text) < LONGEST
    _, _, (_, told), _ = msgpack.unpackb(Connection.error(7, error))
    assert told == f"{error.code}: {text}"


@settings(max_examples=200)
@given(mangled(SESSION))
def test_what_comes_before_damage_is_read_and_what_comes_after_is_a_message_or_a_fault(
    damage: tuple[bytes, int],
) -> None:
    data, sound = damage
    messages = received(data)
    methods = [message.method for message in messages[:sound] if isinstance(message, Request)]
    assert methods == list(METHODS)[:sound]
    for message in messages:
        if isinstance(message, Request):
            try:
                arguments(message)
            except RequestError as error:
                check_refusal(error)


def received(data: bytes) -> list[Message]:
    """The messages that can be read."""
    connection = Connection()
    messages: list[Message] = []
    try:
        for piece in (data, b""):
            messages += connection.receive_data(piece)
    except (ParseError, InvalidRequest):
        assert connection.broken
    return messages
