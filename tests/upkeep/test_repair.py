"""Damaged stores are made sound again, and nothing that can be had of them is lost."""

from __future__ import annotations

import os
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest

from milkd.engine.changes import (
    EdgeDropped,
    EdgePut,
    EngramPut,
    PerceptDropped,
    PerceptPut,
)
from milkd.engine.percept import ScopeImage
from milkd.errors import (
    AlreadyRunning,
    InvalidParams,
    NotFound,
    ReadOnly,
    StoreDamaged,
    VersionMismatch,
)
from milkd.store.entries import Entry
from milkd.store.files import Files
from milkd.store.lock import StoreLock
from milkd.store.poisonings import Poisonings
from milkd.upkeep.check import check
from milkd.upkeep.onlooking import Onlooker
from milkd.upkeep.repair import Choice, repair
from milkd.upkeep.report import Level
from milkd.upkeep.taking import Taking
from upkeep.stores import Kept, edge, engram, percept

if TYPE_CHECKING:
    from pathlib import Path

    from milkd.upkeep.outcome import Outcome


def snapshot(path: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def held(path: Path) -> dict[str, set[str]]:
    """What is in a store, by scope: the contents of the percepts."""
    taking = Taking(str(path), Onlooker(Files()))
    taking.open()
    assert taking.opened.refusal is None
    return {
        scope: {each.content for each in held.image.percepts}
        for scope, held in taking.scopes.items()
        if held.image is not None and held.image.percepts
    }


def facts(*numbers: int) -> set[str]:
    return {f"fact {number}" for number in numbers}


def spoil(path: Path, text: bytes) -> None:
    """One bit of a file flips."""
    data = bytearray(path.read_bytes())
    data[data.index(text)] ^= 1
    path.write_bytes(data)


def mended(kept: Kept, choice: Choice | None = None) -> Outcome:
    return repair(str(kept.path), choice)


def commands(outcome: Outcome) -> list[str]:
    return [way.command for problem in outcome.problems for way in problem.ways]


def assert_sound(kept: Kept) -> None:
    report = check(str(kept.path))
    assert [each for each in report.findings if each.level in (Level.ERROR, Level.WARNING)] == []


def test_there_is_nothing_to_repair_in_a_sound_store(kept: Kept) -> None:
    before = snapshot(kept.path)
    outcome = mended(kept)
    assert (outcome.problems, outcome.done, outcome.settled) == ([], [], True)
    assert snapshot(kept.path) == before


def test_a_store_of_milks_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "global.json").write_text('{"percepts": null}')
    assert repair(str(tmp_path)).settled
    assert os.listdir(tmp_path) == ["global.json"]
    with pytest.raises(NotFound, match="no such directory"):
        repair(str(tmp_path / "typo"))


def test_a_running_milkd_is_not_disturbed(kept: Kept) -> None:
    before = snapshot(kept.path)
    with StoreLock(str(kept.path)):
        before |= {str(kept.path / ".milkd" / "lock"): (kept.path / ".milkd/lock").read_bytes()}
        with pytest.raises(AlreadyRunning, match="stop it first: `milkctl stop`"):
            mended(kept)
        assert snapshot(kept.path) == before


def test_a_damaged_journal_gives_what_is_whole_before_and_behind(kept: Kept) -> None:
    for number in (5, 6, 7):
        kept.append(PerceptPut("s1", percept(number)))
    damaged = kept.journal
    spoil(damaged, b"fact 5")
    bytes_of_it = damaged.read_bytes()
    before = snapshot(kept.path)
    assert check(str(kept.path)).count(Level.ERROR) == 1

    planned = repair(str(kept.path), dry_run=True)
    assert snapshot(kept.path) == before
    outcome = mended(kept)

    assert planned.done == outcome.done
    assert outcome.done == [
        "the journals give 4 entries; all files are written anew; entry 6 is lost"
    ]
    assert (outcome.saved, outcome.lost) == (4, ((6, 6),))
    assert outcome.kept == [f".milkd/quarantine/{damaged.name}"]
    assert (kept.path / outcome.kept[0]).read_bytes() == bytes_of_it
    assert held(kept.path) == {"global": facts(1, 2), "s1": facts(3, 4, 6, 7)}
    assert list((kept.path / ".milkd").glob("journal.*")) == []
    assert_sound(kept)
    assert mended(kept).problems == []


def test_numbers_of_lost_entries_are_not_given_again(kept: Kept) -> None:
    spoil(kept.journal, b"fact 3")
    mended(kept)
    taking = Taking(str(kept.path), Files())
    taking.open()
    assert taking.store.newest == 5
    taking.store.append([Entry(6, 1.0, "record", (PerceptPut("s1", percept(9)),))])
    assert held(kept.path)["s1"] == facts(4, 9)


