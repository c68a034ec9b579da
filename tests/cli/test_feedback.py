"""Commands that say of what use facts were, in the words that people read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]

SITE = "the site is served by make serve_local"
IN_S1 = ("--session", "s1")


@pytest.fixture(autouse=True)
def daemon(place: Place) -> None:
    """A daemon on an empty store."""
    place.start()


def test_a_turn_is_judged_and_told(milkctl: Milkctl) -> None:
    site = milkctl("record", SITE, *IN_S1).out.split()[1]
    milkctl("inject", "show me the site", *IN_S1)
    ended = milkctl("turn-end", "I", "start", "it", "with", "make serve_local", *IN_S1)
    assert ended.out == f"turn 1: 1 fact judged\n{site}  used       importance 0.55 (+0.05)\n"
    assert milkctl("turn-end", "and on", *IN_S1).out == "(no turn waits to be judged)\n"


def test_reply_tools_and_pass_are_options(milkctl: Milkctl) -> None:
    milkctl("record", SITE, "--producer", "user", *IN_S1)
    milkctl("inject", "show me the site", *IN_S1)
    options = ("--tool-text", "make serve_local", "--reply", "yes", "--turn", "1")
    ended = milkctl("turn-end", "done", *options, "--consolidate", *IN_S1)
    assert "confirmed  importance 0.65 (+0.15)" in ended.out
    assert ended.out.endswith("pass: 1 promoted, 0 pruned, 0 archived\n")


def test_a_turn_that_does_not_wait_is_refused_with_those_that_do(milkctl: Milkctl) -> None:
    milkctl("record", SITE, *IN_S1)
    milkctl("inject", "show me the site", *IN_S1)
    refused = milkctl("turn-end", "done", "--turn", "7", *IN_S1)
    assert refused.code == 1
    assert "found 7, expected one that waits to be judged: 1" in refused.err


def test_without_a_session_nobody_knows_whose_turn_it_is(milkctl: Milkctl) -> None:
    refused = milkctl("turn-end", "done")
    assert refused.code == 2
    assert "name the session: --session ID, or $MILK_SESSION" in refused.err


def test_the_user_confirms_and_rejects(milkctl: Milkctl) -> None:
    site = milkctl("record", SITE).out.split()[1]
    assert milkctl("confirm", site).out == f"{site}  confirmed  importance 0.65 (+0.15)\n"
    assert milkctl("confirm", site).out == f"{site}  confirmed  importance 0.65\n"
    rejected = json.loads(milkctl("reject", *SITE.split(), "--json").out)
    assert (rejected["verdict"], round(rejected["step"], 9)) == ("rejected", -0.1)
    assert milkctl("reject", "zebra").code == 1
