"""What milkd is to show: figures in terms of what the others take in the same run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench.hot import alike, living, passes, recall, wire
from bench.hot.product import COMPILED, PURE

if TYPE_CHECKING:
    from collections.abc import Iterator

    Tables = dict[str, dict[str, dict[str, float]]]
    """Figures by table, program and what was measured."""

COUNTED = "answers"
SMALL = 10_000
MILLION = 1_000_000


class Place(NamedTuple):
    """Where a figure stands."""

    table: str
    row: str
    column: str

    def value(self, tables: Tables) -> float | None:
        """The figure, if it was measured."""
        return tables.get(self.table, {}).get(self.row, {}).get(self.column)


class Limit(NamedTuple):
    """A figure, or what it is of another one, and the most that it may be."""

    what: str
    most: float
    figure: Place
    of: Place | None = None
    unit: str = ""


class Verdict(NamedTuple):
    """A limit and what was measured."""

    limit: Limit
    value: float | None
    """None: not measured."""
    counts: bool = True
    """Whether the limit is meant for so few facts."""

    @property
    def missed(self) -> bool:
        """Whether it was measured, and is beyond a limit that counts."""
        return self.counts and self.value is not None and self.value > self.limit.most

    @property
    def word(self) -> str:
        """What is said of it."""
        if self.value is None:
            return "not measured"
        if not self.counts:
            return "not judged"
        return "MISSED" if self.missed else "ok"


def judged(tables: Tables, main: int, *, quick: bool = False) -> list[Verdict]:
    """All limits, for so many facts where none other is said.

    Args:
        quick: There are too few facts for any limit but that the answers be right.
    """
    verdicts: list[Verdict] = []
    for limit in (*_right(), *_alike(main), *_recall(main), *_pass(main), *_whole(main)):
        value = limit.figure.value(tables)
        if limit.of is not None and value is not None:
            base = limit.of.value(tables)
            value = None if not base else value / base
        verdicts.append(Verdict(limit, value, not quick or not verdicts))
    return verdicts


def _right() -> Iterator[Limit]:
    differences = Place(COUNTED, "all", "differences")
    yield Limit("answers that differ from a look at every fact, or from each other", 0, differences)


def _alike(main: int) -> Iterator[Limit]:
    table = f"alike zipf {main}"

    def at(row: str, column: str) -> Place:
        return Place(table, row, column)

    for kind, most in (("match", 1 / 2), ("novel", 1.0)):
        ours, theirs = at(COMPILED, f"{kind} p50"), at(alike.RENSA, f"{kind} p50")
        yield Limit(f"near-duplicate, {kind}, p50, of rensa's", most, ours, theirs)
    for kind in ("match", "novel"):
        ours, theirs = at(COMPILED, f"{kind} p99"), at(alike.RENSA, f"{kind} p99")
        yield Limit(f"near-duplicate, {kind}, p99, of rensa's", 1 / 8, ours, theirs)
    match = at(COMPILED, "match p50")
    yield Limit(
        "near-duplicate, match, of the scan in Go",
        1 / 40_000,
        match,
        at(alike.SEED_GO, "match p50"),
    )
    yield Limit(
        "near-duplicate, match, of SetSimilaritySearch",
        1 / 100,
        match,
        at(alike.SET_SEARCH, "match p50"),
    )
    insert = at(alike.RENSA, "insert p50")
    yield Limit("insert, of rensa's", 1 / 4, at(COMPILED, "insert p50"), insert)
    for kind in ("match", "novel"):
        pure, ours = at(PURE, f"{kind} p50"), at(COMPILED, f"{kind} p50")
        yield Limit(f"pure, near-duplicate, {kind}, of the compiled one's", 30, pure, ours)
    for kind in ("match", "novel"):
        what = f"pure, near-duplicate, {kind}, p99"
        yield Limit(what, 10_000, at(PURE, f"{kind} p99"), unit="µs")
    for kind in ("match", "novel"):
        large = Place(f"alike zipf {MILLION}", COMPILED, f"{kind} p50")
        yield Limit(f"near-duplicate, {kind}, of a million", 100, large, unit="µs")


def _recall(main: int) -> Iterator[Limit]:
    zipf, dense = f"recall zipf {main}", f"recall dense {main}"
    for kind in ("mixed", "frequent"):
        column = f"{kind} p50"
        ours = Place(zipf, COMPILED, column)
        for name, most in (
            (recall.TANTIVY, 1 / 25),
            (recall.FTS5, 1 / 500),
            (recall.TANTIVY_BM25, 1 / 4),
        ):
            yield Limit(f"recall, {kind}, of {name}", most, ours, Place(zipf, name, column))
        theirs = Place(dense, recall.TANTIVY, column)
        what = f"recall, {kind}, dense, of {recall.TANTIVY}"
        yield Limit(what, 1 / 20, Place(dense, COMPILED, column), theirs)
        pure = Place(zipf, PURE, column)
        yield Limit(f"pure, recall, {kind}, of the compiled one's", 25, pure, ours)
        theirs = Place(zipf, recall.TANTIVY, column)
        yield Limit(f"pure, recall, {kind}, of {recall.TANTIVY}", 1.0, pure, theirs)
        slow = Place(zipf, PURE, f"{kind} p99")
        yield Limit(f"pure, recall, {kind}, p99", 10_000, slow, unit="µs")
        large = Place(f"recall zipf {MILLION}", COMPILED, column)
        yield Limit(f"recall, {kind}, of a million", 500, large, unit="µs")


def _pass(main: int) -> Iterator[Limit]:
    table = f"pass {main}"
    ours, copy = Place(table, COMPILED, "pass"), Place(table, passes.COPY, "pass")
    yield Limit("a pass, of a column's copy", 25, ours, copy)
    yield Limit("pure, a pass", 50_000, Place(table, PURE, "pass"), unit="µs")
    large = Place(f"pass {MILLION}", COMPILED, "pass")
    yield Limit("a pass over a million", 25_000, large, unit="µs")
    ours, theirs = Place(table, COMPILED, "eviction"), Place(table, passes.PARTITION, "eviction")
    yield Limit("choosing the weakest tenth, of numpy's argpartition", 2, ours, theirs)


def _whole(main: int) -> Iterator[Limit]:
    engine = f"engine compiled {main}"
    for kind in ("match", "novel"):
        cost = Place(engine, living.ON, living.own_cost(kind))
        yield Limit(f"the guard's own cost, a {kind}", 20, cost, unit="µs")
    refused = Place(engine, living.ON, living.REFUSED)
    yield Limit(f"{living.LOOK_ALIKES:,} look-alikes refused", 5_000, refused, unit="µs")
    bare, round_trip = Place(wire.TABLE, wire.BARE, "p50"), "p50"
    similar = Place(wire.TABLE, wire.name_of("similar", min(main, SMALL)), round_trip)
    recalled = Place(wire.TABLE, wire.name_of("recall", main), round_trip)
    yield Limit("similar through the socket, of the bare Trio loop", 1.3, similar, bare)
    yield Limit("recall through the socket, of the bare Trio loop", 3, recalled, bare)
    stream = Place(wire.TABLE, wire.EACH, "p50")
    yield Limit("the bare Trio loop, of a Trio stream", 0.85, bare, stream)
    each, pings = Place(wire.TABLE, wire.EACH, wire.RATE), Place(wire.TABLE, wire.PINGS, wire.RATE)
    yield Limit("a send a reply, of milkd, pings a second of 8 × 16", 1 / 4, each, pings)
    asked = Place(wire.CLIENTS_TABLE, wire.CLIENT, "mixed p50")
    for name, most in ((recall.FTS5, 1 / 100), (recall.TANTIVY, 1 / 8)):
        theirs = Place(wire.CLIENTS_TABLE, name, "mixed p50")
        yield Limit(f"a recall by the client, of {name} in process", most, asked, theirs)
    for name, most in ((COMPILED, 3), (PURE, 8)):
        ready = Place("start", name, "ready")
        yield Limit(f"{name}: ready with {main:,} facts", most, ready, unit="s")
    for name in (COMPILED, PURE):
        size = Place("start", name, "bytes/fact")
        yield Limit(f"{name}: memory a fact, all in", 1_536, size, unit="bytes")
