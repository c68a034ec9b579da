"""The numbers that options take are those that the daemon takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from milkd.cli.numbers import BLOCK, COUNT, FACTS, PAGE, STRENGTH, told
from milkd.rpc.schema import METHODS

if TYPE_CHECKING:
    from milkd.cli.numbers import Real, Whole


@pytest.mark.parametrize(
    ("kind", "method", "argument"),
    [
        (STRENGTH, "query", "min_confidence"),
        (STRENGTH, "list", "min_w"),
        (PAGE, "query", "max_results"),
        (PAGE, "similar", "limit"),
        (FACTS, "inject", "max"),
        (BLOCK, "inject", "max_bytes"),
    ],
)
def test_an_option_has_the_range_of_its_argument(
    kind: Real | Whole, method: str, argument: str
) -> None:
    (accepted,) = (each for each in METHODS[method].arguments if each.name == argument)
    assert kind.expected == accepted.expected


@pytest.mark.parametrize("text", ["-0.1", "1.1", "nan", "inf", "high", ""])
def test_what_is_no_number_of_the_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^.*{text}"):
        STRENGTH(text)
    with pytest.raises(ValueError, match=f"^.*{text}"):
        PAGE(text)


def test_the_ends_of_a_range_belong_to_it() -> None:
    assert (STRENGTH("0"), STRENGTH("1")) == (0.0, 1.0)
    assert (PAGE("1"), PAGE("500"), COUNT("1000000")) == (1, 500, 1_000_000)


def test_the_full_parser_names_what_it_expects() -> None:
    from argparse import ArgumentTypeError

    assert told(PAGE)("7") == 7
    with pytest.raises(ArgumentTypeError, match="found 'x', expected a whole number from 1 to 500"):
        told(PAGE)("x")
