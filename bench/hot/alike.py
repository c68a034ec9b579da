"""Other ways to find the fact that a text nearly repeats: libraries, and looking at each one.

All but rapidfuzz judge by Jaccard similarity of at least 0.60 and verify what they find, so
that they differ in what they miss.  They are given the text in words, which milkd is not.
"""

from __future__ import annotations

import importlib
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

from bench.hot.contest import Entrant, Index
from bench.hot.corpus import ALIKE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench.hot.corpus import Corpus

    Words = frozenset[str]

CACHED = "Python, every fact, words kept"
SEED_PYTHON, SEED_GO = "Python, every fact anew", "Go, every fact anew"
RENSA, DATASKETCH = "rensa, 128 in 32 bands", "datasketch, 128"
SET_SEARCH, FUZZ = "SetSimilaritySearch", "rapidfuzz, token_set_ratio"
PERMUTATIONS, BANDS = 128, 32


def _words(text: str) -> Words:
    from milkd.engine.text import features

    return features(text)


def _best(wanted: Words, known: Iterable[tuple[int, Words]]) -> tuple[float, int] | None:
    """The most similar of some rows, the first of equals."""
    best, size = None, len(wanted)
    similarity = 0.0
    for row, words in known:
        shared = len(wanted & words)
        found = shared / (size + len(words) - shared)
        if found >= ALIKE and found > similarity:
            similarity, best = found, (found, row)
    return best


def cached() -> Entrant:
    """Every fact, by words that are kept: what all exact answers are held to."""

    def build(facts: Corpus) -> Index:
        known = [_words(text) for text in facts.texts]
        return Index(lambda wanted: _best(wanted, enumerate(known)), _words)

    return Entrant(CACHED, build, most=100_000)


def python_seed() -> Entrant:
    """Every fact, whose words are found anew for each question."""

    def build(facts: Corpus) -> Index:
        texts = facts.texts
        return Index(lambda text: _best(_words(text), enumerate(map(_words, texts))))

    return Entrant(SEED_PYTHON, build, most=100_000)


def go_seed(program: str | None) -> list[Entrant]:
    """The same in Go, if it could be built."""
    if program is None:
        return []

    def build(facts: Corpus) -> Index:
        from milkd.engine.text import STOP_WORDS

        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
            file.write("\n".join(facts.texts) + "\n")
            file.flush()
            command = [program, file.name, " ".join(sorted(STOP_WORDS))]
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8")
            measure = _asking(process)
            measure("anything")  # by its answer the file is read
        return Index(lambda text: measure(text)[1], measure=measure)

    return [Entrant(SEED_GO, build, most=100_000)]


def _asking(process: subprocess.Popen[str]) -> Callable[[str], tuple[float, Any]]:
    assert process.stdin is not None
    assert process.stdout is not None
    to, back = process.stdin, process.stdout

    def measure(text: str) -> tuple[float, tuple[float, int] | None]:
        to.write(text + "\n")
        to.flush()
        took, row, similarity = back.readline().split()
        found = None if row == "-1" else (float(similarity), int(row))
        return int(took) / 1e9, found

    return measure


def _by_hashes(facts: Corpus, sketch: Callable[[Words], Any], table: Any) -> Index:
    """Candidates from a table of hashes, each of them verified."""
    known: list[Words] = []

    def insert(text: str) -> None:
        words = _words(text)
        table.insert(len(known), sketch(words))
        known.append(words)

    for text in facts.texts:
        insert(text)

    def ask(wanted: Words) -> tuple[float, int] | None:
        rows = sorted(table.query(sketch(wanted)))
        return _best(wanted, ((row, known[row]) for row in rows))

    return Index(ask, _words, insert)


def rensa() -> Entrant:
    """MinHash in Rust."""

    def build(facts: Corpus) -> Index:
        library: Any = importlib.import_module("rensa")

        def sketch(words: Words) -> Any:
            made = library.RMinHash(num_perm=PERMUTATIONS, seed=1)
            made.update(list(words))
            return made

        return _by_hashes(facts, sketch, library.RMinHashLSH(ALIKE, PERMUTATIONS, BANDS))

    return Entrant(RENSA, build, ("rensa", "milkd.engine.text"))


def datasketch() -> Entrant:
    """MinHash with NumPy, in bands of its own choice."""

    def build(facts: Corpus) -> Index:
        library: Any = importlib.import_module("datasketch")

        def sketch(words: Words) -> Any:
            made = library.MinHash(num_perm=PERMUTATIONS)
            made.update_batch([word.encode() for word in words])
            return made

        return _by_hashes(facts, sketch, library.MinHashLSH(ALIKE, PERMUTATIONS))

    return Entrant(DATASKETCH, build, ("datasketch", "milkd.engine.text"), most=100_000)


def set_search() -> Entrant:
    """An exact index that takes no more facts once it is built."""

    def build(facts: Corpus) -> Index:
        library: Any = importlib.import_module("SetSimilaritySearch")
        index = library.SearchIndex(
            [_words(text) for text in facts.texts],
            similarity_func_name="jaccard",
            similarity_threshold=ALIKE,
        )

        def ask(wanted: Words) -> tuple[float, int] | None:
            found = [(-similarity, row) for row, similarity in index.query(wanted)]
            return None if not found else (-min(found)[0], int(min(found)[1]))

        return Index(ask, _words)

    return Entrant(SET_SEARCH, build, ("SetSimilaritySearch", "milkd.engine.text"), most=100_000)


def fuzz() -> Entrant:
    """The best by another measure, as it is commonly used: token_set_ratio of 75 at least."""

    def build(facts: Corpus) -> Index:
        process: Any = importlib.import_module("rapidfuzz.process")
        library: Any = importlib.import_module("rapidfuzz")
        plain = library.utils.default_process
        known = [plain(text) for text in facts.texts]
        ratio = library.fuzz.token_set_ratio

        def ask(wanted: str) -> tuple[float, int] | None:
            found = process.extractOne(wanted, known, scorer=ratio, score_cutoff=75)
            return None if found is None else (found[1] / 100, found[2])

        return Index(ask, plain, lambda text: known.append(plain(text)))

    return Entrant(FUZZ, build, ("rapidfuzz.process", "rapidfuzz"), most=100_000)


def entrants(program: str | None) -> list[Entrant]:
    """All of them."""
    hashed = [rensa(), datasketch(), set_search(), fuzz()]
    return [cached(), python_seed(), *go_seed(program), *hashed]
