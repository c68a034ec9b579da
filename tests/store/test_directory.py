"""Whose file is which; and a store that goes from milk to milkd and back."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

import go_reader
from milkd.engine.percept import ScopeImage
from milkd.errors import StorageFailed, StoreDamaged, VersionMismatch
from milkd.store.directory import Directory
from milkd.store.files import Files, current_stamp
from milkd.store.replace import save
from milkd.store.snapshot import Seal, Sealing, Wiped, image_to_bytes

if TYPE_CHECKING:
    from pathlib import Path

SEALING = Sealing("a store", seq=7, written=1_780_000_000.0)


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory(Files(), str(tmp_path))


def test_a_scope_without_a_file_is_empty(directory: Directory) -> None:
    loaded, stamp = directory.read("s1")

    assert loaded.image == ScopeImage(name="s1")
    assert loaded.sealed is Seal.NONE
    assert stamp is None


def test_a_file_comes_with_its_stamp(directory: Directory, tmp_path: Path) -> None:
    path = tmp_path / "s1.json"
    path.write_bytes(image_to_bytes(ScopeImage(name="s1", shown=("a",)), SEALING))

    loaded, stamp = directory.read("s1")

    assert loaded.image.shown == ("a",)
    assert (loaded.sealed, loaded.seq, loaded.store) == (Seal.OURS, 7, "a store")
    assert stamp == current_stamp(Files(), str(path))


@pytest.mark.parametrize("data", [b"", b"\0" * 4_096])
def test_a_file_of_which_nothing_is_left_is_wiped(
    directory: Directory, tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "global.json").write_bytes(data)

    with pytest.raises(Wiped, match=r"^global\.json holds .*expected a JSON object"):
        directory.read("global")
    assert (tmp_path / "global.json").read_bytes() == data


@pytest.mark.parametrize("data", [b"\n", b" \0", b"{", b'{"percepts": 5}'])
def test_another_file_that_cannot_be_understood_is_damaged(
    directory: Directory, tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "global.json").write_bytes(data)

    with pytest.raises(StoreDamaged, match=r"^global\.json") as caught:
        directory.read("global")
    assert not isinstance(caught.value, Wiped)


def test_a_file_of_a_newer_milkd_is_not_read(directory: Directory, tmp_path: Path) -> None:
    (tmp_path / "global.json").write_text('{"_milkd": {"format": 9, "min_reader": 9}}')

    with pytest.raises(VersionMismatch, match="reads format 9"):
        directory.read("global")


def test_what_is_no_file_is_damage(directory: Directory, tmp_path: Path) -> None:
    (tmp_path / "s1.json").mkdir()

    with pytest.raises(StoreDamaged, match=r"cannot read s1\.json: not a regular file"):
        directory.read("s1")


def test_a_disk_that_does_not_give_a_file_is_told(tmp_path: Path) -> None:
    class Broken(Files):
        def read(self, fd: int, size: int) -> bytes:
            raise OSError(5, "Input/output error")

        def listdir(self, path: str) -> list[str]:
            raise OSError(5, "Input/output error")

    (tmp_path / "s1.json").write_text("{}")
    directory = Directory(Broken(), str(tmp_path))

    with pytest.raises(StorageFailed, match=r"cannot read s1\.json: Input/output error"):
        directory.read("s1")
    with pytest.raises(StorageFailed, match=r"cannot list .*: Input/output error"):
        directory.sessions()


def test_a_file_that_may_not_be_read_is_told_with_the_way_out(tmp_path: Path) -> None:
    class Denied(Files):
        def open(self, path: str, flags: int, mode: int = 0o600) -> int:
            raise PermissionError(13, "Permission denied", path)

    path = tmp_path / "s1.json"
    with pytest.raises(StorageFailed) as caught:
        Directory(Denied(), str(tmp_path)).read("s1")
    said = f"cannot read {path}: permission denied; `chmod 600 {path}` lets milkd read it"
    assert str(caught.value) == said


def test_sessions_are_the_files_that_can_be_sessions(directory: Directory, tmp_path: Path) -> None:
    names = ["b.json", "a-1.json", "global.json", "Archive.json", ".c.json", "d e.json", "e.txt"]
    for name in [*names, "global.json.tmp", ".s.json.milkd-1-0a1b2c3d.tmp"]:
        (tmp_path / name).write_text("{}")

    assert directory.sessions() == ("a-1", "b")
    assert Directory(Files(), str(tmp_path / "absent")).sessions() == ()


@pytest.mark.parametrize("name", ["../global", "GLOBAL", "", "a/b", ".hidden"])
def test_a_name_that_is_no_session_reaches_no_file(directory: Directory, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a file"):
        directory.read(name)


def test_leftovers_are_swept_where_the_files_really_are(tmp_path: Path) -> None:
    store, elsewhere, own = tmp_path / "memory", tmp_path / "dotfiles", tmp_path / "own"
    for place in (store, elsewhere, own):
        place.mkdir()
    (elsewhere / "memory.json").write_text("{}")
    (store / "global.json").symlink_to(elsewhere / "memory.json")
    ours = [
        store / ".s1.json.milkd-123-0a1b2c3d.tmp",
        own / ".store.json.milkd-9-0a1b2c3d.tmp",
        elsewhere / ".memory.json.milkd-123-0a1b2c3d.tmp",
    ]
    theirs = [store / "global.json.tmp", store / ".s1.json.milkd-x.tmp", store / "notes"]
    for path in [*ours, *theirs]:
        path.write_text("half")

    Directory(Files(), str(store)).sweep(also=[str(own), str(tmp_path / "absent")])

    assert [path.exists() for path in ours] == [False] * 3
    assert [path.exists() for path in theirs] == [True] * 3


# From milk to milkd and back.


def take_over(store: Path) -> dict[str, ScopeImage]:
    """Have milkd read every file of a store and write it under its seal."""
    directory = Directory(Files(), str(store))
    images = {}
    for scope in ("global", *directory.sessions()):
        loaded, _ = directory.read(scope)
        assert not loaded.lossy
        images[scope] = loaded.image
        save(Files(), directory.file(scope), image_to_bytes(loaded.image, SEALING))
    return images


def test_milk_reads_what_it_read_before_milkd_took_over(milk_store: Path, session: str) -> None:
    # One of the percepts has a text for its strength, at which milk itself would give up.
    text = (milk_store / "global.json").read_text().replace('"high"', "0.25")
    (milk_store / "global.json").write_text(
        text.replace('"user",\n      "w": 0.25', '"user", "w": 0.25')
    )
    files = [milk_store / "global.json", milk_store / f"{session}.json"]
    before = [go_reader.read(path.read_bytes()) for path in files]

    take_over(milk_store)

    after = [go_reader.read(path.read_bytes()) for path in files]
    for store in before:  # the two names that milkd knows under new ones
        for percept in store.percepts:
            percept.producer = {"local": "primary", "claude": "escalation"}.get(
                percept.producer, percept.producer
            )
    assert after == before
    assert sorted(os.listdir(milk_store)) == sorted(path.name for path in files)


def test_what_milk_writes_on_top_is_taken_as_its_own(milk_store: Path, session: str) -> None:
    images = take_over(milk_store)
    path = milk_store / f"{session}.json"
    store = go_reader.read(path.read_bytes())
    store.percepts[1].content = "lunch is at <one> & not before"
    path.write_bytes(go_reader.write(store))
    assert b"\\u003cone\\u003e \\u0026" in path.read_bytes()
    assert b'"engrams": null' in path.read_bytes()

    loaded, _ = Directory(Files(), str(milk_store)).read(session)

    assert (loaded.sealed, loaded.seq, loaded.store) == (Seal.BARE, 0, None)
    assert not loaded.lossy
    first, second = loaded.image.percepts
    assert first == images[session].percepts[0]
    assert second.content == "lunch is at <one> & not before"


def test_nothing_of_a_store_of_milk_is_lost_on_the_way(
    milk_store: Path, session: str, milk_global: bytes
) -> None:
    once = take_over(milk_store)
    files = [milk_store / "global.json", milk_store / f"{session}.json"]
    texts = [path.read_bytes() for path in files]

    again = take_over(milk_store)

    assert again == once
    assert [path.read_bytes() for path in files] == texts
    before, after = json.loads(milk_global), json.loads(texts[0])
    for old, new in zip(before["percepts"], after["percepts"], strict=True):
        named = {key if key in new else key.lower(): value for key, value in old.items()}
        changed = {key for key, value in named.items() if new[key] != value}
        assert changed <= {"producer", "roles"}
    assert after["theme"] == before["theme"]
    assert after["engrams"] == before["engrams"]
    assert after["edges"] == before["edges"]


def test_a_fact_that_two_files_hold_is_read_from_both(milk_store: Path, session: str) -> None:
    directory = Directory(Files(), str(milk_store))

    shared = directory.read("global")[0].image.percepts[1]
    moved = directory.read(session)[0].image.percepts[0]

    assert (moved.id, moved.content) == (shared.id, shared.content)
