"""The block of milkd's own, and the seal by which it knows its files again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.percept import Edge, Percept, ScopeImage
from milkd.errors import StoreDamaged, VersionMismatch
from milkd.store.snapshot import Seal, Sealing, image_from_bytes, image_to_bytes

STORE = "7e1f0000-0000-4000-8000-000000000001"
SEALING = Sealing(STORE, seq=12, written=1_780_000_000.5)
IMAGE = ScopeImage(
    name="s",
    percepts=(
        Percept(id="p1", content="tea é", producer="user", w=0.5, created_at=0.0, updated_at=1.0),
        Percept(id="p2", content="ale", producer="user", w=0.5, created_at=0.0, updated_at=1.0),
    ),
    edges=(Edge("p1", "p2", "extends"),),
    running_seconds=9.0,
    touched={"p1": 9.25},
    used=("p2",),
    shown=("p2", "p1"),
)


def block(**values: object) -> bytes:
    return json.dumps({"percepts": [], "_milkd": values}).encode()


def test_the_block_is_the_last_thing_in_the_file_and_the_sum_the_last_thing_in_it() -> None:
    data = image_to_bytes(IMAGE, SEALING)

    own = json.loads(data)["_milkd"]
    digits = hashlib.sha256(data.replace(own["sum"].encode()[7:], b"0" * 64)).hexdigest()
    assert list(json.loads(data))[-1] == "_milkd"
    assert data.endswith(f'"sum": "sha256:{digits}"\n  }}\n}}\n'.encode())
    assert own == {
        "format": 1,
        "min_reader": 1,
        "store": STORE,
        "seq": 12,
        "written": "2026-05-28T20:26:40.5Z",
        "running_seconds": 9,
        "touched": {"p1": 9.25},
        "used": ["p2"],
        "shown": ["p2", "p1"],
        "sum": f"sha256:{digits}",
    }


def test_what_milkd_wrote_is_known_again() -> None:
    loaded = image_from_bytes("s", image_to_bytes(IMAGE, SEALING))

    assert loaded.image == IMAGE
    assert (loaded.sealed, loaded.seq, loaded.store) == (Seal.OURS, 12, STORE)
    assert not loaded.lossy


def test_without_anything_special_the_block_is_short() -> None:
    own = json.loads(image_to_bytes(ScopeImage(name="s"), SEALING))["_milkd"]

    assert list(own) == [
        "format",
        "min_reader",
        "store",
        "seq",
        "written",
        "running_seconds",
        "sum",
    ]


def test_keys_of_a_later_milkd_stay_in_the_block_before_the_sum() -> None:
    image = replace(IMAGE, extra={"_milkd": {"mood": "calm", "sum": "mine", "seq": 4}})

    data = image_to_bytes(image, SEALING)

    assert list(json.loads(data)["_milkd"])[-2:] == ["mood", "sum"]
    assert image_from_bytes("s", data).sealed is Seal.OURS
    assert image_from_bytes("s", data).image.extra == {"_milkd": {"mood": "calm"}}


def test_a_sum_that_a_fact_quotes_confuses_nothing() -> None:
    first = image_to_bytes(IMAGE, SEALING).decode()
    digits = first[first.rindex("sha256:") + 7 :][:64]
    quoting = (replace(IMAGE.percepts[0], content=f"sha256:{digits} {'0' * 64}"),)

    data = image_to_bytes(replace(IMAGE, percepts=quoting), SEALING)

    assert image_from_bytes("s", data).sealed is Seal.OURS


def seal_of(data: bytes) -> Seal | None:
    """None for what is refused."""
    try:
        return image_from_bytes("s", data).sealed
    except (StoreDamaged, VersionMismatch):
        return None


@pytest.mark.parametrize("bits", [0x01, 0x20, 0x80, 0xFF])
def test_no_flipped_byte_goes_unnoticed(bits: int) -> None:
    data = image_to_bytes(IMAGE, SEALING)

    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= bits
        assert seal_of(bytes(flipped)) is not Seal.OURS


@given(st.data())
def test_no_piece_that_is_cut_doubled_or_moved_goes_unnoticed(draw: st.DataObject) -> None:
    data = image_to_bytes(IMAGE, SEALING)
    places = st.integers(0, len(data))
    a, b, c = sorted((draw.draw(places), draw.draw(places), draw.draw(places)))

    for other in (
        data[:a] + data[b:],
        data[:b] + data[a:],
        data[:a] + data[b:c] + data[a:b] + data[c:],
    ):
        assert other == data or seal_of(other) is not Seal.OURS


@pytest.mark.parametrize(
    ("data", "seal"),
    [
        (b"{}", Seal.BARE),
        (b"null", Seal.BARE),
        (b'{"_milkd": null}', Seal.BARE),
        (b'{"_milkd": 5}', Seal.EDITED),
        (block(), Seal.EDITED),
        (block(sum=5), Seal.EDITED),
        (block(sum="md5:0"), Seal.EDITED),
        (block(sum="sha256:" + "0" * 64), Seal.EDITED),
        (block(sum="sha256:" + "A" * 64), Seal.EDITED),
        (b'{"_milkd": {"sum": "sha256:' + b"\\u0030" + b"0" * 63 + b'"}}', Seal.EDITED),
    ],
)
def test_what_others_wrote_is_told_from_it(data: bytes, seal: Seal) -> None:
    assert image_from_bytes("s", data).sealed is seal


def test_a_file_of_a_milkd_without_a_journal_has_no_seal() -> None:
    loaded = image_from_bytes("s", image_to_bytes(IMAGE))

    assert loaded.image == IMAGE
    assert (loaded.sealed, loaded.seq, loaded.store) == (Seal.EDITED, 0, None)


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"seq": -1}, "seq: found -1, expected a whole number"),
        ({"seq": 1.5}, "seq: found 1.5, expected a whole number"),
        ({"seq": True}, "seq: found true, expected a whole number"),
        ({"seq": 2**60}, f"seq: found {2**60}, expected a whole number"),
        ({"store": 7}, "store: found 7, expected a string"),
        ({"touched": ["p1"]}, "touched: found a list, expected an object of seconds"),
        ({"touched": {"p1": "x"}}, 'touched.p1: found "x", expected seconds'),
        ({"touched": {"p1": -1}}, "touched.p1: found -1, expected seconds"),
        ({"used": "p1"}, 'used: found "p1", expected a list of strings'),
        ({"shown": [1]}, "shown: found a list, expected a list of strings"),
        ({"running_seconds": 1e300}, "running_seconds: found 1e+300, expected seconds"),
    ],
)
def test_what_is_not_valid_in_the_block_is_told_and_counts_as_absent(
    own: dict[str, object], sentence: str
) -> None:
    loaded = image_from_bytes("s", block(**own))

    assert loaded.warnings == (f"s.json: _milkd.{sentence}",)
    assert loaded.lossy
    assert (loaded.image, loaded.seq, loaded.store) == (ScopeImage(name="s"), 0, None)


def test_one_thing_that_is_not_valid_spoils_no_other() -> None:
    data = block(seq="x", touched={"p1": 4}, used=["p1", "p1"], running_seconds=3)

    image = image_from_bytes("s", data).image

    assert (image.touched, image.used, image.running_seconds) == ({"p1": 4.0}, ("p1",), 3.0)


def test_empty_and_null_are_the_same_as_absent() -> None:
    data = block(store="", touched={}, used=None, shown=[])

    loaded = image_from_bytes("s", data)

    assert loaded.image == ScopeImage(name="s")
    assert loaded.store is None
    assert not loaded.lossy
