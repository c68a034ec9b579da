"""What requests of one connection may expect of each other, in a daemon with a real disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torture.household import Household, until
from torture.raw import Raw, code_of, notification, request
from torture.watching import configure

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMES = 20
LAST_BREATH = 30
QUEUE = 64  # events that may wait for a subscriber

pytestmark = pytest.mark.lasting


@pytest.fixture(scope="module")
def household() -> Iterator[Household]:
    """A daemon that keeps few events for whoever does not read."""
    with Household() as made:
        configure(made, events=QUEUE)
        made.start()
        yield made
        assert made.end() == 0


def answers(household: Household, data: bytes, count: int) -> list[Any]:
    """The next messages after some bytes."""
    with Raw(household.socket) as raw:
        raw.send(data)
        return [raw.next() for _ in range(count)]


def record(msgid: int, content: str, session: str) -> bytes:
    return request(msgid, "record", {"content": content, "session": session})


def contents(household: Household, session: str) -> list[str]:
    with Raw(household.socket) as raw:
        listed = raw.call("list", session=session, scope="session", limit=500)
    return sorted(percept["content"] for percept in listed["percepts"])


def test_a_read_is_taken_back_and_a_write_is_not(household: Household) -> None:
    """What is asked behind a write waits with it for the disk, and may be taken back meanwhile."""
    codes = set()
    for number in range(TIMES):
        data = record(1, f"q{number}", "taken") + request(2, "list", {"session": "taken"})
        data += notification("cancel", 2) + notification("cancel", {"msgid": 1})
        written, read, last = answers(household, data + request(3, "ping"), 3)
        assert written[1:3] == [1, None]
        assert read[1] == 2
        codes.add(read[2] and code_of(read[2]))
        assert last == [1, 3, None, {}]
    assert codes <= {None, "cancelled"}
    assert "cancelled" in codes
    assert len(contents(household, "taken")) == TIMES


def test_a_cancel_that_comes_too_late_changes_nothing(household: Household) -> None:
    with Raw(household.socket) as raw:
        raw.send(request(1, "ping"))
        assert raw.next() == [1, 1, None, {}]
        raw.send(notification("cancel", 1) + request(1, "ping"))
        assert raw.next() == [1, 1, None, {}]


def test_a_msgid_is_not_taken_twice_while_it_is_in_flight(household: Household) -> None:
    data = record(7, "the first of them", "twice") + record(7, "the second of them", "twice")
    first, second, last = answers(household, data + request(8, "ping"), 3)
    assert first[1:3] == [7, None]
    assert second[1] == 7
    assert code_of(second[2]) == "invalid_request"
    assert last == [1, 8, None, {}]
    assert contents(household, "twice") == ["the first of them"]


def test_answers_come_in_the_order_of_the_requests(household: Household) -> None:
    """Quick ones behind slow ones, refusals among them."""
    kinds = [
        lambda msgid: record(msgid, f"said as q{msgid}", "order"),
        lambda msgid: request(msgid, "ping"),
        lambda msgid: request(msgid, "consolidate", {"session": "order"}),
        lambda msgid: request(msgid, "nonsense"),
        lambda msgid: request(msgid, "snapshot"),
        lambda msgid: request(msgid, "query", {"text": "said", "session": "order"}),
    ]
    data = b"".join(kinds[msgid % len(kinds)](msgid) for msgid in range(120))
    assert [answer[1] for answer in answers(household, data, 120)] == list(range(120))


def test_what_a_client_sees_includes_what_it_wrote(household: Household) -> None:
    data = b""
    for number in range(TIMES):
        data += record(2 * number, f"w{number}", "own")
        data += request(2 * number + 1, "list", {"session": "own", "scope": "session"})
    totals = [answer[3]["total"] for answer in answers(household, data, 2 * TIMES)[1::2]]
    assert totals == list(range(1, TIMES + 1))


def test_who_stops_sending_has_its_writes_finished_and_its_answers(household: Household) -> None:
    said = [f"q{number}" for number in range(LAST_BREATH)]
    with Raw(household.socket) as raw:
        raw.send(b"".join(record(number, words, "eof") for number, words in enumerate(said)))
        raw.finish()
        assert [answer[1:3] for answer in raw.rest()] == [[n, None] for n in range(LAST_BREATH)]
    assert contents(household, "eof") == sorted(said)


def test_who_is_gone_has_its_writes_finished_as_far_as_they_were_read(
    household: Household,
) -> None:
    said = [f"q{number:02}" for number in range(LAST_BREATH)]
    with Raw(household.socket) as raw:
        raw.send(b"".join(record(number, words, "gone") for number, words in enumerate(said)))
        raw.next()
    until(lambda: len(connections(household)) == 1)
    found = contents(household, "gone")
    assert found
    assert found == said[: len(found)]


def connections(household: Household) -> range:
    """As many as there are."""
    with Raw(household.socket) as raw:
        return range(raw.call("stats")["connections"])


def test_events_tell_what_is_on_disk_and_to_whom_it_matters(household: Household) -> None:
    with Raw(household.socket) as raw, Raw(household.socket) as other:
        raw.call("subscribe", topics=["percepts"])
        other.call("session_open", session="heard")
        told = other.call("record", content="a fact to be told of", session="heard")
        (event,) = raw.next()[2]
        assert event == {
            "topic": "percepts",
            "event": "inserted",
            "id": told["id"],
            "session": "heard",
        }
        raw.call("unsubscribe", topics=["percepts"])
        other.call("record", content="a fact that nobody asks about", session="heard")
        raw.ping()
        assert raw.messages == []


def test_a_subscriber_that_does_not_keep_up_is_told_how_much_it_lost(household: Household) -> None:
    """Its socket holds some hundreds of events, and the daemon some; of others the newest stay."""
    count = 3_000
    with Raw(household.socket) as raw, Raw(household.socket) as other:
        raw.call("subscribe", topics=["percepts"])
        for start in range(0, count, 500):
            facts = (record(n, "what is said again", "lost") for n in range(start, start + 500))
            other.send(b"".join(facts))
            for number in range(start, start + 500):
                assert other.response(number)[2] is None
        heard = [raw.next()[2][0]]
        while sum(event.get("lost", 1) for event in heard) < count:
            heard.append(raw.next()[2][0])
        raw.ping()
        assert raw.messages == []
    (gap,) = [number for number, event in enumerate(heard) if "lost" in event]
    assert heard[gap]["lost"] > 0
    assert len(heard) - 1 - gap <= QUEUE
