"""A whole memory, out of one store and into another."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from milkd.cli.document import gather
from milkd.cli.intake import read
from milkd.errors import InvalidParams
from places import Place
from scripted import Peer, Scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from places import Ran

    Milkctl = Callable[..., Ran]

FACT = {
    "id": "0b54c1de-8f0a-4c86-9a52-6a1f0e1d7c33",
    "content": "the user prefers tabs",
    "producer": "user",
    "w": 0.5,
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
}
# As milk writes it and as people edit it: old times, other programs' keys, all kinds of text.
MEMORY: dict[str, Any] = {
    "global": {
        "version": {"of": ["another program", 1.5, None]},
        "percepts": [
            FACT
            | {
                "id": "a" * 36,
                "content": 'Müller says: „<b>“ & \u2028 "\\" 💡',
                "w": 1,
                "engram_id": "style",
                "created_at": "2025-01-02T03:04:05.123456789+02:00",
                "mood": "fine",
                "scope": 7,
                "importance": 0.1,
                "evidence": 3,
                "wordings": [{"content": "as said before", "at": "2025-01-01T00:00:00Z"}],
            },
            FACT | {"id": "b" * 36, "content": "line\nbreak\tand tab", "core": True, "w": 1.0},
        ],
        "engrams": [
            {
                "id": "style",
                "subject_label": "Style",
                "composite_w": 0.25,
                "percept_ids": ["a" * 36],
                "created_at": "0001-01-01T00:00:00Z",
                "updated_at": "2026-01-01T00:00:00Z",
            }
        ],
        "edges": [
            {"from": "a" * 36, "to": "b" * 36, "relation": "extends"},
            {"from": "b" * 36, "to": "d" * 36, "relation": "contradicts", "why": "who knows"},
        ],
    },
    "archive": {
        "percepts": [
            FACT
            | {
                "id": "c" * 36,
                "archived_at": "2026-02-01T00:00:00Z",
                "archived_reason": "stale",
                "idle_seconds": 1e6,
            }
        ]
    },
    "s2": {"percepts": [FACT | {"id": "d" * 36, "roles": {"theme": "tabs", "when": "always"}}]},
    "S1": {"percepts": [FACT | {"id": "e" * 36, "consumer": "primary"}]},
}


@pytest.fixture
def filled(place: Place) -> Place:
    """A daemon on a store that others have written."""
    place.store.mkdir(parents=True)
    for scope, file in MEMORY.items():
        (place.store / f"{scope}.json").write_text(json.dumps(file))
    place.start()
    return place


@pytest.fixture
def other() -> Iterator[Place]:
    """Another home, with a daemon on an empty store."""
    with Place() as home:
        home.start()
        yield home


def document(**scopes: object) -> bytes:
    return json.dumps({"milkd_export": 1, "scopes": scopes}).encode()


def facts(*percepts: dict[str, Any]) -> dict[str, Any]:
    return {"percepts": list(percepts)}


def test_an_export_comes_back_byte_by_byte(
    filled: Place, other: Place, milkctl: Milkctl, tmp_path: Path
) -> None:
    (ours, theirs) = (str(tmp_path / name) for name in ("ours.json", "theirs.json"))
    there = ("--socket", str(other.socket))
    said = "5 percepts, 1 engram, 2 edges"
    assert milkctl("export", ours) == (0, f"exported to {ours}: {said}\n", "")
    assert milkctl("import", ours, *there) == (0, "imported 9 entries\n", "")
    assert milkctl("export", theirs, *there).code == 0
    with open(ours, "rb") as one, open(theirs, "rb") as another:
        assert one.read() == another.read()
    assert os.stat(ours).st_mode & 0o777 == 0o600


def test_a_document_is_an_entry_a_line_in_a_steady_order(filled: Place, milkctl: Milkctl) -> None:
    ran = milkctl("export")
    assert (ran.code, ran.err) == (0, "")
    assert ran == milkctl("export") == milkctl("export", "--json")
    made = json.loads(ran.out)
    assert list(made) == ["milkd_export", "scopes"]
    assert list(made["scopes"]) == ["global", "archive", "S1", "s2"]
    shared = made["scopes"]["global"]
    assert list(shared) == ["extra", "percepts", "engrams", "edges"]
    assert shared["extra"] == {"version": MEMORY["global"]["version"]}
    assert shared["percepts"][0]["scope"] == 7
    assert ran.out.count("\n") == 34
    assert 'Müller says: „<b>“ & \u2028 \\"\\\\\\" 💡' in ran.out


def test_nothing_is_a_document_too(place: Place, milkctl: Milkctl) -> None:
    place.start()
    empty = milkctl("export")
    assert json.loads(empty.out) == {"milkd_export": 1, "scopes": {}}
    ran = milkctl("import", "-", stdin=empty.out.encode())
    assert ran == (0, "imported 0 entries\n", "")
    told = json.loads(milkctl("export", "/dev/null", "--json").out)
    assert told == {
        "path": "/dev/null",
        "percepts": 0,
        "engrams": 0,
        "edges": 0,
        "unreadable": 0,
        "damaged": [],
    }


def test_one_wrong_entry_keeps_all_others_out_unless_part_is_welcome(
    place: Place, milkctl: Milkctl
) -> None:
    place.start()
    wrong = FACT | {"id": "abcd", "content": "four times\nas much", "importance": 4}
    given = document(**{"global": facts(3, wrong, FACT)})  # type: ignore[arg-type]
    refused = (
        "  global.percepts[0]: found 3, expected an object\n"
        "  global.percepts[1] #abcd four times\\nas much: "
        "importance: found 4, expected a number, 0.1 to 1\n"
    )
    ran = milkctl("import", "-", stdin=given)
    head = "milkctl: nothing was imported: 2 of 3 entries refused; --partial imports the others\n"
    assert ran == (1, "", head + refused)
    assert milkctl("list").out == "(no percepts found)\n"
    ran = milkctl("import", "-", "--dry-run", stdin=given)
    said = "1 of 3 entries would be imported; nothing was changed\n"
    assert ran == (1, said, "milkctl: 2 of 3 entries refused\n" + refused)
    assert milkctl("list").out == "(no percepts found)\n"
    ran = milkctl("import", "-", "--partial", stdin=given)
    assert ran == (1, "imported 1 of 3 entries\n", "milkctl: 2 of 3 entries refused\n" + refused)
    assert "prefers tabs" in milkctl("list").out
    ran = milkctl("import", "-", "--partial", stdin=given)
    assert ran.err.startswith("milkctl: nothing was imported: 3 of 3 entries refused\n")


def test_refusals_are_json_with_their_places(place: Place, milkctl: Milkctl) -> None:
    place.start()
    edge = {"from": "abcd" * 9, "to": "efgh" * 9, "relation": "updates"}
    given = document(s1=facts(FACT | {"w": 4}) | {"edges": [edge]})
    ran = milkctl("import", "-", "--json", stdin=given)
    answer = json.loads(ran.out)
    refused = answer.pop("refused")
    assert (ran.code, ran.err) == (1, "")
    assert answer == {"accepted": 0, "dry_run": False, "total": 2}
    assert [each["place"] for each in refused] == [
        "s1.percepts[0] #0b54c1de the user prefers tabs",
        "s1.edges[0] #abcdabcd updates #efghefgh",
    ]
    assert refused[1] == {
        "scope": "s1",
        "list": "edges",
        "position": 0,
        "name": "#abcdabcd updates #efghefgh",
        "place": refused[1]["place"],
        "reason": "from: no percept has this id",
    }


def test_long_lists_of_refusals_are_cut_for_people(place: Place, milkctl: Milkctl) -> None:
    place.start()
    given = document(s1=facts(*[{"id": f"{n:04}"} for n in range(30)]))
    lines = milkctl("import", "-", stdin=given).err.splitlines()
    assert len(lines) == 22
    assert lines[-1] == "  and 10 more; --json lists all"
    assert len(json.loads(milkctl("import", "-", "--json", stdin=given).out)["refused"]) == 30


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"mood": 2**64}, "found a number beyond 64 bits or text without a UTF-8 form"),
        ({"mood": "\ud800"}, "found a number beyond 64 bits or text without a UTF-8 form"),
        ({"mood": "x" * (1 << 20)}, "too large: request of "),
        ({"mood": json.loads("[" * 25 + "]" * 25)}, "found values nested deeper than 20 levels"),
        ({"mood": json.loads("[" * 19 + "]" * 19)}, None),
        ({"id": 7}, "id: found 7, expected a string"),
        ({"kind": "edge", "scope": ["s2"], "shadowed": 3}, None),
    ],
)
def test_an_entry_that_cannot_be_sent_is_refused_by_its_place(
    entry: dict[str, Any], reason: str | None, place: Place, milkctl: Milkctl
) -> None:
    place.start()
    given = document(s1=facts(FACT | entry))
    answer = json.loads(milkctl("import", "-", "--json", stdin=given).out)
    assert [each["reason"][: len(reason or "")] for each in answer["refused"]] == (
        [] if reason is None else [reason]
    )


def test_what_its_own_store_could_not_use_is_exported_and_refused_at_import(
    place: Place, other: Place, milkctl: Milkctl
) -> None:
    place.store.mkdir(parents=True)
    (place.store / "global.json").write_text(json.dumps(facts({"id": "x", "w": "high"}, FACT)))
    (place.store / "s1.json").write_text("{")
    place.start()
    ran = milkctl("export")
    assert ran.code == 1
    assert ran.err.startswith("milkctl: not everything could be exported\n  s1: s1.json is not")
    made = json.loads(ran.out)
    unreadable = {"list": "percepts", "position": 0, "value": {"id": "x", "w": "high"}}
    assert made["scopes"]["global"]["unreadable"] == [unreadable]
    assert made["damaged"][0]["scope"] == "s1"
    there = ("--socket", str(other.socket))
    ran = milkctl("import", "-", "--partial", *there, stdin=ran.out.encode())
    assert (ran.code, ran.out) == (1, "imported 1 of 3 entries\n")
    assert ran.err.splitlines()[1:] == [
        "  global.unreadable[0]: the store that it comes from could not use it: "
        "content: found nothing, expected a string that is not empty",
        f"  damaged[0]: it was not exported: {made['damaged'][0]['reason']}",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        ('{"milkd_export": 1', "not JSON: Expecting ',' delimiter: line 1 column 19 (char 18)"),
        ('{"milkd_export": NaN}', "not JSON: the number NaN is not JSON"),
        ('{"milkd_export": 1, "milkd_export": 1}', "the key 'milkd_export' occurs twice"),
        ("[" * 100_000, "nested too deep"),
        ("[]", 'not an export of milkd: it has no "milkd_export"'),
        ('{"percepts": []}', "not an export of milkd"),
        ('{"milkd_export": 2}', "milkd_export: found 2, expected 1 (of a newer milkd?)"),
        ('{"milkd_export": 1}', "scopes: expected an object"),
        ('{"milkd_export": 1, "scope": {}}', "found the key 'scope', expected some of"),
        ('{"milkd_export": 1, "scopes": {"a": []}}', "scopes.a: expected an object"),
        ('{"milkd_export": 1, "scopes": {"a": {"percepts": {}}}}', "scopes.a.percepts: expected"),
        ('{"milkd_export": 1, "scopes": {"a": {"percpets": []}}}', "found the key 'percpets'"),
        ('{"milkd_export": 1, "scopes": {}, "damaged": 3}', "damaged: expected a list"),
    ],
)
def test_what_is_no_document_is_refused_without_asking_anybody(
    text: str, problem: str, milkctl: Milkctl
) -> None:
    ran = milkctl("import", "-", stdin=text.encode())
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("milkctl: standard input: ")
    assert problem in ran.err


def test_a_document_is_utf8_with_or_without_a_mark() -> None:
    given = document(s1=facts(FACT))
    assert read("x", b"\xef\xbb\xbf" + given).records == read("x", given).records
    with pytest.raises(InvalidParams, match="x: not UTF-8 at byte 2"):
        read("x", b'{"\xff')


def test_entries_of_a_newer_milkd_are_told_not_dropped() -> None:
    made = gather([{"scope": "s1", "kind": "dream", "content": "x"}])
    (damaged,) = made["damaged"]
    assert damaged == {"scope": "s1", "reason": "milkctl knows no entries of the kind 'dream'"}


def test_a_pipe_is_written_to_not_replaced(filled: Place, milkctl: Milkctl, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert milkctl("export", str(pipe)).code == 0
    assert os.read(reading, 1 << 16).decode() == milkctl("export", "-").out
    os.close(reading)


def test_files_are_replaced_whole_and_never_among_those_of_the_store(
    filled: Place, milkctl: Milkctl, tmp_path: Path
) -> None:
    link, file = tmp_path / "link", tmp_path / "file"
    file.write_text("something older")
    file.chmod(0o640)
    link.symlink_to(file)
    assert milkctl("export", str(link)).code == 0
    assert file.read_text().startswith('{\n  "milkd_export"')
    assert file.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]
    ran = milkctl("export", str(tmp_path / "absent" / "file"))
    assert ran == (1, "", f"milkctl: {tmp_path}/absent/file: No such file or directory\n")
    assert milkctl("export", str(tmp_path)).code == 1
    ran = milkctl("export", str(filled.store / "backup.json"))
    assert "would be taken for a session" in ran.err
    assert not (filled.store / "backup.json").exists()


def test_a_missing_document_is_told_by_its_name(milkctl: Milkctl, tmp_path: Path) -> None:
    ran = milkctl("import", f"{tmp_path}/x")
    assert ran == (1, "", f"milkctl: {tmp_path}/x: No such file or directory\n")
    assert milkctl("import").code == 2


def test_a_daemon_that_dies_in_the_middle_leaves_no_half_document(
    place: Place, milkctl: Milkctl, tmp_path: Path
) -> None:
    def dying(peer: Peer) -> None:
        record = {"scope": "global", "kind": "percept"} | FACT
        peer.answer(peer.request(), {"records": [record], "next": "e1.0.1"})
        gone(peer)

    def gone(peer: Peer) -> None:
        peer.request()

    with Scripted(place.socket, dying, gone):
        ran = milkctl("export", str(tmp_path / "file"))
    assert (ran.code, ran.out) == (3, "")
    assert os.listdir(tmp_path) == []


def test_an_import_that_loses_its_daemon_is_in_doubt(place: Place, milkctl: Milkctl) -> None:
    def dying(peer: Peer) -> None:
        peer.answer(peer.request(), {"accepted": 1, "refused": []})
        peer.request()

    with Scripted(place.socket, dying):
        ran = milkctl("import", "-", stdin=document(s1=facts(FACT)))
    assert (ran.code, ran.out) == (3, "")
    assert "whether the change was made is not known" in ran.err


def test_a_snapshot_tells_what_is_written(filled: Place, milkctl: Milkctl) -> None:
    assert milkctl("snapshot") == (0, "global.json\narchive.json\n", "")
    assert json.loads(milkctl("snapshot", "--json").out)["files"] == ["global.json", "archive.json"]
