from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.literals import literals, name_before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("needs 3.10, not 3.9.", {"3.10", "3.9"}),
        ("due (2026-11-30)", {"2026-11-30"}),
        ("at 192.168.7.1:8080", {"192.168.7.1", "8080"}),
        ("on :5433 and localhost:5433", {"5433"}),
        ("backed up at 02:30", {"02:30"}),
        ("release v2.1, version-2", {"2.1", "2"}),
        ("on ubuntu-22.04", {"22.04"}),
        ("log SR-2023-052", {"2023-052"}),
        ("p95 is 212 ms", {"95", "212ms"}),
        ("8 GB, 8GB", {"8gb"}),
        ("30 minutes, 30 min", {"30min"}),
        ("10% and 10 percent", {"10%"}),
        ("the 4-year-old, 4 years", {"4year"}),
        ("the 20th, #20", {"20"}),
        ("1,000,000 users", {"1000000"}),
        ("1,5 and 2, 3", {"1", "5", "2", "3"}),
        ("open 24/7", {"24/7"}),
        ("pages 3–5", {"3-5"}),
        ("版本3.10在2019年", {"3.10", "2019"}),
        ("버전3을", {"3"}),
        ("１２ｋｍ", {"12km"}),
        ("C++17", {"17"}),
        ("x86_64", {"86_64"}),
        ("three of them", set()),
        ("--- 。 ...", set()),
    ],
)
def test_numbers_are_read_whole_and_in_one_form(text: str, expected: set[str]) -> None:
    assert set(literals(text).numbers) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in src/a/config.", {"src/a/config"}),
        ("/etc, ~/notes and ./x/y/", {"etc", "notes", "x/y"}),
        ("snake_case and camelCase", {"snake_case", "camelcase"}),
        ("use --force or -f=1", {"force", "f"}),
        ("mail ann@example.org!", {"ann@example.org"}),
        ("see https://example.org/a?b=1.", {"https://example.org/a?b=1"}),
        ("C++, C# and F#", {"c++", "c#", "f#"}),
        ("os.path or Next.js", {"os.path", "next.js"}),
        ("std::move", {"std::move"}),
        ("`.env` and @cached on $HOME", {"env", "cached", "home"}),
        ("file.py:42", {"file.py"}),
        ("we follow plan B", {"b"}),
        ("we follow plan A now", {"a"}),
        ("that is all for team C.", {"c"}),
        ("A cat and I", set()),
        ("Ann B. Smith", set()),
        ("U.S. and e.g. this, i.e. that", set()),
        ("he and/or she", set()),
        ("a well-known end - and so on", set()),
        ("Ordinary Words in UPPER and lower case", set()),
        ("name it well (e.g. isReady, hasFailed)", set()),
        ("name it well (for example, is_ready)", set()),
    ],
)
def test_identifiers_are_told_from_words(text: str, expected: set[str]) -> None:
    assert set(literals(text).identifiers) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [("ubuntu-22.04", {"ubuntu-22.04"}), ("p95", {"p95"}), ("v2", set()), ("22.04", set())],
)
def test_a_name_in_front_of_a_number_is_kept(text: str, named: set[str]) -> None:
    assert set(literals(text).named) == named


@pytest.mark.parametrize(
    ("token", "name"), [("ubuntu-22.04", "ubuntu"), ("p95", "p"), ("v2", ""), ("plain", "")]
)
def test_the_name_can_be_had_alone(token: str, name: str) -> None:
    assert name_before(token) == name


@given(st.text(alphabet=st.sampled_from("a1.:/-_+#@, (é没")))
def test_what_is_shown_is_never_empty(text: str) -> None:
    assert all(form for kind in literals(text) for form in kind.values())


@pytest.mark.parametrize(
    "part", ["x", "a++", "a:", "1.1.", "A/", "(e.g. ", "http://", "--", "1,000,", "_", "v", "测"]
)
def test_no_text_takes_long(part: str) -> None:
    text = part * (8192 // len(part))
    start = time.perf_counter()
    literals(text)
    assert time.perf_counter() - start < 1.0