def test_a_missing_journal_costs_what_was_in_it_alone(kept: Kept) -> None:
    kept.store.rotate()
    kept.append(PerceptPut("s1", percept(5)))
    between = kept.journal
    kept.store.rotate()
    kept.append(PerceptPut("s1", percept(6)))
    between.unlink()
    outcome = mended(kept)
    assert outcome.lost == ((6, 6),)
    assert outcome.kept == []
    assert held(kept.path)["s1"] == facts(3, 4, 6)
    assert_sound(kept)


def test_what_depends_on_a_lost_entry_does_no_harm(kept: Kept) -> None:
    kept.append(PerceptPut("s1", percept(5)))
    kept.append(EngramPut("s1", engram("few", 5)), EdgePut("s1", edge(5, 3)))
    kept.append(PerceptDropped("s1", percept(5).id), PerceptDropped("s1", percept(3).id))
    spoil(kept.journal, b"fact 5")
    assert mended(kept).lost == ((6, 6),)
    assert held(kept.path)["s1"] == facts(4)
    assert check(str(kept.path)).sound


def test_a_file_that_knows_more_than_the_journal_tells_what_is_lost(kept: Kept) -> None:
    older = kept.journal.read_bytes()
    kept.append(PerceptPut("s1", percept(5)))
    kept.append(PerceptPut("global", percept(6)))
    name = kept.journal.name
    image = {"global": (percept(1, engram_id="numbers"), percept(2), percept(6))}
    kept.store.rotate()
    whole = ScopeImage(name="global", percepts=image["global"], engrams=(engram("numbers", 1),))
    written = kept.store.write([whole], kept.seq, [], lambda: None)
    assert kept.store.publish(written).error is None
    for journal in (kept.path / ".milkd").glob("journal.*"):
        journal.unlink()
    (kept.path / ".milkd" / name).write_bytes(older)
    (kept.path / ".milkd" / name).chmod(0o600)
    outcome = mended(kept)
    assert outcome.lost == ((6, 7),)
    assert "but for what global.json holds of that already" in outcome.done[0]
    assert held(kept.path) == {"global": facts(1, 2, 6), "s1": facts(3, 4)}
    assert_sound(kept)


def test_a_journal_of_another_store_is_put_aside(kept: Kept) -> None:
    stranger = kept.path / ".milkd" / "journal.00000009-00000000"
    other = kept.path.parent / "other"
    alien = Kept(other)
    alien.append(PerceptPut("global", percept(66)))
    stranger.write_bytes(alien.journal.read_bytes())
    stranger.chmod(0o600)
    outcome = mended(kept)
    assert outcome.kept == [f".milkd/quarantine/{stranger.name}"]
    assert outcome.lost == ()
    assert held(kept.path) == {"global": facts(1, 2), "s1": facts(3, 4)}
    assert_sound(kept)


def test_what_was_forgotten_is_in_no_copy_of_a_damaged_journal(kept: Kept) -> None:
    kept.append(PerceptPut("s1", percept(5)))
    kept.seq += 1
    gone = percept(4).id
    dropped = EdgeDropped("s1", edge(4, 1)), PerceptDropped("s1", gone)
    kept.store.append([Entry(kept.seq, 1.0, "forget", dropped, scrub=(gone,))])
    kept.append(PerceptPut("s1", percept(6)))
    spoil(kept.journal, b"fact 5")
    outcome = mended(kept)
    assert outcome.kept == []
    assert held(kept.path)["s1"] == facts(3, 6)
    everything = b"\n".join(snapshot(kept.path).values())
    assert b"fact 4" not in everything
    assert gone.encode() not in everything
    assert_sound(kept)


def test_a_damaged_file_waits_for_a_choice(kept: Kept) -> None:
    (kept.path / "global.json").write_bytes(b'{"percepts": [')
    before = snapshot(kept.path)
    outcome = mended(kept)
    assert not outcome.settled
    (problem,) = outcome.problems
    assert problem.file == "global.json"
    assert problem.sentence.startswith("is not valid JSON: ")
    assert commands(outcome) == [
        "milkctl repair --accept-backup global",
        "milkctl repair --use FILE --scope global",
        "milkctl backup restore global WHICH",
    ]
    (backup,) = (kept.path / ".milkd" / "backup").glob("global.*")
    assert problem.ways[0].effect == (
        f"its backup {backup.name} and a later entry of the journal stand in for it: 2 facts"
    )
    assert snapshot(kept.path) == before


