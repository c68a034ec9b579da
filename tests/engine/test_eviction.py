"""The lowest ranks go, as the steps of the pass before have left them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.analysis import Analyzer
from milkd.engine.commands import Now
from milkd.engine.consolidation import evict
from milkd.engine.draft import Draft
from milkd.engine.memory import Memory
from milkd.engine.params import STRICT
from milkd.engine.percept import ARCHIVE, GLOBAL, Percept, ScopeImage
from milkd.engine.results import Report
from sitting import NOON, percept

NOW = Now(NOON, {GLOBAL: 0.0})
WEIGHTS = st.sampled_from([0.25, 0.5, 1.0])
FACTS = st.lists(st.tuples(WEIGHTS, st.booleans()), max_size=8)


def facts(first: int, held: list[tuple[float, bool]]) -> tuple[Percept, ...]:
    return tuple(
        percept(f"fact {number}", number, w=w, core=core, updated_at=NOON + 1e5 * (number % 3 - 1))
        for number, (w, core) in enumerate(held, first)
    )


@given(FACTS, FACTS, st.lists(st.sampled_from(["drop", "move", "lower"]), max_size=8),
       st.integers(1, 9))  # fmt: skip
def test_they_are_those_of_a_sorted_list(
    held: list[tuple[float, bool]],
    joining: list[tuple[float, bool]],
    steps: list[str],
    limit: int,
) -> None:
    memory = Memory(Analyzer(replace(STRICT, percept_store_max=limit)))
    for name in (GLOBAL, ARCHIVE):
        memory.load(ScopeImage(name=name), 0.0)
    memory.load(ScopeImage(name=GLOBAL, percepts=facts(0, held)), 0.0)
    draft = Draft(memory, NOW)
    draft.let_pass(GLOBAL)
    for step, each in zip(steps, facts(0, held), strict=False):
        if step != "lower":
            draft.drop(GLOBAL, each.id)
        if step != "drop":
            draft.put(GLOBAL, replace(each, w=0.125))
    for each in facts(20, joining):
        draft.put(GLOBAL, each)
    here = draft.scope(GLOBAL)
    before = [known for i in here.ids() if (known := here.get(i)) is not None]
    ranked = sorted(
        (each for each in before if not each.core),
        key=lambda each: memory.rank_score(each, NOON),
    )
    report = Report()
    evict(draft, report)
    gone = {each.id for each in before} - set(here.ids())
    assert gone == {each.id for each in ranked[: max(0, len(before) - limit)]}
    assert report.evicted == len(gone)
