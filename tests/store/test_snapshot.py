"""A scope's file: what milk wrote is taken, and given back with nothing lost."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import go_reader
from milkd.engine.percept import Edge, Engram, Percept, ScopeImage
from milkd.errors import StoreDamaged, VersionMismatch
from milkd.store.gojson import parse
from milkd.store.snapshot import Seal, Sealing, Wiped, image_from_bytes, image_to_bytes

OWN = '"_milkd": {\n    "format": 1,\n    "min_reader": 1,\n    "running_seconds": 0\n  }\n}\n'


SEALING = Sealing("a store", seq=7, written=1_780_000_000.0)


def percept(number: int, **values: Any) -> Percept:
    fields = {"content": f"fact {number}", "producer": "user", "w": 0.5}
    times = {"created_at": 0.0, "updated_at": 1.0}
    return Percept(**{"id": f"p{number}", **fields, **times, **values})


def entry(number: int, **values: object) -> dict[str, object]:
    return {"id": f"p{number}", "content": f"fact {number}", "w": 0.5, **values}


def cut(place: int, instead: bytes) -> bytes:
    """A file into whose middle something was written."""
    return WHOLE[:place] + instead + WHOLE[place + len(instead) :]


def document(**lists: object) -> bytes:
    return json.dumps(lists).encode()


# Documents as milk, or a hand, may have left them.

words = st.text(max_size=12) | st.sampled_from(["<b>&", "\u2028", "\ud800", "é", '"'])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
OTHER_KEYS = ["mood", "x", "Größe", "IDs"]
unknown = st.dictionaries(st.sampled_from(OTHER_KEYS), anything, max_size=2)
times = st.builds(
    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{}".format,
    st.integers(1, 9999),
    st.integers(1, 12),
    st.integers(1, 28),
    st.integers(0, 23),
    st.integers(0, 59),
    st.integers(0, 59),
    st.sampled_from(["", ".5", ".123456", ".123456789", ".000000001", ".100"]),
    st.sampled_from(["Z", "+00:00", "+02:00", "-07:30"]),
)
strengths = st.floats(0, 1) | st.sampled_from([0, 1])
filled = words.filter(bool)
ids = st.integers(0, 6).map("p{}".format)
renamed = st.sampled_from([str.upper, str.title, str, str, str])


def member(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Any]:
    """An object with known keys, in their own order or case, and unknown ones."""
    known = st.fixed_dictionaries(required, optional=optional)
    return st.builds(
        lambda fields, others, rename: {rename(key): item for key, item in fields.items()} | others,
        known,
        unknown,
        renamed,
    )


roles = st.none() | st.dictionaries(st.sampled_from(["theme", "agent", "when"]), words)
percepts = member(
    {"id": ids, "content": filled, "w": strengths},
    {
        "producer": st.sampled_from(["user", "primary", "oracle"]),
        "consumer": st.sampled_from(["", "primary", None]),
        "roles": roles,
        "engram_id": words | st.none(),
        "created_at": times,
        "updated_at": times | st.none(),
        "core": st.booleans(),
        "evidence": st.integers(0, 5),
        "last_used_at": times,
        "importance": st.floats(0.1, 1),
        "archived_at": times,
    },
)
engrams = member(
    {"id": ids, "subject_label": filled},
    {
        "composite_w": strengths,
        "percept_ids": st.none() | st.lists(ids),
        "created_at": times,
        "updated_at": times,
    },
)
edges = member({"from": ids, "to": ids, "relation": filled}, {})


def once(raw: dict[str, Any]) -> object:
    """What tells an entry from others of its list."""
    low = {key.lower(): item for key, item in raw.items()}
    return low.get("id") or (low["from"], low["to"], low["relation"])


own_blocks = st.fixed_dictionaries(
    {},
    optional={
        "running_seconds": st.floats(0, 1e9),
        "shown": st.none() | st.lists(ids, max_size=3),
        "touched": st.none() | st.dictionaries(ids, st.floats(0, 1e9), max_size=3),
        "used": st.none() | st.lists(ids, max_size=3),
        "store": st.none() | words,
        "seq": st.integers(0, 1_000),
        "sum": anything,
        "mood": anything,
    },
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "percepts": st.none() | st.lists(percepts, max_size=4, unique_by=once),
        "engrams": st.none() | st.lists(engrams, max_size=3, unique_by=once),
        "edges": st.none() | st.lists(edges, max_size=3, unique_by=once),
        "_milkd": own_blocks,
        "theme": anything,
    },
)
junk = anything | percepts | st.fixed_dictionaries({"id": ids, "w": st.just("high")})
dirty_documents = st.fixed_dictionaries(
    {
        "percepts": st.lists(percepts | junk, max_size=6),
        "engrams": st.lists(engrams | junk, max_size=4),
        "edges": st.lists(edges | junk, max_size=4),
    }
)


@given(documents | dirty_documents)
def test_what_is_loaded_is_written_and_loaded_again_the_same(doc: dict[str, Any]) -> None:
    image = image_from_bytes("s", json.dumps(doc).encode()).image
    data = image_to_bytes(image)
    again = image_from_bytes("s", data)

    assert again.image == image
    assert not again.lossy
    assert image_to_bytes(again.image) == data


@given(documents | dirty_documents)
def test_what_is_loaded_is_written_under_seal_and_known_again(doc: dict[str, Any]) -> None:
    image = image_from_bytes("s", json.dumps(doc).encode()).image

    data = image_to_bytes(image, SEALING)

    loaded = image_from_bytes("s", data)
    assert loaded.image == image
    assert (loaded.sealed, loaded.seq, loaded.store) == (Seal.OURS, 7, "a store")
    assert not loaded.lossy


@given(documents)
def test_milk_reads_from_what_is_written_all_that_it_read_before(doc: dict[str, Any]) -> None:
    data = json.dumps(doc).encode()

    saved = image_to_bytes(image_from_bytes("s", data).image)

    assert go_reader.read(saved) == go_reader.read(data)


@given(documents)
def test_what_milk_writes_is_taken_as_it_is(doc: dict[str, Any]) -> None:
    store = go_reader.read(json.dumps(doc).encode())
    data = go_reader.write(store)

    loaded = image_from_bytes("s", data)

    assert loaded.warnings == ()
    assert go_reader.read(image_to_bytes(loaded.image)) == store


@given(documents)
def test_every_key_of_an_entry_is_written_back_with_its_value(doc: dict[str, Any]) -> None:
    data = json.dumps(doc).encode()
    before = parse("s", data).value

    after = json.loads(image_to_bytes(image_from_bytes("s", data).image))

    assert isinstance(before, dict)
    assert after["theme"] == before["theme"] if "theme" in before else "theme" not in after
    for where in ("percepts", "engrams", "edges"):
        raws = before.get(where) or []
        assert len(raws) == len(after[where])
        for raw, saved in zip(raws, after[where], strict=True):
            for key, value in raw.items():
                name = key if key in OTHER_KEYS else key.lower()
                assert saved.get(name, value) == value or not value
                assert name in saved or not value


@given(dirty_documents)
def test_every_value_of_an_entry_that_is_not_valid_is_written_back(doc: dict[str, Any]) -> None:
    text = json.dumps(doc)
    image = image_from_bytes("s", text.encode()).image

    saved = json.loads(image_to_bytes(image))

    for where, position, raw in image.unreadable:
        assert saved[where][position] == raw
    for where in doc:
        assert len(saved[where]) == len(doc[where])


def test_a_store_of_milk_keeps_every_value(milk_global: bytes) -> None:
    before = json.loads(milk_global)

    loaded = image_from_bytes("global", milk_global)
    saved = image_to_bytes(loaded.image)

    after = json.loads(saved)
    assert list(after) == ["percepts", "engrams", "edges", "theme", "_milkd"]
    first, second, third, broken = after["percepts"]
    assert first == before["percepts"][0] | {"producer": "primary"}
    assert second == {key.lower(): item for key, item in before["percepts"][1].items()}
    assert third == before["percepts"][2] | {"producer": "escalation", "roles": {}}
    assert broken == before["percepts"][3]
    assert after["engrams"] == before["engrams"]
    assert after["edges"] == before["edges"]
    assert after["theme"] == before["theme"]
    assert b"\\u003ctests\\u003e \\u0026 proofs" in saved
    assert b'"w": 1,' in saved
    assert loaded.warnings == (
        'global.json: percepts[3] is not used: w: found "high", expected a number, 0 to 1',
    )
    assert not loaded.lossy


def test_a_small_file_looks_like_this() -> None:
    image = ScopeImage(
        name="global",
        percepts=(percept(1, w=1.0, core=True),),
        engrams=(
            Engram(
                id="e1",
                subject_label="tea",
                composite_w=0.5,
                percept_ids=("p1",),
                created_at=0.0,
                updated_at=0.0,
            ),
        ),
        edges=(Edge("p1", "p2", "extends"),),
        running_seconds=7.5,
    )

    assert (
        image_to_bytes(image).decode()
        == """\
{
  "percepts": [
    {
      "id": "p1",
      "content": "fact 1",
      "producer": "user",
      "w": 1,
      "roles": {},
      "created_at": "1970-01-01T00:00:00Z",
      "updated_at": "1970-01-01T00:00:01Z",
      "core": true
    }
  ],
  "engrams": [
    {
      "id": "e1",
      "subject_label": "tea",
      "composite_w": 0.5,
      "percept_ids": [
        "p1"
      ],
      "created_at": "1970-01-01T00:00:00Z",
      "updated_at": "1970-01-01T00:00:00Z"
    }
  ],
  "edges": [
    {
      "from": "p1",
      "to": "p2",
      "relation": "extends"
    }
  ],
  "_milkd": {
    "format": 1,
    "min_reader": 1,
    "running_seconds": 7.5
  }
}
"""
    )


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b"null",
        b'{"percepts": null, "Engrams": null}',
        b'\xef\xbb\xbf{"EDGES": []}',
        b'{"_milkd": null}',
    ],
)
def test_an_empty_store_has_many_spellings(data: bytes) -> None:
    loaded = image_from_bytes("s", data)

    assert loaded.image == ScopeImage(name="s")
    assert loaded.warnings == ()
    empty = '{\n  "percepts": [],\n  "engrams": [],\n  "edges": [],\n  '
    assert image_to_bytes(loaded.image).decode() == empty + OWN


def test_unknown_keys_inside_our_own_block_are_kept() -> None:
    data = document(_milkd={"format": 2, "min_reader": 1, "running_seconds": 9, "mood": 4})

    image = image_from_bytes("s", data).image

    assert image.running_seconds == 9.0
    assert json.loads(image_to_bytes(image))["_milkd"] == {
        "format": 1,
        "min_reader": 1,
        "running_seconds": 9,
        "mood": 4,
    }


def test_a_file_that_needs_a_newer_milkd_is_refused() -> None:
    with pytest.raises(VersionMismatch, match=r"s\.json needs a milkd that reads format 2"):
        image_from_bytes("s", document(_milkd={"min_reader": 2}))


def test_what_a_session_was_shown_is_kept_by_id() -> None:
    image = ScopeImage(name="s", running_seconds=9.0, shown=("b", "a"))

    data = image_to_bytes(image)

    assert json.loads(data)["_milkd"]["shown"] == ["b", "a"]
    assert image_from_bytes("s", data).image == image


@pytest.mark.parametrize("shown", ["a", {"a": 1}, ["a", 2]])
def test_what_is_no_list_of_ids_is_told_and_counts_as_nothing_shown(shown: object) -> None:
    loaded = image_from_bytes("s", document(_milkd={"shown": shown, "running_seconds": 9}))

    assert loaded.image.shown == ()
    assert loaded.image.running_seconds == 9.0
    assert loaded.lossy
    assert "s.json: _milkd.shown: found" in loaded.warnings[0]


@pytest.mark.parametrize("own", ["junk", {"running_seconds": -1}, {"running_seconds": "long"}])
def test_what_is_wrong_in_our_own_block_is_told_and_counts_as_a_loss(own: object) -> None:
    loaded = image_from_bytes("s", document(_milkd=own))

    assert loaded.image.running_seconds == 0.0
    assert loaded.lossy
    assert "s.json: _milkd" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"[]", "s.json: found a list, expected an object"),
        (b"5", "s.json: found 5, expected an object"),
        (b'{"percepts": {}}', "s.json: percepts: found an object, expected a list"),
        (b'{"edges": "none"}', 's.json: edges: found "none", expected a list'),
    ],
)
def test_another_shape_is_damage(data: bytes, sentence: str) -> None:
    with pytest.raises(StoreDamaged) as caught:
        image_from_bytes("s", data)

    assert str(caught.value) == sentence


def test_of_two_with_one_id_the_first_counts_and_the_second_is_kept() -> None:
    data = document(
        percepts=[entry(1), entry(2), entry(1, content="other", w=1)],
        edges=[{"from": "a", "to": "b", "relation": "extends", "n": n} for n in (1, 2)],
    )

    loaded = image_from_bytes("s", data)
    saved = json.loads(image_to_bytes(loaded.image))

    assert [p.content for p in loaded.image.percepts] == ["fact 1", "fact 2"]
    assert [p["content"] for p in saved["percepts"]] == ["fact 1", "fact 2", "other"]
    assert [edge["n"] for edge in saved["edges"]] == [1, 2]
    assert loaded.warnings[0] == "s.json: percepts[2] is not used: the same as one before it"


def test_the_second_of_two_goes_when_the_first_goes() -> None:
    image = image_from_bytes("s", document(percepts=[entry(1), entry(2), entry(1)])).image

    saved = json.loads(image_to_bytes(replace(image, percepts=image.percepts[1:])))

    assert [p["id"] for p in saved["percepts"]] == ["p2"]


def test_entries_that_are_not_valid_stay_at_their_places() -> None:
    data = document(percepts=["junk", entry(1), None, entry(2), {"id": "p3"}])

    image = image_from_bytes("s", data).image
    saved = json.loads(image_to_bytes(image))["percepts"]
    shorter = json.loads(image_to_bytes(replace(image, percepts=())))["percepts"]

    assert [p if not isinstance(p, dict) else p["id"] for p in saved] == [
        "junk",
        "p1",
        None,
        "p2",
        "p3",
    ]
    assert shorter == ["junk", None, {"id": "p3"}]


def test_milk_reads_our_value_where_a_key_occurs_in_two_cases() -> None:
    data = document(
        percepts=[{"id": "p1", "content": "one", "w": 0.5, "CONTENT": "two"}], PERCEPTS=1
    )

    saved = image_to_bytes(image_from_bytes("s", data).image)

    assert json.loads(saved)["percepts"][0]["CONTENT"] == "two"
    assert json.loads(saved)["PERCEPTS"] == 1
    assert saved.index(b'"PERCEPTS"') < saved.index(b'"percepts"')
    assert saved.index(b'"CONTENT"') < saved.index(b'"content"')


def test_every_beginning_of_a_file_loads_or_is_damage(milk_global: bytes) -> None:
    damaged = 0
    for size in range(len(milk_global)):
        try:
            image_from_bytes("global", milk_global[:size])
        except StoreDamaged:
            damaged += 1
    whole = len(milk_global.rstrip())

    assert damaged == whole


def outcome(name: str, data: bytes) -> object:
    """Who wrote a file, or how it is damaged."""
    try:
        return image_from_bytes(name, data).sealed
    except StoreDamaged as error:
        return type(error)


def test_every_beginning_of_a_file_of_ours_is_damage_or_not_ours(milk_global: bytes) -> None:
    image = image_from_bytes("global", milk_global).image
    data = image_to_bytes(image, SEALING)

    outcomes = [outcome("global", data[:size]) for size in range(len(data))]

    damaged = [StoreDamaged] * (len(data) - 2)
    assert outcomes == [Wiped, *damaged, Seal.EDITED]  # whole but for the line end


WHOLE = document(percepts=[entry(1)], engrams=[], edges=[])
TEXT = WHOLE.decode()
DAMAGED = {
    "nothing": b"",
    "one NUL": b"\0",
    "a block of NULs": b"\0" * 4_096,
    "blanks": b" \n\t ",
    "NULs and blanks": b"\0\n\0 ",
    "a byte order mark": b"\xef\xbb\xbf",
    "UTF-16, little end first": TEXT.encode("utf-16"),
    "UTF-16, big end first": TEXT.encode("utf-16-be"),
    "UTF-32": TEXT.encode("utf-32"),
    "Latin-1": TEXT.replace("fact", "fäct").encode("latin-1"),
    "two marks": b"\xef\xbb\xbf\xef\xbb\xbf" + WHOLE,
    "half": WHOLE[: len(WHOLE) // 2],
    "the second half": WHOLE[len(WHOLE) // 2 :],
    "no first byte": WHOLE[1:],
    "no last byte": WHOLE[:-1],
    "NULs at the end of half": WHOLE[:40] + b"\0" * (len(WHOLE) - 40),
    "NULs at the beginning": b"\0" * 16 + WHOLE[16:],
    "NULs in the middle": WHOLE[:20] + b"\0" * 8 + WHOLE[28:],
    "0xff at the end": WHOLE[:40] + b"\xff" * (len(WHOLE) - 40),
    "junk before": b"junk" + WHOLE,
    "a comment": b"// mine\n" + WHOLE,
    "a comma too many": WHOLE.replace(b"}", b",}", 1),
    "a comma too few": WHOLE.replace(b", ", b" ", 1),
    "quotes of the wrong kind": TEXT.replace('"', "'").encode(),
    "a quote too few": WHOLE.replace(b'"', b"", 1),
    "a line end in a string": WHOLE.replace(b"fact 1", b"fact\n1"),
    "an escape that is none": WHOLE.replace(b"fact", b"\\xfact"),
    "half an escape": WHOLE.replace(b"fact", b"\\u12"),
    "not a number": WHOLE.replace(b"0.5", b"NaN"),
    "without end": WHOLE.replace(b"0.5", b"-Infinity"),
    "more than a float holds": WHOLE.replace(b"0.5", b"1e999"),
    "too many digits": WHOLE.replace(b"0.5", b"1" * 5_000),
    "a number with a zero first": WHOLE.replace(b"0.5", b"00.5"),
    "True of Python": WHOLE.replace(b"0.5", b"True"),
    "a list": b"[]",
    "a string": b'"percepts"',
    "a number": b"5",
    "an object for a list": b'{"percepts": {}}',
    "a string for a list": b'{"edges": "p1"}',
    "brackets without end": b"[" * 100_000,
    "objects without end": b'{"percepts":' * 100_000,
    "25 levels": b'{"x":' + b"[" * 24 + b"]" * 24 + b"}",
    "a lone continuation byte": WHOLE.replace(b"fact", b"f\x80ct"),
    "a surrogate in UTF-8": WHOLE.replace(b"fact", b"\xed\xa0\x80"),
    "an overlong slash": WHOLE.replace(b"fact", b"\xc0\xaf"),
    "a conflict of git": b"<<<<<<< HEAD\n" + WHOLE + b"=======\n" + WHOLE + b">>>>>>> b\n",
    "a page of the web": b"<!DOCTYPE html><html></html>",
    "an ELF file": b"\x7fELF\x02\x01\x01" + b"\0" * 50,
    "a gzip file": b"\x1f\x8b\x08\0\0\0\0\0",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_told_in_one_sentence(name: str) -> None:
    data = DAMAGED[name]

    with pytest.raises(StoreDamaged) as caught:
        image_from_bytes("s", data)

    assert str(caught.value).startswith("s.json")
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, Wiped) == (not data.strip(b"\0"))


ODD = {
    "a byte order mark": b"\xef\xbb\xbf" + WHOLE,
    "line ends of another system": json.dumps(json.loads(WHOLE), indent=1)
    .replace("\n", "\r\n")
    .encode(),
    "junk behind": WHOLE + b"junk",
    "NULs behind": WHOLE + b"\0" * 512,
    "a longer text shining through": WHOLE + b'\n0.25}], "edges": []}\n',
    "a key twice": WHOLE.replace(b'"w"', b'"w": 0.25, "w"'),
    "a list twice": WHOLE.replace(b'"percepts"', b'"percepts": [], "percepts"'),
    "half a surrogate pair": WHOLE.replace(b"p1", b"p1\\ud800"),
    "another case": WHOLE.replace(b"percepts", b"PERCEPTS").replace(b"content", b"Content"),
    "24 levels": WHOLE.replace(b'"edges"', b'"x": ' + b"[" * 23 + b"]" * 23 + b', "edges"'),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_read(name: str) -> None:
    loaded = image_from_bytes("s", ODD[name])

    assert [p.w for p in loaded.image.percepts] == [0.5]
    assert loaded.lossy == bool(loaded.warnings)
    assert loaded.sealed is Seal.BARE


@given(st.binary(max_size=200) | st.builds(cut, st.integers(0, len(WHOLE)), st.binary(max_size=4)))
def test_no_bytes_do_anything_but_load_or_be_refused(data: bytes) -> None:
    with contextlib.suppress(StoreDamaged, VersionMismatch):
        image = image_from_bytes("s", data).image
        assert image_from_bytes("s", image_to_bytes(image, SEALING)).image == image