def test_the_backup_takes_the_place_of_a_damaged_file(kept: Kept) -> None:
    kept.append(PerceptPut("global", percept(7)))
    bad = (kept.path / "global.json").read_bytes()[:300]
    (kept.path / "global.json").write_bytes(bad)
    outcome = mended(kept, Choice("global"))
    assert outcome.settled
    (aside,) = outcome.kept
    assert (kept.path / aside).read_bytes() == bad
    assert aside.endswith(".damaged.json")
    assert held(kept.path) == {"global": facts(1, 2, 7), "s1": facts(3, 4)}
    assert_sound(kept)


def test_without_a_backup_none_can_be_accepted(kept: Kept) -> None:
    (kept.path / "s2.json").write_bytes(b"{")
    before = snapshot(kept.path)
    with pytest.raises(NotFound, match="no good backup of it: mend it by hand, or name a file"):
        mended(kept, Choice("s2"))
    with pytest.raises(NotFound, match="there is nothing of s9"):
        mended(kept, Choice("s9"))
    with pytest.raises(InvalidParams, match="nothing in a store can have the name"):
        mended(kept, Choice("../x"))
    assert snapshot(kept.path) == before
    assert commands(mended(kept))[0] == "milkctl repair --use FILE --scope s2"


def test_a_file_that_is_sound_is_not_replaced(kept: Kept, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text('{"percepts": []}')
    before = snapshot(kept.path)
    outcome = mended(kept, Choice("global", str(mine)))
    assert not outcome.settled
    assert f"`milkctl backup restore global {mine}` replaces it all the same" in outcome.declined
    assert snapshot(kept.path) == before


def test_a_mended_file_is_taken_with_what_came_later(kept: Kept, tmp_path: Path) -> None:
    kept.append(PerceptPut("global", percept(7)))
    good = (kept.path / "global.json").read_bytes()
    (kept.path / "global.json").write_bytes(good[:-30])
    mine = tmp_path / "mine.json"
    mine.write_bytes(good.replace(b"fact 2", b"fact 9"))
    outcome = mended(kept, Choice("global", str(mine)))
    assert outcome.settled
    assert outcome.done == [
        f"global.json: {mine} becomes it, with 1 later entry of the journal: 3 facts"
    ]
    assert (kept.path / outcome.kept[0]).read_bytes() == good[:-30]
    assert held(kept.path)["global"] == facts(1, 7, 9)
    assert_sound(kept)


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (b'{"percepts": [', StoreDamaged, "mine.json: is not valid JSON"),
        (b"", StoreDamaged, "mine.json: holds nothing"),
        (b'{"scopes": {}}', StoreDamaged, "has no list of percepts"),
        (b'{"percepts": [], "_milkd": {"min_reader": 9}}', VersionMismatch, "reads format 9"),
    ],
)
def test_a_file_of_no_use_is_refused(
    data: bytes, error: type[Exception], said: str, kept: Kept, tmp_path: Path
) -> None:
    (kept.path / "global.json").write_bytes(b"{")
    before = snapshot(kept.path)
    mine = tmp_path / "mine.json"
    mine.write_bytes(data)
    with pytest.raises(error, match=said):
        mended(kept, Choice("global", str(mine)))
    assert snapshot(kept.path) == before


def test_what_is_odd_about_a_file_of_the_users_is_told(kept: Kept, tmp_path: Path) -> None:
    (kept.path / "global.json").write_bytes(b"{")
    mine = tmp_path / "mine.json"
    mine.write_bytes(b'{"percepts": [{"id": "x", "w": "high"}]}')
    outcome = mended(kept, Choice("global", str(mine)))
    assert outcome.done[1].startswith("mind: global.json: percepts[0] is not used: ")


def test_a_file_without_a_byte_leaves_no_choice(kept: Kept) -> None:
    (kept.path / "global.json").write_bytes(b"\0" * 20)
    outcome = mended(kept)
    assert outcome.settled
    assert len(outcome.done) == 1
    assert held(kept.path)["global"] == facts(1, 2)
    assert_sound(kept)


def test_journals_stay_until_it_is_chosen_for_every_file_of_theirs(kept: Kept) -> None:
    kept.append(PerceptPut("global", percept(7)))
    kept.append(PerceptPut("s1", percept(8)))
    spoil(kept.journal, b"fact 3")
    (kept.path / "global.json").write_bytes(b"{")
    outcome = mended(kept)
    assert not outcome.settled
    assert "the journals stay until it is chosen what becomes of global.json" in outcome.done[0]
    assert kept.journal.exists()
    assert not check(str(kept.path)).sound
    outcome = mended(kept, Choice("global"))
    assert outcome.settled
    assert held(kept.path) == {"global": facts(1, 2, 7), "s1": facts(4, 8)}
    assert len(outcome.kept) == 2
    assert_sound(kept)


