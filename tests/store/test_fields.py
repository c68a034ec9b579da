"""Members of JSON objects: times, and names in any case."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.store.fields import (
    GO_ZERO_TIME,
    format_time,
    joined,
    matched,
    optional_time,
    parse_time,
)

KNOWN = frozenset({"id", "w", "last_used_at"})


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:00:01.5Z", 1.5),
        ("1970-01-01T02:00:00+02:00", 0.0),
        ("1969-12-31T16:30:00.25-07:30", 0.25),
        ("1970-01-01t00:00:00z", 0.0),
        ("2026-05-24T10:11:12.123456789+02:00", 1779610272.123456),
        ("0001-01-01T00:00:00Z", GO_ZERO_TIME),
        ("0001-01-01T00:00:00+02:00", GO_ZERO_TIME - 7200),
        ("9999-12-31T23:59:59-02:00", 253402307999.0),
    ],
)
def test_times_are_read_to_the_microsecond(text: str, at: float) -> None:
    assert parse_time(text) == at


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-05-24",
        "2026-05-24T10:11:12",
        "2026-05-24 10:11:12Z",
        "20260524T101112Z",
        "2026-05-24T10:11:60Z",
        "2026-02-30T10:11:12Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "2026-05-24T10:11:12+24:00",
        "\uff12\uff10\uff12\uff16-05-24T10:11:12Z",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="found"):
        parse_time(text)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0.0, "1970-01-01T00:00:00Z"),
        (1.5, "1970-01-01T00:00:01.5Z"),
        (-0.25, "1969-12-31T23:59:59.75Z"),
        (100.0, "1970-01-01T00:01:40Z"),
        (GO_ZERO_TIME, "0001-01-01T00:00:00Z"),
        (GO_ZERO_TIME - 7200, "0001-01-01T00:00:00Z"),
        (1e300, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_times_are_written_in_utc_without_needless_zeros(at: float, text: str) -> None:
    assert format_time(at) == text


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1)))
def test_a_time_to_the_microsecond_survives(moment: datetime) -> None:
    at = moment.replace(tzinfo=UTC).timestamp()

    assert parse_time(format_time(at)) == at


@given(
    st.integers(-5, 2**32 + 5) | st.integers(-(2**35), 2**37),
    st.integers(0, 999_999) | st.sampled_from([0, 1, 500_000, 999_999]),
    st.sampled_from(["{}Z", "{}z", "{}00Z", "{}+00:00", "{}.Z"]),
)
def test_a_time_in_a_field_is_what_it_says_and_its_spelling_is_kept_if_odd(
    second: int, micro: int, form: str
) -> None:
    moment = datetime(1970, 1, 1) + timedelta(seconds=second, microseconds=micro)
    text = form.format(moment.isoformat())
    stamps: dict[str, str] = {}
    try:
        at = parse_time(text)
    except ValueError:
        with pytest.raises(ValueError, match="at: found"):
            optional_time({"at": text}, "at", stamps)
        return
    assert optional_time({"at": text}, "at", stamps) == at
    assert stamps == ({} if format_time(at) == text else {"at": text})


def test_names_match_whatever_their_case() -> None:
    assert matched({"ID": 1, "La\u017ft_U\u017fed_At": 2, "x": 3}, KNOWN) == (
        {"id": 1, "last_used_at": 2},
        {"x": 3},
    )


def test_an_exact_name_wins_then_the_last_one() -> None:
    assert matched({"id": 1, "ID": 2, "W": 3, "a": 0}, KNOWN) == (
        {"id": 1, "w": 3},
        {"ID": 2, "a": 0},
    )
    assert matched({"W": 3, "\uff37": 4, "w": 5}, KNOWN)[0] == {"w": 5}
    assert matched({"ID": 1, "Id": 2}, KNOWN) == ({"id": 2}, {"ID": 1})


def test_a_key_that_was_outdone_stands_before_what_outdid_it() -> None:
    keys = list(joined({"id": 1, "w": 2}, {"a": 0, "ID": 3}, KNOWN))

    assert keys == ["ID", "id", "w", "a"]
