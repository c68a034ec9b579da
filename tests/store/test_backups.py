"""Earlier versions: enough of them, none too many, and the newest that can be trusted."""

from __future__ import annotations

import errno
import os
from random import Random
from typing import TYPE_CHECKING

import pytest

from milkd.engine.percept import Percept, ScopeImage
from milkd.errors import StoreDamaged
from milkd.store.backups import DAY, HOUR, Backup, Backups, worth_keeping
from milkd.store.files import Files
from milkd.store.seal import Seal
from milkd.store.snapshot import Sealing, image_to_bytes

if TYPE_CHECKING:
    from pathlib import Path

NOON = 1_780_000_000.0
WEEK = 7 * DAY


class Clock:
    """A wall clock that is turned by hand."""

    def __init__(self) -> None:
        self.wall = NOON

    def __call__(self) -> float:
        return self.wall


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / ".milkd" / "backup").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def backups(store: Path, clock: Clock) -> Backups:
    return Backups(Files(), str(store), clock)


def version(seq: int, content: str = "tea") -> bytes:
    percept = Percept(
        id="p1", content=content, producer="user", w=0.5, created_at=0.0, updated_at=1.0
    )
    image = ScopeImage(name="global", percepts=(percept,))
    return image_to_bytes(image, Sealing("a store", seq, NOON))


def put(backups: Backups, scope: str, data: bytes = b"{}") -> str:
    """Have a version of the scope's file among the backups; return where."""
    path = backups.name(scope)
    with open(path, "xb") as file:
        file.write(data)
    return path


def test_a_store_without_backups_has_none(tmp_path: Path) -> None:
    backups = Backups(Files(), str(tmp_path), Clock())

    assert backups.listed() == []
    assert backups.newest_good("global") is None
    assert backups.retired_journals() == []
    backups.thin("global")
    backups.expire()
    assert backups.name("global").endswith("/.milkd/backup/global.20260528T202640.000000Z.json")
    assert os.listdir(tmp_path) == []


def test_backups_are_listed_by_scope_and_age(backups: Backups, clock: Clock) -> None:
    first = put(backups, "global", b"1")
    clock.wall += 5.0
    second = put(backups, "s.1", b"22")
    clock.wall += 5.0
    third = put(backups, "global", b"333")

    assert backups.listed() == [
        Backup("global", third, NOON + 10, 3),
        Backup("s.1", second, NOON + 5, 2),
        Backup("global", first, NOON, 1),
    ]
    assert [backup.path for backup in backups.listed("global")] == [third, first]
    assert [backup.scope for backup in backups.listed("s.1")] == ["s.1"]
    assert backups.listed("s") == []


def test_what_is_no_backup_is_no_backup(store: Path, backups: Backups) -> None:
    names = [
        "global.json",
        "global.20260528T202640Z.json",
        "global.20269999T202640.000000Z.json",
        "global.20260528T202640.000000Z.json.tmp",
        "journal.00000001-0a1b2c3d",
        "notes.txt",
    ]
    for name in names:
        (store / ".milkd" / "backup" / name).write_text("{}")
    (store / ".milkd" / "backup" / "pre-milkd-2026-05-28").mkdir()

    assert backups.listed() == []


def test_each_version_has_a_name_of_its_own_even_if_the_clock_stands_or_goes_back(
    backups: Backups, clock: Clock
) -> None:
    paths = []
    for step in (0.0, 0.0, -HOUR, 0.0, HOUR):
        clock.wall += step
        paths.append(put(backups, "global"))

    assert paths == sorted(set(paths))
    assert [backup.path for backup in backups.listed()] == paths[::-1]


def test_what_seems_to_come_from_years_ahead_is_the_oldest(backups: Backups, clock: Clock) -> None:
    clock.wall += 10 * 365 * DAY
    ahead = put(backups, "global")
    clock.wall = NOON
    before = put(backups, "global")
    clock.wall += 1.0
    last = put(backups, "global")

    assert [backup.path for backup in backups.listed()] == [last, before, ahead]
    assert "20260528T202641" in last


def test_a_version_of_the_last_year_of_all_is_in_nobodys_way(store: Path, backups: Backups) -> None:
    odd = store / ".milkd" / "backup" / "global.99991231T235959.999999Z.json"
    odd.write_text("{}")

    assert "20260528" in backups.name("global")
    assert [backup.path for backup in backups.listed()] == [str(odd)]


def aged(*ages: float) -> list[Backup]:
    return [Backup("global", f"{age}", NOON - age, 1) for age in sorted(ages)]


