"""The parts of the measurement, each of which can be run by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from bench.hot import alike, checks, living, passes, product, recall, starting, wire
from bench.hot.contest import apart, contest
from bench.hot.corpus import DENSE, ZIPF, Corpus, Profile, corpus, questions
from bench.hot.limits import COUNTED, SMALL
from bench.hot.product import COMPILED, PURE
from bench.hot.timing import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench.hot.contest import Entrant, Measured
    from bench.hot.limits import Tables

_UNKNOWN = object()
# They judge by another measure, or put facts in another order.
_OTHERWISE = (alike.FUZZ, recall.TANTIVY_BM25, recall.BM25S)


@dataclass
class Scale:
    """How much is measured."""

    sizes: tuple[int, ...]
    main: int
    """Where all take part; at other sizes only some do."""
    questions: int
    """Of each kind."""
    seconds: float
    """For a kind of question and a program."""
    rounds: int
    """Through the socket, and of starts half as many."""
    program: str | None
    """The scan in Go."""
    _whole: dict[Profile, Corpus] = field(default_factory=dict)

    def facts(self, profile: Profile, size: int) -> Corpus:
        """The first facts of a profile."""
        if profile not in self._whole:
            self._whole[profile] = corpus(profile, max(*self.sizes, self.main))
        return self._whole[profile].first(size)

    @cached_property
    def cases(self) -> list[Corpus]:
        """The corpora, from the small to the large."""
        return [self.facts(profile, size) for size in self.sizes for profile in (ZIPF, DENSE)]

    def whole(self, facts: Corpus) -> bool:
        """Whether all programs take part."""
        return len(facts) == self.main and facts.profile is ZIPF


def equal(scale: Scale) -> Tables:
    """Answers held to a look at every fact."""
    counted: dict[str, dict[str, float]] = {}
    for profile in (ZIPF, DENSE):
        facts = scale.facts(profile, min(scale.main, SMALL))
        found = apart(partial(checks.compare, facts, scale.questions // 20))
        counted |= {f"{name}, edited, {facts.name}": row for name, row in found.items()}
    return {COUNTED: counted}


def neardup(scale: Scale) -> Tables:
    """The fact that a text nearly repeats."""
    tables: Tables = {COUNTED: {}}
    for facts in scale.cases:
        say(f"near-duplicates, {facts.name}")
        asked = questions(facts, scale.questions)
        kinds = {"match": asked.match, "novel": asked.novel, "insert": asked.novel}
        entrants = [product.alike(compiled=True), product.alike(compiled=False)]
        entrants += _chosen(alike.entrants(scale.program), scale, facts, (alike.RENSA,))
        measured = contest(entrants, facts, kinds, scale.seconds)
        tables[f"alike {facts.name}"] = _rows(measured, ("match", "novel"), alike.CACHED)
        tables[COUNTED] |= _counted(measured, f"near-duplicates, {facts.name}", alike.CACHED)
    return tables


def recalled(scale: Scale) -> Tables:
    """The ten facts that answer best."""
    tables: Tables = {COUNTED: {}}
    for facts in scale.cases:
        say(f"recall, {facts.name}")
        asked = questions(facts, scale.questions)
        kinds = {"mixed": asked.mixed, "frequent": asked.frequent, "rare": asked.rare}
        entrants = [product.recall(compiled=True), product.recall(compiled=False)]
        if scale.whole(facts):
            entrants += [product.recall(compiled=True, stems=True)]
            entrants += [product.recall(compiled=False, stems=True)]
        some = (recall.TANTIVY, recall.TANTIVY_BM25, recall.FTS5)
        entrants += _chosen(recall.entrants(), scale, facts, some)
        measured = contest(entrants, facts, kinds, scale.seconds)
        tables[f"recall {facts.name}"] = _rows(measured, tuple(kinds), recall.SCAN)
        tables[COUNTED] |= _counted(measured, f"recall, {facts.name}", recall.SCAN)
    return tables


def passing(scale: Scale) -> Tables:
    """Passes over columns."""
    tables: Tables = {}
    for size in scale.sizes:
        say(f"passes, {size}")
        facts = scale.facts(ZIPF, size)
        rounds = max(7, min(100, 2_000_000 // size))
        tables[f"pass {size}"] = apart(partial(passes.measure, facts, rounds))
    return tables


def engine(scale: Scale) -> Tables:
    """The engine's own methods."""
    tables: Tables = {}
    facts = scale.facts(ZIPF, scale.main)
    for name, environment in _forms():
        say(f"engine, {name}")
        task = partial(living.measure, facts, scale.questions)
        tables[f"engine {name} {scale.main}"] = apart(task, environment)
    return tables


