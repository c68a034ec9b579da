"""Reading a journal: what is on disk is found, what is damaged is told from what was torn."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from itertools import accumulate

import pytest

from journalled import BARE, GEN, HEADER, SEED, STORE, entries, journal, records
from milkd.engine.changes import PerceptPut
from milkd.store.entries import MAX_RECORD, Entry, entry_to_payload
from milkd.store.journal import (
    FORMAT,
    Header,
    Scan,
    Verdict,
    frame,
    header_frame,
    scan,
    seed_of,
)

START = len(header_frame(HEADER))
FIVE = entries(5)
BATCHES = [FIVE[:2], FIVE[2:3], FIVE[3:]]


def read(data: bytes) -> Scan:
    """The journal that the tests write."""
    return scan(data, store=STORE, gen=GEN)


def ends(pieces: list[bytes], start: int = START) -> list[int]:
    """The offsets after the header and after each record."""
    return list(accumulate(map(len, pieces), initial=start))


def verdict(*pieces: bytes) -> tuple[Verdict, int]:
    """What is made of these records, and how many entries are good."""
    found = read(header_frame(HEADER) + b"".join(pieces))
    return found.verdict, len(found.entries)


def test_a_record_is_a_line_with_length_crc_and_payload() -> None:
    assert frame(b'{"s":1}', 5) == b'J1 00000007 %08x {"s":1}\n' % zlib.crc32(b'{"s":1}', 5)
    assert seed_of("store", "gen") == zlib.crc32(b"storegen")


def test_the_header_is_a_record() -> None:
    payload = {
        "t": "H",
        "fmt": 1,
        "min_reader": 1,
        "store": STORE,
        "gen": GEN,
        "base": 100,
        "writer": "milkd test",
    }

    text = json.dumps(payload, separators=(",", ":")).encode()

    assert header_frame(HEADER) == frame(text, SEED)


def test_a_whole_journal_is_clean() -> None:
    data = journal(BATCHES)

    assert read(data) == Scan(HEADER, FIVE, Verdict.CLEAN, len(data), len(data), "")


def test_a_journal_without_entries_is_clean() -> None:
    assert read(header_frame(HEADER)) == Scan(HEADER, (), Verdict.CLEAN, START, START)


@pytest.mark.parametrize("store", [STORE, None])
@pytest.mark.parametrize("cut", [0, 1, 21, START - 1])
def test_a_header_that_is_not_complete_is_torn(cut: int, store: str | None) -> None:
    found = scan(header_frame(HEADER)[:cut], store=store, gen=GEN)

    problem = "the header at byte 0 is not complete"
    assert found == Scan(None, (), Verdict.TORN, 0, cut, problem)


@pytest.mark.parametrize("store", [STORE, None])
@pytest.mark.parametrize("place", [0, 5, 15, 40, 100, START - 1])
def test_a_damaged_header_with_a_record_behind_it_is_corrupt(place: int, store: str | None) -> None:
    data = bytearray(journal(BATCHES))
    data[place] ^= 1

    found = scan(bytes(data), store=store, gen=GEN)

    problem = f"the header at byte 0 is damaged, and a record follows at byte {START}"
    assert found == Scan(None, (), Verdict.CORRUPT, 0, len(data), problem)


@pytest.mark.parametrize("store", [STORE, None])
def test_a_damaged_header_with_nothing_behind_it_is_torn(store: str | None) -> None:
    data = bytearray(header_frame(HEADER))
    data[60] ^= 1

    assert scan(bytes(data), store=store, gen=GEN).verdict is Verdict.TORN


def test_records_without_a_header_are_corrupt() -> None:
    found = read(b"".join(records(BATCHES)))

    assert (found.verdict, found.header, found.entries) == (Verdict.CORRUPT, None, ())
    assert found.problem.endswith("a record follows at byte 0")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("t", "h"),
        ("store", ""),
        ("store", 5),
        ("gen", None),
        ("base", -1),
        ("base", 1.0),
        ("base", True),
        ("fmt", 0),
        ("min_reader", 0),
        ("min_reader", "1"),
        ("writer", 5),
        ("after", -1),
    ],
)
def test_a_header_that_says_nonsense_is_none(key: str, value: object) -> None:
    payload = json.loads(header_frame(HEADER)[21:]) | {key: value}
    data = frame(json.dumps(payload).encode(), SEED)

    found = read(data + b"".join(records(BATCHES)))

    assert (found.verdict, found.header) == (Verdict.CORRUPT, None)


def test_a_header_may_name_a_store_that_no_encoding_knows() -> None:
    header = Header("\ud800", GEN, 100)

    assert scan(header_frame(header), store=None, gen=GEN).verdict is Verdict.CLEAN
    assert scan(header_frame(header), store=STORE, gen=GEN).verdict is Verdict.FOREIGN


@pytest.mark.parametrize("after", [0, 99])
def test_a_header_may_say_what_its_writer_found_before(after: int) -> None:
    header = replace(HEADER, after=after)

    assert json.loads(header_frame(header)[21:])["after"] == after
    assert read(header_frame(header)).header == header


def test_a_header_may_say_as_little_as_possible() -> None:
    header = Header("s", "g", 0)

    assert scan(header_frame(header), store="s", gen="g").header == header


@pytest.mark.parametrize("extra", ["", "x"])
def test_a_journal_of_another_store_or_generation_is_foreign(extra: str) -> None:
    data = journal(BATCHES)

    for found in (
        scan(data, store="other", gen=GEN),
        scan(data, store=STORE, gen="00000008-0badcafe"),
        scan(data, store=None, gen=GEN + "x"),
    ):
        problem = f"at byte 0 begins generation {GEN} of store {STORE}"
        assert found == Scan(HEADER, (), Verdict.FOREIGN, 0, len(data), problem)


def test_the_header_of_an_older_journal_in_our_place_is_a_torn_one() -> None:
    older = header_frame(replace(HEADER, gen="00000001-0badcafe"))

    for left in (older, older + b"\0" * 20, older + b'{"half an en'):
        found = scan(left, store=STORE, gen=GEN)
        assert (found.header, found.entries, found.verdict) == (None, (), Verdict.TORN)
    # That of another store, or one with entries behind it, was brought here by somebody.
    assert scan(older, store="other", gen=GEN).verdict is Verdict.FOREIGN
    entries = journal(BATCHES)
    assert scan(entries, store=STORE, gen="00000001-0badcafe").verdict is Verdict.FOREIGN


def test_without_a_store_the_header_is_believed() -> None:
    assert scan(journal(BATCHES), store=None, gen=GEN) == read(journal(BATCHES))


def test_a_journal_for_newer_readers_only_is_newer() -> None:
    header = replace(HEADER, fmt=FORMAT + 1, min_reader=FORMAT + 1)
    data = header_frame(header) + b"".join(records(BATCHES))

    found = read(data)

    problem = "the header at byte 0 asks for a reader of format 2, this is one of 1"
    assert found == Scan(header, FIVE, Verdict.NEWER, len(data), len(data), problem)


def test_a_newer_format_that_may_be_read_is_read() -> None:
    header = replace(HEADER, fmt=FORMAT + 1)

    assert read(header_frame(header) + b"".join(records(BATCHES))).verdict is Verdict.CLEAN


def test_a_change_that_only_a_newer_milkd_knows_is_newer_or_corrupt() -> None:
    newer = replace(HEADER, min_reader=FORMAT + 1)
    first, *_ = records(BATCHES)
    payload = b'{"s":102,"d":101,"t":"x","at":0,"ch":[{"c":"new","in":"global"}]}'
    tail = first + frame(payload, SEED)
    where = START + len(first)

    found, corrupt = read(header_frame(newer) + tail), read(header_frame(HEADER) + tail)

    assert (found.verdict, found.entries, found.good_end) == (Verdict.NEWER, FIVE[:1], where)
    assert (corrupt.verdict, corrupt.entries, corrupt.good_end) == (
        Verdict.CORRUPT,
        FIVE[:1],
        where,
    )
    problem = f'the record at byte {where} is no entry: ch[0]: c: found "new", expected one of'
    assert corrupt.problem.startswith(problem)


@pytest.mark.parametrize(
    "payload",
    [
        b'{"s":101}',
        b'{"s":101,"d":101,"t":"x","at":0,"ch":[]}',
        b'{"s":101,"d":100,"t":"x","at":NaN,"ch":[]}',
        b'{"s" is no JSON',
        b'{"":' + b"[" * 100_000,
        header_frame(HEADER)[21:-1],
    ],
)
def test_a_sound_record_that_is_no_entry_is_corrupt_wherever_it_is(payload: bytes) -> None:
    record = frame(payload, SEED)
    first, *rest = records([FIVE[:1], FIVE[1:]])

    assert verdict(record) == (Verdict.CORRUPT, 0)
    assert verdict(first, record) == (Verdict.CORRUPT, 1)
    assert verdict(first, b"?" + rest[1], record) == (Verdict.CORRUPT, 1)


def test_a_later_record_that_is_no_entry_is_told_with_its_place() -> None:
    data = header_frame(HEADER) + b"?" + frame(b'{"s":"x"}', SEED)

    assert read(data).problem == (
        f"record 101 is not whole at byte {START}, but the one at byte {START + 1} "
        'is no entry: s: found "x", expected a whole number, 1 or more'
    )


def test_a_torn_batch_is_told_with_its_place() -> None:
    data = journal(BATCHES)[:-1]
    where = ends(records(BATCHES))[4]

    problem = (
        f"record 105 is not whole at byte {where}: the last {len(data) - where} bytes "
        "were being written"
    )
    assert read(data) == Scan(HEADER, FIVE[:4], Verdict.TORN, where, len(data), problem)


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\xff" * 4096, b"\n", b" ", b"J1 ", b"J1 0000"])
def test_blanks_and_pieces_behind_the_last_record_are_torn(tail: bytes) -> None:
    assert verdict(*records(BATCHES), tail) == (Verdict.TORN, 5)


def test_a_lost_record_of_an_earlier_batch_is_corrupt() -> None:
    one, two, three, four, five = records(BATCHES)
    where = ends([one])[1]

    found = read(header_frame(HEADER) + one + three + four + five)

    assert (found.verdict, found.entries, found.good_end) == (Verdict.CORRUPT, FIVE[:1], where)
    assert found.problem == (
        f"record 102 is not whole at byte {where}, "
        f"but the one at byte {where} says that 102 was on disk"
    )
    assert verdict(one, four, five) == (Verdict.CORRUPT, 1)
    assert verdict(two, three, four, five) == (Verdict.CORRUPT, 0)
    assert verdict(one, b"\0" * len(two), five) == (Verdict.CORRUPT, 1)


def test_lost_records_of_the_last_batch_are_torn() -> None:
    _, _, _, four, five = pieces = records(BATCHES)
    before = pieces[:3]

    assert verdict(*before, five) == (Verdict.TORN, 3)
    assert verdict(*before, b"\0" * len(four), five) == (Verdict.TORN, 3)
    assert verdict(*before, four, five[:-1]) == (Verdict.TORN, 4)


def test_a_record_that_comes_again_is_corrupt() -> None:
    one, two, *rest = records(BATCHES)

    found = read(header_frame(HEADER) + one + two + one)

    where = ends([one, two])[2]
    assert (found.verdict, found.entries, found.good_end) == (Verdict.CORRUPT, FIVE[:2], where)
    assert found.problem == (
        f"record 103 is not whole at byte {where}, but the one at byte {where} is record 101"
    )
    assert verdict(one, two, b"\0", rest[0]) == (Verdict.CORRUPT, 2)
    assert verdict(one, two, *rest, two) == (Verdict.CORRUPT, 5)


def test_two_records_that_changed_places_are_corrupt() -> None:
    one, two, three, four, five = records([FIVE])

    assert verdict(one, three, two, four, five) == (Verdict.CORRUPT, 1)


def test_records_of_another_generation_are_none() -> None:
    other = seed_of(STORE, "00000006-0badcafe")
    foreign = [frame(entry_to_payload(entry, entry.seq - 1), other) for entry in FIVE]
    one, two, three, *_ = records(BATCHES)

    assert verdict(*foreign) == (Verdict.TORN, 0)
    assert verdict(one, two, *foreign[2:]) == (Verdict.TORN, 2)
    assert verdict(one, foreign[1], three) == (Verdict.CORRUPT, 1)


def test_the_sequence_begins_after_the_base() -> None:
    assert verdict(*records([entries(2, first=102)])) == (Verdict.TORN, 0)
    assert verdict(*records([entries(2, first=101)])) == (Verdict.CLEAN, 2)
    assert verdict(*records([entries(2, first=100)], durable=0)) == (Verdict.CORRUPT, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.replace(b"J1", b"J2"),
        lambda record: record[:3] + record[3:11].upper().replace(b"0", b" ") + record[11:],
        lambda record: record[:12] + b"%08x" % (int(record[12:20], 16) ^ 1) + record[20:],
        lambda record: record[:-1] + b"\r",
        lambda record: record[:-1] + b" \n",
        lambda record: record[:11] + b"-" + record[12:],
        lambda record: record[:20] + record[21:],
    ],
)
def test_a_record_has_one_form(change: object) -> None:
    assert callable(change)
    *before, last = records(BATCHES)

    assert verdict(*before, last) == (Verdict.CLEAN, 5)
    assert verdict(*before, change(last)) == (Verdict.TORN, 4)


def test_a_payload_is_an_object_with_keys() -> None:
    first, *_ = records(BATCHES)

    assert verdict(first, frame(b"[]", SEED)) == (Verdict.TORN, 1)
    assert verdict(first, frame(b"{}", SEED)) == (Verdict.TORN, 1)
    assert verdict(first, frame(b'{"a":1}', SEED)) == (Verdict.CORRUPT, 1)


def test_a_record_longer_than_the_limit_is_none() -> None:
    fitting = b'{"":"' + b"x" * (MAX_RECORD - 7) + b'"}'

    assert verdict(frame(fitting, SEED)) == (Verdict.CORRUPT, 0)
    assert verdict(frame(fitting + b" ", SEED)) == (Verdict.TORN, 0)


def test_a_record_in_a_text_is_never_taken_for_one() -> None:
    pasted = b"".join(records(BATCHES)).decode()
    percept = replace(BARE, content=f"look: {pasted}", extra={pasted: pasted})
    quoting = Entry(106, 0.0, "record", (PerceptPut("global", percept),))
    last = records([[quoting]], durable=105)[0]
    before = header_frame(HEADER) + b"".join(records(BATCHES))

    assert read(before + last).entries == (*FIVE, quoting)
    for place in range(0, len(last), 7):
        damaged = last[:place] + bytes([last[place] ^ 4]) + last[place + 1 :]
        found = read(before + damaged)
        assert (found.verdict, found.entries) == (Verdict.TORN, FIVE), place


def test_a_text_full_of_beginnings_costs_one_look_at_its_line() -> None:
    beginning = 'J1 %08x 00000000 {"'
    size = len('J1 00000000 00000000 {\\"')  # in a payload

    def record(behind: int) -> bytes:
        """One whose text holds what would end with the line, were the quotes not escaped."""
        content = "".join(beginning % (size * left + behind - 21) for left in range(5_000, 0, -1))
        changes = (PerceptPut("global", replace(BARE, content=content)),)
        return records([[Entry(101, 0.0, "record", changes)]])[0]

    found = record(0)
    whole = record(len(found) - found.rindex(b'{\\"') - len('{\\"'))

    assert verdict(whole) == (Verdict.CLEAN, 1)
    assert verdict(b"?" + whole) == (Verdict.CORRUPT, 0)
    assert verdict(whole[:-3] + b"?" + whole[-2:]) == (Verdict.TORN, 0)


def test_bytes_made_to_be_slow_are_not_slow_and_corrupt() -> None:
    count = 20_000
    size = len('J1 00000000 00000000 {"')
    shapes = [b'J1 %08x 00000000 {"' % (size * left - 21) for left in range(count, 0, -1)]

    # Each begins what ends with the line: all of them together would be 4.6 GB to sum up.
    assert verdict(b"".join(shapes) + b"\n") == (Verdict.CORRUPT, 0)


@pytest.mark.parametrize("store", [STORE, None])
@pytest.mark.parametrize(
    "data", [b"\0", b"\n" * 99, b"J1 " * 99, b'J1 00000002 00000000 {"\n', b'J1 00000001 {"":1}\n']
)
def test_a_file_of_anything_is_torn(data: bytes, store: str | None) -> None:
    found = scan(data, store=store, gen=GEN)

    assert (found.verdict, found.good_end, found.size) == (Verdict.TORN, 0, len(data))


def test_a_verdict_is_a_word() -> None:
    assert [each.value for each in Verdict] == ["clean", "torn", "corrupt", "foreign", "newer"]


@pytest.mark.parametrize("size", [513, 100_000])
def test_what_has_had_entries_and_lost_all_of_them_is_no_torn_end(size: int) -> None:
    """Nothing is written behind a header before that is on the disk."""
    found = scan(bytes(size), store=STORE, gen=GEN)
    assert (found.verdict, found.entries) == (Verdict.CORRUPT, ())
    assert scan(bytes(300), store=STORE, gen=GEN).verdict is Verdict.TORN
