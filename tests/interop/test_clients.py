"""Clients in other languages, as they are, against the real daemon (T19).

Each runs as a program of its own; see `programs.py` for what it needs.
"""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from interop.programs import FILES, LANGUAGES, said_by
from milkd.daemon.limits import Limits
from places import Place
from torture.household import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.lasting

WEST = "Deploys go through the west cluster"
CALLS: list[list[Any]] = [
    ["hello", "hello", {"client": "interop"}],
    ["recorded", "record", {"content": WEST, "session": "s1"}],
    ["restated", "record", {"content": "deploys go through the WEST cluster!", "session": "s1"}],
    ["found", "query", {"text": "which cluster?", "session": "s1", "max_results": 1}],
    ["learned", "learn", {"content": "Straße — 東京 🚲", "op_id": "one"}],
    ["learned_again", "learn", {"content": "Straße — 東京 🚲", "op_id": "one"}],
    ["injected", "inject", {"prompt": "東京", "session": "s1"}],
    ["whole", "list", {"min_w": 1.0}],  # most languages send the integer
    ["first_page", "list", {"session": "s1", "limit": 1}],
    ["forgotten", "forget", {"ref": WEST, "session": "s1"}],
    ["gone", "query", {"text": "which cluster?", "session": "s1"}],
    ["imported", "import", {"records": [], "final": True}],
    ["nothing", "ping"],
    ["healthy", "health"],
    ["unknown_method", "frobnicate", {"x": 1}],
    ["unknown_argument", "record", {"content": "x", "contnet": "y"}],
    ["missing", "record", {"session": "s1"}],
    ["mistyped", "record", {"content": 7}],
    ["two_params", "record", {"content": "x"}, {"content": "y"}],
    ["text_for_params", "record", "x"],
    ["not_found", "show", {"ref": "ffffffff"}],
    ["ambiguous", "show", {"ref": "aaaa"}],
    ["conflict", "learn", {"content": "Quite another thing", "op_id": "one"}],
    ["too_deep", "import", {"records": [{"more": [[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}]}],
]
REFUSED = {
    "unknown_method": "method_not_found: there is no method 'frobnicate'",
    "unknown_argument": "invalid_params: contnet: record has no such argument, did you mean",
    "missing": "invalid_params: content: found nothing, expected non-blank text",
    "mistyped": "invalid_params: content: found 7, expected non-blank text",
    "two_params": "invalid_request: params: found 2 values, expected one map",
    "text_for_params": "invalid_request: params: found text, expected one map",
    "not_found": "not_found: no percept visible here fits the reference",
    "script": "not_found: no percept visible here fits the reference",
    "ambiguous": "ambiguous: ",
    "conflict": "conflict: ",
    "too_deep": "invalid_params: params: nested deeper than 24 levels",
    "much_too_deep": "invalid_params: params: nested deeper than 24 levels",
    "not_utf8": "invalid_params: content: found text that is not UTF-8",
    "bytes_not_utf8": "invalid_params: content: found text that is not UTF-8",
    "not_utf8_key": "invalid_params: params: found text that is not UTF-8",
    "not_utf8_method": "invalid_request: method: found text that is not UTF-8",
    "surrogate": "invalid_params: content: found text that is not UTF-8",
    "blob": "invalid_params: content: found text that is not UTF-8",
    "nul": "invalid_params: content: found text with a NUL",
    "date": "invalid_params: content: found an extension type",
    "nil": "invalid_params: content: found nothing",
    "empty_for_required": "invalid_params: content: found nothing",
}


def nest(levels: int) -> list[Any]:
    return [nest(levels - 1)] if levels > 1 else []


def percept(number: int, **more: object) -> dict[str, object]:
    times = dict.fromkeys(("created_at", "updated_at"), "2026-05-24T10:11:12Z")
    fact = {"id": f"aaaa0000-0000-4000-8000-{number:012}", "content": f"Made by hand, {number}"}
    return {**fact, "producer": "user", "w": 0.75, **times, **more}


@pytest.fixture
def place(client: str) -> Iterator[Place]:
    """A store with facts that have the same beginning of an id, one of them deep."""
    LANGUAGES[client].need()
    with Place() as made:
        made.store.mkdir(parents=True)
        percepts = [percept(1), percept(2, more=nest(19))]
        text = json.dumps({"percepts": percepts, "engrams": [], "edges": []})
        (made.store / "global.json").write_text(text)
        yield made


def text_of(client: str, error: Any) -> str:
    """The text of an error, in the form in which this client has it."""
    if client in ("js", "ruby"):
        kind, text = error
        assert kind in (0, 1)
        return str(text)
    assert type(error) is str
    return error.rpartition("\n")[2]  # Vim script puts a line of its own before it


@pytest.mark.parametrize("client", FILES)
def test_a_client_gets_what_it_asks_for_and_reads_every_error(place: Place, client: str) -> None:
    place.start()
    said = said_by(client, place.env, CALLS)
    events, levels = (said.pop(name, None) for name in ("events", "levels"))

    refused = {name: text_of(client, it["error"]) for name, it in said.items() if "error" in it}
    expected = {name: text for name, text in REFUSED.items() if name in said}
    assert refused.keys() == expected.keys()
    for name, text in expected.items():
        assert refused[name].startswith(text), name

    results = {name: it["result"] for name, it in said.items() if "result" in it}
    check_common(results)
    check_own(results)
    if events is not None:
        check_events(events, results["watched"]["id"])
    if client == "lua":
        assert levels == {percept(2)["id"]: 19, "bbbb0000-0000-4000-8000-000000000001": 19}
    with place.client() as other:
        until(lambda: other.stats()["connections"] == 1)


def check_common(said: dict[str, Any]) -> None:
    """Hold the answers to what every client asks."""
    assert said["hello"]["protocol"] == 1
    assert said["recorded"]["status"] == "inserted"
    assert said["restated"]["status"] == "reinforced"
    (found,) = said["found"]["percepts"]
    assert found["content"] == WEST
    assert 0.74 < found["w"] < 0.76
    assert said["learned"] == said["learned_again"]
    assert "- Straße — 東京 🚲\n" in said["injected"]["text"]
    assert [each["content"] for each in said["whole"]["percepts"]] == ["Straße — 東京 🚲"]
    assert said["first_page"]["total"] == 4
    assert said["first_page"]["next"]
    assert said["forgotten"]["content"] == WEST
    assert said["gone"] == {"percepts": []}
    assert said["imported"] == {"accepted": 0, "refused": []}
    assert said["nothing"] == {}
    assert said["healthy"]["status"] == "ok"


def check_own(said: dict[str, Any]) -> None:
    """Hold the answers to what only some clients ask."""
    for name in ("empty_table", "empty_dict", "still_there", "many_1", "many_2", "many_3"):
        assert said.get(name, {}) == {}, name
    for name in ("empty_map", "bytes", "watched"):
        assert said.get(name, {"status": "inserted"})["status"] == "inserted", name
    assert said.get("as_deep_as_can_be", {"accepted": 1})["accepted"] == 1


def check_events(events: list[list[Any]], watched: str) -> None:
    """Hold the notifications to what was stated while they were asked for."""
    ((method, event),) = events
    assert method == "event"
    assert (event["topic"], event["id"]) == ("percepts", watched)


# What the daemon cannot do is an error of the other kind


@pytest.mark.parametrize("client", FILES)
def test_a_client_reads_what_is_wrong_with_the_store(place: Place, client: str) -> None:
    (place.store / "global.json").write_text("{")
    (place.store / "s1.json").write_text("[")
    place.start()
    said = said_by(client, place.env, CALLS)
    assert text_of(client, said["learned"]["error"]).startswith("read_only: global.json ")
    assert text_of(client, said["recorded"]["error"]).startswith("store_damaged: s1.json ")
    assert said["healthy"]["result"]["status"] == "read_only"


@pytest.mark.parametrize("client", ["lua", "strict"])
def test_a_client_reads_that_too_many_others_are_there(place: Place, client: str) -> None:
    place.start()
    with ExitStack() as others:
        counting = others.enter_context(place.client())
        limit = Limits().connections
        for _ in range(limit - 1):
            others.enter_context(socket.socket(socket.AF_UNIX)).connect(str(place.socket))
        until(lambda: counting.stats()["connections"] == limit)
        said = said_by(client, place.env, CALLS[:2])
    assert said["hello"]["result"]["protocol"] == 1
    assert text_of(client, said["recorded"]["error"]).startswith("overloaded: ")
