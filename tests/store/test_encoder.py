"""Large scopes are written in pieces, with pauses, and only once what stays the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.engine.percept import Edge, Engram, Percept, ScopeImage
from milkd.store.encoder import PIECE, Encoder, image_to_bytes
from milkd.store.snapshot import Seal, Sealing, image_from_bytes

SEALING = Sealing("a store", seq=1, written=0.0)


def percept(number: int, **values: Any) -> Percept:
    fields = {"content": f"fact {number}", "producer": "user", "w": 0.5}
    times = {"created_at": 0.0, "updated_at": 1.0}
    return Percept(**{"id": f"p{number}", **fields, **times, **values})


def engram(number: int) -> Engram:
    fields: dict[str, Any] = {"subject_label": f"label {number}", "composite_w": 0.5}
    times: dict[str, Any] = {"created_at": 0.0, "updated_at": 1.0}
    return Engram(id=f"e{number}", percept_ids=("p1",), **fields, **times)


def holding(count: int) -> ScopeImage:
    return ScopeImage(name="s", percepts=tuple(map(percept, range(count))))


def test_a_large_file_comes_in_pieces_that_are_not_too_large() -> None:
    image = holding(2_000)

    pieces = Encoder().encode(image, SEALING)

    assert b"".join(pieces) == image_to_bytes(image, SEALING)
    assert len(pieces) > 3
    assert all(PIECE <= len(piece) < PIECE + 1_000 for piece in pieces[:-1])
    assert image_from_bytes("s", b"".join(pieces)).sealed is Seal.OURS


def test_the_seal_is_right_wherever_the_pieces_end() -> None:
    for length in range(PIECE - 700, PIECE - 300, 7):
        image = ScopeImage(name="s", percepts=(percept(1, content="x" * length),))

        data = image_to_bytes(image, SEALING)

        assert image_from_bytes("s", data).sealed is Seal.OURS


def turns(encoder: Encoder, image: ScopeImage) -> int:
    """How often others have their turn while an image is written."""
    count = 0

    def pause() -> None:
        nonlocal count
        count += 1

    pieces = encoder.encode(image, SEALING, pause)
    assert b"".join(pieces) == image_to_bytes(image, SEALING)
    return count


def test_others_have_their_turn_every_few_entries() -> None:
    encoder, image = Encoder(), holding(2_048)

    fresh, again = turns(encoder, image), turns(encoder, image)

    assert fresh >= 2_048 // 32
    assert again >= 2 * 2_048 // 512 - 1  # to write, and to forget what was remembered before
    assert turns(Encoder(), holding(20)) == 0


def test_only_what_changed_is_written_out_anew() -> None:
    encoder, image = Encoder(), holding(2_048)
    first = turns(encoder, image)
    changed = replace(image, percepts=(*image.percepts[:-1], percept(2_047, w=0.75)))

    second = turns(encoder, changed)

    assert second < first / 5


numbers = st.integers(0, 5)
edges = st.builds(Edge, numbers.map("p{}".format), numbers.map("p{}".format), st.just("extends"))


class Shelf:
    """Entries that are made once."""

    def __init__(self) -> None:
        self.percepts = [percept(number) for number in range(6)]
        self.engrams = [engram(number) for number in range(6)]


SHELF = Shelf()
images = st.builds(
    ScopeImage,
    name=st.just("s"),
    percepts=st.lists(st.sampled_from(SHELF.percepts), unique_by=id).map(tuple),
    engrams=st.lists(st.sampled_from(SHELF.engrams), unique_by=id).map(tuple),
    edges=st.lists(edges, unique=True).map(tuple),
    extra=st.dictionaries(st.sampled_from(["theme", "PERCEPTS"]), numbers, max_size=2),
    unreadable=st.lists(
        st.tuples(st.sampled_from(["percepts", "engrams", "edges"]), numbers, st.just("junk")),
        max_size=3,
    ).map(tuple),
)


@given(st.lists(images, max_size=4))
def test_what_is_remembered_changes_nothing(several: list[ScopeImage]) -> None:
    encoder = Encoder()

    for image in several:
        assert b"".join(encoder.encode(image, SEALING)) == image_to_bytes(image, SEALING)


def test_a_scope_that_cannot_be_written_spoils_nothing() -> None:
    encoder, image = Encoder(), holding(3)
    encoder.encode(image, SEALING)

    with pytest.raises(ValueError, match="no place in JSON"):
        encoder.encode(replace(image, percepts=(percept(9, w=float("nan")),)), SEALING)

    assert b"".join(encoder.encode(image, SEALING)) == image_to_bytes(image, SEALING)


@pytest.mark.parametrize("places", [(0, 1, 2), (0, 2, 4), (5, 6, 7), (1, 1, 9)])
def test_others_stand_where_they_stood_or_at_the_end(places: tuple[int, ...]) -> None:
    junk = tuple(("percepts", place, f"junk {place}") for place in reversed(places))

    data = image_to_bytes(replace(holding(3), unreadable=junk))

    expected: list[object] = [f"p{number}" for number in range(3)]
    for place in places:
        expected.insert(place, f"junk {place}")
    found = [each if isinstance(each, str) else each["id"] for each in json.loads(data)["percepts"]]
    assert found == expected
