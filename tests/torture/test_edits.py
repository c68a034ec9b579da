"""T17: files edited by hand, by an editor or by milk, while the daemon runs or not."""

from __future__ import annotations

import json
import signal
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

import go_reader
from torture.household import until
from torture.size import portion

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torture.household import Household

FIRST, SECOND, THIRD = "the crane is yellow", "lunch is at noon", "gates open inwards"
LATER, ADDED = "ships leave on friday", "added by <another> hand"
WHENS = ("stopped", "killed", "running")

pytestmark = pytest.mark.lasting


def fact(content: str) -> dict[str, object]:
    times = dict.fromkeys(("created_at", "updated_at"), "2026-05-24T10:11:12Z")
    return {"id": "0b54c1de-8f0a-4c86-9a52-6a1f0e1d7c33", "content": content, "w": 0.7} | times | {
        "producer": "user",
        "roles": {},
    }  # fmt: skip


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def weaken(path: Path) -> None:
    found = document(path)
    next(each for each in found["percepts"] if each["content"] == FIRST)["w"] = 0.25
    path.write_text(json.dumps(found))


def delete(path: Path) -> None:
    found = document(path)
    found["percepts"] = [each for each in found["percepts"] if each["content"] != SECOND]
    path.write_text(json.dumps(found, indent=2))


def add(path: Path) -> None:
    found = document(path)
    found["percepts"].append(fact(ADDED))
    path.write_text(json.dumps(found, indent=2))


def reorder(path: Path) -> None:
    found = document(path)
    found["percepts"].reverse()
    path.write_text(json.dumps(dict(reversed(found.items()))))


def break_syntax(path: Path) -> None:
    path.write_text(path.read_text().rstrip()[:-1] + f'"half": "{ADDED}')


def replace_inode(path: Path) -> None:
    beside = path.with_suffix(".swp")
    beside.write_bytes(path.read_bytes())
    add(beside)
    beside.rename(path)


def truncate(path: Path) -> None:
    path.write_bytes(b"")


def write_as_milk(path: Path) -> None:
    store = go_reader.read(path.read_bytes())
    store.percepts.append(
        go_reader.Percept("0b54c1de-8f0a-4c86-9a52-6a1f0e1d7c33", ADDED, "user", w=0.7)
    )
    path.write_bytes(go_reader.write(store))


EDITS: dict[str, tuple[Callable[[Path], None], set[str], set[str]]] = {
    "edit w": (weaken, set(), set()),
    "delete": (delete, set(), {SECOND}),
    "add": (add, {ADDED}, set()),
    "reorder": (reorder, set(), set()),
    "break syntax": (break_syntax, set(), set()),
    "replace inode": (replace_inode, {ADDED}, set()),
    "truncate": (truncate, set(), set()),
    "as milk": (write_as_milk, {ADDED}, set()),
}
"""What is done, and which facts there are then besides, and which no more."""


@pytest.mark.parametrize(("when", "name"), portion(list(product(WHENS, EDITS)), 12, 3))
def test_an_edit_is_taken_in_and_never_lost(household: Household, when: str, name: str) -> None:
    edit, more, less = EDITS[name]
    household.start()
    with household.client() as client:
        for content in (FIRST, SECOND, THIRD):
            client.record(content, producer="user")
        client.snapshot()
    path = household.store / "global.json"
    if when == "stopped":
        assert household.end() == 0
    elif when == "killed":
        with household.client() as client:
            client.record(LATER)
        household.kill()
    edit(path)
    written = path.read_bytes()
    expected = {FIRST, SECOND, THIRD} | more | ({LATER} if when == "killed" else set())
    if when == "running":
        assert household.daemon is not None
        household.daemon.send_signal(signal.SIGHUP)
    else:
        household.start()
    until(lambda: set(household.contents()) == expected - less)
    check_bytes(household, written)
    if name == "edit w":
        until(lambda: weight(household) == pytest.approx(0.25))
    if name != "break syntax" or when == "running":
        with household.client() as client:
            client.record("life goes on")
        assert household.end() == 0
        household.start()
        assert set(household.contents()) == (expected - less) | {"life goes on"}
        check_bytes(household, written)


def weight(household: Household) -> float:
    return float(next(each["w"] for each in household.facts() if each["content"] == FIRST))


def check_bytes(household: Household, written: bytes) -> None:
    """What they wrote is somewhere: word for word if it is no JSON, else all that it says."""
    kept = [path.read_bytes() for path in household.files()]
    try:
        contents = [each["content"] for each in json.loads(written or b"{}").get("percepts", [])]
    except ValueError:
        assert written in kept
        return
    everything = b"\n".join(kept).replace(b"\\u003c", b"<").replace(b"\\u003e", b">")
    assert [each for each in contents if each.encode() not in everything] == []
