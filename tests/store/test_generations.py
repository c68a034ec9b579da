"""Several journals as one: what they hold together, and how they come and go."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from faulty import FaultyFiles
from journalled import STORE
from milkd.engine.changes import PerceptDropped
from milkd.errors import ReadOnly, StorageFull
from milkd.store import generations
from milkd.store.chain import Recovered
from milkd.store.entries import Entry, entry_to_payload
from milkd.store.files import Files
from milkd.store.generations import Generations
from milkd.store.journal import Header, frame, header_frame, seed_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def entry(seq: int, name: str = "p", *, more: bool = False) -> Entry:
    return Entry(seq, 1.0, "test", (PerceptDropped("global", name),), more=more)


def entries(first: int, last: int) -> list[Entry]:
    return [entry(seq) for seq in range(first, last + 1)]


def lay(
    directory: Path, number: int, base: int, written: list[Entry], *, store: str = STORE
) -> Path:
    """A journal all of whose entries are durable but those of the last batch, its last entry."""
    directory.mkdir(exist_ok=True)
    gen = f"{number:08d}-0badcafe"
    seed = seed_of(store, gen)
    records = [frame(entry_to_payload(each, each.seq - 1), seed) for each in written]
    path = directory / f"journal.{gen}"
    path.write_bytes(header_frame(Header(store, gen, base, writer="test")) + b"".join(records))
    return path


def recovered(directory: Path) -> Recovered:
    return Generations(Files(), str(directory)).recover(STORE)


def seqs(found: Recovered) -> list[int]:
    return [each.seq for each in found.entries]


def living(directory: Path) -> list[int]:
    """The numbers of the journals in the directory."""
    return sorted(int(path.name.split(".")[1].split("-")[0]) for path in directory.iterdir())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "own"


@pytest.fixture
def files() -> Iterator[FaultyFiles]:
    made = FaultyFiles()
    yield made
    made.close_all()


@pytest.fixture
def journals(files: FaultyFiles, directory: Path) -> Generations:
    """Those of a new store."""
    made = Generations(files, str(directory))
    assert made.recover(None) == Recovered()
    return made


def test_where_there_is_no_journal_nothing_is_made(journals: Generations, directory: Path) -> None:
    assert not journals.is_there()
    assert (journals.durable, journals.unsaved) == (0, 0)
    assert journals.rotate(STORE) == 0
    journals.retire(0, lambda _: None)
    journals.finish(0, lambda _: None)
    journals.abandon()
    assert not directory.exists()


def test_what_several_journals_hold_is_one_sequence(journals: Generations, directory: Path) -> None:
    journals.append(entries(1, 2), STORE)
    assert journals.rotate(STORE) == 2
    journals.append(entries(3, 3), STORE)
    journals.append(entries(4, 5), STORE)
    assert journals.rotate(STORE) == 5
    assert journals.rotate(STORE) == 5  # the newest one is empty still

    found = recovered(directory)

    assert living(directory) == [1, 2, 3]
    assert seqs(found) == [1, 2, 3, 4, 5]
    assert (found.base, found.newest, found.refusal, found.notes) == (0, 5, None, ())


def test_a_journal_that_was_there_is_not_appended_to(
    files: FaultyFiles, journals: Generations, directory: Path
) -> None:
    journals.append(entries(1, 2), STORE)
    (first,) = directory.iterdir()
    before = first.read_bytes()

    again = Generations(files, str(directory))
    again.recover(STORE)
    assert (again.durable, again.unsaved) == (2, len(before))
    again.append([entry(3)], STORE)

    assert first.read_bytes() == before
    assert living(directory) == [1, 2]
    assert seqs(recovered(directory)) == [1, 2, 3]


def test_numbering_goes_on_after_what_files_hold(journals: Generations, directory: Path) -> None:
    journals.start_at(7)
    journals.start_at(5)
    assert journals.durable == 7
    journals.append([entry(8)], STORE)
    found = recovered(directory)
    assert (found.base, found.newest, seqs(found)) == (7, 8, [8])


def test_the_first_journal_may_begin_anywhere(directory: Path) -> None:
    lay(directory, 6, 40, entries(41, 42))
    lay(directory, 7, 42, entries(43, 43))
    found = recovered(directory)
    assert (found.base, found.newest, seqs(found)) == (40, 43, [41, 42, 43])


def test_empty_journals_are_no_gap(directory: Path) -> None:
    lay(directory, 1, 5, [])
    lay(directory, 2, 5, entries(6, 7))
    lay(directory, 3, 7, [])
    lay(directory, 4, 7, entries(8, 8))
    found = recovered(directory)
    assert (found.base, seqs(found), found.refusal) == (5, [6, 7, 8], None)


def test_a_missing_journal_is_told_and_nothing_after_it_counts(directory: Path) -> None:
    lay(directory, 1, 0, entries(1, 2))
    lay(directory, 3, 5, entries(6, 7))
    lay(directory, 4, 7, entries(8, 8))

    journals = Generations(Files(), str(directory))
    found = journals.recover(STORE)

    assert (seqs(found), found.newest) == ([1, 2], 2)
    assert found.refusal == (
        "journal.00000003-0badcafe begins after entry 5, but the journals before it end with 2: "
        "one is missing; `milkctl repair` tells what can be saved"
    )
    with pytest.raises(ReadOnly, match="one is missing"):
        journals.append([entry(3)], STORE)
    with pytest.raises(ReadOnly, match="one is missing"):
        journals.rotate(STORE)
    journals.retire(9, lambda _: pytest.fail("it is put away"))
    journals.finish(9, lambda _: pytest.fail("it is put away"))
    assert living(directory) == [1, 3, 4]


def test_what_the_next_writer_did_not_take_never_was(directory: Path) -> None:
    """Its last batch was read by nobody: the next journal begins before it."""
    lay(directory, 1, 0, [entry(1), entry(2), entry(3, "of the first")])
    lay(directory, 2, 2, [entry(3, "of the second"), entry(4)])

    found = recovered(directory)

    assert seqs(found) == [1, 2, 3, 4]
    assert found.entries[2] == entry(3, "of the second")


def test_a_next_writer_that_took_nothing_begins_before_everything(directory: Path) -> None:
    lay(directory, 1, 5, entries(6, 8))
    lay(directory, 2, 5, entries(6, 6))
    found = recovered(directory)
    assert (found.base, found.newest, seqs(found)) == (5, 6, [6])


def test_the_beginning_of_an_operation_without_its_end_never_was(directory: Path) -> None:
    lay(directory, 1, 0, [entry(1), entry(2, more=True), entry(3, more=True)])
    found = recovered(directory)
    assert (seqs(found), found.newest) == ([1], 1)


def test_an_operation_of_several_entries_counts_once_its_end_is_there(directory: Path) -> None:
    lay(directory, 1, 0, [entry(1, more=True), entry(2), entry(3, more=True)])
    lay(directory, 2, 2, [entry(3, more=True), entry(4, more=True), entry(5)])
    found = recovered(directory)
    assert (seqs(found), found.newest) == ([1, 2, 3, 4, 5], 5)
    assert found.entries[4] == entry(5)


def test_a_journal_of_half_an_operation_alone_is_empty(directory: Path) -> None:
    lay(directory, 1, 9, [entry(10, more=True)])
    found = recovered(directory)
    assert (seqs(found), found.base, found.newest) == ([], 9, 9)


def test_a_torn_end_is_told_and_the_sequence_goes_on(directory: Path) -> None:
    path = lay(directory, 1, 0, entries(1, 3))
    path.write_bytes(path.read_bytes()[:-5])
    lay(directory, 2, 2, entries(3, 4))

    found = recovered(directory)

    assert (seqs(found), found.refusal) == ([1, 2, 3, 4], None)
    (note,) = found.notes
    assert note.startswith("journal.00000001-0badcafe: ")


def test_of_a_journal_without_a_header_only_its_number_counts(
    files: FaultyFiles, directory: Path
) -> None:
    lay(directory, 1, 0, entries(1, 2))
    (directory / "journal.00000002-0badcafe").write_bytes(b"")
    journals = Generations(files, str(directory))

    found = journals.recover(STORE)

    assert (seqs(found), found.newest, found.refusal) == ([1, 2], 2, None)
    assert len(found.notes) == 1
    journals.append([entry(3)], STORE)
    assert living(directory) == [1, 2, 3]
    journals.rotate(STORE)
    journals.retire(3, lambda path: files.unlink(path))
    assert living(directory) == [4]


def test_a_damaged_journal_counts_up_to_the_damage_and_no_other_after_it(directory: Path) -> None:
    path = lay(directory, 1, 0, [entry(1), entry(2, "damaged"), entry(3), entry(4)])
    path.write_bytes(path.read_bytes().replace(b"damaged", b"demaged"))
    lay(directory, 2, 4, entries(5, 5))

    found = recovered(directory)

    assert (seqs(found), found.newest) == ([1], 1)
    assert found.refusal is not None
    assert found.refusal.startswith("journal.00000001-0badcafe: ")
    assert found.refusal.endswith("; `milkctl repair` tells what can be saved")


def test_a_journal_of_another_store_is_refused(directory: Path) -> None:
    lay(directory, 1, 0, entries(1, 1), store="another")
    found = recovered(directory)
    assert seqs(found) == []
    assert found.refusal is not None


def test_a_journal_that_the_disk_does_not_give_is_an_error(
    files: FaultyFiles, directory: Path
) -> None:
    lay(directory, 1, 0, entries(1, 1))
    files.arm(2, errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        Generations(files, str(directory)).recover(STORE)


def test_journals_go_the_oldest_first_and_each_for_good(
    files: FaultyFiles, journals: Generations, directory: Path
) -> None:
    for seq in (1, 2, 3):
        journals.append([entry(seq)], STORE)
        journals.rotate(STORE)
    files.arm(0)
    gone: list[list[int]] = []

    def away(path: str) -> None:
        files.unlink(path)
        gone.append(living(directory))

    journals.retire(2, away)

    assert gone == [[2, 3, 4], [3, 4]]
    assert files.calls == ["open", "unlink", "stat", "fsync", "close"] * 2
    journals.retire(3, away)
    assert living(directory) == [4]


def test_a_journal_of_which_an_entry_is_missing_in_the_files_stays(
    journals: Generations, directory: Path
) -> None:
    journals.append(entries(1, 2), STORE)
    journals.rotate(STORE)
    journals.append([entry(3)], STORE)
    journals.rotate(STORE)
    journals.retire(1, lambda _: pytest.fail("it is put away"))
    assert living(directory) == [1, 2, 3]


def test_a_journal_that_cannot_go_keeps_those_after_it(
    journals: Generations, directory: Path
) -> None:
    for seq in (1, 2):
        journals.append([entry(seq)], STORE)
        journals.rotate(STORE)
    tried: list[str] = []
    with pytest.raises(OSError, match="could be neither moved nor deleted"):
        journals.retire(2, tried.append)
    assert len(tried) == 1
    assert living(directory) == [1, 2, 3]
    journals.retire(2, Files().unlink)
    assert living(directory) == [3]


def test_a_directory_that_cannot_be_synced_is_told_and_the_next_goes_later(
    files: FaultyFiles, journals: Generations, directory: Path
) -> None:
    for seq in (1, 2):
        journals.append([entry(seq)], STORE)
        journals.rotate(STORE)
    files.arm(4, errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        journals.retire(2, files.unlink)
    assert living(directory) == [2, 3]
    files.arm(0)
    journals.retire(2, files.unlink)
    assert living(directory) == [3]


def test_in_the_end_nothing_is_left_of_what_the_files_hold(
    journals: Generations, directory: Path
) -> None:
    journals.append(entries(1, 2), STORE)
    journals.rotate(STORE)
    journals.append([entry(3)], STORE)

    journals.finish(3, Files().unlink)

    assert living(directory) == []
    assert journals.unsaved == 0


def test_in_the_end_what_the_files_do_not_hold_stays(
    journals: Generations, directory: Path
) -> None:
    journals.append(entries(1, 2), STORE)
    journals.rotate(STORE)
    journals.finish(1, lambda _: pytest.fail("it is put away"))
    assert living(directory) == [1]  # the second had nothing in it
    assert seqs(recovered(directory)) == [1, 2]


def test_a_new_journal_that_cannot_be_made_leaves_the_old_one_in_use(
    files: FaultyFiles, journals: Generations, directory: Path
) -> None:
    journals.append([entry(1)], STORE)
    calls = 12
    for number in range(1, calls):
        files.arm(number, errno.ENOSPC)
        try:
            journals.rotate(STORE)
        except OSError:
            assert len(living(directory)) == 1
            files.arm(0)
            journals.append([entry(journals.durable + 1)], STORE)
        else:
            break
    assert 4 < number < calls
    assert recovered(directory).refusal is None
    assert recovered(directory).newest == journals.durable


def test_a_removed_journal_is_noticed(
    files: FaultyFiles, journals: Generations, directory: Path
) -> None:
    journals.append([entry(1)], STORE)
    assert journals.is_there()
    (path,) = directory.iterdir()
    path.unlink()
    assert not journals.is_there()
    path.write_bytes(b"another file of that name")
    assert not journals.is_there()

    journals.abandon()

    assert not journals.is_there()
    assert files.open_fds == set()
    path.unlink()
    journals.append([entry(2)], STORE)
    found = recovered(directory)
    assert (found.base, seqs(found)) == (1, [2])


def test_a_journal_that_grows_without_end_takes_no_more(
    journals: Generations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generations, "MAX_UNSAVED", 1_000)
    journals.append([entry(1, "x" * 1_000)], STORE)
    assert journals.unsaved > 1_000
    with pytest.raises(StorageFull, match=r"has grown to .* nothing was changed"):
        journals.append([entry(2)], STORE)
    journals.rotate(STORE)
    journals.retire(1, Files().unlink)
    journals.append([entry(2)], STORE)
