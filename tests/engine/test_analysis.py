"""What a text is read as."""

from __future__ import annotations

import pytest
import snowballstemmer  # type: ignore[import-untyped]

from milkd.engine.analysis import Analyzer
from milkd.engine.params import DEFAULT


@pytest.mark.parametrize("number", ["7", "0042", "1800000000"])
def test_a_number_is_its_own_stem_in_every_language(number: str) -> None:
    for language in snowballstemmer.algorithms():
        assert snowballstemmer.stemmer(language).stemWord(number) == number
    assert Analyzer(DEFAULT).stem(number) == number
