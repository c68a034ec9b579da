"""What can be had of journals, whatever became of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from milkd.engine.changes import PerceptDropped
from milkd.errors import VersionMismatch
from milkd.store.entries import Entry, entry_to_payload
from milkd.store.files import Files
from milkd.store.journal import Header, frame, header_frame, scan, seed_of
from milkd.store.salvage import Salvaged, salvage

if TYPE_CHECKING:
    from pathlib import Path

STORE = "7f0c5b1e-0000-4000-8000-000000000001"
FIRST, SECOND, THIRD = (f"{n:08d}-0000000{n}" for n in (1, 2, 3))


def entry(seq: int, *, more: bool = False) -> Entry:
    return Entry(seq, 1.0, "test", (PerceptDropped("global", f"p{seq}"),), more=more)


def journal(gen: str, base: int, *entries: Entry, after: int | None = None) -> list[bytes]:
    """The records of a journal, its header first."""
    seed = seed_of(STORE, gen)
    records = [frame(entry_to_payload(each, each.seq - 1), seed) for each in entries]
    return [header_frame(Header(STORE, gen, base, writer="test", after=after)), *records]


def put(directory: Path, gen: str, records: list[bytes]) -> None:
    (directory / f"journal.{gen}").write_bytes(b"".join(records))


def salvaged(directory: Path, store: str | None = STORE) -> Salvaged:
    return salvage(Files(), str(directory), store)


def numbers(found: Salvaged) -> list[int]:
    return [each.seq for each in found.recovered.entries]


def test_sound_journals_give_all_and_no_problem(tmp_path: Path) -> None:
    put(tmp_path, FIRST, journal(FIRST, 4, entry(5), entry(6)))
    put(tmp_path, SECOND, journal(SECOND, 6, entry(7)))
    found = salvaged(tmp_path)
    assert numbers(found) == [5, 6, 7]
    assert (found.recovered.base, found.recovered.newest) == (4, 7)
    assert (found.problems, found.missing, found.damaged) == ((), (), ())
    assert [each.last for each in found.living] == [7, 7]
    assert salvaged(tmp_path / "none") == Salvaged()


def test_entries_before_and_behind_damage_are_saved(tmp_path: Path) -> None:
    records = journal(FIRST, 0, *map(entry, range(1, 8)))
    records[3] = records[3].replace(b"p3", b"p8")
    records[5] = b""
    put(tmp_path, FIRST, records)
    found = salvaged(tmp_path)
    assert numbers(found) == [1, 2, 4, 6, 7]
    assert found.missing == ((3, 3), (5, 5))
    ((name, said),) = found.problems
    assert name == f"journal.{FIRST}"
    assert said.startswith("record 3 is not whole at byte ")
    assert found.damaged == (str(tmp_path / name),)


def test_a_journal_without_its_header_is_read_by_its_name(tmp_path: Path) -> None:
    put(tmp_path, FIRST, journal(FIRST, 0, entry(1)))
    put(tmp_path, SECOND, [b"J1 junk\n", *journal(SECOND, 1, entry(2), entry(3))[1:]])
    found = salvaged(tmp_path)
    assert numbers(found) == [1, 2, 3]
    assert found.missing == ()
    assert [name for name, _ in found.problems] == [f"journal.{SECOND}"]
    (tmp_path / f"journal.{FIRST}").unlink()
    assert numbers(salvaged(tmp_path)) == [2, 3]
    assert salvaged(tmp_path).recovered.base == 1
    assert numbers(salvaged(tmp_path, None)) == []


def test_a_missing_journal_is_told_by_the_numbers(tmp_path: Path) -> None:
    put(tmp_path, FIRST, journal(FIRST, 0, entry(1)))
    put(tmp_path, THIRD, journal(THIRD, 4, entry(5)))
    found = salvaged(tmp_path)
    assert numbers(found) == [1, 5]
    assert found.missing == ((2, 4),)
    assert found.problems == (
        (f"journal.{THIRD}", "begins after entry 4, but those before it end with 1"),
    )
    assert found.damaged == ()


def test_numbers_that_a_writer_knew_from_the_files_are_not_missing(tmp_path: Path) -> None:
    put(tmp_path, FIRST, journal(FIRST, 0, entry(1)))
    put(tmp_path, SECOND, journal(SECOND, 9, entry(10), after=1))
    found = salvaged(tmp_path)
    assert (numbers(found), found.missing, found.problems) == ([1, 10], (), ())


def test_what_the_next_writer_did_not_take_is_not_saved(tmp_path: Path) -> None:
    put(tmp_path, FIRST, journal(FIRST, 0, entry(1), entry(2, more=True)))
    records = journal(SECOND, 1, entry(2), entry(3), entry(4))
    records[2] = b""
    put(tmp_path, SECOND, records)
    found = salvaged(tmp_path)
    assert numbers(found) == [1, 2, 4]
    assert found.recovered.entries[1] == entry(2)
    assert found.missing == ((3, 3),)


def test_parts_of_an_operation_whose_end_is_lost_are_saved_but_not_at_the_end(
    tmp_path: Path,
) -> None:
    records = journal(FIRST, 0, entry(1, more=True), entry(2), entry(3), entry(4, more=True))
    records[2] = b""
    put(tmp_path, FIRST, records)
    assert numbers(salvaged(tmp_path)) == [1, 3]


def test_a_journal_of_another_name_is_read_in_its_place(tmp_path: Path) -> None:
    put(tmp_path, "00000009-00000000", journal(FIRST, 0, entry(1), entry(2)))
    put(tmp_path, SECOND, journal(SECOND, 2, entry(3)))
    found = salvaged(tmp_path)
    assert numbers(found) == [1, 2, 3]
    assert [name for name, _ in found.problems] == ["journal.00000009-00000000"]


def test_a_journal_of_another_store_gives_nothing(tmp_path: Path) -> None:
    put(tmp_path, FIRST, journal(FIRST, 0, entry(1)))
    found = salvaged(tmp_path, "another")
    assert numbers(found) == []
    assert found.damaged == (str(tmp_path / f"journal.{FIRST}"),)


def test_a_journal_for_newer_readers_is_refused(tmp_path: Path) -> None:
    header = header_frame(Header(STORE, FIRST, 0, fmt=9, min_reader=9))
    put(tmp_path, FIRST, [header])
    with pytest.raises(VersionMismatch, match="asks for a reader of format 9"):
        salvaged(tmp_path)
    put(tmp_path, SECOND, [header])
    (tmp_path / f"journal.{FIRST}").unlink()
    with pytest.raises(VersionMismatch, match="nothing was touched"):
        salvaged(tmp_path)


def test_a_record_that_is_no_entry_is_passed_over(tmp_path: Path) -> None:
    records = journal(FIRST, 0, *map(entry, range(1, 4)))
    odd = json.dumps({"s": 2, "d": 1, "t": "x", "at": 1.0, "ch": [{"c": "unheard of"}]})
    records[2] = frame(odd.encode(), seed_of(STORE, FIRST))
    put(tmp_path, FIRST, records)
    assert numbers(salvaged(tmp_path)) == [1, 3]


def test_one_bad_byte_costs_one_entry_and_is_seen(tmp_path: Path) -> None:
    records = journal(FIRST, 0, *map(entry, range(1, 7)))
    whole = b"".join(records)
    ends = [len(b"".join(records[: n + 1])) for n in range(len(records))]
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 0x20
        put(tmp_path, FIRST, [bytes(data)])
        hit = next(n for n, end in enumerate(ends) if at < end)
        found = salvaged(tmp_path)
        assert numbers(found) == [n for n in range(1, 7) if n != hit], at
        torn = scan(bytes(data), store=STORE, gen=FIRST).problem and hit == 6
        assert torn or found.problems, at
        assert found.missing == (((hit, hit),) if 0 < hit < 6 else ()), at
