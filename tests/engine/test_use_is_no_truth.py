"""Use makes no fact true: with feedback or without, a history leaves the same strengths."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from milkd.engine import commands as ask
from milkd.engine.params import DEFAULT, STRICT, Params
from milkd.engine.percept import ARCHIVE, GLOBAL, Percept
from milkd.errors import RequestError
from sitting import DAY, Sitting, percept

if TYPE_CHECKING:
    from collections.abc import Sequence

SESSIONS = ("s1", "s2")
WORDS = ("anna deploys on friday", "boris likes tabs", "the forge uses port 5433", "anna uses tabs")
RESPONSES = (
    "anna deploys, so friday it is",
    "port 5433 of the forge",
    "I do as I please, and gladly",
    "",
)
REPLIES = ("", "yes", "no, wrong")

Step = tuple[str, Any]
words, sessions = st.sampled_from(WORDS), st.sampled_from(SESSIONS)
ordinary: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("record"), st.tuples(words, sessions, st.sampled_from(["user", "primary"]))),
    st.tuples(st.just("inject"), st.tuples(words, sessions)),
    st.tuples(st.just("query"), st.tuples(words, sessions)),
    st.tuples(st.just("relate"), st.tuples(words, words, sessions)),
    st.tuples(st.just("consolidate"), sessions),
    st.tuples(st.just("run"), st.floats(0, 5 * DAY)),
    st.tuples(st.just("new_run"), st.none()),
)
feedback: st.SearchStrategy[Step] = st.one_of(
    st.tuples(
        st.just("turn_end"),
        st.tuples(st.sampled_from(RESPONSES), st.sampled_from(REPLIES), sessions),
    ),
    st.tuples(st.just("confirm"), words),
    st.tuples(st.just("reject"), words),
)
FEEDBACK = ("turn_end", "confirm", "reject")


class Life:
    """A sitting to which the same things happen, with feedback or without."""

    def __init__(self, params: Params, *, heeds: bool) -> None:
        self.sitting = Sitting(*SESSIONS, base=params)
        self.sitting.hold(GLOBAL, percept("the forge uses port 5432", 90), percept("boris", 91))
        self.heeds = heeds

    def go(self, steps: Sequence[Step]) -> Life:
        for name, arguments in steps:
            if name in FEEDBACK and not self.heeds:
                continue
            with suppress(RequestError):  # nothing fits, or several do: the same in both lives
                self.step(name, arguments)
        return self

    def step(self, name: str, given: Any) -> None:
        sitting = self.sitting
        if name == "record":
            sitting.record(given[0], given[1], producer=given[2])
        elif name == "inject":
            sitting.inject(given[0], given[1])
        elif name == "query":
            sitting.recall(given[0], given[1])
        elif name == "relate":
            source, target, session = given
            ends = {"source": source, "target": target, "session": session}
            sitting.do(ask.Relate(relation="contradicts", **ends))
        elif name == "consolidate":
            sitting.consolidate(given)
        elif name == "run":
            sitting.run(given)
        elif name == "new_run":
            sitting.engine.new_run()
        elif name == "turn_end":
            response, reply, session = given
            sitting.do(ask.TurnEnd(response=response, user_reply=reply, session=session))
        else:
            kind = ask.Confirm if name == "confirm" else ask.Reject
            sitting.do(kind(ref=given, session="s1"))

    def facts(self) -> dict[str, list[Percept]]:
        """What there is, but for what feedback is to change."""
        names = (GLOBAL, ARCHIVE, *SESSIONS)
        images = {name: self.sitting.engine.image(name).percepts for name in names}
        return {name: [_blank(each) for each in found] for name, found in images.items()}


def _blank(fact: Percept) -> Percept:
    return replace(
        fact, importance=None, last_confirmed_use_at=None, recall_count=0, bad_recall_count=0
    )


# What comes back is used, and what is used neither idles nor is an agent's own to restate: the
# order may decide which facts those are, so here everything fits.
def all_fits(params: Params, *, echo_guard: bool = True) -> Params:
    return replace(
        params,
        percept_inject_max=100,
        percept_inject_max_bytes=100_000,
        echo_guard=params.echo_guard and echo_guard,
    )


@settings(max_examples=150)
@given(st.lists(ordinary | feedback, max_size=40), st.sampled_from([DEFAULT, STRICT]))
def test_feedback_leaves_strength_evidence_promotion_and_archive(
    steps: list[Step], params: Params
) -> None:
    heeding, deaf = (Life(all_fits(params), heeds=heeds).go(steps) for heeds in (True, False))
    assert heeding.facts() == deaf.facts()


@settings(max_examples=60)
@given(st.lists(ordinary, max_size=30))
def test_to_inject_alone_leaves_strength_and_evidence(steps: list[Step]) -> None:
    params = all_fits(DEFAULT, echo_guard=False)
    plain = [step for step in steps if step[0] not in ("inject", "query")]
    with_it, without = (Life(params, heeds=True).go(each) for each in (steps, plain))

    def known(life: Life) -> dict[str, list[tuple[str, float, int]]]:
        found = {}
        for name in (*SESSIONS, GLOBAL):
            percepts = life.sitting.engine.image(name).percepts
            found[name] = sorted((each.content, each.w, each.evidence) for each in percepts)
        return found

    idle = any(name == "run" for name, _ in steps)
    if not idle:  # idle time alone archives
        assert known(with_it) == known(without)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(words, sessions, st.integers(0, 3)), max_size=10),
    st.lists(st.tuples(words, words, sessions), max_size=6),
    st.sampled_from([0.0, 0.2]),
)
def test_nothing_of_one_session_is_ever_shown_to_another(
    told: list[tuple[str, str, int]], joined: list[tuple[str, str, str]], overlap: float
) -> None:
    sitting = Sitting(*SESSIONS, base=all_fits(DEFAULT), neighbour_overlap=overlap)
    for text, session, number in told:
        sitting.record(f"{text} {number} of {session}", session, producer="user")
    for source, target, session in joined:
        with suppress(RequestError):
            ends = {"source": source, "target": target, "session": session}
            sitting.do(ask.Relate(relation="contradicts", **ends))
    for session, other in (SESSIONS, SESSIONS[::-1]):
        for text in WORDS:
            assert f"of {other}" not in sitting.inject(text, session, repeat=True).text
            answer = cast("Any", sitting.do(ask.Query(text=text, session=session, max_results=50)))
            views = [each.view for each in (*answer.hits, *answer.neighbours)]
            assert not [view for view in views if view.scope == other]


@settings(max_examples=60)
@given(st.lists(st.tuples(words, st.floats(0.3, 1.0), st.integers(0, 4)), max_size=12))
def test_with_neutral_importance_the_order_is_that_of_the_scores(
    facts: list[tuple[str, float, int]],
) -> None:
    held = [
        percept(f"{text} {n}", n + 1, w=w, evidence=evidence)
        for n, (text, w, evidence) in enumerate(facts)
    ]
    orders = []
    for weight in (0.0, 2.0):
        sitting = Sitting(base=DEFAULT, importance_weight=weight, distinctness_guard="off")
        sitting.hold(GLOBAL, *held)
        orders.append(sitting.recall("anna boris forge tabs", max_results=50))
    assert orders[0] == orders[1]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["turn_end", "confirm"]), min_size=1, max_size=8))
def test_repeated_in_one_run_it_is_one_step(kinds: list[str]) -> None:
    fact = percept("the forge uses port 5433", 1)
    sitting = Sitting("s1", base=DEFAULT, inject_repeat_turns=0)
    sitting.hold(GLOBAL, fact)
    for kind in kinds:
        if kind == "confirm":
            sitting.do(ask.Confirm(ref=fact.id))
        else:
            sitting.inject("forge", "s1")
            sitting.do(ask.TurnEnd(response="the forge uses port 5433", session="s1"))
    expected = 0.5 + 0.05 * ("turn_end" in kinds) + 0.15 * ("confirm" in kinds)
    found = sitting.only(GLOBAL).importance
    assert found is not None
    assert abs(found - expected) < 1e-9
