"""Entries and journals for tests: some that are the same every time, and strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from milkd.engine.changes import (
    Annotated,
    AudienceLeft,
    Change,
    EdgeDropped,
    EdgePut,
    EngramDropped,
    EngramPut,
    Passed,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
    Shown,
    Used,
)
from milkd.engine.percept import Edge, Engram, Percept, Wording
from milkd.store.entries import Done, Entry, entry_to_payload
from milkd.store.journal import Header, frame, header_frame, seed_of
from milkd.store.records import EDGE_KEYS, ENGRAM_ALWAYS, PERCEPT_KEYS, ROLES, WORDING_KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

STORE = "5c7e0000-0000-4000-8000-000000000001"
GEN = "00000007-0badcafe"
HEADER = Header(STORE, GEN, 100, writer="milkd test")
SEED = seed_of(STORE, GEN)

BARE = Percept(
    id="p1", content="tea at four", producer="user", w=0.5, created_at=0.0, updated_at=1.5
)
FULL = Percept(
    id="p2",
    content='Tee um vier – "earl grey" 🍵\n',
    producer="primary",
    consumer="escalation",
    w=0.1 + 0.2,
    roles={"theme": "tea", "steam": [1, {"a": None}]},
    engram_id="e1",
    created_at=1796070535.7833912,
    updated_at=1796070535.7833917,
    core=True,
    evidence=2,
    idle_seconds=60.1,
    last_used_at=1796070536.1234567,
    importance=0.75,
    recall_count=4,
    bad_recall_count=1,
    last_confirmed_use_at=3.0,
    wordings=(Wording("four o'clock tea", 1796070535.1234567, {"mood": 1}), Wording("tea", 2.0)),
    content_at=1796070535.7833915,
    archived_at=5.0000001,
    archived_reason="stale",
    extra={"zeal": 2**70, "mood": {"is": None, "a": [0.1, 1e300]}},
    stamps={
        "created_at": "2026-05-24T10:11:12.123456789+02:00",
        "last_confirmed_use_at": "1970-01-01T02:00:03+02:00",
    },
)
ENGRAM = Engram(
    id="e1",
    subject_label="Tee",
    composite_w=1 / 3,
    percept_ids=("p1", "p2"),
    created_at=1796070535.7833912,
    updated_at=1.5,
    extra={"shade": "dark"},
    stamps={"updated_at": "1970-01-01T01:00:01.5+01:00"},
)
EDGE = Edge("p1", "p2", "haunts", {"since": 1.5})
EVERY_CHANGE: tuple[Change, ...] = (
    PerceptPut("global", BARE),
    PerceptPut("s-1", FULL, 123.4567),
    PerceptDropped("archive", "p1"),
    EdgePut("global", EDGE),
    EdgeDropped("global", EDGE),
    EngramPut("global", ENGRAM),
    EngramDropped("global", "e1"),
    Passed("global", 5000.1, 86400.0, 604800.0, 0.1),
    Used("global", ("p1", "p2"), 1796070535.7833912),
    Shown("s-1", "s-1", {"p1": "", "p2": ""}),
    AudienceLeft("s-1"),
    ScopeDropped("s-1"),
    Annotated("global", {"theme": {"accent": "ä"}}, (("percepts", 3, {"id": 5, "w": "high"}),)),
)
DONE = Done("op-1", "00ff", "record", {"id": "p1", "status": "new", "rows": [1, True, None]})


def entries(count: int, first: int = 101) -> tuple[Entry, ...]:
    """Small entries of all kinds, numbered on from `first`."""
    return tuple(
        Entry(
            seq=first + number,
            at=1796070535.7833912 + number,
            kind="record",
            changes=(EVERY_CHANGE[(3 * number + 2) % len(EVERY_CHANGE)],),
            done=DONE if number % 3 == 0 else None,
            scrub=("p9",) if number % 5 == 4 else (),
        )
        for number in range(count)
    )


def records(batches: Sequence[Sequence[Entry]], durable: int = 100) -> list[bytes]:
    """The records of entries that were made durable batch by batch."""
    found = []
    for batch in batches:
        found += [frame(entry_to_payload(entry, durable), SEED) for entry in batch]
        durable = batch[-1].seq
    return found


def journal(batches: Sequence[Sequence[Entry]]) -> bytes:
    """A journal of entries that were made durable batch by batch."""
    return header_frame(HEADER) + b"".join(records(batches))


def _others(known: frozenset[str]) -> st.SearchStrategy[dict[str, object]]:
    """Keys that nobody knows, some of which differ from known ones by case alone."""
    alike = [key.title() for key in sorted(known)]
    keys = st.text(max_size=5) | st.sampled_from(alike) if alike else st.text(max_size=5)
    unknown = keys.filter(lambda key: key not in known)
    return st.dictionaries(unknown, VALUES, max_size=3)


VALUES: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
NAMES = st.text(min_size=1, max_size=8)
SCOPES = st.sampled_from(["global", "archive", "s-1", "S.2_x"])
TIMES = (
    st.floats(1.7e9, 1.9e9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(10**10), 10**10).map(float)
)
AMOUNTS = st.floats(0, 1e12)
PARTS = st.floats(0, 1)
COUNTS = st.integers(0, 2**32 - 1)
SPELLINGS = st.sampled_from(
    ["1970-01-01T00:00:00.000Z", "2026-05-24T10:11:12.123456789+02:00", "0001-01-01T00:00:00Z"]
)
WORDINGS = st.builds(Wording, NAMES, TIMES, _others(WORDING_KEYS))
PERCEPTS = st.builds(
    Percept,
    id=NAMES,
    content=NAMES,
    producer=st.sampled_from(["user", "primary", "escalation", "system", "", "oracle"]),
    w=PARTS,
    created_at=TIMES,
    updated_at=TIMES,
    consumer=st.none() | NAMES,
    roles=st.dictionaries(st.sampled_from([*sorted(ROLES), "mood"]), VALUES),
    engram_id=st.none() | NAMES,
    core=st.booleans(),
    evidence=COUNTS,
    idle_seconds=st.floats(0, allow_infinity=False),
    last_used_at=st.none() | TIMES,
    importance=st.none() | st.floats(0.1, 1),
    recall_count=COUNTS,
    bad_recall_count=COUNTS,
    last_confirmed_use_at=st.none() | TIMES,
    wordings=st.lists(WORDINGS, max_size=3).map(tuple),
    content_at=st.none() | TIMES,
    archived_at=st.none() | TIMES,
    archived_reason=st.none() | NAMES,
    extra=_others(PERCEPT_KEYS),
    stamps=st.dictionaries(
        st.sampled_from(["created_at", "updated_at", "archived_at", "wordings[0].at"]), SPELLINGS
    ),
)
ENGRAMS = st.builds(
    Engram,
    id=NAMES,
    subject_label=NAMES,
    composite_w=PARTS,
    percept_ids=st.lists(NAMES, max_size=3).map(tuple),
    created_at=TIMES,
    updated_at=TIMES,
    extra=_others(ENGRAM_ALWAYS),
    stamps=st.dictionaries(st.sampled_from(["created_at", "updated_at"]), SPELLINGS),
)
EDGES = st.builds(Edge, NAMES, NAMES, NAMES, _others(EDGE_KEYS))
IDS = st.lists(NAMES, max_size=4, unique=True).map(tuple)
UNREADABLE = st.tuples(
    st.sampled_from(["percepts", "engrams", "edges"]), st.integers(0, 99), VALUES
)
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(PerceptPut, SCOPES, PERCEPTS, st.none() | AMOUNTS),
    st.builds(PerceptDropped, SCOPES, NAMES),
    st.builds(EdgePut, SCOPES, EDGES),
    st.builds(EdgeDropped, SCOPES, EDGES),
    st.builds(EngramPut, SCOPES, ENGRAMS),
    st.builds(EngramDropped, SCOPES, NAMES),
    st.builds(Passed, SCOPES, AMOUNTS, AMOUNTS, st.floats(0, 1e12, exclude_min=True), PARTS),
    st.builds(Used, SCOPES, IDS, TIMES),
    st.builds(lambda scope, ids: Shown(scope, scope, dict.fromkeys(ids, "")), SCOPES, IDS),
    st.builds(AudienceLeft, SCOPES),
    st.builds(ScopeDropped, SCOPES),
    st.builds(Annotated, SCOPES, _others(frozenset()), st.lists(UNREADABLE, max_size=3).map(tuple)),
)
DONES = st.builds(Done, NAMES, NAMES, NAMES, st.dictionaries(NAMES, VALUES, max_size=3))
ENTRIES = st.builds(
    Entry,
    seq=st.integers(1, 2**63),
    at=TIMES,
    kind=NAMES,
    changes=st.lists(CHANGES, max_size=4).map(tuple),
    done=st.none() | DONES,
    scrub=IDS,
    more=st.booleans(),
)
