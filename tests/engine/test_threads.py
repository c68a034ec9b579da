"""Threads that each have an index and columns of their own do not disturb each other."""

from __future__ import annotations

import random
import sys
import sysconfig
from array import array
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from milkd.engine import kernels, text

THREADS = 2
ROWS = 1_500
FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def life(seed: int, begin: Barrier | None = None) -> list[object]:
    """Fill an index and a column, change and ask them; everything that was answered."""
    rng, told = random.Random(seed), list[object]()
    vocabulary = kernels.Vocabulary(text.tokens, None)
    index = kernels.TokenIndex(vocabulary)
    w = array("d", [rng.random() for _ in range(ROWS)])
    exempt = array("B", bytes(ROWS))
    if begin is not None:
        begin.wait()
    for slot in range(ROWS):
        words = vocabulary.features(sentence(rng))
        told.append(index.most_alike(words, 0.5))
        index.add(slot, words)
        if slot % 7 == 0:
            index.remove(rng.randrange(slot + 1))
        if slot % 50 == 0:
            told.append(index.nearest(words, 5))
            told.append(kernels.decay(w, exempt, 0.999, 0.1))
    return [*told, w.tolist(), len(index)]


def sentence(rng: random.Random) -> str:
    """Some words, a few of them frequent."""
    return " ".join(f"word{int(300 ** rng.random())}" for _ in range(rng.randint(3, 12)))


def test_threads_with_indexes_of_their_own_get_what_each_alone_would() -> None:
    begin = Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(life, range(THREADS), [begin] * THREADS))
    alone = [life(seed) for seed in range(THREADS)]
    assert together == alone
    assert alone[0] != alone[1]


@pytest.mark.skipif(not FREE, reason="not a free-threaded Python; python3.14t would do")
def test_the_kernels_leave_a_free_threaded_python_free() -> None:
    """Importing an extension that does not claim to be safe brings the global lock back."""
    assert not sys._is_gil_enabled()  # type: ignore[attr-defined, unused-ignore] # since 3.13
