"""What is kept of an answer: no text, and nothing that may be one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.daemon import render
from milkd.daemon.pruning import KEPT, prune, with_texts
from milkd.engine import results
from milkd.engine.percept import Edge, Percept, Wording
from milkd.rpc import schema
from milkd.store.entries import Done

if TYPE_CHECKING:
    from collections.abc import Mapping

EDGE = Edge("a1", "b2", "updates", extra={"why": "SECRET"})
OUTCOME = results.Outcome(
    id="a1",
    status="reinforced",
    similarity=0.75,
    w=0.9,
    evidence=2,
    scope="global",
    existing=results.Match("a1", "SECRET", 0.7, 0.75),
    look_alike=results.Match("b2", "SECRET", 0.5, 0.625, "negated: SECRET"),
    differs=results.Differs(("SECRET",), ("SECRET",)),
    edge=EDGE,
    edge_error="not_found: SECRET",
)
VIEW = results.View(
    Percept(
        id="a1",
        content="SECRET",
        producer="user",
        w=0.5,
        created_at=0.0,
        updated_at=1.0,
        consumer="primary",
        roles={"theme": "SECRET"},
        engram_id="e5",
        core=True,
        evidence=3,
        wordings=(Wording("SECRET", 0.0),),
        content_at=1.0,
        extra={"status": "SECRET", "edge": {"from": "SECRET"}, "pin": 4711, "mood": ["SECRET", 1]},
    ),
    "s1",
    1.5,
)
OUTCOME_KEPT = {
    "id": "a1",
    "status": "reinforced",
    "similarity": 0.75,
    "existing": {"id": "a1", "content": "", "w": 0.7, "similarity": 0.75},
    "w": 0.9,
    "evidence": 2,
    "scope": "global",
    "look_alike": {"id": "b2", "content": "", "w": 0.5, "similarity": 0.625},
    "edge": {"from": "a1", "to": "b2", "relation": "updates"},
    "edge_error": "",
}
PERCEPT_KEPT = {
    "id": "a1",
    "content": "",
    "producer": "user",
    "consumer": "primary",
    "w": 0.5,
    "engram_id": "e5",
    "created_at": "1970-01-01T00:00:00Z",
    "updated_at": "1970-01-01T00:00:01Z",
    "core": True,
    "evidence": 3,
    "content_at": "1970-01-01T00:00:01Z",
    "scope": "session",
    "session": "s1",
    "rank_score": 1.5,
}
REPORT = render.report(results.Report(decayed=3, sessions={"s1": results.Report(promoted=1)}))


@pytest.mark.parametrize(
    ("method", "body", "kept"),
    [
        ("record", render.result(OUTCOME), OUTCOME_KEPT),
        ("learn", render.learned(OUTCOME), OUTCOME_KEPT | {"message": ""}),
        ("edit", render.result(VIEW), PERCEPT_KEPT),
        ("restore", render.result(VIEW), PERCEPT_KEPT),
        (
            "forget",
            render.result(results.Forgotten("a1", "SECRET", 2)),
            {"id": "a1", "content": "", "others": 2},
        ),
        (
            "relate",
            render.related(results.Related(EDGE, True), word="created"),
            {"edge": OUTCOME_KEPT["edge"], "created": True},
        ),
        (
            "unrelate",
            render.related(results.Related(EDGE, False), word="removed"),
            {"edge": OUTCOME_KEPT["edge"], "removed": False},
        ),
        ("consolidate", REPORT, REPORT),
        ("session_close", render.report(results.Report()), render.report(results.Report())),
        ("session_drop", render.result(results.Dropped(4)), {"dropped": 4}),
        (
            "import",
            {"accepted": 3, "refused": [{"index": 1, "reason": "content: SECRET"}]},
            {"accepted": 3, "refused": [{"index": 1, "reason": ""}]},
        ),
    ],
)
def test_ids_names_and_numbers_are_kept_and_texts_are_blank(
    method: str, body: Mapping[str, object], kept: Mapping[str, object]
) -> None:
    assert prune(method, body) == kept
    assert "SECRET" not in json.dumps(prune(method, body))


def test_every_method_that_changes_facts_is_known_with_every_key_of_its_example() -> None:
    changing = {name: method for name, method in schema.METHODS.items() if method.changes}
    assert KEPT.keys() == changing.keys()
    left_out = {"roles", "wordings", "reason"}  # nobody can count on these
    for name, method in changing.items():
        pruned = prune(name, method.example.result)
        assert pruned.keys() >= method.example.result.keys() - left_out, name


def test_what_is_not_of_its_kind_is_left_out() -> None:
    body = {"id": ["a"], "status": 7, "w": "0.5", "existing": "text", "edge": None, "scope": None}
    assert prune("record", body) == {}
    assert prune("consolidate", {"sessions": {"s1": {"decayed": "x", "more": 1}}}) == {
        "sessions": {"s1": {}}
    }


KEYS = ["content", "reason", "wordings", "roles", "message", "w", "existing", "edge", "refused"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text("SECRT", min_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
)


@given(st.sampled_from(sorted(KEPT)), st.dictionaries(st.sampled_from(KEYS), ANYTHING))
def test_no_text_gets_through_by_another_shape(method: str, body: dict[str, object]) -> None:
    assert not any(letter in json.dumps(prune(method, body)) for letter in "SECRT")


def done(method: str, result: Mapping[str, object]) -> Done:
    return Done("op", "00", method, result)


def test_words_of_facts_that_are_still_there_are_put_back() -> None:
    live = {"a1": "tabs it is"}.get
    body = with_texts(done("record", OUTCOME_KEPT), live)
    assert body["existing"] == {"id": "a1", "content": "tabs it is", "w": 0.7, "similarity": 0.75}
    assert body["look_alike"] == OUTCOME_KEPT["look_alike"]
    assert with_texts(done("edit", PERCEPT_KEPT), live) == PERCEPT_KEPT | {"content": "tabs it is"}
    relate = {"edge": OUTCOME_KEPT["edge"], "created": True}
    assert with_texts(done("relate", relate), live) == relate


def test_what_was_forgotten_is_not_put_back_from_another_fact_of_its_id() -> None:
    forgotten = {"id": "a1", "content": "", "others": 0}
    assert with_texts(done("forget", forgotten), {"a1": "came anew"}.get) == forgotten