@pytest.mark.parametrize(
    ("ages", "kept"),
    [
        ([], []),
        ([5], [5]),
        ([1, 2, 3], [1, 2, 3]),
        ([1, 2, 3, 4], [1, 2, 4]),
        ([1, 2, HOUR - 1, HOUR], [1, 2, HOUR - 1, HOUR]),
        ([1, 2, HOUR, HOUR + 1, DAY - 1], [1, 2, DAY - 1]),
        ([1, 2, HOUR - 1, DAY - 1, DAY, DAY + 1, WEEK], [1, 2, HOUR - 1, DAY - 1, DAY]),
        ([DAY, DAY + 1, DAY + 2], [DAY, DAY + 1]),
        ([2 * HOUR, 3 * HOUR, 4 * HOUR, WEEK], [2 * HOUR, 3 * HOUR, 4 * HOUR, WEEK]),
        ([-HOUR, -1, 0, 1], [-HOUR, -1, 1]),
    ],
)
def test_these_are_worth_keeping(ages: list[float], kept: list[float]) -> None:
    found = worth_keeping(aged(*ages), NOON)

    assert sorted(float(backup.path) for backup in found) == kept


@pytest.mark.parametrize("pause", [30.0, 300.0, 1_800.0, 2.5 * HOUR, 20 * HOUR, 2 * DAY])
def test_over_the_weeks_there_is_always_something_to_go_back_to(pause: float) -> None:
    random = Random(pause)
    kept: list[Backup] = []
    now, end = NOON, NOON + 3 * WEEK
    apart = 4 * pause  # two that follow one another are at most 1.5 pauses apart
    while now < end:
        kept.insert(0, Backup("global", "", now, 1))
        worthy = worth_keeping(kept, now)
        kept = [backup for backup in kept if backup in worthy]
        ages = [now - backup.at for backup in kept]
        since = now - NOON
        assert min(2, since + 1) <= len(ages) <= 5
        assert ages[0] == 0.0
        assert ages[-1] <= 2 * DAY + apart
        if since > HOUR + apart:
            assert any(HOUR - apart <= age <= DAY + HOUR + apart for age in ages)
        if since > DAY + apart:
            assert any(DAY - apart <= age for age in ages)
        now += round(pause * (0.5 + random.random()))


def test_what_is_not_worth_keeping_is_deleted(backups: Backups, clock: Clock) -> None:
    for _ in range(60):
        put(backups, "global")
        worthy = worth_keeping(backups.listed("global"), clock.wall)

        backups.thin("global")

        assert set(backups.listed("global")) == worthy
        clock.wall += HOUR * 0.75


def test_thinning_leaves_other_scopes_alone(backups: Backups) -> None:
    for _ in range(9):
        put(backups, "s1")
        put(backups, "s1.x")

    backups.thin("s1")

    assert len(backups.listed("s1")) == 3
    assert len(backups.listed("s1.x")) == 9


def test_of_the_good_ones_that_with_the_newest_entry_counts(backups: Backups, clock: Clock) -> None:
    contents = [
        version(3),
        version(8),
        version(9)[:-40],
        version(9).replace(b"tea", b"pie"),
        version(5),
        b"",
        b"{}",
    ]
    for data in contents:
        put(backups, "global", data)
        clock.wall += 60.0

    found = backups.newest_good("global")

    assert found is not None
    assert found[0] == backups.listed()[5]
    assert found[1].seq == 8
    assert found[1].image.percepts[0].content == "tea"


def test_where_none_is_good_there_is_none(backups: Backups) -> None:
    put(backups, "global", b"{}")
    put(backups, "global", version(3).replace(b'"min_reader": 1', b'"min_reader": 9'))
    put(backups, "global", b"\0" * 20)

    assert backups.newest_good("global") is None
    with pytest.raises(StoreDamaged):
        backups.read(backups.listed()[0])


def test_a_backup_that_the_disk_does_not_give_is_passed_over(store: Path, clock: Clock) -> None:
    class Broken(Files):
        def open(self, path: str, flags: int, mode: int = 0o600) -> int:
            if path == newest:
                raise OSError(errno.EIO, "Input/output error")
            return super().open(path, flags, mode)

    backups = Backups(Broken(), str(store), clock)
    newest = ""
    put(backups, "global", version(1))
    newest = put(backups, "global", version(2))

    found = backups.newest_good("global")

    assert found is not None
    assert found[1].seq == 1


def journal(store: Path, number: int, age: float = 0.0) -> Path:
    path = store / ".milkd" / f"journal.{number:08d}-0a1b2c3d"
    path.write_text(f"{number}")
    os.utime(path, (NOON - age, NOON - age))
    return path


def test_a_journal_is_put_away(store: Path, backups: Backups) -> None:
    path = journal(store, 12)

    backups.retire_journal(str(path))

    kept = store / ".milkd" / "backup" / path.name
    assert not path.exists()
    assert backups.retired_journals() == [(12, "00000012-0a1b2c3d", str(kept))]
    assert kept.read_text() == "12"


