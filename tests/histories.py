"""What random histories are made of: texts that nearly agree, names, knobs, an old store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from milkd.engine.params import DEFAULT, STRICT, Params
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Percept, ScopeImage, Wording
from textbook_shelf import DAY, EPOCH, Fact, Scope

NAMES = ("s1", "s2", "s3")
TEXTS = (
    "deploys go through the west cluster",
    "deploys go through west cluster",
    "deploys go through the east cluster",
    "cluster west: deploys go through",
    "west cluster",
    "tests run before merge",
    "tests run after merge",
    "merge tests",
    "tests run before every merge",
    "the café opens early",
    "the cafe\u0301 opens EARLY",
    "the cafe opens early",
    "Straße closed",
    "STRASSE closed",
    "我们不断改进代码质量和测试",
    "我们不断改进代码质量",
    "代码",
    "ภาษาไทยง่ายมาก",
    "ภาษาไทยง่าย",
    "Ｃｌｏｕｄｆｌａｒｅ serves the edge",
    "cloudflare serves the edge",
    "!!!",
    "！！！",
    "→",
    "the and of",
    "THE AND OF",
    "west\nof\tthe\x1b cluster",
    "face the added cafe",
    "🦀 rust 🦀",
    "a much longer fact that would take most of a small budget, tests or no tests, east or west",
    "deploys never go through the west cluster",
    "deploys go through west cluster 2",
    "deploys go through west cluster 3",
    "tests running before merges",
    "testing ran before merging",
    "merge after tests run, not before",
    "west gate listens on port 22",
    "west gate listens on port 49222",
    "the west gates listened on a port",
    "enable the west gate",
    "disable the west gate",
)
ADDED = ("", "", " now", " again", " today", " at noon", " → day and night", " never")
"""What a restatement may add to the words of a fact."""
BAD_TEXTS = ("", " \n\t", "nul \0 inside", "lone \ud800 half", "a" * 8193, "ü" * 4097)
WORDS = ("aaaa", "#be7a0", "west", "MERGE", " west cluster ", "nothing like it", "测试")
TUNINGS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {},
    {},
    {"session_half_life_days": 0.1, "global_half_life_days": 1.0, "global_archive_after_days": 0.5},
    {"percept_store_max": 3, "recency_half_life_days": 0.01, "recency_boost": 1.0},
    {"percept_store_max": 2, "global_archive_after_days": 0.25},
    {"reconfirm_boost": 0.3, "reconfirm_cap": 0.85, "promote_corroborated_threshold": 0.6},
    {"prune_threshold": 0.35, "duplicate_threshold": 0.4, "percept_relevance_gate": False},
    {"percept_store_max": 1},
    {"percept_inject_max": 2, "percept_inject_max_bytes": 120, "global_archive_after_days": 0.01},
    {"wordings": 1, "reconfirm_cap": 0.8, "inject_repeat_turns": 1, "recency_unit_days": 0.5},
    {"wordings": 2, "inject_repeat_turns": 2, "distinctness_guard": "words"},
    {"diversity": "both", "diversity_threshold": 0.3},
    {"diversity": "query", "hit_weight": "idf"},
    {"diversity": "inject", "importance_weight": 1.5},
    {"hit_weight": "idf", "stemmer": "none"},
    {"hit_weight": "idf", "percept_relevance_gate": False},
    {"session_half_life_days": 0.1, "prune_threshold": 0.45, "reconfirm_boost": 0.2},
    {"unicode_text": False, "hit_fields": "content"},
    {"neighbours": "both", "neighbour_overlap": 0.2},
    {"neighbours": "query", "neighbour_overlap": 0.3, "neighbours_max": 1},
    {"neighbours": "inject", "neighbours_per_result": 1, "percept_inject_max": 3},
    {"contradiction_floor": 0.75, "promote_threshold": 0.4},
)
DIFFERING = tuple(
    name
    for name in Params.__slots__
    if getattr(DEFAULT, name) != getattr(STRICT, name) and name != "profile"
)
"""The knobs in which the profiles differ."""


def mixed(base: Params, other: Params, names: set[str]) -> Params:
    """One profile with some knobs of the other."""
    return replace(base, **{name: getattr(other, name) for name in names})


params = st.builds(
    lambda pair, names, one, other: replace(mixed(pair[0], pair[1], names), **{**one, **other}),
    st.sampled_from(((DEFAULT, STRICT), (DEFAULT, STRICT), (STRICT, DEFAULT))),
    st.one_of(st.just(set[str]()), st.sets(st.sampled_from(DIFFERING), max_size=4)),
    st.sampled_from(TUNINGS),
    st.sampled_from(TUNINGS),
)
# Running times are sums of eighths of a second: exact, so that equal ones are equal.
SECONDS = (0.5, 61.25, 907.5, 3600.0, 20_000.25, 0.75 * DAY, 1.5 * DAY)
STEPS = (1.0, DAY, 30 * DAY, 3650 * DAY)

Ref = str | tuple[int, str]


def id_of(number: int) -> str:
    """Ids that often begin alike, and some of which begin like words."""
    return f"{'aaaa' if number % 2 else 'be7a'}{number:04x}-0000-4000-8000-000000000000"


texts = st.sampled_from(TEXTS)
additions = st.sampled_from(ADDED)
sessions = st.sampled_from((*NAMES, None))
# Few, so that what one was shown comes back to it: a session, or a connection without one.
callers = st.sampled_from((("s1", None), ("s1", "c1"), ("s2", None), (None, "c1"), (None, None)))
producers = st.sampled_from(("primary", "primary", "user", "escalation", "system", "someone"))
consumers = st.sampled_from((None, None, "primary", "escalation"))
subjects = st.sampled_from((None, None, None, "Deploys", "deploys", "tests"))
roles = st.sampled_from(
    ({}, {}, {"agent": "me"}, {"agent": "you", "where": "here"}, {"agent": "", "theme": "else"})
)
relations = st.sampled_from(
    ("extends", "updates", "updates", "derives", "contradicts", "contradicts")
)
# A percept by its place among those at hand, and how it is named; or any words.
picks = st.tuples(st.integers(0, 7), st.sampled_from(("id", "id", "id", "short", "text")))
refs: st.SearchStrategy[Ref] = st.one_of(picks, picks, picks, st.sampled_from((*WORDS, id_of(99))))


def percept(number: int, content: str, w: float, **others: Any) -> Percept:
    times = {"created_at": EPOCH - 40 * DAY, "updated_at": EPOCH - 30 * DAY}
    fields = {"producer": "primary"} | times | others
    return Percept(id=id_of(number), content=content, w=w, **fields)


WORDINGS = (Wording("west cluster deploys every night", EPOCH - DAY),)
JUDGED = {
    "recall_count": 3,
    "bad_recall_count": 1,
    "last_confirmed_use_at": EPOCH - DAY,
    "importance": 0.25,
}
OLD_STORE = (
    ScopeImage(
        name=GLOBAL,
        percepts=(
            percept(1, TEXTS[0], 0.5, idle_seconds=13.75 * DAY, importance=0.9),
            percept(2, TEXTS[5], 0.2, evidence=3, consumer="primary"),
            percept(3, TEXTS[9], 0.1, updated_at=EPOCH + 3 * DAY),
            percept(4, TEXTS[14], 1.0, core=True, producer="user", idle_seconds=20 * DAY),
        ),
        edges=(Edge(id_of(1), id_of(2), "extends"), Edge(id_of(3), id_of(5), "contradicts")),
    ),
    ScopeImage(
        name=ARCHIVE,
        percepts=(
            percept(9, TEXTS[7], 0.6, archived_at=EPOCH - DAY, archived_reason="stale"),
            percept(12, TEXTS[36], 0.45, archived_at=EPOCH, archived_reason="stale"),
            percept(10, TEXTS[1], 0.3, archived_at=EPOCH, archived_reason="evicted", evidence=1),
        ),
        edges=(Edge(id_of(9), id_of(1), "updates"), Edge(id_of(10), id_of(9), "contradicts")),
    ),
    ScopeImage(
        name="s3",
        percepts=(
            percept(5, TEXTS[0], 0.9, producer="user", wordings=WORDINGS),
            percept(6, TEXTS[1], 0.8, evidence=2, idle_seconds=DAY, **JUDGED),
            percept(7, TEXTS[22], 1.0, core=True),
            percept(8, TEXTS[17], 0.3, updated_at=EPOCH + 0.5 * DAY),
            percept(11, TEXTS[28], 0.45),
        ),
        edges=(
            Edge(id_of(2), id_of(8), "derives"),
            Edge(id_of(7), id_of(8), "contradicts"),
            Edge(id_of(8), id_of(2), "updates"),
            Edge(id_of(7), id_of(11), "contradicts"),
            Edge(id_of(8), id_of(99), "extends"),
        ),
    ),
)
"""A store as milk might have left it: edges that lie elsewhere, lead nowhere or hang on core."""


def shelved(image: ScopeImage) -> Scope:
    """The textbook's copy of an image."""
    labels = {engram.id: engram.subject_label.casefold() for engram in image.engrams}
    facts = [
        Fact(
            id=p.id,
            content=p.content,
            producer=p.producer,
            w=p.w,
            created_at=p.created_at,
            updated_at=p.updated_at,
            consumer=p.consumer,
            roles=dict(p.roles),
            label=labels.get(p.engram_id or ""),
            core=p.core,
            evidence=p.evidence,
            idle=p.idle_seconds,
            used_at=p.last_used_at,
            archived_at=p.archived_at,
            reason=p.archived_reason,
            importance=p.importance,
            recalls=p.recall_count,
            bad_recalls=p.bad_recall_count,
            confirmed_at=p.last_confirmed_use_at,
            wordings=[(wording.content, wording.at) for wording in p.wordings],
        )
        for p in image.percepts
    ]
    return Scope(facts, [(edge.source, edge.target, edge.relation) for edge in image.edges])
