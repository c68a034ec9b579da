"""A store of milk's own, lived in through the socket and given back to milk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import go_reader
from places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import milkd

HARBOUR = "6f0d8a52-41c1-4c5e-9d7e-0b7a52c0f9a1"
PROOFS = "0c1d0000-0000-4000-8000-000000000002"
PRINTER = "9e000000-0000-4000-8000-000000000003"
LUNCH = "dd000000-0000-4000-8000-000000000005"
TELNET = "ee000000-0000-4000-8000-000000000006"
FAX = "ff000000-0000-4000-8000-000000000007"
SESSION = "3b1f0000-0000-4000-8000-00000000000a"
BORN = "2026-05-24T10:11:12.123456789+02:00"

GLOBAL_FILE = """\
{
  "percepts": [
    {
      "id": "6f0d8a52-41c1-4c5e-9d7e-0b7a52c0f9a1",
      "content": "releases leave through the harbour pipeline",
      "producer": "local",
      "consumer": "escalation",
      "w": 0.7,
      "roles": { "theme": "releases", "tone": "dry" },
      "engram_id": "b2c70000-0000-4000-8000-000000000001",
      "created_at": "2026-05-24T10:11:12.123456789+02:00",
      "updated_at": "2026-05-24T10:11:12.1+02:00",
      "mood": { "calm": [1, null, "\\u003cb\\u003e"] }
    },
    {
      "id": "0c1d0000-0000-4000-8000-000000000002",
      "content": "the user wants \\u003ctests\\u003e \\u0026 proofs first",
      "producer": "user",
      "w": 1,
      "roles": {},
      "created_at": "2026-05-25T08:00:00Z",
      "updated_at": "2026-05-25T08:00:00Z",
      "core": true
    },
    {
      "id": "9e000000-0000-4000-8000-000000000003",
      "content": "the printer is on the third floor",
      "producer": "claude",
      "w": 0.625,
      "roles": {},
      "created_at": "2026-05-26T08:00:00.000000001-07:30",
      "updated_at": "2026-05-26T08:00:00-07:30"
    }
  ],
  "engrams": [
    {
      "id": "b2c70000-0000-4000-8000-000000000001",
      "subject_label": "releases",
      "composite_w": 0.7,
      "percept_ids": ["6f0d8a52-41c1-4c5e-9d7e-0b7a52c0f9a1"],
      "created_at": "2026-05-24T10:11:12.000000001+02:00",
      "updated_at": "2026-05-24T10:11:12+02:00",
      "shade": "dark"
    }
  ],
  "edges": [
    {
      "from": "9e000000-0000-4000-8000-000000000003",
      "to": "6f0d8a52-41c1-4c5e-9d7e-0b7a52c0f9a1",
      "relation": "extends",
      "since": 1e3
    }
  ],
  "theme": { "accent": "\\u2028" }
}
"""


def statement(percept_id: str, content: str, **more: object) -> dict[str, object]:
    return {
        "id": percept_id,
        "content": content,
        "producer": "primary",
        "w": 0.7,
        "roles": {},
        "created_at": "2026-05-25T08:00:00Z",
        "updated_at": "2026-05-25T08:00:00Z",
    } | more


@pytest.fixture
def place() -> Iterator[Place]:
    """A home with a store that milk left: lists of null, an id in two files, an archive."""
    with Place() as place:
        place.store.mkdir(parents=True)
        (place.store / "global.json").write_text(GLOBAL_FILE)
        twice = statement(PROOFS, "the user wants <tests> & proofs first", producer="user")
        files = {
            SESSION: [twice, statement(LUNCH, "lunch is at noon")],
            "archive": [
                statement(
                    TELNET,
                    "telnet is shut on every host",
                    archived_at="2026-06-01T08:00:00Z",
                    archived_reason="stale",
                ),
                statement(
                    FAX,
                    "the fax is switched off",
                    archived_at="2026-06-01T08:00:00Z",
                    archived_reason="stale",
                ),
            ],
        }
        for name, percepts in files.items():
            document = {"percepts": percepts, "engrams": None, "edges": None}
            (place.store / f"{name}.json").write_text(json.dumps(document))
        yield place


def taken_back(store: Path, name: str) -> go_reader.Store:
    """What milk reads of a file."""
    return go_reader.read((store / f"{name}.json").read_bytes())


def test_milks_store_lives_through_everything_and_milk_takes_it_back(place: Place) -> None:
    place.start()
    with place.client(session=SESSION) as memory:
        live_through_everything(memory)
        memory.shutdown()
    place.stop()
    shared, own = taken_back(place.store, "global"), taken_back(place.store, SESSION)
    archive = taken_back(place.store, "archive")

    assert {p.content: (p.producer, p.core) for p in shared.percepts} == {
        "releases leave through the harbour pipeline": ("user", False),
        "the user wants <tests> & proofs first": ("user", True),
        "the printer stands on the third floor": ("escalation", False),
        "telnet is shut on every host": ("primary", False),
        "the fax is switched off": ("primary", False),
        "tabs, never spaces": ("user", True),
        "cranes are tall & yellow": ("user", False),
    }
    assert [p.content for p in own.percepts] == ["lunch is at one"]
    assert archive.percepts == []
    harbour = next(p for p in shared.percepts if p.id == HARBOUR)
    assert (harbour.roles.theme, harbour.consumer) == ("releases", "escalation")
    assert harbour.created_at == go_reader.read(GLOBAL_FILE.encode()).percepts[0].created_at
    assert {e.subject_label for e in shared.engrams} == {"releases", "Harbour"}
    assert [(e.source, e.target) for e in shared.edges] == [(PRINTER, HARBOUR)]


def test_what_milk_does_not_know_is_kept_to_the_letter(place: Place) -> None:
    place.start()
    with place.client(session=SESSION) as memory:
        live_through_everything(memory)
        memory.shutdown()
    place.stop()
    text = (place.store / "global.json").read_text()
    document, before = json.loads(text), json.loads(GLOBAL_FILE)
    harbour = next(p for p in document["percepts"] if p["id"] == HARBOUR)
    assert harbour["mood"] == before["percepts"][0]["mood"]
    assert harbour["roles"]["tone"] == "dry"
    assert harbour["created_at"] == BORN
    assert document["theme"] == before["theme"]
    assert document["engrams"][0]["shade"] == "dark"
    assert document["engrams"][0]["created_at"] == before["engrams"][0]["created_at"]
    (edge,) = (edge for edge in document["edges"] if edge["relation"] == "extends")
    assert edge["since"] == 1000.0
    assert "\\u003cb\\u003e" in text
    assert "&" not in text


def live_through_everything(memory: milkd.Client) -> None:
    """Every operation that changes facts, and those that only use them."""
    assert len(memory.list()["percepts"]) == 4  # the id that is in both files is there once
    assert memory.record("releases leave through the harbour pipeline", producer="user",
                         consumer="escalation")["status"] == "reinforced"  # fmt: skip
    memory.learn("tabs, never spaces")
    memory.record("cranes are tall & yellow", producer="user", subject="Harbour")
    memory.record("telnet is shut on every host again", session=None)
    memory.restore(FAX)
    memory.edit(PRINTER, "the printer stands on the third floor")
    memory.edit(LUNCH, "lunch is at one")
    memory.relate(LUNCH, "derives", HARBOUR)
    memory.unrelate(LUNCH, "derives", HARBOUR)
    gone = memory.record("this will not stay", producer="user")["id"]
    memory.forget(gone)
    assert memory.query("where do releases leave?")["percepts"][0]["id"] == HARBOUR
    assert "harbour" in memory.inject("a release through the harbour")["text"]
    memory.similar("lunch is late")
    memory.show(HARBOUR)
    memory.explain(HARBOUR)
    memory.consolidate()
    memory.session_open("short-lived")
    memory.record("nobody needs this", session="short-lived")
    memory.session_drop("short-lived")
