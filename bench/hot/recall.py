"""Other ways to recall: search engines, in milkd's order where they can be brought to it.

milkd's order is the number of the question's words that a fact has, then its score, of facts
of w >= 0.4.  The others have their own, BM25, and are there for their speed.
"""

from __future__ import annotations

import importlib
import sqlite3
from array import array
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from bench.hot.contest import Entrant, Index
from bench.hot.product import LIMIT, MIN_W, ranking, scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.hot.corpus import Corpus

SCAN = "Python, every fact, words kept"
TANTIVY, TANTIVY_BM25 = "tantivy, same order", "tantivy, BM25"
FTS5, BM25S = "SQLite FTS5, same order", "bm25s"
_HEAP = 128_000_000  # bytes for tantivy's writer
# tantivy multiplies by log2(2 + s).  A score of 1.4 must weigh less than one of 9 words.
_PER_SCORE = 0.06


def _words(text: str) -> list[str]:
    from milkd.engine.text import tokens

    return sorted(tokens(text))


def scan() -> Entrant:
    """Every fact, by words that are kept: what all answers in this order are held to."""

    def build(facts: Corpus) -> Index:
        known = [frozenset(_words(text)) for text in facts.texts]
        column, w = scores(ranking(facts)), facts.w

        def ask(words: list[str]) -> list[tuple[int, float, int]]:
            wanted, rows = frozenset(words), []
            for row, has in enumerate(known):
                hits = len(wanted & has)
                if hits and w[row] >= MIN_W:
                    rows.append((-hits, -column[row], row))
            return [(-hits, -score, row) for hits, score, row in nsmallest(LIMIT, rows)]

        return Index(ask, _words)

    return Entrant(SCAN, build, ("milkd.engine.analysis",), most=100_000)


def tantivy(*, same_order: bool) -> Entrant:
    """A search engine in Rust: by hits and score, or by BM25 without any condition."""

    def build(facts: Corpus) -> Index:
        library: Any = importlib.import_module("tantivy")
        schema, index = _filled(library, facts)
        searcher = index.searcher()
        ask = _in_order if same_order else _by_relevance
        return Index(ask(library, schema, searcher), _words)

    name = TANTIVY if same_order else TANTIVY_BM25
    return Entrant(name, build, ("tantivy", "milkd.engine.analysis"))


def _filled(library: Any, facts: Corpus) -> tuple[Any, Any]:
    """A schema and an index in memory, of one segment where tantivy makes one."""
    builder = library.SchemaBuilder()
    builder.add_text_field("words", stored=False, index_option="freq")
    builder.add_unsigned_field("row", fast=True)
    builder.add_float_field("w", indexed=True, fast=True)
    builder.add_float_field("lift", fast=True)
    schema = builder.build()
    index = library.Index(schema)
    writer = index.writer(_HEAP, 1)
    for row, (text, score) in enumerate(zip(facts.texts, scores(ranking(facts)), strict=True)):
        document = library.Document()
        document.add_text("words", " ".join(_words(text)))
        document.add_unsigned("row", row)
        document.add_float("w", facts.w[row])
        document.add_float("lift", 2.0 ** (1.0 + _PER_SCORE * score) - 2.0)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return schema, index


def _in_order(library: Any, schema: Any, searcher: Any) -> Callable[[list[str]], list[int]]:
    queries, occur = library.Query, library.Occur
    strong = queries.range_query(schema, "w", library.FieldType.Float, MIN_W, 10.0)
    gate = (occur.Must, queries.const_score_query(strong, 0.0))

    def ask(words: list[str]) -> list[int]:
        terms = [queries.term_query(schema, "words", word, "basic") for word in words]
        each = [(occur.Should, queries.const_score_query(term, 1.0)) for term in terms]
        query = queries.boolean_query([(occur.Must, queries.boolean_query(each)), gate])
        found = searcher.search(query, LIMIT, count=False, weight_by_field="lift").hits
        return [int(row) for row in searcher.fast_field_values("row", [at for _, at in found])]

    return ask


def _by_relevance(library: Any, schema: Any, searcher: Any) -> Callable[[list[str]], list[int]]:
    queries, occur = library.Query, library.Occur

    def ask(words: list[str]) -> list[int]:
        terms = [queries.term_query(schema, "words", word, "freq") for word in words]
        query = queries.boolean_query([(occur.Should, term) for term in terms])
        found = searcher.search(query, LIMIT, count=False).hits
        return [int(row) for row in searcher.fast_field_values("row", [at for _, at in found])]

    return ask


def fts5() -> Entrant:
    """SQLite's full-text index, counting the hits of each fact."""

    def build(facts: Corpus) -> Index:
        database = sqlite3.connect(":memory:")
        database.execute(
            "CREATE VIRTUAL TABLE words USING fts5"
            "(text, content='', detail=none, columnsize=0, tokenize='unicode61')"
        )
        database.execute("CREATE TABLE fact (row INTEGER PRIMARY KEY, w REAL, score REAL)")
        texts = ((row, " ".join(_words(text))) for row, text in enumerate(facts.texts))
        database.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)
        numbers = zip(range(len(facts)), facts.w, scores(ranking(facts)), strict=True)
        database.executemany("INSERT INTO fact VALUES (?, ?, ?)", numbers)
        database.execute("INSERT INTO words (words) VALUES ('optimize')")
        database.commit()
        return Index(lambda words: _counted(database, words), _words)

    return Entrant(FTS5, build, ("milkd.engine.analysis",), most=100_000)


def _counted(database: sqlite3.Connection, words: list[str]) -> list[int]:
    each = " UNION ALL ".join(["SELECT rowid AS row FROM words WHERE words MATCH ?"] * len(words))
    found = database.execute(
        f"SELECT row, count(*) AS hits FROM ({each}) JOIN fact USING (row) WHERE w >= {MIN_W} "
        f"GROUP BY row ORDER BY hits DESC, score DESC, row LIMIT {LIMIT}",
        [f'"{word}"' for word in words],
    )
    return [row for row, _ in found]


def bm25s() -> Entrant:
    """BM25 with NumPy, its scores worked out beforehand."""

    def build(facts: Corpus) -> Index:
        library: Any = importlib.import_module("bm25s")
        numpy: Any = importlib.import_module("numpy")
        index = library.BM25()
        index.index([_words(text) for text in facts.texts], show_progress=False)
        strong = numpy.array(array("f", [w >= MIN_W for w in facts.w]))

        def ask(words: list[str]) -> list[int]:
            found, _ = index.retrieve(
                [words], k=LIMIT, show_progress=False, n_threads=0, weight_mask=strong
            )
            return [int(row) for row in found[0]]

        return Index(ask, _words)

    return Entrant(BM25S, build, ("bm25s", "milkd.engine.analysis"), most=100_000)


def entrants() -> list[Entrant]:
    """All of them."""
    return [scan(), tantivy(same_order=True), tantivy(same_order=False), fts5(), bm25s()]
