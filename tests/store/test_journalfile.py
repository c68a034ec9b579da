"""A journal as a file: what was appended is there, whatever the disk does meanwhile."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faulty import Death, FaultyFiles
from journalled import STORE, entries
from milkd.engine.changes import PerceptDropped
from milkd.store.entries import MAX_RECORD, Entry, RecordTooLong
from milkd.store.files import Files, Poisoned
from milkd.store.journal import Header, Scan, Verdict, header_frame
from milkd.store.journalfile import Journal, journals, read_journal

if TYPE_CHECKING:
    from collections.abc import Iterator

ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
ONE, TWO, THREE, *_ = entries(5)


class CountingFiles(FaultyFiles):
    """Knows which descriptors are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open_fds: set[int] = set()

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        fd = super().open(path, flags, mode)
        self.open_fds.add(fd)
        return fd

    def close(self, fd: int) -> None:
        self.open_fds.discard(fd)
        super().close(fd)


@pytest.fixture
def files() -> Iterator[CountingFiles]:
    made = CountingFiles()
    yield made
    for fd in made.open_fds:
        os.close(fd)


def create(files: Files, directory: Path, number: int = 7, base: int = 100) -> Journal:
    return Journal.create(
        files, str(directory), store=STORE, number=number, base=base, writer="milkd test"
    )


def read(journal: Journal) -> Scan:
    return read_journal(Files(), journal.path, store=STORE, gen=journal.gen)


def test_a_new_journal_holds_its_header(tmp_path: Path) -> None:
    journal = create(Files(), tmp_path)
    header = Header(STORE, journal.gen, 100, writer="milkd test")

    assert re.fullmatch(r"00000007-[0-9a-f]{8}", journal.gen)
    assert journal.path == str(tmp_path / f"journal.{journal.gen}")
    assert Path(journal.path).read_bytes() == header_frame(header)
    assert (journal.base, journal.last, journal.size) == (100, 100, len(header_frame(header)))
    assert read(journal) == Scan(header, (), Verdict.CLEAN, journal.size, journal.size)
    journal.close()


def test_a_new_journal_says_what_it_goes_on_from(tmp_path: Path) -> None:
    journal = Journal.create(
        Files(), str(tmp_path), store=STORE, number=1, base=5, writer="milkd", after=3
    )

    header = read(journal).header
    assert header is not None
    assert (header.base, header.after, journal.last) == (5, 3, 5)
    assert journal.size == os.stat(journal.path).st_size
    journal.close()


def test_a_new_journal_is_for_the_user_alone_and_of_its_own_name(tmp_path: Path) -> None:
    one, two = create(Files(), tmp_path), create(Files(), tmp_path)

    assert stat.S_IMODE(os.stat(one.path).st_mode) == 0o600
    assert one.gen != two.gen
    one.close()
    two.close()


def test_a_new_journal_is_synced_and_then_its_name(tmp_path: Path, files: CountingFiles) -> None:
    create(files, tmp_path)

    assert files.calls == ["open", "open", "write", "fsync", "fsync", "close"]
    assert len(files.open_fds) == 1


def test_what_is_appended_is_there_and_synced_once(tmp_path: Path, files: CountingFiles) -> None:
    journal = create(files, tmp_path)
    files.arm(0)

    journal.append([ONE, TWO], 100)
    journal.append([THREE], 102)

    assert files.calls == ["write", "fdatasync"] * 2
    assert (journal.base, journal.last) == (100, 103)
    assert journal.size == os.stat(journal.path).st_size
    found = read(journal)
    assert (found.verdict, found.entries) == (Verdict.CLEAN, (ONE, TWO, THREE))
    durable = re.findall(rb'{"s":\d+,"d":(\d+),', Path(journal.path).read_bytes())
    assert durable == [b"100", b"100", b"102"]


def test_appending_nothing_costs_nothing(tmp_path: Path, files: CountingFiles) -> None:
    journal = create(files, tmp_path)
    files.arm(0)

    journal.append([], 100)

    assert (files.calls, journal.last) == ([], 100)


@pytest.mark.parametrize("wrong", [[TWO], [ONE, THREE], [ONE, ONE], [ONE, TWO, TWO]])
def test_entries_are_appended_in_their_order(tmp_path: Path, wrong: list[Entry]) -> None:
    journal = create(Files(), tmp_path)

    with pytest.raises(ValueError, match=r"found entry 10\d, expected 10\d"):
        journal.append(wrong, 100)

    journal.append([ONE], 100)
    assert read(journal).entries == (ONE,)
    journal.close()


