"""What forgotten facts leave in one document, and the document without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from milkd.engine.percept import Edge, Engram, Percept, ScopeImage, Wording
from milkd.store.encoder import image_to_bytes
from milkd.store.entries import Done
from milkd.store.operations import operations_to_bytes
from milkd.store.seal import Seal, Sealing
from milkd.store.snapshot import image_from_bytes
from milkd.store.traces import Traces, texts_in

GONE = "90000000-0000-4000-8000-000000000001"
TWIN = "90000000-0000-4000-8000-000000000002"
LIVE = "90000000-0000-4000-8000-000000000003"
REST = "90000000-0000-4000-8000-000000000004"
TEXT = 'the door code is "7 & 8"'
SEALING = Sealing("5d2f0000-0000-4000-8000-000000000000", 7, 1_700_000_000.0)
TIMES: dict[str, Any] = {"created_at": 1.0, "updated_at": 2.0}


def percept(id_: str, content: str, *wordings: str, **more: Any) -> Percept:
    said = tuple(Wording(wording, 1.0) for wording in wordings)
    known: dict[str, Any] = {"id": id_, "content": content, "wordings": said, "producer": "user"}
    return Percept(**(TIMES | {"w": 0.5} | known | more))


def engram(id_: str, *members: str) -> Engram:
    return Engram(id=id_, subject_label="doors", composite_w=0.5, percept_ids=members, **TIMES)


IMAGE = ScopeImage(
    name="s1",
    percepts=(
        percept(GONE, TEXT, "the code of the door"),
        percept(TWIN, TEXT),
        percept(LIVE, TEXT, "codes", TEXT),
        percept(REST, f"not just {TEXT}", extra={"mood": ["calm", 1]}),
    ),
    engrams=(engram("e1", GONE, TWIN), engram("e2", GONE, REST), engram("e3", LIVE)),
    edges=(Edge(GONE, REST, "extends"), Edge(REST, TWIN, "updates"), Edge(LIVE, REST, "derives")),
    shown=(GONE, LIVE, TWIN),
    extra={"notes": ["kept", {"n": 1}]},
    unreadable=(("percepts", 1, {"id": "x", "content": "odd", "w": "high"}),),
)
BY_ID = Traces(ids=frozenset({GONE}))
BY_TEXT = Traces(texts=frozenset({TEXT}), live={LIVE, REST}.__contains__, sources=frozenset({GONE}))


def image_of(data: bytes) -> ScopeImage:
    loaded = image_from_bytes("s1", data)
    assert loaded.sealed is Seal.OURS
    return loaded.image


def test_what_has_the_id_goes_and_what_refers_to_it() -> None:
    image = image_of(BY_ID.without(image_to_bytes(IMAGE, SEALING)))
    assert image.percepts == IMAGE.percepts[1:]
    assert image.engrams == (engram("e1", TWIN), engram("e2", REST), engram("e3", LIVE))
    assert image.edges == IMAGE.edges[1:]
    assert image.shown == (LIVE, TWIN)
    assert image.extra == IMAGE.extra
    assert [raw for _, _, raw in image.unreadable] == [raw for _, _, raw in IMAGE.unreadable]


def test_what_says_the_same_goes_unless_it_is_live() -> None:
    image = image_of(BY_TEXT.without(image_to_bytes(IMAGE, SEALING)))
    live = percept(LIVE, TEXT, "codes")
    assert image.percepts == (IMAGE.percepts[0], live, IMAGE.percepts[3])
    assert image.engrams == (engram("e1", GONE), *IMAGE.engrams[1:])
    assert image.edges == (IMAGE.edges[0], IMAGE.edges[2])
    assert image.shown == (GONE, LIVE)


def test_an_engram_of_which_nothing_is_left_goes() -> None:
    traces = Traces(ids=frozenset({GONE, TWIN}))
    image = image_of(traces.without(image_to_bytes(IMAGE, SEALING)))
    assert image.engrams == (engram("e2", REST), engram("e3", LIVE))


def test_a_document_without_traces_is_given_back_as_it_is() -> None:
    data = image_to_bytes(IMAGE, SEALING)
    for traces in (
        Traces(ids=frozenset({"another"})),
        Traces(texts=frozenset({"just"})),
        Traces(texts=frozenset({TEXT}), live=lambda _: True, sources=frozenset({LIVE})),
    ):
        assert traces.without(data) is data


def test_no_other_byte_is_changed() -> None:
    data = (
        b'\xef\xbb\xbf{"x":1.50,"Percepts" : [ {"ID":"a","W":1e0},{"Id":"b","content":"t"} ],\r\n'
        b'"EDGES":[{"from":"a","TO":"b"}],"engrams":[{"id":"e","Percept_ids":["b"]}]}  '
    )
    left = (
        b'\xef\xbb\xbf{"x":1.50,"Percepts" : [ {"ID":"a","W":1e0} ],\r\n"EDGES":[],"engrams":[]}  '
    )
    assert Traces(ids=frozenset({"b"})).without(data) == left
    assert Traces(texts=frozenset({"t"})).without(data) == left


def test_entries_that_are_no_percepts_lose_what_they_say_too() -> None:
    data = b"""{"edges": ["t", 7], "percepts": ["t", "u", null, 1, ["t"],
        {"content": "t"}, {"id": 5, "content": "t"}, {"id": ["t"], "wordings": [{"content": "t"}]},
        {"id": "x", "wordings": "t"}, {"id": "y", "content": ["t"], "wordings": ["t", {}]}],
        "engrams": [{"percept_ids": "t"}], "log": {"t": "kept", "said": "t", "all": ["t", "u"]},
        "history": [{"id": "b", "content": "old"}, "b", "u"], "motto": "t", "n": null}"""
    text = Traces(texts=frozenset({"t"})).without(data)
    odd = {"id": "y", "content": ["t"], "wordings": ["t", {}]}
    assert json.loads(text) == {
        "edges": [7],
        "percepts": ["u", None, 1, [], {"id": "x", "wordings": "t"}, odd],
        "engrams": [{"percept_ids": "t"}],
        "log": {"t": "kept", "all": ["u"]},
        "history": [{"id": "b", "content": "old"}, "b", "u"],
        "motto": None,
        "n": None,
    }
    assert json.loads(Traces(ids=frozenset({"b"})).without(data))["history"] == ["u"]
    spared = Traces(texts=frozenset({"old"}), sources=frozenset({"b"}))
    assert spared.without(data) is data


def test_our_own_block_loses_ids_and_nothing_else() -> None:
    own = {"format": 1, "store": "b", "used": ["a", "b"], "touched": {"a": 1.0, "b": 2.0}}
    data = json.dumps({"percepts": [], "_milkd": own | {"shown": ["b"], "t": "b"}}).encode()
    kept = own | {"used": ["a"], "touched": {"a": 1.0}, "shown": [], "t": "b"}
    assert json.loads(Traces(ids=frozenset({"b"})).without(data))["_milkd"] == kept
    assert Traces(texts=frozenset({"b"})).without(data) is data
    odd = b'{"_milkd": {"used": "b"}}'
    assert Traces(ids=frozenset({"b"})).without(odd) is odd


def test_what_follows_the_object_goes_if_it_holds_a_trace() -> None:
    traces = Traces(ids=frozenset({"b"}))
    assert traces.without(b'{"x": 1} {"id": "b"') == b'{"x": 1}\n'
    assert traces.without(b'{"percepts": [{"id": "b"}]}\n tail') == b'{"percepts": []}\n tail'


def test_a_wrong_seal_stays_wrong() -> None:
    data = image_to_bytes(IMAGE, SEALING).replace(b'"doors"', b'"gates"', 1)
    assert image_from_bytes("s1", data).sealed is Seal.EDITED
    assert image_from_bytes("s1", BY_ID.without(data)).sealed is Seal.EDITED


BROKEN = (b"", b"[]", b'"t"', b'{"percepts": "b"}', b'{"a": "\xff"}', b'{"edges": [{"from": "b"}')


@pytest.mark.parametrize(
    "data", [*BROKEN, b'{"percepts": {"b": {"id": "b"}}}', b'{"a":' + b"[" * 100_000]
)
def test_what_is_no_document_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        Traces(ids=frozenset({"b"})).without(data)


def test_lists_that_are_null_hold_nothing() -> None:
    data = b'{"percepts": null, "engrams": null, "edges": null}'
    assert Traces(ids=frozenset({"b"})).without(data) is data


# What a copy tells of texts


def test_content_and_wordings_are_told_by_id() -> None:
    data = image_to_bytes(IMAGE, SEALING)
    assert texts_in(data, frozenset({GONE})) == {TEXT, "the code of the door"}
    assert texts_in(data, frozenset({LIVE, TWIN})) == {TEXT, "codes"}
    assert texts_in(data, frozenset({"e1", "another"})) == set()


def test_an_unreadable_entry_tells_too_but_a_broken_file_does_not() -> None:
    data = image_to_bytes(IMAGE, SEALING)
    assert texts_in(data, frozenset({"x"})) == {"odd"}
    assert texts_in(data[:-3], frozenset({GONE})) == set()
    assert texts_in(b"[" * 100_000, frozenset({GONE})) == set()


def test_a_journal_tells_even_if_it_is_damaged() -> None:
    put = {"t": "put", "percept": {"id": GONE, "content": TEXT, "wordings": [{"content": "w"}]}}
    lines = [
        b'J1 00000000 00000000 {"t":"H"}',
        b"J1 00000000 00000000 " + json.dumps({"ch": [put]}).encode(),
        b'J1 00000000 00000000 {"ch":[{"id":"%s","content":"cut' % GONE.encode(),
        b'J1 00000000 00000000 {"ch":[{"id":"another","content":"else"}]}',
        b"J1 00000000 00000000 " + b"[" * 100_000 + GONE.encode(),
        b'J1 00000000 00000000 {"x":' + b"[" * 100_000 + GONE.encode(),
    ]
    for data in (b"\n".join(lines), b"?" + b"\n".join(lines) + b"\0" * 512):
        assert texts_in(data, frozenset({GONE})) == {TEXT, "w"}


def test_operations_tell_nothing() -> None:
    done = Done("op", "00", "record", {"id": GONE, "content": ""})
    assert texts_in(operations_to_bytes("s", 1, [done]), frozenset({GONE})) == set()