def test_five_journals_of_the_last_week_are_kept(store: Path, backups: Backups) -> None:
    for number in range(8, 13):
        backups.retire_journal(str(journal(store, number, age=0.0 if number > 8 else WEEK)))
    assert [number for number, _, _ in backups.retired_journals()] == [9, 10, 11, 12]

    for number in range(99_999_998, 100_000_002):
        backups.retire_journal(str(journal(store, number)))
    numbers = [number for number, _, _ in backups.retired_journals()]
    assert numbers == [12, 99_999_998, 99_999_999, 100_000_000, 100_000_001]


def test_the_place_for_journals_is_made(tmp_path: Path) -> None:
    (tmp_path / ".milkd").mkdir()

    Backups(Files(), str(tmp_path), Clock()).retire_journal(str(journal(tmp_path, 1)))

    assert (tmp_path / ".milkd" / "backup" / "journal.00000001-0a1b2c3d").exists()


class Refusing(Files):
    """A disk that does not do some things."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused

    def _check(self, name: str) -> None:
        if name in self._refused:
            raise OSError(errno.EROFS, "Read-only file system")

    def rename(self, old: str, new: str) -> None:
        self._check("rename")
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        self._check("unlink")
        super().unlink(path)

    def listdir(self, path: str) -> list[str]:
        self._check("listdir")
        return super().listdir(path)


def test_a_journal_that_cannot_be_put_away_is_deleted(store: Path) -> None:
    path = journal(store, 1)

    Backups(Refusing("rename"), str(store), Clock()).retire_journal(str(path))

    assert not path.exists()
    assert os.listdir(store / ".milkd" / "backup") == []


def test_that_old_versions_cannot_be_deleted_stops_nothing(store: Path, clock: Clock) -> None:
    for refused in (("rename", "unlink"), ("listdir",)):
        backups = Backups(Refusing(*refused), str(store), clock)
        path = journal(store, 1)
        for number in range(6):
            name = f"global.20260528T202640.00000{number}Z.json"
            (store / ".milkd" / "backup" / name).write_text("{}")

        backups.retire_journal(str(path))
        backups.thin("global")
        backups.expire()

        assert path.exists() == ("rename" in refused)
        assert len(os.listdir(store / ".milkd" / "backup")) == 6 + (not path.exists())


def test_backups_of_a_scope_that_is_no_more_stay_for_a_week(
    store: Path, backups: Backups, clock: Clock
) -> None:
    (store / "s1.json").write_text("{}")
    (store / "s3.json").symlink_to(store / "not mounted" / "s3.json")
    for scope in ("global", "s1", "s2", "s3"):
        put(backups, scope)
    (store / ".milkd" / "backup" / "pre-milkd-2026-01-01").mkdir()
    clock.wall += WEEK - 1
    backups.expire()
    assert len(backups.listed()) == 4
    put(backups, "s2")

    clock.wall += 2.0
    backups.expire()

    assert sorted(backup.scope for backup in backups.listed()) == ["s1", "s2", "s3"]
    assert (store / ".milkd" / "backup" / "pre-milkd-2026-01-01").exists()


def test_a_clock_that_was_set_back_takes_no_backup_away(backups: Backups, clock: Clock) -> None:
    put(backups, "s1")
    clock.wall -= 10 * 365 * DAY

    backups.expire()
    backups.thin("s1")

    assert len(backups.listed("s1")) == 1


def test_a_version_that_goes_while_they_are_listed_is_not_listed(store: Path) -> None:
    class Passing(Files):
        def stat(self, path: str) -> os.stat_result:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    put(Backups(Files(), str(store), Clock()), "global")

    assert Backups(Passing(), str(store), Clock()).listed() == []


def test_where_none_is_as_milkd_left_it_the_newest_that_can_be_read_is_told(
    backups: Backups, clock: Clock
) -> None:
    assert backups.newest_readable("global") is None
    put(backups, "global", b"[")
    assert backups.newest_readable("global") is None
    for text in (b'{"percepts": []}', b'{"edges": []}', b"", b"{"):
        clock.wall += 60.0
        put(backups, "global", text)
    found = backups.newest_readable("global")
    assert found is not None
    assert found[1].sealed is Seal.BARE
    assert found[0].at == clock.wall - 120.0


@pytest.mark.parametrize("back", [DAY, DAY + 1.0, 2 * DAY])
def test_a_clock_that_is_set_back_finds_a_name_that_is_free(
    backups: Backups, clock: Clock, back: float
) -> None:
    """One more than a day ahead counts as set wrong, and is not followed, nor written over."""
    first = put(backups, "global")
    clock.wall -= back
    for _ in range(3):
        assert put(backups, "global") != first
    clock.wall += back
    assert len({backup.path for backup in backups.listed("global")}) == 4
    assert put(backups, "global") != first
