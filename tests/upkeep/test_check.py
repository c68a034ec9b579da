"""What a check says of a store, sound or not."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from milkd.engine.changes import EdgePut, EngramPut, PerceptDropped, PerceptPut, ScopeDropped
from milkd.engine.percept import ScopeImage
from milkd.errors import AlreadyRunning
from milkd.store.files import Files
from milkd.store.lock import StoreLock
from milkd.upkeep.check import UNSTEADY, check
from milkd.upkeep.repair import repair
from milkd.upkeep.report import Level
from milkd.upkeep.restoring import restore
from milkd.upkeep.sharing import shared
from upkeep.stores import edge, engram, percept

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from milkd.upkeep.report import Finding, Report
    from upkeep.stores import Kept


def bad(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.level != Level.OK]


def only(kept: Kept) -> Finding:
    """The one finding that is not good news."""
    (finding,) = bad(check(str(kept.path)))
    return finding


def snapshot(path: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def test_a_sound_store_is_told_file_by_file_and_left_alone(kept: Kept) -> None:
    before = snapshot(kept.path)
    report = check(str(kept.path))
    assert bad(report) == []
    assert report.sound
    assert report.holder is None
    told = {finding.file: finding.sentence for finding in report.findings}
    assert told["global.json"] == "2 percepts, 1 engram, 1 edge"
    assert told["s1.json"] == "2 percepts, 0 engrams, 1 edge, with 2 entries of the journal"
    assert told[f".milkd/{kept.journal.name}"].startswith("2 entries (4 to 5), ")
    assert told[".milkd/operations.json"].endswith("up to entry 3")
    assert told[".milkd/backup"] == "3 earlier versions"
    assert snapshot(kept.path) == before


def test_a_store_that_nobody_wrote_to_is_sound(tmp_path: Path) -> None:
    store = tmp_path / "memory"
    report = check(str(store))
    assert not report.sound
    assert report.findings[0].sentence == "there is no such directory"
    store.mkdir(mode=0o700)
    assert [each.sentence for each in bad(check(str(store)))] == ["milkd has not written here yet"]


def test_a_store_of_milks_is_sound(tmp_path: Path) -> None:
    (tmp_path / "global.json").write_text('{"percepts": null}')
    (tmp_path / "global.json").chmod(0o600)
    (tmp_path / "a b.json").write_text("{}")
    (tmp_path / "a b.json").chmod(0o600)
    tmp_path.chmod(0o700)
    assert [each.sentence for each in bad(check(str(tmp_path)))] == [
        "no session can have this name; milkd passes it over",
        "milkd has not written here yet",
    ]


def test_a_torn_end_of_the_journal_is_no_error(kept: Kept) -> None:
    size = kept.journal.stat().st_size
    os.truncate(kept.journal, size - 1)
    finding = only(kept)
    assert finding.level == Level.NOTE
    assert finding.file == f".milkd/{kept.journal.name}"
    assert finding.offset is not None
    assert 0 < finding.offset < size


def test_beside_a_running_milkd_an_unfinished_record_is_no_news(kept: Kept) -> None:
    os.truncate(kept.journal, kept.journal.stat().st_size - 1)
    with StoreLock(str(kept.path)):
        report = check(str(kept.path))
    assert bad(report) == []
    assert report.holder is not None
    assert report.holder.startswith(f"milkd with pid {os.getpid()} on ")


def test_a_damaged_record_is_an_error_with_its_offset(kept: Kept) -> None:
    data = bytearray(kept.journal.read_bytes())
    at = data.index(b"fact 3")
    data[at] ^= 1
    kept.journal.write_bytes(data)
    errors = [each for each in bad(check(str(kept.path))) if each.level == Level.ERROR]
    (finding,) = errors
    assert finding.file == f".milkd/{kept.journal.name}"
    assert finding.sentence.startswith("0 entries; corrupt: record 4 is not whole at byte ")
    assert finding.offset == data.rindex(b"\n", 0, at) + 1


def test_a_journal_of_another_store_or_name_is_an_error(kept: Kept) -> None:
    kept.journal.rename(kept.journal.with_name("journal.00000009-00000000"))
    assert "foreign" in only(kept).sentence


def test_a_missing_journal_between_two_is_an_error(kept: Kept) -> None:
    kept.store.rotate()
    kept.append(PerceptPut("s1", percept(5)))
    between = kept.journal
    kept.store.rotate()
    kept.append(PerceptPut("s1", percept(6)))
    assert check(str(kept.path)).sound
    between.unlink()
    finding = only(kept)
    assert finding.level == Level.ERROR
    assert "one is missing" in finding.sentence


def test_a_file_that_knows_more_than_the_journal_is_an_error(kept: Kept) -> None:
    older = kept.journal.read_bytes()
    (kept.path / "s1.json").unlink(missing_ok=True)
    data = (kept.path / "global.json").read_bytes()
    kept.append(PerceptPut("global", percept(1)))
    kept.journal.write_bytes(older[:-1])
    number = data.index(b'"seq": 3')
    edited = data[:number] + b'"seq": 9' + data[number + 8 :]
    (kept.path / "global.json").write_bytes(edited)
    sentences = [each.sentence for each in bad(check(str(kept.path)))]
    assert any("holds entry 9, but the journal ends with 4" in each for each in sentences)


@pytest.mark.parametrize(
    ("change", "level", "said"),
    [
        (lambda data: data + b'{"percepts": [', Level.ERROR, "what follows line "),
        (lambda data: data[:300], Level.ERROR, "is not valid JSON"),
        (lambda data: b"", Level.ERROR, "holds nothing, expected a JSON object"),
        (lambda data: b"\0" * 90, Level.ERROR, "holds 90 NUL bytes, expected a JSON object"),
        (lambda data: data.replace(b"fact 2", b"fact 9"), Level.WARNING, "not as milkd wrote it"),
        (lambda data: data.replace(b'"w": 0.5', b'"w": "x"', 1), Level.WARNING, "percepts[0] is "),
        (lambda data: b"[]", Level.ERROR, "found a list, expected an object"),
        (lambda data: b'{"percepts": []}', Level.NOTE, "another program wrote it last"),
        (
            lambda data: data.replace(b'"min_reader": 1', b'"min_reader": 9'),
            Level.ERROR,
            "needs a milkd that reads format 9",
        ),
    ],
)
def test_what_became_of_a_file_is_told(
    change: Callable[[bytes], bytes], level: Level, said: str, kept: Kept
) -> None:
    file = kept.path / "global.json"
    data = file.read_bytes()
    file.write_bytes(change(data))
    report = check(str(kept.path))
    findings = [each for each in bad(report) if each.file == "global.json"]
    (finding,) = [each for each in findings if each.sentence.startswith(said)]
    assert finding.level == level
    assert report.sound == (level != Level.ERROR)
    if said == "what follows line ":
        assert finding.offset == len(data)


def test_a_backup_that_stands_in_is_named(kept: Kept) -> None:
    (kept.path / "global.json").write_bytes(b"")
    (backup,) = (kept.path / ".milkd" / "backup").glob("global.*")
    assert f"its backup {backup.name} and a later" in only(kept).sentence


def test_a_session_that_cannot_be_read_is_an_error(kept: Kept) -> None:
    (kept.path / "s2.json").write_bytes(b"{")
    (kept.path / "s2.json").chmod(0o600)
    finding = only(kept)
    assert (finding.file, finding.level, finding.offset) == ("s2.json", Level.ERROR, 1)


def test_what_hangs_in_the_air_is_told(kept: Kept) -> None:
    kept.append(PerceptPut("s1", percept(1)))
    kept.append(PerceptPut("s1", percept(5, engram_id="gone")))
    kept.append(EngramPut("s1", engram("few", 3, 8, 9)), EdgePut("s1", edge(3, 7)))
    report = check(str(kept.path))
    ids = [percept(n).id for n in range(10)]
    assert [each.sentence for each in bad(report)] == [
        f"percept {ids[1]} is in global.json too",
        f"the edge {ids[3]} extends {ids[7]}: no percept has the id in `to`",
        "the engram few lists 2 percepts that are not here",
        f"percept {ids[5]} names the engram gone, which is not here",
    ]
    assert report.sound
    kept.append(ScopeDropped("s1"))
    assert bad(check(str(kept.path))) == []


def test_what_the_journal_took_away_is_not_missed(kept: Kept) -> None:
    kept.append(PerceptDropped("global", percept(2).id), PerceptPut("s1", percept(2)))
    sentences = [each.sentence for each in bad(check(str(kept.path)))]
    assert sentences == []


def test_many_findings_of_a_kind_are_counted(kept: Kept) -> None:
    for number in range(10, 18):
        kept.append(EdgePut("s1", edge(3, number)))
    findings = bad(check(str(kept.path)))
    assert len(findings) == 6
    assert findings[-1].sentence == "3 more of these"


def test_damage_beside_the_facts_is_a_warning(kept: Kept) -> None:
    own = kept.path / ".milkd"
    (own / "operations.json").write_text("{")
    (backup,) = (own / "backup").glob("global.*")
    backup.write_bytes(b"{" + backup.read_bytes())
    retired = min((own / "backup").glob("journal.*"))
    retired.write_bytes(retired.read_bytes().replace(b"fact 1", b"fact 0"))
    report = check(str(kept.path))
    assert report.sound
    assert {each.file: each.level for each in bad(report)} == {
        ".milkd/operations.json": Level.WARNING,
        f".milkd/backup/{backup.name}": Level.WARNING,
        f".milkd/backup/{retired.name}": Level.WARNING,
    }


def test_versions_of_others_are_listed(kept: Kept) -> None:
    own = kept.path / ".milkd"
    (own / "quarantine").mkdir(mode=0o700)
    for number in range(4):
        path = own / "quarantine" / f"global.{number}.json"
        path.write_text("{}")
        path.chmod(0o600)
    (backup,) = (own / "backup").glob("global.*")
    backup.write_text('{"percepts": []}')
    assert [each.sentence for each in bad(check(str(kept.path)))] == [
        "not milkd's own version, but what another program wrote",
        "4 files kept aside: …, global.1.json, global.2.json, global.3.json",
    ]


def test_a_store_that_lost_its_id_is_an_error(kept: Kept) -> None:
    shutil.rmtree(kept.path / ".milkd" / "backup")
    kept.journal.unlink()
    (kept.path / ".milkd" / "store.json").write_text("{}")
    (finding, *_) = bad(check(str(kept.path)))
    assert (finding.file, finding.level) == (".milkd/store.json", Level.ERROR)


def test_a_file_that_came_from_another_store_is_told(kept: Kept, tmp_path: Path) -> None:
    data = (kept.path / "global.json").read_bytes()
    store = check(str(kept.path)).findings[0].sentence.removeprefix("store ")
    (kept.path / "global.json").write_bytes(data.replace(store.encode(), b"0" * len(store)))
    sentences = [each.sentence for each in bad(check(str(kept.path)))]
    assert f"was written for another store, {'0' * len(store)}" in sentences


class Restless(Files):
    """Between looks, somebody replaces a file so many times."""

    def __init__(self, times: int) -> None:
        self._left = times

    def stat(self, path: str) -> os.stat_result:
        if path.endswith("global.json") and self._left:
            self._left -= 1
            os.utime(path, ns=(self._left, self._left))
        return super().stat(path)


class Vanishing(Files):
    """A journal is put away just before it is opened."""

    def __init__(self) -> None:
        self._there = False

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        if "/.milkd/journal." in path and not self._there:
            self._there = True
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return super().open(path, flags, mode)


@pytest.mark.parametrize(("times", "steady"), [(0, True), (4, True), (1_000, False)])
def test_what_changes_meanwhile_is_looked_at_again(times: int, steady: bool, kept: Kept) -> None:
    kept.append(EdgePut("s1", edge(3, 7)))
    with StoreLock(str(kept.path)):
        report = check(str(kept.path), Restless(times))
    sentences = [each.sentence for each in bad(report)]
    loose = f"the edge {percept(3).id} extends {percept(7).id}: no percept has the id in `to`"
    assert sentences == [loose if steady else UNSTEADY]


def test_what_goes_away_meanwhile_is_an_error_only_without_a_milkd(kept: Kept) -> None:
    (finding,) = bad(check(str(kept.path), Vanishing()))
    assert finding.sentence.startswith("cannot be read: ")
    with StoreLock(str(kept.path)):
        assert bad(check(str(kept.path), Vanishing())) == []


def test_no_milkd_begins_while_somebody_looks(kept: Kept) -> None:
    path = str(kept.path)
    with shared(path) as nobody:
        assert nobody is None
    with StoreLock(path):
        pass
    with shared(path) as one, shared(path) as other:
        assert one is other is None
        with pytest.raises(AlreadyRunning):
            StoreLock(path).acquire(0.0)
    with StoreLock(path), shared(path) as holder:
        assert holder is not None
        (kept.path / ".milkd" / "lock").write_text("nobody knows")
        with shared(path) as unknown:
            assert unknown == "another process"


def test_a_milkd_that_may_not_write_to_its_lock_is_seen(kept: Kept) -> None:
    fd = os.open(kept.path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with shared(str(kept.path)) as holder:
        assert holder == "another process"
    os.close(fd)


def touch_later(kept: Kept, scope: str, data: bytes) -> None:
    """A file is written after the lock was taken."""
    path = kept.path / f"{scope}.json"
    path.write_bytes(data)
    path.chmod(0o600)
    began = path.stat().st_mtime_ns - 10**9
    os.utime(kept.path / ".milkd" / "lock", ns=(began, began))


def test_beside_a_running_milkd_an_edit_is_told_as_what_it_is(kept: Kept) -> None:
    kept.append(PerceptPut("global", percept(2, w=0.25)))
    data = (kept.path / "global.json").read_bytes().replace(b"fact 2", b"fact 9")
    with StoreLock(str(kept.path)):
        touch_later(kept, "global", data)
        finding = only(kept)
    assert finding.level == Level.NOTE
    assert finding.sentence == (
        "changed since milkd wrote it; the running milkd takes that in within seconds or with the "
        "next call"
    )


@pytest.mark.parametrize("data", [b"{", b""])
def test_beside_a_running_milkd_a_slip_is_told_as_what_it_is(data: bytes, kept: Kept) -> None:
    with StoreLock(str(kept.path)):
        touch_later(kept, "global", data)
        finding = only(kept)
    assert finding.level == Level.WARNING
    assert "the running milkd keeps it as it is in .milkd/quarantine" in finding.sentence
    assert "until you choose" not in finding.sentence
    assert only(kept).level == Level.ERROR


def test_what_was_damaged_before_the_milkd_started_waits_for_a_choice(kept: Kept) -> None:
    (kept.path / "global.json").write_bytes(b"{")
    with StoreLock(str(kept.path)):
        later = (kept.path / "global.json").stat().st_ctime_ns + 10**9
        os.utime(kept.path / ".milkd" / "lock", ns=(later, later))
        finding = only(kept)
    assert finding.level == Level.ERROR
    assert "until you choose" in finding.sentence


def test_a_slip_in_a_session_may_wait_for_its_owner(kept: Kept) -> None:
    kept.checkpoint(ScopeImage(name="s1", percepts=(percept(3), percept(4))))
    with StoreLock(str(kept.path)):
        touch_later(kept, "s1", b"{")
        finding = only(kept)
    assert finding.level == Level.ERROR
    assert "if the session is open, the running milkd keeps it" in finding.sentence


@pytest.mark.parametrize("left", [None, b"", b"{}"])
def test_where_the_id_of_a_store_comes_from_is_told(left: bytes | None, kept: Kept) -> None:
    marker = kept.path / ".milkd" / "store.json"
    marker.unlink()
    if left is not None:
        marker.write_bytes(left)
        marker.chmod(0o600)
    lacking = "is missing" if left is None else "does not say which store this is"
    for source in ("a journal", "a file of facts"):
        finding = only(kept)
        assert finding.file == ".milkd/store.json"
        assert finding.sentence.startswith(f"{lacking}; that this is ")
        assert f" is known from {source}; `milkctl repair` writes it anew" in finding.sentence
        certain = source == "a journal" or left is None
        assert finding.level == (Level.WARNING if certain else Level.ERROR)
        for journal in (kept.path / ".milkd").glob("journal.*"):
            journal.unlink()


def test_a_global_file_that_is_gone_is_told_with_what_brings_it_back(kept: Kept) -> None:
    (backup,) = (kept.path / ".milkd" / "backup").glob("global.*")
    which = backup.name.removeprefix("global.").removesuffix(".json")
    (kept.path / "global.json").unlink()
    for journal in (kept.path / ".milkd").glob("journal.*"):
        journal.unlink()
    (finding,) = [each for each in bad(check(str(kept.path))) if each.file == "global.json"]
    assert finding.level == Level.WARNING
    assert finding.sentence.startswith("is missing; ")
    restore(str(kept.path), "global", which)
    assert check(str(kept.path)).sound


def test_a_global_file_of_which_only_journals_tell_comes_back(kept: Kept) -> None:
    (backup,) = (kept.path / ".milkd" / "backup").glob("global.*")
    backup.unlink()
    (kept.path / "global.json").unlink()
    kept.journal.unlink()
    (finding,) = [each for each in bad(check(str(kept.path))) if each.file == "global.json"]
    assert "is missing; " in finding.sentence
    (kept.path / "global.json").touch(mode=0o600)
    repair(str(kept.path))
    assert b"fact 2" in (kept.path / "global.json").read_bytes()


def test_a_torn_end_is_not_called_harmless_if_a_file_knows_more(kept: Kept) -> None:
    number = b'"seq": 3'
    data = (kept.path / "global.json").read_bytes()
    (kept.path / "global.json").write_bytes(data.replace(number, b'"seq": 9'))
    os.truncate(kept.journal, kept.journal.stat().st_size - 1)
    sentences = [each.sentence for each in bad(check(str(kept.path)))]
    assert any("holds entry 9, but the journal ends with 4" in each for each in sentences)
    assert not any("nobody was told" in each for each in sentences)
    (kept.path / "global.json").write_bytes(data)
    assert "nobody was told that it was done" in only(kept).sentence


def test_what_may_not_be_read_is_told_in_words(kept: Kept) -> None:
    class Denied(Files):
        def open(self, path: str, flags: int, mode: int = 0o600) -> int:
            if path.endswith("store.json") or "/backup/" in path:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return super().open(path, flags, mode)

    sentences = [each.sentence for each in bad(check(str(kept.path), Denied()))]
    path = kept.path / ".milkd" / "store.json"
    assert (
        f"cannot be read: {path}: permission denied; `chmod 600 {path}` if it is yours" in sentences
    )
    assert not any("Errno" in each for each in sentences)
