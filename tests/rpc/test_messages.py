"""Messages are values."""

from __future__ import annotations

from milkd.rpc.messages import Notification, Request, Response


def test_messages_are_equal_when_kind_and_fields_are() -> None:
    assert Request(1, "ping", {}) == Request(1, "ping", {})
    assert Request(1, "ping", {}) != Request(2, "ping", {})
    assert Response(1, None, {}) == Response(1, None, {})
    assert Notification("event", []) != Response(1, None, [])


def test_a_message_shows_its_fields() -> None:
    assert repr(Notification("event", [1])) == "Notification(method='event', params=[1])"
    assert "problem=None" in repr(Request(1, "ping", {}))
