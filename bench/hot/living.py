"""The whole engine at work on a corpus: what its methods cost, and what the guard adds to them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.hot.corpus import NOW, questions
from bench.hot.timing import quantile, resident, sample, trim, unswept

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.hot.corpus import Corpus
    from milkd.engine.engine import Engine
    from milkd.engine.percept import ScopeImage

ON, OFF = "guard on", "guard off"
_GUARDS = {OFF: "off", ON: "values"}
LOOK_ALIKES = 10_000
REFUSED = "look-alikes"
ROUNDS = 4
_TEMPLATE = "the billing worker of cluster west listens on port {}"


def image(facts: Corpus) -> ScopeImage:
    """A corpus as a store's facts for all sessions."""
    from milkd.engine.percept import GLOBAL, Percept, ScopeImage

    rows = zip(facts.texts, facts.w, facts.updated_at, facts.evidence, strict=True)
    percepts = tuple(
        Percept(
            id=_identifier(row),
            content=content,
            producer="user",
            w=w,
            created_at=updated_at,
            updated_at=updated_at,
            evidence=evidence,
        )
        for row, (content, w, updated_at, evidence) in enumerate(rows)
    )
    return ScopeImage(name=GLOBAL, percepts=percepts)


def _identifier(row: int) -> str:
    return f"{row:08x}-0000-4000-8000-000000000000"


def measure(facts: Corpus, count: int) -> dict[str, dict[str, float]]:
    """Medians in microseconds of the engine's methods, with the guard and without.

    Args:
        count: So many questions of each kind.
    """
    from milkd import wordlists
    from milkd.engine.engine import Engine
    from milkd.engine.params import DEFAULT

    plain = replace(DEFAULT, stemmer="none", hit_fields="content", distinctness_guard="off")
    whole = image(facts)
    trim()
    before, began = resident(), time.process_time()
    engine = Engine(plain, wordlists.load())
    engine.load(whole)
    took = time.process_time() - began
    trim()
    found: dict[str, dict[str, float]] = {
        OFF: {"load": took / len(facts) * 1e6, "bytes/fact": (resident() - before) / len(facts)},
        ON: {REFUSED: _look_alikes(min(count, 40))},
    }
    taken = _in_turns(engine, _calls(engine, facts, count))
    for (guard, kind), times in taken.items():
        found[guard][f"{kind} p50"] = quantile(times, 0.5) * 1e6
        found[guard][f"{kind} p99"] = quantile(times, 0.99) * 1e6
    for kind in ("match", "novel"):
        both = zip(taken[ON, f"record {kind}"], taken[OFF, f"record {kind}"], strict=True)
        found[ON][own_cost(kind)] = quantile([on - off for on, off in both], 0.5) * 1e6
    return found


def own_cost(kind: str) -> str:
    """What the guard's share of a record is called."""
    return f"guard's own {kind}"


def _calls(engine: Engine, facts: Corpus, count: int) -> dict[str, tuple[list[str], Any]]:
    """What is asked, and how, by kind."""
    from milkd.engine.commands import Now, Query, Similar

    now, asked = Now(NOW), questions(facts, count)
    record = _recorder(engine)

    def similar(text: str) -> object:
        return engine.decide(Similar(text=text), now)

    def query(text: str) -> object:
        return engine.decide(Query(text=text, max_results=10), now)

    return {
        "similar match": (asked.match, similar),
        "similar novel": (asked.novel, similar),
        "record match": (asked.match, record),
        "record novel": (asked.novel, record),
        "recall mixed": (asked.mixed, query),
    }


def _recorder(engine: Engine) -> Callable[[str], object]:
    from milkd.engine.commands import Now, Record

    now, new = Now(NOW), _identifier(0xFFFFFFFF)
    return lambda text: engine.decide(Record(content=text, new_id=new), now)


def _in_turns(
    engine: Engine, calls: dict[str, tuple[list[str], Any]]
) -> dict[tuple[str, str], list[float]]:
    """Seconds by guard and kind; every question is asked under both.

    And once before, so that the first to be measured does not warm the caches for the second.
    What the guard keeps of the facts that it looks at, it has to work out when it is measured.
    """
    taken: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS):
        for guard, counts in ((OFF, False), (OFF, True), (ON, True)):
            engine.configure(replace(engine.params, distinctness_guard=_GUARDS[guard]))
            for kind, (texts, call) in calls.items():
                with unswept():
                    times = [sample(call, text)[0] for text in texts[number::ROUNDS]]
                if counts:
                    taken.setdefault((guard, kind), []).extend(times)
    return taken


def _look_alikes(count: int) -> float:
    """Microseconds of a statement that differs from thousands by its number alone."""
    from milkd import wordlists
    from milkd.engine.engine import Engine
    from milkd.engine.params import DEFAULT
    from milkd.engine.percept import Percept, ScopeImage

    percepts = tuple(
        Percept(
            id=_identifier(row),
            content=_TEMPLATE.format(10_000 + row),
            producer="user",
            w=0.9,
            created_at=NOW,
            updated_at=NOW,
        )
        for row in range(LOOK_ALIKES)
    )
    engine = Engine(replace(DEFAULT, distinctness_guard="values"), wordlists.load())
    engine.load(ScopeImage(name="global", percepts=percepts))
    record = _recorder(engine)
    record(_TEMPLATE.format(9_999))  # works out what the guard needs of them, once
    with unswept():
        texts = [_TEMPLATE.format(30_000 + number) for number in range(count)]
        return quantile([sample(record, text)[0] for text in texts], 0.5) * 1e6
