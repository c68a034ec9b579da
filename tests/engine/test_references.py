from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from milkd.engine import commands as ask
from milkd.engine import results
from milkd.errors import Ambiguous, NotFound
from sitting import Sitting, percept


@pytest.fixture
def sitting() -> Sitting:
    sitting = Sitting("mine", "theirs")
    sitting.hold("global", percept("the linter is strict", 0x1A2B3C4D))
    sitting.hold("mine", percept("the linter runs in the hook", 0x1A2B9999))
    sitting.hold("theirs", percept("their secret plan", 0x77777777))
    return sitting


def shown(sitting: Sitting, ref: str, session: str | None = "mine") -> str:
    detail = cast("results.Detail", sitting.do(ask.Show(ref=ref, session=session)))
    return detail.view.percept.content


@pytest.mark.parametrize(
    "ref",
    [
        "1a2b3c4d-0000-4000-8000-00000000000f",
        "1A2B3C4D-0000-4000-8000-00000000000F",
        "#1a2b3c4d",
        "1a2b3",
        " #1a2b3c ",
        "the linter is strict",
        "THE LINTER IS STRICT ",
        "is strict",
    ],
)
def test_a_reference_is_an_id_a_prefix_or_a_text(sitting: Sitting, ref: str) -> None:
    assert shown(sitting, ref) == "the linter is strict"


def test_a_whole_text_beats_a_part_of_another() -> None:
    sitting = Sitting()
    sitting.hold("global", percept("use tabs", 1), percept("use tabs in makefiles", 2))
    assert shown(sitting, "use tabs", session=None) == "use tabs"


@pytest.mark.parametrize("ref", ["1a2b", "linter"])
def test_an_ambiguous_reference_lists_the_candidates(sitting: Sitting, ref: str) -> None:
    with pytest.raises(
        Ambiguous, match="2 percepts fit: #1a2b3c4d 'the linter is strict'; #1a2b9999"
    ):
        shown(sitting, ref)


def test_a_long_list_of_candidates_is_cut_with_the_number_left() -> None:
    sitting = Sitting()
    sitting.hold("global", *(percept(f"port {n} is open", n) for n in range(13)))
    with pytest.raises(Ambiguous, match=r"13 percepts fit: .* and 3 more$") as caught:
        shown(sitting, "port", session=None)
    assert len(caught.value.candidates) == 13


@pytest.mark.parametrize("ref", ["1a2", "zzzz", "", "   ", "#", "deadbeef"])
def test_what_fits_nothing_is_not_found(sitting: Sitting, ref: str) -> None:
    with pytest.raises(NotFound, match="no percept visible here fits"):
        shown(sitting, ref)


def test_the_percepts_of_another_session_are_out_of_sight(sitting: Sitting) -> None:
    with pytest.raises(NotFound):
        shown(sitting, "their secret")


def test_an_id_of_another_session_is_refused_with_the_way_out(sitting: Sitting) -> None:
    with pytest.raises(NotFound, match="session theirs has it"):
        shown(sitting, "#77777777")


def test_the_archive_is_asked_last(sitting: Sitting) -> None:
    sitting.hold("archive", percept("the linter was lenient", 0x55555555))
    assert shown(sitting, "was lenient") == "the linter was lenient"
    assert shown(sitting, "is strict") == "the linter is strict"


def test_resolve_gives_every_percept_that_is_meant(sitting: Sitting) -> None:
    views = cast("tuple[results.View, ...]", sitting.do(ask.Resolve(ref="linter", session="mine")))
    assert [view.scope for view in views] == ["global", "mine"]
    assert sitting.do(ask.Resolve(ref="nothing like it")) == ()


def test_an_id_that_is_no_uuid_is_found_too() -> None:
    sitting = Sitting()
    sitting.hold("global", percept("ids may be odd", 1, id="note-7"))
    assert shown(sitting, "note-7", session=None) == "ids may be odd"


def test_ids_that_begin_alike_are_told_apart() -> None:
    sitting = Sitting()
    twins = [
        replace(percept("tabs", n), id=f"abcdef01-{n:04d}-4000-8000-00000000000f") for n in (1, 2)
    ]
    sitting.hold("global", *twins)
    with pytest.raises(Ambiguous) as caught:
        sitting.do(ask.Show(ref="abcdef01"))
    assert str(caught.value) == "2 percepts fit: " + "; ".join(f"#{t.id} 'tabs'" for t in twins)


def test_of_many_ids_that_begin_alike_as_many_digits_are_shown_as_it_takes() -> None:
    sitting = Sitting()
    many = [
        replace(percept("tabs", n), id=f"abcdef01-{n:04d}-4000-8000-00000000000f") for n in range(6)
    ]
    sitting.hold("global", *many)
    with pytest.raises(Ambiguous) as caught:
        sitting.do(ask.Show(ref="abcdef01"))
    assert str(caught.value).startswith("6 percepts fit: #abcdef01-0000 'tabs'; #abcdef01-0001 '")