def test_an_entry_that_is_too_long_keeps_its_batch_out(tmp_path: Path) -> None:
    journal = create(Files(), tmp_path)
    long = Entry(102, 0.0, "x" * MAX_RECORD, ())

    with pytest.raises(RecordTooLong):
        journal.append([ONE, long], 100)

    journal.append([ONE, TWO], 100)
    assert read(journal).entries == (ONE, TWO)
    journal.close()


def test_a_closed_journal_takes_nothing(tmp_path: Path, files: CountingFiles) -> None:
    journal = create(files, tmp_path)

    journal.close()
    journal.close()

    assert not files.open_fds
    with pytest.raises(ValueError, match=r"journal\.\S+ is closed$"):
        journal.append([ONE], 100)


def test_trouble_with_closing_is_nobodys(tmp_path: Path, files: CountingFiles) -> None:
    journal = create(files, tmp_path)
    files.arm(1, errno.EIO)

    journal.close()

    assert files.calls == ["close"]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("fail_at", range(1, 6))
def test_a_journal_that_cannot_be_made_leaves_nothing(
    tmp_path: Path, files: CountingFiles, fail_at: int, error: int
) -> None:
    files.arm(fail_at, error)

    with pytest.raises(OSError, match=os.strerror(error)) as caught:
        create(files, tmp_path)

    assert caught.value.errno == error
    assert os.listdir(tmp_path) == []
    assert not files.open_fds


def test_a_directory_that_cannot_be_synced_is_accepted(
    tmp_path: Path, files: CountingFiles
) -> None:
    files.arm(5, errno.EINVAL)

    create(files, tmp_path)

    assert len(os.listdir(tmp_path)) == 1


def test_a_header_that_is_written_in_pieces_is_whole(tmp_path: Path, files: CountingFiles) -> None:
    files.arm(3)

    journal = create(files, tmp_path)

    assert files.calls.count("write") == 2
    assert read(journal).verdict is Verdict.CLEAN


def test_a_process_that_dies_while_it_makes_a_journal_leaves_what_can_be_read(
    tmp_path: Path, files: CountingFiles
) -> None:
    for fail_at in range(1, 6):
        files.arm(fail_at, Death)
        with pytest.raises(Death):
            create(files, tmp_path)

    found = [read_journal(Files(), path, store=STORE, gen=g) for _, g, path in listed(tmp_path)]
    verdicts = [scanned.verdict for scanned in found]
    assert sorted(verdicts, key=str) == [Verdict.CLEAN, Verdict.CLEAN, Verdict.TORN]
    assert not any(scanned.entries for scanned in found)


def listed(directory: Path) -> list[tuple[int, str, str]]:
    return journals(Files(), str(directory))


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("short", [False, True])
def test_a_write_that_the_disk_refuses_is_taken_back(
    tmp_path: Path, files: CountingFiles, error: int, *, short: bool
) -> None:
    journal = create(files, tmp_path)
    journal.append([ONE], 100)
    before = Path(journal.path).read_bytes()
    write = files.write
    if short:  # some bytes get there before the disk is full
        files.write = lambda fd, data: write(fd, data[:100])  # type: ignore[method-assign]
    files.arm(2 if short else 1, error)

    with pytest.raises(OSError, match=os.strerror(error)) as caught:
        journal.append([TWO, THREE], 101)

    assert caught.value.errno == error
    assert not isinstance(caught.value, Poisoned)
    assert files.calls[-2:] == ["ftruncate", "fdatasync"]
    assert Path(journal.path).read_bytes() == before
    assert (journal.last, journal.size) == (101, len(before))
    files.arm(0)
    other = Entry(102, 0.0, "forget", (PerceptDropped("global", "p1"),))
    journal.append([other], 101)
    assert read(journal).entries == (ONE, other)


def test_a_disk_that_takes_nothing_is_an_error(tmp_path: Path, files: CountingFiles) -> None:
    journal = create(files, tmp_path)
    files.write = lambda fd, data: 0  # type: ignore[method-assign]

    with pytest.raises(OSError, match="took nothing"):
        journal.append([ONE], 100)

    assert read(journal).verdict is Verdict.CLEAN


