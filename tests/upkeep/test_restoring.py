"""Earlier versions are shown, and one of them takes the place of the present one."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from milkd.engine.changes import EdgeDropped, PerceptDropped, PerceptPut, ScopeDropped
from milkd.engine.percept import ScopeImage
from milkd.errors import (
    AlreadyRunning,
    Conflict,
    InvalidParams,
    NotFound,
    StorageFailed,
    StoreDamaged,
    VersionMismatch,
)
from milkd.store.entries import Entry
from milkd.store.files import Files
from milkd.store.lock import StoreLock
from milkd.store.snapshot import image_to_bytes
from milkd.upkeep.restoring import restore
from milkd.upkeep.taking import Taking
from milkd.upkeep.versions import versions
from upkeep.stores import edge, percept
from upkeep.test_check import Restless
from upkeep.test_repair import assert_sound, facts, held, snapshot, spoil

if TYPE_CHECKING:
    from pathlib import Path

    from upkeep.stores import Kept


def oldest(kept: Kept, scope: str = "global") -> str:
    return list(versions(str(kept.path), scope))[-1].which


def test_versions_are_told_the_newest_first(kept: Kept) -> None:
    kept.append(PerceptPut("global", percept(3)))
    kept.checkpoint(ScopeImage(name="global", percepts=(percept(1), percept(2), percept(3))))
    own = kept.path / ".milkd" / "backup"
    (own / "s9.20200101T000000.000000Z.json").write_bytes(b"{")
    (own / "s8.20200101T000000.000000Z.json").write_bytes(b'{"percepts": []}')
    before = own / "pre-milkd-2020-01-01"
    before.mkdir()
    old = ScopeImage(name="global", percepts=(percept(9),))
    (before / "global.json").write_bytes(image_to_bytes(old))

    found = list(versions(str(kept.path)))

    told = [(each.scope, each.state, each.facts, each.seq) for each in found]
    assert told == [
        ("global", "sound", 2, 3),
        ("global", "sound", 2, 2),
        ("s8", "others", 0, 0),
        ("s9", "useless", 0, 0),
        ("global", "others", 1, 0),
    ]
    assert found[0].size == os.stat(found[0].path).st_size
    assert found[3].problem.startswith("s9.json is not valid JSON")
    assert found[4].which == "pre-milkd-2020-01-01"
    assert [each.scope for each in versions(str(kept.path), "s8")] == ["s8"]
    assert list(versions(str(kept.path), "nobody")) == []
    assert list(versions(str(kept.path.parent / "none"))) == []


def test_an_earlier_version_takes_the_place_of_the_present_one(kept: Kept) -> None:
    kept.append(PerceptPut("global", percept(7)), PerceptDropped("global", percept(2).id))
    kept.append(PerceptPut("global", percept(1, w=0.25)), EdgeDropped("global", edge(2, 1)))
    which = oldest(kept)
    before = snapshot(kept.path)

    planned = restore(str(kept.path), "global", which, dry_run=True)
    assert snapshot(kept.path) == before
    done = restore(str(kept.path), "global", which)

    assert planned.differences == done.differences
    told = done.to_json()
    assert told["added"] == [{"id": percept(2).id, "content": "fact 2"}]
    assert told["removed"] == [{"id": percept(7).id, "content": "fact 7"}]
    assert told["changed"] == [
        {"id": percept(1).id, "content": "fact 1", "fields": ["w", "engram_id"]}
    ]
    assert (told["edges_added"], told["edges_removed"]) == (1, 0)
    assert held(kept.path) == {"global": facts(1, 2), "s1": facts(3, 4)}
    assert_sound(kept)
    newest = next(iter(versions(str(kept.path), "global")))
    assert (newest.facts, newest.seq, newest.state) == (2, 7, "sound")
    restore(str(kept.path), "global", newest.which)
    assert held(kept.path)["global"] == facts(1, 7)


def test_life_goes_on_after_a_restoration(kept: Kept) -> None:
    restore(str(kept.path), "global", oldest(kept))
    for number in (8, 9):
        taking = Taking(str(kept.path), Files())
        taking.open()
        seq = taking.store.newest + 1
        taking.store.append([Entry(seq, 1.0, "record", (PerceptPut("global", percept(number)),))])
    assert held(kept.path)["global"] == facts(1, 2, 8, 9)


def test_a_session_that_is_no_more_comes_back(kept: Kept) -> None:
    kept.checkpoint(ScopeImage(name="s1", percepts=(percept(3), percept(4))))
    kept.append(ScopeDropped("s1"))
    kept.checkpoint(ScopeImage(name="s1"))
    assert "s1" not in held(kept.path)
    done = restore(str(kept.path), "s1", oldest(kept, "s1"))
    assert len(done.differences.added) == 2
    assert held(kept.path)["s1"] == facts(3, 4)
    assert_sound(kept)


def test_a_damaged_file_makes_room_and_is_kept(kept: Kept) -> None:
    kept.append(PerceptPut("global", percept(7)))
    (kept.path / "global.json").write_bytes(b"{")
    done = restore(str(kept.path), "global", oldest(kept))
    assert done.kept is not None
    with open(done.kept, "rb") as file:
        assert file.read() == b"{"
    assert held(kept.path) == {"global": facts(1, 2), "s1": facts(3, 4)}
    assert list((kept.path / ".milkd").glob("journal.*")) == []
    assert_sound(kept)


def test_a_file_of_the_users_can_be_restored(kept: Kept, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    image = ScopeImage(name="s1", percepts=(percept(9),), unreadable=(("percepts", 1, 7),))
    mine.write_bytes(image_to_bytes(image))
    done = restore(str(kept.path), "s1", str(mine))
    assert held(kept.path)["s1"] == facts(9)
    assert len(done.warnings) == 1
    assert done.path == str(mine)
    assert len(done.differences.removed) == 2


def test_what_global_gets_back_is_in_no_session_any_more(kept: Kept) -> None:
    kept.append(PerceptDropped("global", percept(2).id), PerceptPut("s1", percept(2)))
    assert held(kept.path) == {"global": facts(1), "s1": facts(2, 3, 4)}
    restore(str(kept.path), "global", oldest(kept))
    assert held(kept.path) == {"global": facts(1, 2), "s1": facts(3, 4)}
    assert_sound(kept)


def test_what_was_forgotten_does_not_come_back(kept: Kept) -> None:
    kept.seq += 1
    gone = percept(2).id
    changes = EdgeDropped("global", edge(2, 1)), PerceptDropped("global", gone)
    kept.store.append([Entry(kept.seq, 1.0, "forget", changes, scrub=(gone,))])
    restore(str(kept.path), "global", oldest(kept))
    assert held(kept.path)["global"] == facts(1)
    assert b"fact 2" not in b"\n".join(snapshot(kept.path).values())


def test_what_cannot_be_restored_is_refused(kept: Kept, tmp_path: Path) -> None:
    before = snapshot(kept.path)
    store, which = str(kept.path), oldest(kept)
    with pytest.raises(NotFound, match=rf"20990101T.*: no file, .* there are: .*{which}"):
        restore(store, "global", "20990101T000000.000000Z")
    with pytest.raises(NotFound, match="there are: none"):
        restore(store, "s9", which)
    with pytest.raises(InvalidParams, match="SCOPE"):
        restore(store, "a/b", which)
    with pytest.raises(NotFound, match="no such directory"):
        restore(str(tmp_path / "typo"), "global", which)
    bad = tmp_path / "bad.json"
    bad.write_bytes(b"[")
    with pytest.raises(StoreDamaged, match=r"bad\.json"):
        restore(store, "global", str(bad))
    bad.write_bytes(b'{"percepts": [], "_milkd": {"min_reader": 7}}')
    with pytest.raises(VersionMismatch, match="reads format 7"):
        restore(store, "global", str(bad))
    with StoreLock(store), pytest.raises(AlreadyRunning, match="milkctl stop"):
        restore(store, "global", which)
    assert {**snapshot(kept.path), str(kept.path / ".milkd/lock"): b""} == before | {
        str(kept.path / ".milkd/lock"): b""
    }


def test_damaged_journals_are_repaired_first(kept: Kept) -> None:
    spoil(kept.journal, b"fact 3")
    with pytest.raises(Conflict, match="milkctl repair"):
        restore(str(kept.path), "global", oldest(kept))


@pytest.mark.parametrize(
    "text",
    [
        '{"milkd_export": 1, "scopes": {"global": {"percepts": []}}}',
        '{"memory": {"percepts": 5}}',
        '{"_milkd": {"format": 1}}',
        "{}",
        "null",
    ],
)
def test_what_is_no_scopes_file_does_not_empty_a_scope(
    text: str, kept: Kept, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(text)
    before = snapshot(kept.path)
    with pytest.raises(StoreDamaged, match=r"mine\.json: (an export|has no list of percepts)"):
        restore(str(kept.path), "global", str(mine))
    assert snapshot(kept.path) == before
    mine.write_text('{"Percepts": null}')  # so Go writes and reads an empty list
    assert len(restore(str(kept.path), "global", str(mine)).differences.removed) == 2


def test_what_was_replaced_is_kept_and_can_be_had_again(kept: Kept) -> None:
    store = str(kept.path)
    kept.append(PerceptPut("global", percept(7)))
    done = restore(store, "global", oldest(kept))
    assert done.kept is not None
    assert done.kept.startswith(f"{store}/.milkd/quarantine/global.")
    assert done.kept.endswith(".replaced.json")
    assert done.undo is not None
    which = done.undo.removeprefix("milkctl backup restore global ")
    (found,) = [each for each in versions(store, "global") if each.which == which]
    assert (found.kind, found.state, found.facts, found.path) == ("replaced", "sound", 3, done.kept)
    for path in (kept.path / ".milkd" / "backup").glob("global.*"):
        path.unlink()
    restore(store, "global", which)
    assert held(kept.path)["global"] == facts(1, 2, 7)
    assert_sound(kept)


def test_what_is_in_quarantine_is_listed_among_the_others(kept: Kept) -> None:
    aside = kept.path / ".milkd" / "quarantine"
    aside.mkdir(mode=0o700)
    for name in ("s1.20200101T000000.000000Z-1.conflict", "s1.20990101T000000.000000Z"):
        (aside / f"{name}.json").write_bytes(b'{"percepts": []}')
    (aside / "s1.20210101T000000.000000Z.damaged.json").write_bytes(b"{")
    (aside / "journal.00000001-0a1b2c3d").write_bytes(b"")
    told = [(each.which, each.kind, each.state) for each in versions(str(kept.path), "s1")]
    assert told == [
        ("20210101T000000.000000Z.damaged", "damaged", "useless"),
        ("20200101T000000.000000Z-1.conflict", "conflict", "others"),
        ("20990101T000000.000000Z", "aside", "others"),
    ]


def test_a_file_of_another_scope_or_store_is_told(kept: Kept, tmp_path: Path) -> None:
    kept.checkpoint(ScopeImage(name="s1", percepts=(percept(3), percept(4))))
    store, mine = str(kept.path), tmp_path / "mine.json"
    seen = restore(store, "global", str(kept.path / "s1.json"), dry_run=True)
    assert seen.warnings == (
        "by its name this is a version of s1, not of global",
        "2 of its 2 facts are in s1.json now",
    )
    mine.write_bytes((kept.path / "s1.json").read_bytes())
    seen = restore(store, "global", str(mine), dry_run=True)
    assert seen.warnings == ("2 of its 2 facts are in s1.json now",)
    mine.write_text((kept.path / "global.json").read_text().replace('"store": "', '"store": "x'))
    seen = restore(store, "global", str(mine), dry_run=True)
    (warning,) = seen.warnings
    assert warning.startswith("it was written for another store, x")


def test_a_dry_run_disturbs_no_running_milkd(kept: Kept) -> None:
    which = oldest(kept)
    with StoreLock(str(kept.path)):
        before = snapshot(kept.path)
        seen = restore(str(kept.path), "global", which, dry_run=True)
        assert snapshot(kept.path) == before
    assert seen.running is not None
    assert seen.kept is None


def test_beside_a_milkd_that_writes_all_the_time_a_dry_run_gives_up(kept: Kept) -> None:
    which = oldest(kept)
    with StoreLock(str(kept.path)):
        seen = restore(str(kept.path), "global", which, dry_run=True, files=Restless(3))
        assert seen.running is not None
        with pytest.raises(Conflict, match="wrote to the store all the time"):
            restore(str(kept.path), "global", which, dry_run=True, files=Restless(1_000))


class Denied(Files):
    """Files whose names have a text may not be read."""

    def __init__(self, text: str) -> None:
        self._text = text

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        if self._text in path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return super().open(path, flags, mode)


def test_what_may_not_be_read_is_told_with_the_way_out(kept: Kept) -> None:
    which = oldest(kept)
    (backup,) = [each.path for each in versions(str(kept.path)) if each.which == which]
    with pytest.raises(StorageFailed, match=r"permission denied; `chmod 600 .*` if it is yours"):
        restore(str(kept.path), "global", which, files=Denied(f"global.{which}"))
    (told,) = versions(str(kept.path), "global", Denied("/backup/"))
    assert told.problem == f"{backup}: permission denied; `chmod 600 {backup}` if it is yours"
