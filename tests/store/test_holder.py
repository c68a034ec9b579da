"""Whether the holder of a store is another machine, and lives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from milkd.store.holder import FRESH, Holder, Machine

NOON = 1_780_000_000.0
HERE = Machine(host="here", boot_id="boot-2", wall=lambda: NOON, uptime=lambda: 3_600.0)


def holder(touched: float | None = None, **told: Any) -> Holder:
    words = {"pid": 7, "host": "there", "boot_id": "boot-9", "beat": NOON - 10} | told
    beat = words["beat"]
    when = touched if touched is not None else beat if isinstance(beat, float) else NOON
    return Holder.parse(json.dumps(words).encode(), when)


@pytest.mark.parametrize(
    ("told", "age"),
    [
        ({}, 10.0),
        ({"beat": NOON - FRESH + 1}, FRESH - 1),
        ({"beat": NOON - FRESH}, None),
        ({"beat": NOON + 500}, 0.0),  # its clock is ahead of ours
        ({"beat": None}, None),  # given back
        ({"beat": "noon"}, None),
        ({"beat": True}, None),
        ({"boot_id": "boot-2"}, None),  # this machine, under whatever name
        ({"host": "here", "boot_id": "boot-2"}, None),
        ({"host": "here"}, 10.0),  # a twin: it was written after this machine had started
        ({"host": "here", "boot_id": ""}, None),
        ({"boot_id": ""}, 10.0),
    ],
)
def test_a_sign_of_life_of_another_machine_counts_for_a_while(
    told: dict[str, Any], age: float | None
) -> None:
    assert holder(**told).age(HERE) == age


def test_what_this_machine_wrote_before_it_was_started_anew_does_not_count() -> None:
    fresh = Machine(host="here", boot_id="boot-2", wall=lambda: NOON, uptime=lambda: 5.0)
    assert holder(host="here").age(fresh) is None
    assert holder(host="there").age(fresh) == 10.0


def test_a_machine_whose_clock_is_behind_is_known_by_the_time_of_the_file() -> None:
    assert holder(beat=NOON - 5_000, touched=NOON - 20).age(HERE) == 20.0
    assert holder(beat=NOON - 5_000, touched=NOON - 2_000).age(HERE) is None
    assert holder(beat=NOON - 20, touched=NOON - 5_000).age(HERE) == 20.0


def test_a_holder_is_told_in_words() -> None:
    found = holder(version="9.9", socket="/run/x.sock")
    assert str(found) == "milkd 9.9 with pid 7 on there"
    assert found.place == " and listens on /run/x.sock"
    assert (str(holder()), holder().place) == ("milkd with pid 7 on there", "")


@pytest.mark.parametrize(
    "data", [b"", b"junk", b"\xff", b"[]", b'{"socket": "/x"}', b"[" * 100_000]
)
def test_what_cannot_be_understood_is_another_process_and_no_sign_of_life(data: bytes) -> None:
    found = Holder.parse(data, NOON)
    assert (str(found), found.place, found.age(HERE)) == ("another process", "", None)


def test_this_machine_knows_its_clocks() -> None:
    here = Machine()
    assert here.host
    assert 0 < here.uptime() < here.wall()
