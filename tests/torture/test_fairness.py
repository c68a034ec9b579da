"""T15: however much one client asks at once, another waits for next to nothing."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from torture.household import Household
from torture.raw import Raw, request
from torture.size import size
from torture.watching import body, bystander

if TYPE_CHECKING:
    from collections.abc import Iterator

P99 = size(0.15, 0.05)  # seconds that a ping may take; a CI machine is busy
AT_ONCE = 10_000
FACTS = 300
GROWTH = 48 << 20  # bytes
CLIENTS, IN_FLIGHT = 8, 16
TURNS = size(20, 200)

pytestmark = [pytest.mark.lasting, pytest.mark.timed]


@pytest.fixture(scope="module")
def household() -> Iterator[Household]:
    """A daemon that knows a few things."""
    with Household() as made:
        made.start()
        with Raw(made.socket) as raw:
            raw.send(b"".join(request(n, "record", fact(n, "facts")) for n in range(FACTS)))
            assert all(raw.response(number)[2] is None for number in range(FACTS))
        yield made
        assert made.end() == 0


def fact(number: int, session: str) -> dict[str, object]:
    """One that no other restates."""
    return {"content": f"q{number} w{number % 400} v{number % 700}", "session": session}


def question(number: int) -> dict[str, object]:
    return {"text": f"w{number % 400} and v{number % 700}", "session": "facts"}


def ask_all(raw: Raw, requests: list[bytes]) -> None:
    """Ask all at once, and see that all is answered, in order."""
    sender = threading.Thread(target=raw.send, args=[b"".join(requests)])
    sender.start()
    answered = 0
    while answered < len(requests):
        _, msgid, error, _ = raw.next()
        assert (msgid, error) == (answered, None)
        answered += 1
    sender.join()


def check_fairness(household: Household, requests: list[bytes]) -> None:
    with bystander(household) as waits, Raw(household.socket) as raw:
        ask_all(raw, requests)
    print(f"\n{waits}")
    assert waits.p99() < P99, str(waits)


def test_one_asks_ten_thousand_questions(household: Household) -> None:
    numbers = range(AT_ONCE)
    check_fairness(household, [request(n, "query", question(n)) for n in numbers])


def test_one_states_ten_thousand_facts(household: Household) -> None:
    numbers = range(AT_ONCE)
    check_fairness(household, [request(n, "record", fact(n, "many")) for n in numbers])


def test_one_hands_over_records_that_are_none(household: Household) -> None:
    """Each request is short, takes long to judge, and leaves something to remember."""
    nonsense: dict[str, object] = {"records": [{}] * 10_000}
    daemon = body(household)
    with bystander(household) as waits, Raw(household.socket) as raw:
        memory = daemon.memory()
        for number in range(20):
            raw.send(request(number, "import", nonsense))
            raw.next()
        assert daemon.memory() - memory < GROWTH
    print(f"\n{waits}")
    assert waits.p99() < P99, str(waits)


def test_eight_ask_and_state_sixteen_things_at_a_time(household: Household) -> None:
    with bystander(household) as waits, ExitStack() as stack:
        raws = [stack.enter_context(Raw(household.socket)) for _ in range(CLIENTS)]
        for turn in range(TURNS):
            for client, raw in enumerate(raws):
                raw.send(b"".join(mixture(client, turn)))
            for raw in raws:
                for number in range(IN_FLIGHT):
                    assert raw.next()[1:3] == [number, None]
    print(f"\n{waits}")
    assert waits.p99() < P99, str(waits)


def mixture(client: int, turn: int) -> list[bytes]:
    """What one client has in flight: of four requests three are questions."""
    numbers = range(IN_FLIGHT)
    first = (turn * CLIENTS + client) * IN_FLIGHT
    return [
        request(number, "query", question(first + number))
        if number % 4
        else request(number, "record", fact(first + number, f"s{client}"))
        for number in numbers
    ]
