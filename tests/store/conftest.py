"""A store as milk leaves it, with all that milkd must take and give back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

GLOBAL = """\
{
  "percepts": [
    {
      "id": "6f0d8a52-41c1-4c5e-9d7e-0b7a52c0f9a1",
      "content": "releases leave through the harbour pipeline",
      "producer": "local",
      "consumer": "escalation",
      "w": 0.7,
      "roles": {
        "theme": "releases",
        "colour": {"hue": [1, 2.5, null]}
      },
      "engram_id": "b2c70000-0000-4000-8000-000000000001",
      "created_at": "2026-05-24T10:11:12.123456789+02:00",
      "updated_at": "2026-05-24T10:11:12.1+02:00",
      "mood": "calm",
      "big": 18446744073709551616
    },
    {
      "ID": "0c1d0000-0000-4000-8000-000000000002",
      "Content": "the user wants \\u003ctests\\u003e \\u0026 proofs first",
      "Producer": "user",
      "W": 1,
      "Roles": {},
      "Created_At": "2026-05-25T08:00:00Z",
      "UPDATED_AT": "2026-05-25T08:00:00.000Z",
      "core": true
    },
    {
      "id": "9e000000-0000-4000-8000-000000000003",
      "content": "the printer is on the third floor",
      "producer": "claude",
      "w": 0.625,
      "roles": null,
      "created_at": "0001-01-01T00:00:00Z",
      "updated_at": "2026-05-26T08:00:00-07:30"
    },
    {
      "id": "aa000000-0000-4000-8000-000000000004",
      "content": "this one was edited by hand",
      "producer": "user",
      "w": "high"
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
      "relation": "haunts",
      "since": 1e3
    }
  ],
  "theme": {"accent": "\\u2028"}
}
"""

SESSION = """\
{
  "percepts": [
    {
      "id": "0c1d0000-0000-4000-8000-000000000002",
      "content": "the user wants \\u003ctests\\u003e \\u0026 proofs first",
      "producer": "user",
      "w": 0.9,
      "roles": {},
      "created_at": "2026-05-25T08:00:00Z",
      "updated_at": "2026-05-25T08:00:00Z"
    },
    {
      "id": "dd000000-0000-4000-8000-000000000005",
      "content": "lunch is at noon",
      "producer": "primary",
      "w": 0.7,
      "roles": {},
      "created_at": "2026-05-25T08:00:00Z",
      "updated_at": "2026-05-25T08:00:00Z"
    }
  ],
  "engrams": null,
  "edges": null
}
"""
SESSION_NAME = "3b1f0000-0000-4000-8000-00000000000a"


@pytest.fixture
def milk_global() -> bytes:
    """A global.json as milk and a hand left it: one entry is not valid."""
    return GLOBAL.encode()


@pytest.fixture
def milk_session() -> bytes:
    """A session's file with a fact that a promotion has brought to global already."""
    return SESSION.encode()


@pytest.fixture
def session() -> str:
    """The id of the session in `milk_store`."""
    return SESSION_NAME


@pytest.fixture
def milk_store(tmp_path: Path, milk_global: bytes, milk_session: bytes) -> Path:
    """A directory with both."""
    store = tmp_path / "memory"
    store.mkdir(mode=0o700)
    (store / "global.json").write_bytes(milk_global)
    (store / f"{SESSION_NAME}.json").write_bytes(milk_session)
    return store
