"""A journal cut, bent and shuffled: at every byte, in every sector, record by record."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from itertools import accumulate, pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest

from journalled import (
    EVERY_CHANGE,
    FULL,
    GEN,
    HEADER,
    SEED,
    STORE,
    entries,
    journal,
    records,
)
from milkd.engine.changes import PerceptPut
from milkd.store.entries import Entry, entry_from_payload, entry_to_payload, parse_payload
from milkd.store.journal import Scan, Verdict, frame, header_frame, scan, seed_of

if TYPE_CHECKING:
    from collections.abc import Sequence

LONG = os.environ.get("MILKD_TORTURE") == "1"
RANDOM = Random()
HEAD = header_frame(HEADER)
SECTOR = 512
GOOD = (Verdict.CLEAN, Verdict.TORN)


@pytest.fixture(autouse=True)
def dice(request: pytest.FixtureRequest) -> None:
    """Each test throws the same dice whether it runs alone or not; other ones in each round."""
    RANDOM.seed(f"{os.environ.get('MILKD_ROUND')} {request.node.name}")


def read(data: bytes) -> Scan:
    """The journal that the tests write."""
    return scan(data, store=STORE, gen=GEN)


def in_batches(count: int, sizes: Sequence[int] = (2, 1, 3, 1, 4)) -> list[tuple[Entry, ...]]:
    """Small entries, in batches of several sizes."""
    found = entries(count)
    batches: list[tuple[Entry, ...]] = []
    while found:
        size = sizes[len(batches) % len(sizes)]
        batches.append(found[:size])
        found = found[size:]
    return batches


def flat(batches: Sequence[tuple[Entry, ...]]) -> tuple[Entry, ...]:
    """The entries of all batches."""
    return tuple(entry for batch in batches for entry in batch)


def offsets(pieces: Sequence[bytes]) -> list[int]:
    """Where the records begin, and where the last one ends."""
    return list(accumulate(map(len, pieces), initial=len(HEAD)))


def ten_kilobytes() -> list[tuple[Entry, ...]]:
    """Two dozen entries, one of them with a long text that is not ASCII."""
    batches = in_batches(24)
    first, *others = batches[4]
    changes = (PerceptPut("s-1", replace(FULL, content="grüne Tees 🍵\n" * 100), 1.5),)
    batches[4] = (Entry(first.seq, first.at, "record", changes), *others)
    return batches


def test_cut_at_any_byte_what_is_whole_is_there_and_nothing_else() -> None:
    batches = ten_kilobytes()
    everything, data = flat(batches), journal(batches)
    ends = offsets(records(batches))
    assert 9_000 < len(data) < 13_000

    for cut in range(len(data) + 1):
        found = read(data[:cut])
        whole = sum(end <= cut for end in ends) - 1
        assert found.entries == everything[: max(0, whole)], cut
        assert found.verdict is (Verdict.CLEAN if cut in ends else Verdict.TORN), cut
        assert found.good_end == (ends[whole] if whole >= 0 else 0), cut
        assert bool(found.problem) == (cut not in ends), cut


@pytest.mark.skipif(not LONG, reason="the long column: MILKD_TORTURE=1")
def test_a_long_journal_cut_at_many_bytes() -> None:
    batches = in_batches(500)
    everything, data = flat(batches), journal(batches)
    ends = offsets(records(batches))

    for cut in RANDOM.sample(range(len(HEAD), len(data)), 1_000):
        found = read(data[:cut])
        assert found.entries == everything[: sum(end <= cut for end in ends) - 1], cut
        assert found.verdict is (Verdict.CLEAN if cut in ends else Verdict.TORN), cut


def test_any_byte_that_changes_is_noticed() -> None:
    batches = in_batches(10)
    everything, data = flat(batches), bytearray(journal(batches))
    ends = offsets(records(batches))
    witnessed = len(everything) - len(batches[-1])
    assert len(batches[-1]) > 1

    for place in range(len(data)):
        whole = sum(end <= place for end in ends) - 1
        expected = Verdict.CORRUPT if whole < witnessed else Verdict.TORN
        for bits in (0x01, 0x80, 0xFF):
            data[place] ^= bits
            found = read(bytes(data))
            data[place] ^= bits
            assert found.verdict is expected, (place, bits)
            assert found.entries == everything[: max(0, whole)], (place, bits)


def test_bytes_that_change_at_random_are_noticed() -> None:
    batches = in_batches(8)
    everything, data = flat(batches), journal(batches)

    for _ in range(100_000 if LONG else 3_000):
        bent = bytearray(data)
        for _ in range(RANDOM.randint(1, 4)):
            bent[RANDOM.randrange(len(bent))] = RANDOM.randrange(256)
        found = read(bytes(bent))
        assert found.entries == everything[: len(found.entries)]
        assert (found.verdict is Verdict.CLEAN) == (bent == data)


def loses_sectors(before: bytes, batch: bytes, lost: int, filler: bytes) -> bytes:
    """A file after a power cut in the middle of a batch: some of its sectors are not there."""
    data = bytearray(before + batch)
    first = len(before) // SECTOR
    for number in range(first, len(data) // SECTOR + 1):
        if lost >> (number - first) & 1:
            start, end = max(number * SECTOR, len(before)), min((number + 1) * SECTOR, len(data))
            data[start:end] = filler * (end - start)
    return bytes(data)


@pytest.mark.parametrize("filler", [b"\0", b"\xff"])
@pytest.mark.parametrize("shift", [0, 100, 350])
def test_sectors_of_the_last_batch_that_are_lost_lose_nothing_else(
    shift: int, filler: bytes
) -> None:
    padding = Entry(101, 0.0, "x" * (1 + shift), ())
    durable = entries(3, first=102)
    last = entries(12, first=105)
    before = journal([(padding,), durable])
    batch = b"".join(records([last], durable=104))
    pieces = [piece + b"\n" for piece in batch.split(b"\n")[:-1]]
    ends = [len(before) + end for end in accumulate(map(len, pieces), initial=0)]
    count = len(before + batch) // SECTOR - len(before) // SECTOR + 1
    patterns = range(1 << count) if count <= 10 else RANDOM.sample(range(1 << count), 1 << 10)

    for lost in patterns:
        data = loses_sectors(before, batch, lost, filler)
        found = read(data)
        same = next((n for n in range(len(data)) if data[n] != (before + batch)[n]), len(data))
        whole = sum(end <= same for end in ends) - 1
        assert found.entries == (padding, *durable, *last[:whole]), bin(lost)
        assert found.verdict is (Verdict.TORN if lost else Verdict.CLEAN), bin(lost)


def test_a_sector_of_an_earlier_batch_that_is_lost_is_corrupt() -> None:
    batches = in_batches(14)
    data = journal(batches)
    witnessed = offsets(records(batches))[len(flat(batches[:-1]))]

    for number in range(witnessed // SECTOR):
        lost = data[: number * SECTOR] + bytes(SECTOR) + data[(number + 1) * SECTOR :]
        assert read(lost).verdict is Verdict.CORRUPT, number


Unit = tuple[int, int, bytes]
"""A record with its numbers; 0, 0 for one of another generation."""


def units(batches: Sequence[tuple[Entry, ...]]) -> list[Unit]:
    """The records of a journal with their numbers."""
    found: list[Unit] = []
    durable = HEADER.base
    for batch in batches:
        found += [(e.seq, durable, frame(entry_to_payload(e, durable), SEED)) for e in batch]
        durable = batch[-1].seq
    return found


def foreign(batches: Sequence[tuple[Entry, ...]]) -> list[Unit]:
    """The same records in another generation."""
    seed = seed_of(STORE, "00000006-0badcafe")
    payloads = [entry_to_payload(entry, entry.seq - 1) for entry in flat(batches)]
    return [(0, 0, frame(payload, seed)) for payload in payloads]


def shuffled(good: list[Unit], others: list[Unit]) -> list[Unit]:
    """Records dropped, repeated, swapped, and mixed with those of another generation."""
    found = list(good)
    for _ in range(RANDOM.randint(1, 3)):
        place, other = RANDOM.randrange(len(found) + 1), RANDOM.randrange(len(found) + 1)
        start, end = sorted((place, other))
        match RANDOM.randrange(6):
            case 0:
                del found[start : max(end, start + 1)]
            case 1:
                found[place:place] = found[start:end]
            case 2 if start < end < len(found):
                found[start], found[end] = found[end], found[start]
            case 3:
                found[place:place] = others[start:end]
            case 4:
                found[place:] = others[place:]
            case _:
                found.append(RANDOM.choice(good))
    return found


def judged(found: list[Unit]) -> tuple[int, Verdict]:
    """The rules, for whole records: how many are good, and the verdict."""
    whole = 0
    while whole < len(found) and found[whole][0] == HEADER.base + 1 + whole:
        whole += 1
    expected = HEADER.base + 1 + whole
    rest = [(seq, durable) for seq, durable, _ in found[whole:] if seq]
    if any(seq <= expected or durable >= expected for seq, durable in rest):
        return whole, Verdict.CORRUPT
    return whole, Verdict.TORN if found[whole:] else Verdict.CLEAN


def test_records_in_any_order_are_judged_by_the_rules() -> None:
    batches = in_batches(9)
    everything, good, others = flat(batches), units(batches), foreign(batches)
    seen = set()

    for _ in range(200_000 if LONG else 10_000):
        found = shuffled(good, others)
        got = read(HEAD + b"".join(record for _, _, record in found))
        whole, verdict = judged(found)
        assert (got.verdict, got.entries) == (verdict, everything[:whole])
        assert got.good_end == len(HEAD) + sum(len(record) for _, _, record in found[:whole])
        seen.add(got.verdict)
    assert seen == {Verdict.CLEAN, Verdict.TORN, Verdict.CORRUPT}


def bent(payload: bytes) -> bytes:
    """A payload with something else in some place."""
    text = bytearray(payload)
    for _ in range(RANDOM.randint(1, 2)):
        start = RANDOM.randrange(len(text))
        end = min(len(text), start + RANDOM.choice((0, 1, 1, 2, 5)))
        text[start:end] = RANDOM.choice(
            (b"", b"0", b"9" * 30, b"-", b"[", b"}", b'"', b",", b"null", b"1e999", b"NaN", b'{"')
        )
    return bytes(text)


NUMBERS = (0, -1, 2**70, 0.5, 1e300)
VALUES: list[object] = [None, True, *NUMBERS, "", "x", "2026-05-24T10:11:12Z", [], [5], {}]


def changed(value: object) -> object:
    """A JSON value with another one somewhere in it."""
    if isinstance(value, dict) and value and RANDOM.random() < 0.9:
        key = RANDOM.choice(list(value))
        return {**value, key: changed(value[key])}
    if isinstance(value, list) and value and RANDOM.random() < 0.9:
        place = RANDOM.randrange(len(value))
        return [*value[:place], changed(value[place]), *value[place + 1 :]]
    return RANDOM.choice(VALUES)


def altered(payload: bytes) -> bytes:
    """A payload of other values."""
    return json.dumps(changed(json.loads(payload))).encode()


def test_a_payload_of_anything_is_an_entry_that_can_be_kept_or_is_refused() -> None:
    payloads = [
        entry_to_payload(Entry(101, 1.5, "record", (change,), entry.done, ("p1",)), 100)
        for change in EVERY_CHANGE
        for entry in entries(1)
    ]
    taken = 0

    for number in range(200_000 if LONG else 10_000):
        payload = payloads[number % len(payloads)]
        found = read(HEAD + frame((altered, bent)[number % 2](payload), SEED))
        assert found.verdict in (*GOOD, Verdict.CORRUPT)
        for entry in found.entries:
            kept = entry_to_payload(entry, 100)
            assert entry_from_payload(parse_payload(kept)) == entry
            taken += 1
    assert taken > 500


def test_garbage_between_good_records_is_found_out() -> None:
    batches = in_batches(9)
    pieces = records(batches)
    everything = flat(batches)

    for number, _ in enumerate(pairwise(pieces), 1):
        for garbage in (b"\0", b"\n", b"J1 00000000", pieces[0][:40], RANDOM.randbytes(60)):
            data = HEAD + b"".join(pieces[:number]) + garbage + b"".join(pieces[number:])
            found = read(data)
            # What comes is the very record that is missing, where no crash puts it.
            assert (found.verdict, found.entries) == (Verdict.CORRUPT, everything[:number])