def test_a_batch_that_is_written_in_pieces_is_whole(tmp_path: Path, files: CountingFiles) -> None:
    journal = create(files, tmp_path)
    write = files.write
    files.write = lambda fd, data: write(fd, data[:7])  # type: ignore[method-assign]

    journal.append([ONE, TWO], 100)

    assert read(journal).entries == (ONE, TWO)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(
    ("fail_at", "for_ever", "calls", "what"),
    [
        (2, False, ["write", "fdatasync"], "cannot sync"),
        (1, True, ["write", "ftruncate"], "cannot shorten"),
    ],
)
def test_a_journal_of_unknown_content_takes_nothing_more(
    tmp_path: Path,
    files: CountingFiles,
    error: int,
    fail_at: int,
    calls: list[str],
    what: str,
    *,
    for_ever: bool,
) -> None:
    journal = create(files, tmp_path)
    journal.append([ONE], 100)
    files.arm(fail_at, error, for_ever=for_ever)

    with pytest.raises(Poisoned, match=f"^{what} /.*: {os.strerror(error)}; outcome unknown$"):
        journal.append([TWO], 101)

    assert files.calls == calls
    files.arm(0)
    for _ in range(2):
        with pytest.raises(Poisoned, match=r"^an earlier append to /\S+ failed; outcome unknown$"):
            journal.append([TWO], 101)
    assert files.calls == []
    assert journal.last == 101
    assert read(journal).entries[:1] == (ONE,)


def test_a_cut_that_may_not_last_poisons(tmp_path: Path, files: CountingFiles) -> None:
    class Unsynced(CountingFiles):
        def fdatasync(self, fd: int) -> None:
            raise OSError(errno.EIO, "broken")

        def write(self, fd: int, data: bytes | memoryview) -> int:
            if b'"H"' in bytes(data):
                return super().write(fd, data)
            raise OSError(errno.ENOSPC, "full")

    journal = create(Unsynced(), tmp_path)

    with pytest.raises(Poisoned, match="cannot sync"):
        journal.append([ONE], 100)
    with pytest.raises(Poisoned, match="an earlier append"):
        journal.append([ONE], 100)
    journal.close()


@pytest.mark.parametrize("fail_at", [1, 2])
def test_a_process_that_dies_while_it_appends_loses_nothing_durable(
    tmp_path: Path, files: CountingFiles, fail_at: int
) -> None:
    journal = create(files, tmp_path)
    journal.append([ONE], 100)
    files.arm(fail_at, Death)

    with pytest.raises(Death):
        journal.append([TWO], 101)

    found = read(journal)
    assert found.verdict is Verdict.CLEAN
    assert found.entries == (ONE, TWO)[:fail_at]
    files.arm(0)
    with pytest.raises(Poisoned):
        journal.append([TWO], 101)


def test_journals_are_listed_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = [
        "journal.00000010-00000001",
        "journal.00000009-ffffffff",
        "journal.100000000-00000000",
        "journal.00000010-00000000",
    ]
    others = [
        "journal.0000010-00000000",
        "journal.00000010-0000000",
        "journal.00000010-0000000G",
        "journal.00000010-00000000.tmp",
        "xjournal.00000010-00000000",
        "journal",
        "lock",
        "journal.٠٠٠٠٠٠١٠-00000000",
    ]
    for name in names + others:
        (tmp_path / name).touch()

    assert listed(tmp_path) == [
        (9, "00000009-ffffffff", str(tmp_path / names[1])),
        (10, "00000010-00000000", str(tmp_path / names[3])),
        (10, "00000010-00000001", str(tmp_path / names[0])),
        (100000000, "100000000-00000000", str(tmp_path / names[2])),
    ]


def test_where_there_is_no_directory_there_is_no_journal(tmp_path: Path) -> None:
    assert listed(tmp_path / "nowhere") == []


def test_a_directory_that_cannot_be_listed_is_an_error(
    tmp_path: Path, files: CountingFiles
) -> None:
    files.arm(1, errno.EIO)

    with pytest.raises(OSError, match="Input/output"):
        journals(files, str(tmp_path))


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_journal(Files(), str(tmp_path / "journal.x"), store=STORE, gen="x")
    with pytest.raises(OSError, match="not a regular file"):
        read_journal(Files(), str(tmp_path), store=STORE, gen="x")


def test_a_journal_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    class Clumsy(Files):
        """Meets a file of the name, or a link to one."""

        def open(self, path: str, flags: int, mode: int = 0o600) -> int:
            if flags & os.O_CREAT:
                Path(path).symlink_to(precious)
            return super().open(path, flags, mode)

    precious = tmp_path / "precious"
    precious.write_text("precious")

    with pytest.raises(FileExistsError):
        create(Clumsy(), tmp_path)

    assert precious.read_text() == "precious"
