from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.distinctness import differs


@pytest.mark.parametrize(
    ("new", "known", "expected"),
    [
        ("Backups run at night", "Backups run at noon", (["night"], ["noon"])),
        ("Deploys are not allowed", "Deploys are allowed", (["not"], [])),
        ("The Build, it passes!", "the build passes", ([], [])),
        ("needs Python 3.11.", "needs Python 3.12", (["3.11"], ["3.12"])),
        ("C++ is used", "C# is used", (["C++"], ["C#"])),
        ("red red wine", "wine", (["red"], [])),
        ("GitHub runs it", "github runs it", ([], [])),
        ("用户喜欢茶", "用户喜欢咖啡", (["茶"], ["咖啡"])),
        ("用户喜欢茶", "用户喜欢茶和水", ([], ["和水"])),
        ("水", "火", (["水"], ["火"])),
        ("서버가 느리다", "서버가 빠르다", (["느리다"], ["빠르다"])),
        ("Ｃｌｏｕｄ", "Cloud", ([], [])),
    ],
)
def test_the_words_of_either_side_are_given_as_they_stand(
    new: str, known: str, expected: tuple[list[str], list[str]]
) -> None:
    assert differs(new, known) == expected


@given(st.text())
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert differs(text, text) == ([], [])


@given(st.text(), st.text())
def test_either_way_round_the_sides_change_places(one: str, other: str) -> None:
    assert differs(one, other) == differs(other, one)[::-1]
