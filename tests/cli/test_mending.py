"""Commands that bring a store back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from milkd.engine.changes import PerceptPut
from milkd.engine.percept import ScopeImage
from milkd.store.snapshot import image_to_bytes
from upkeep.stores import Kept, percept

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]


@pytest.fixture
def kept(place: Place) -> Kept:
    """A store with two versions of global and a session in the journal."""
    place.store.parent.mkdir(parents=True)
    kept = Kept(place.store)
    kept.append(PerceptPut("global", percept(1)))
    kept.checkpoint(ScopeImage(name="global", percepts=(percept(1),)))
    kept.append(PerceptPut("global", percept(2)))
    kept.checkpoint(ScopeImage(name="global", percepts=(percept(1), percept(2))))
    for number in (3, 4, 5):
        kept.append(PerceptPut("s1", percept(number)))
    return kept


def spoil_journal(kept: Kept) -> None:
    data = kept.journal.read_bytes()
    kept.journal.write_bytes(data.replace(b"fact 4", b"fast 4"))


def test_a_damaged_journal_is_repaired(kept: Kept, milkctl: Milkctl) -> None:
    assert milkctl("repair") == (0, f"store {kept.path}\nthere is nothing to repair\n", "")
    spoil_journal(kept)
    assert milkctl("check").code == 1
    ran = milkctl("repair", "--dry-run")
    assert ran.code == 0
    assert "\nwould be done: the journals give 2 entries; " in ran.out
    name = kept.journal.name
    ran = milkctl("repair")
    assert ran.code == 0
    assert f".milkd/{name}: record 4 is not whole at byte " in ran.out
    assert ran.out.endswith(
        "\ndone: the journals give 2 entries; all files are written anew; entry 4 is lost\n"
        f"kept: .milkd/quarantine/{name}\n"
    )
    assert milkctl("check").code == 0


def test_a_choice_is_offered_and_taken(kept: Kept, milkctl: Milkctl) -> None:
    (kept.path / "global.json").write_bytes(b"{")
    ran = milkctl("repair")
    assert ran.code == 1
    assert "\n  milkctl repair --accept-backup global\n      its backup global." in ran.out
    assert ran.out.endswith("\n1 file to choose for\n")
    ran = milkctl("repair", "--accept-backup", "global", "--json")
    assert ran.code == 0
    answer = json.loads(ran.out)
    assert answer["settled"]
    assert answer["problems"][0]["file"] == "global.json"
    assert milkctl("check").code == 0
    ran = milkctl("repair", "--accept-backup", "global")
    assert ran.code == 1
    assert "not done: global.json is not damaged" in ran.out


def test_a_file_is_used(kept: Kept, milkctl: Milkctl) -> None:
    mine = kept.path.parent / "mine.json"
    mine.write_bytes((kept.path / "global.json").read_bytes())
    (kept.path / "global.json").write_bytes(b"{")
    ran = milkctl("repair", "--use", str(mine), "--scope", "global")
    assert ran.code == 0
    assert f"\ndone: global.json: {mine} becomes it: 2 facts\n" in ran.out
    assert "\nkept: .milkd/quarantine/global." in ran.out
    assert milkctl("check").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["repair", "--use", "x"], "--use FILE and --scope SCOPE go together"),
        (["repair", "--scope", "global"], "--use FILE and --scope SCOPE go together"),
        (
            ["repair", "--use", "x", "--scope", "s", "--accept-backup", "s"],
            "either --accept-backup",
        ),
        (["backup", "restore"], "restore needs a SCOPE and WHICH"),
        (["backup", "list", "global", "x"], "list takes a SCOPE at most"),
        (["backup", "list", "--dry-run"], "list takes a SCOPE at most"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], said: str, milkctl: Milkctl) -> None:
    ran = milkctl(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_what_cannot_be_is_told_in_a_sentence(kept: Kept, milkctl: Milkctl) -> None:
    ran = milkctl("repair", "--use", str(kept.path / "none"), "--scope", "global")
    assert ran.code == 1
    assert "No such file or directory" in ran.err
    ran = milkctl("repair", "--accept-backup", "a/b")
    assert ran.err == "milkctl: SCOPE: nothing in a store can have the name 'a/b'\n"
    ran = milkctl("backup", "restore", "global", "yesterday", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["error"]["code"] == "not_found"


def test_versions_are_listed_and_restored(kept: Kept, milkctl: Milkctl) -> None:
    ran = milkctl("backup", "list")
    (line,) = ran.out.splitlines()
    scope, which, _, _, number, entry, state, kind = line.split("\t")
    assert (scope, number, entry, state, kind) == ("global", "1", "1", "sound", "backup")
    listed = json.loads(milkctl("backup", "list", "global", "--json").out)
    assert listed["versions"][0]["which"] == which
    assert milkctl("backup", "list", "s1").out == f"(no backups of s1 in {kept.path})\n"

    ran = milkctl("backup", "restore", "global", which, "--dry-run")
    assert ran.out.startswith("global.json would be what ")
    assert "\n1 fact would be removed:\n  - #00000002 fact 2\n" in ran.out
    ran = milkctl("backup", "restore", "global", which)
    assert ran.code == 0
    assert "\n1 fact removed:\n  - #00000002 fact 2\n" in ran.out
    undo = ran.out.rpartition("\nto bring it back: milkctl ")[2].split()
    assert undo[:3] == ["backup", "restore", "global"]
    assert f"{kept.path}/.milkd/quarantine/global.{undo[3]}.json\n" in ran.out
    assert milkctl("check").code == 0
    assert "\n1 fact added:\n" in milkctl(*undo).out
    milkctl("backup", "restore", "global", which)
    ran = milkctl("backup", "restore", "global", which)
    assert "\nno fact is added, removed or changed by that\n" in ran.out


def test_what_a_restoration_changes_is_shown(kept: Kept, milkctl: Milkctl) -> None:
    mine = kept.path.parent / "mine.json"
    text = (kept.path / "global.json").read_text()
    mine.write_text(text.replace("fact 2", "fact two").replace('"w": 0.5', '"w": 0.75', 1))
    ran = milkctl("backup", "restore", "global", str(mine), "--dry-run")
    assert ran.out.splitlines()[1:-1] == [
        "2 facts would be changed:",
        "  ~ #00000001 fact 1  (w)",
        "  ~ #00000002 fact two  (was: fact 2)",
    ]
    many = ScopeImage(name="s1", percepts=tuple(percept(n) for n in range(100, 130)))
    mine.write_bytes(image_to_bytes(many))
    ran = milkctl("backup", "restore", "s1", str(mine))
    assert "\n30 facts added:\n" in ran.out
    assert "\n  and 10 more; --json lists all\n" in ran.out


def test_beside_a_daemon_versions_are_listed_and_nothing_is_changed(
    place: Place, milkctl: Milkctl
) -> None:
    place.start()
    milkctl("learn", "the user prefers tabs")
    milkctl("snapshot")
    assert milkctl("backup", "list").out == f"(no backups in {place.store})\n"
    mine = place.home / "mine.json"
    mine.write_bytes((place.store / "global.json").read_bytes())
    for command in (["repair"], ["backup", "restore", "global", str(mine)]):
        ran = milkctl(*command, "--dry-run")
        assert (ran.code, ran.err) == (0, "")
        assert "\nin the hands of milkd" in ran.out
        ran = milkctl(*command)
        assert ran.code == 1
        assert "stop it first: `milkctl stop`; nothing was changed\n" in ran.err


def test_the_daemon_serves_what_was_repaired_and_restored(
    kept: Kept, place: Place, milkctl: Milkctl
) -> None:
    spoil_journal(kept)
    milkctl("repair")
    which = json.loads(milkctl("backup", "list", "global", "--json").out)["versions"][-1]["which"]
    milkctl("backup", "restore", "global", which)
    place.start()
    assert json.loads(milkctl("health", "--json").out)["status"] == "ok"
    told = milkctl("list", "--session", "s1").out
    assert [line.split("\t")[-1] for line in told.splitlines()] == ["fact 1", "fact 3", "fact 5"]
    milkctl("learn", "life goes on")
    place.stop()
    assert milkctl("check").code == 0


@pytest.mark.parametrize("verb", ["repair", "backup"])
def test_help_tells_of_it(verb: str, milkctl: Milkctl) -> None:
    assert "milkctl stop" in milkctl("help", verb).out
    assert f"\n  {verb} " in milkctl().out


def test_an_export_is_not_taken_for_an_empty_scope(
    place: Place, kept: Kept, milkctl: Milkctl
) -> None:
    place.start()
    export = place.home / "export.json"
    assert milkctl("export", str(export)).code == 0
    place.stop()
    for dry in ([], ["--dry-run"]):
        ran = milkctl("backup", "restore", "global", str(export), *dry)
        assert ran.code == 1
        assert f"an export, not the file of a scope; use `milkctl import {export}`" in ran.err
