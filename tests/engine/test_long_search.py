"""A long search lets other threads go on, but not with what it reads."""

from __future__ import annotations

import time
from array import array
from contextlib import contextmanager
from itertools import count, cycle
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from milkd.engine.ranking import Ranking
from milkd.engine.text import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from milkd._fastcore import TokenIndex, Vocabulary

ROWS = 60_000  # enough that all of them are gone through without the interpreter lock
PATIENCE = 60.0  # seconds until some search should have been met


class Searched:
    """An index of many rows and columns for it, which a thread can ask over and over."""

    def __init__(self) -> None:
        from milkd import _fastcore

        self.vocabulary: Vocabulary = _fastcore.Vocabulary(tokens, None)
        self.index: TokenIndex = _fastcore.TokenIndex(self.vocabulary)
        self.row = self.vocabulary.terms(["tabs"])
        for slot in range(ROWS):
            self.index.add(slot, self.row)
        ones, naughts = array("d", [1.0]) * ROWS, array("I", [0]) * ROWS
        columns = (ones, naughts, ones, ones, ones, naughts)
        self.ranking = Ranking(*columns, 0.0, -1, 0.1, 1.0, 1.0, 0.2, rest=True, by_hits=False)

    @contextmanager
    def being_asked(self) -> Iterator[None]:
        """While another thread asks it."""
        done = Event()
        thread = Thread(target=self._ask, args=[done])
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _ask(self, done: Event) -> None:
        while not done.is_set():
            self.index.top(self.row, 3, self.ranking)


@pytest.fixture
def searched(request: pytest.FixtureRequest) -> Searched:
    if request.config.getoption("--no-extension"):
        pytest.skip("--no-extension")
    return Searched()


def is_refused(act: Callable[[], object], error: type[Exception], told: str) -> bool:
    """Whether an act meets a search at some time, and is refused."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            act()
        except error as found:
            return told in str(found)
    return False


def test_an_index_that_is_searched_refuses_to_change(searched: Searched) -> None:
    index, other = searched.index, searched.vocabulary.terms(["spaces"])
    turns, slots = cycle([other, searched.row]), count(100)
    told = "being searched by another thread"
    with searched.being_asked():
        assert is_refused(lambda: index.add(5, next(turns)), RuntimeError, told)
        assert is_refused(lambda: index.remove(next(slots)), RuntimeError, told)
    index.add(5, other)
    assert index.strings(5) == {"spaces"}
    index.remove(5)
    assert 5 not in index


def test_columns_that_are_searched_keep_their_size(searched: Searched) -> None:
    column = searched.ranking.evidence
    with searched.being_asked():
        assert is_refused(lambda: column.append(column.pop()), BufferError, "resize")
    column.append(0)
    assert len(column) >= ROWS