def test_a_disk_that_failed_gets_another_chance(kept: Kept) -> None:
    own = kept.path / ".milkd"
    for at in (1.0, 2.0, 3.0):
        Poisonings(Files(), str(own), partial(float, at)).add()
    taking = Taking(str(kept.path), Files(), lambda: 4.0)
    taking.open()
    assert taking.opened.refusal is not None
    outcome = mended(kept)
    assert [problem.file for problem in outcome.problems] == [".milkd/poisoned"]
    assert not (own / "poisoned").exists()
    assert held(kept.path)["s1"] == facts(3, 4)
    assert mended(kept).problems == []


def test_a_store_that_does_not_say_which_it_is_says_so_again(kept: Kept) -> None:
    marker = kept.path / ".milkd" / "store.json"
    before = marker.read_bytes()
    for journals in (True, False):
        if not journals:
            kept.journal.unlink()
        marker.write_bytes(b"{")
        assert check(str(kept.path)).sound == journals
        mended(kept)
        assert marker.read_bytes()[:60] == before[:60]
        assert_sound(kept)


def test_a_newer_format_is_refused_and_nothing_touched(kept: Kept) -> None:
    spoil(kept.journal, b"fact 3")
    file = kept.path / "s2.json"
    file.write_bytes(b'{"_milkd": {"min_reader": 9}}')
    before = snapshot(kept.path)
    with pytest.raises(VersionMismatch, match="needs a milkd that reads format 9"):
        mended(kept)
    assert snapshot(kept.path) == before


def test_a_store_that_cannot_be_locked_is_left_alone(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(kept.journal, b"fact 3")

    def refuse(lock: StoreLock, _wait: float) -> None:
        lock.refusal = "it is read-only"

    monkeypatch.setattr(StoreLock, "acquire", refuse)
    before = snapshot(kept.path)
    with pytest.raises(ReadOnly, match="it is read-only"):
        mended(kept)
    assert snapshot(kept.path) == before


def test_every_entry_but_the_damaged_one_is_there_wherever_the_damage_is(kept: Kept) -> None:
    for number in range(5, 9):
        kept.append(PerceptPut("s1", percept(number)))
    journal = kept.journal
    lines = journal.read_bytes().splitlines(keepends=True)
    for at, line in enumerate(lines[1:-1], 1):
        spoilt = line[:40] + b"#" + line[41:]
        again = kept.path.parent / f"again {at}"
        shutil.copytree(kept.path, again)
        data = b"".join([*lines[:at], spoilt, *lines[at + 1 :]])
        (again / ".milkd" / journal.name).write_bytes(data)
        assert repair(str(again)).lost == ((at + 3, at + 3),)
        assert held(again)["s1"] == facts(*(n for n in range(3, 9) if n != at + 2))


def test_a_dry_run_is_possible_beside_a_running_milkd(kept: Kept) -> None:
    (kept.path / "global.json").write_bytes(b"{")
    with StoreLock(str(kept.path)):
        before = snapshot(kept.path)
        outcome = repair(str(kept.path), dry_run=True)
        assert snapshot(kept.path) == before
    assert outcome.running is not None
    assert outcome.to_json()["running"] == outcome.running
    assert outcome.waiting == 1


def test_a_journal_whose_creation_was_cut_off_costs_nothing(kept: Kept) -> None:
    data = kept.journal.read_bytes()
    for path in (kept.path / ".milkd").glob("journal.*"):
        path.unlink()
    begun = kept.path / ".milkd" / "journal.00000009-0a1b2c3d"
    begun.write_bytes(data[:20])
    begun.chmod(0o600)
    assert mended(kept).problems == []
    (finding,) = [each for each in check(str(kept.path)).findings if each.level != Level.OK]
    assert (finding.level, finding.file) == (Level.NOTE, f".milkd/{begun.name}")
    assert finding.sentence == "its creation was cut off before anything was in it"


def test_a_file_used_for_the_wrong_scope_is_told(kept: Kept, tmp_path: Path) -> None:
    kept.checkpoint(ScopeImage(name="s1", percepts=(percept(3), percept(4))))
    mine = tmp_path / "mine.json"
    mine.write_bytes((kept.path / "s1.json").read_bytes())
    (kept.path / "global.json").write_bytes(b"{")
    outcome = repair(str(kept.path), Choice("global", str(mine)), dry_run=True)
    assert "mind: 2 of its 2 facts are in s1.json now" in outcome.done


def test_a_store_whose_name_was_deleted_gets_it_again(kept: Kept) -> None:
    marker = kept.path / ".milkd" / "store.json"
    name = marker.read_bytes()
    marker.unlink()
    outcome = mended(kept)
    assert [each.sentence for each in outcome.problems] == ["is missing"]
    assert marker.read_bytes().partition(b"created")[0] == name.partition(b"created")[0]
    assert_sound(kept)