def socket(scale: Scale) -> Tables:
    """milkd through its socket, as it is installed."""
    if not apart(product.is_compiled):
        say("left out: the socket, for milkd is not compiled")
        return {}
    say("socket")
    small, large = scale.facts(ZIPF, min(SMALL, scale.main)), scale.facts(ZIPF, scale.main)
    return {
        wire.TABLE: apart(partial(wire.measure, small, large, scale.rounds)),
        wire.CLIENTS_TABLE: wire.client(large, scale.questions),
    }


def start(scale: Scale) -> Tables:
    """Starting with many facts."""
    say("start")
    task = partial(starting.measure, scale.facts(ZIPF, scale.main), scale.rounds // 2)
    return {"start": apart(task)}


PARTS: dict[str, Callable[[Scale], Tables]] = {
    "equal": equal,
    "neardup": neardup,
    "recall": recalled,
    "pass": passing,
    "engine": engine,
    "socket": socket,
    "start": start,
}


def _forms() -> Iterable[tuple[str, dict[str, str]]]:
    if apart(product.is_compiled):
        yield "compiled", {}
    yield "pure", {"MILKD_PURE": "1"}


def _chosen(
    entrants: list[Entrant], scale: Scale, facts: Corpus, some: tuple[str, ...]
) -> list[Entrant]:
    """All where all take part, else some; none with very many facts and no rare word."""
    if facts.profile is DENSE and len(facts) > scale.main:
        return []
    names = {alike.CACHED, alike.SEED_GO, recall.SCAN, *some}
    return [entrant for entrant in entrants if scale.whole(facts) or entrant.name in names]


def _exact(measured: dict[str, Measured]) -> Measured | None:
    return measured.get(COMPILED) or measured.get(PURE)


def _rows(
    measured: dict[str, Measured], kinds: tuple[str, ...], by_hand: str
) -> dict[str, dict[str, float]]:
    """Figures, and the share of the answers that are milkd's too."""
    exact, rows = _exact(measured), {}
    for name, one in measured.items():
        rows[name] = one.figures()
        if exact is not None and name not in (COMPILED, PURE, by_hand, *_OTHERWISE):
            pairs = [
                (_told(answer), _told(exact.answers[kind][number]))
                for kind in kinds
                for number, answer in one.answers.get(kind, {}).items()
                if number in exact.answers[kind]
            ]
            rows[name]["same"] = sum(one == other for one, other in pairs) / max(1, len(pairs))
    return rows


def _told(answer: Any) -> Any:
    """What of an answer all programs tell: the similarity of the best, or the rows."""
    if isinstance(answer, list):
        return [entry[2] if isinstance(entry, tuple) else entry for entry in answer]
    return None if answer is None else answer[0]


def _counted(measured: dict[str, Measured], what: str, by_hand: str) -> dict[str, dict[str, float]]:
    """Answers of milkd compared with a look at every fact, and with each other beyond that."""
    rows: dict[str, dict[str, float]] = {}
    for name in (COMPILED, PURE):
        if name not in measured:
            continue
        others = [
            measured[other] for other in (by_hand, PURE) if other in measured and other != name
        ]
        pairs = [
            (answer, _first(others, kind, number))
            for kind, answers in measured[name].answers.items()
            if kind != "insert"
            for number, answer in answers.items()
        ]
        known = [(answer, right) for answer, right in pairs if right is not _UNKNOWN]
        differences = sum(answer != right for answer, right in known)
        if known:
            rows[f"{name}, {what}"] = {"answers": len(known), "differences": differences}
    return rows


def _first(others: list[Measured], kind: str, number: int) -> Any:
    """What the first of others that got to a question answered."""
    for other in others:
        if number in other.answers.get(kind, {}):
            return other.answers[kind][number]
    return _UNKNOWN
