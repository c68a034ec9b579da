"""What a compiled index takes of memory, and that it gives it back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from milkd.engine.text import tokens
from needs import absent
from torture.zipf import Facts

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

STATM = Path("/proc/self/statm")
ROWS = 50_000
BYTES_A_ROW = 250
WORDS = 1_000_000
A_TEXT = 10  # words
MOST_GROWTH = 2 << 20  # bytes; a leak of all words would be some fifty million
FILL = """
import sys
from pathlib import Path
from milkd._fastcore import TokenIndex, Vocabulary
from milkd.engine.text import tokens

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

texts = Path(sys.argv[1]).read_text().splitlines()
before = resident()
vocabulary = Vocabulary(tokens, None)
index = TokenIndex(vocabulary)
for slot, text in enumerate(texts):
    index.add(slot, vocabulary.features(text))
print((resident() - before) / len(index))
"""


def resident() -> int:
    """Bytes of this process that lie in memory."""
    return int(STATM.read_text().split()[1]) * 4096


@pytest.fixture
def core(request: pytest.FixtureRequest) -> ModuleType:
    """The compiled indexes, where memory can be measured."""
    if request.config.getoption("--no-extension"):
        pytest.skip("--no-extension")
    if not STATM.exists():
        absent("no /proc/self/statm here: Linux has it")
    from milkd import _fastcore

    return _fastcore


def growth(act: Callable[[int], None]) -> int:
    """Bytes more after many turns than after a few."""
    turns = WORDS // A_TEXT
    for turn in range(turns // 20):
        act(turn)
    before = resident()
    for turn in range(turns // 20, turns):
        act(turn)
    return resident() - before


def fresh_text(turn: int) -> str:
    """Words that no other turn has, some of them long."""
    names = range(turn * A_TEXT, (turn + 1) * A_TEXT)
    return " ".join(f"word{n}" if n % 2 else f"ratherlongerword{n}" for n in names)


def test_a_row_takes_so_many_bytes(core: ModuleType, tmp_path: Path) -> None:
    draw = Facts(seed=1)
    (tmp_path / "facts").write_text("\n".join(draw.fresh() for _ in range(ROWS)))
    command = [sys.executable, "-P", "-c", FILL, str(tmp_path / "facts")]
    told = float(subprocess.check_output(command, text=True))
    assert 40 < told <= BYTES_A_ROW


def test_a_million_words_that_were_asked_for_leave_nothing(core: ModuleType) -> None:
    vocabulary = core.Vocabulary(tokens, None)
    index = core.TokenIndex(vocabulary)
    index.add(0, vocabulary.features("the only row"))

    def ask(turn: int) -> None:
        assert index.most_alike(vocabulary.features(fresh_text(turn)), 0.6) is None

    assert growth(ask) < MOST_GROWTH


def test_stems_of_a_million_words_leave_nothing(core: ModuleType) -> None:
    vocabulary = core.Vocabulary(tokens, lambda word: word[:-1])

    def ask(turn: int) -> None:
        assert len(vocabulary.terms([fresh_text(turn)])) >= 1

    assert growth(ask) < MOST_GROWTH


def test_rows_that_come_and_go_leave_nothing(core: ModuleType) -> None:
    vocabulary = core.Vocabulary(tokens, None)
    index = core.TokenIndex(vocabulary)
    for slot in range(100):
        index.add(slot, vocabulary.features(f"row {slot} stays"))

    def live(turn: int) -> None:
        slot = turn % 50
        index.add(slot, vocabulary.features(fresh_text(turn)))
        if turn % 3 == 0:
            index.remove(slot)

    assert growth(live) < MOST_GROWTH


def test_indexes_and_words_that_are_dropped_leave_nothing(core: ModuleType) -> None:
    vocabulary = core.Vocabulary(tokens, None)
    index = core.TokenIndex(vocabulary)
    kept = vocabulary.features("words of a question")

    def live(turn: int) -> None:
        nonlocal index, kept
        index.add(turn % 1_000, vocabulary.features(fresh_text(turn)))
        if turn % 500 == 0:
            index, kept = core.TokenIndex(vocabulary), vocabulary.features(fresh_text(turn))

    assert growth(live) < MOST_GROWTH
    assert len(kept) == A_TEXT
