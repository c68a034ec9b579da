"""Forgotten facts leave every copy, whenever the disk fails or the process dies."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from faulty import Death, FaultyFiles
from milkd.engine.changes import Annotated, PerceptPut
from milkd.engine.percept import Edge, Engram, Percept, ScopeImage, Wording
from milkd.store.encoder import image_to_bytes
from milkd.store.entries import Entry
from milkd.store.files import Files
from milkd.store.gojson import dumps
from milkd.store.journalfile import Journal
from milkd.store.replace import save
from milkd.store.scrub import scrub, texts_of
from milkd.store.seal import Seal, Sealing
from milkd.store.snapshot import image_from_bytes
from milkd.store.traces import Traces

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GONE = "90000000-0000-4000-8000-000000000001"
TWIN = "90000000-0000-4000-8000-000000000002"
REST = "90000000-0000-4000-8000-000000000003"
TEXT = 'the door of "Möller & Co" opens with 4711'
EARLIER = "the door opens with the old <key>"
FIRST = "mind the döor"
SPOKEN = "doors: 4711"
TEXTS = frozenset({TEXT, EARLIER, FIRST, SPOKEN})
SEALING = Sealing("5d2f0000-0000-4000-8000-000000000000", 7, 1_700_000_000.0)
TIMES: dict[str, Any] = {"created_at": 1.0, "updated_at": 2.0}
KEPT = "journal.00000003-0123abcd"


def percept(id_: str, content: str, *wordings: str) -> Percept:
    said = tuple(Wording(wording, 1.0) for wording in wordings)
    return Percept(id=id_, content=content, producer="user", w=0.5, wordings=said, **TIMES)


def image(name: str, *percepts: Percept, edges: tuple[Edge, ...] = ()) -> bytes:
    members = tuple(each.id for each in percepts)
    engram = Engram(id="e", subject_label="doors", composite_w=0.5, percept_ids=members, **TIMES)
    return image_to_bytes(
        ScopeImage(name=name, percepts=percepts, engrams=(engram,), edges=edges), SEALING
    )


def go_file(*percepts: tuple[str, str]) -> bytes:
    entries = [{"id": id_, "content": text, "w": 1.0} for id_, text in percepts]
    return (dumps({"percepts": entries, "engrams": None, "edges": None}) + "\n").encode()


def record(obj: object) -> bytes:
    return b"J1 00000000 00000000 " + json.dumps(obj).encode() + b"\n"


def put(id_: str, text: str) -> bytes:
    return record({"ch": [{"t": "put", "percept": {"id": id_, "content": text}}]})


BOTH = (percept(GONE, TEXT), percept(REST, f"not {TEXT}"))
HOLDING: dict[str, bytes] = {
    "backup/global.20260103T000000.000000Z.json": image(
        "global", *BOTH, edges=(Edge(GONE, REST, "extends"),)
    ),
    "backup/global.20260102T000000.000000Z.json": image(
        "global", percept(GONE, EARLIER, SPOKEN), percept(TWIN, EARLIER)
    ),
    "backup/global.20260101T000000.000000Z.json": image("global", *BOTH)[:-9],
    "backup/s1.20260103T000000.000000Z.json": image("s1", percept(TWIN, TEXT)),
    "backup/s2.20260103T000000.000000Z.json": image("s2", percept(TWIN, FIRST, EARLIER)),
    "backup/journal.00000001-0123abcd": put(GONE, FIRST),
    "backup/journal.00000002-0123abcd": record({"ch": []}),
    "backup/pre-milkd-2026-01-01/global.json": go_file((GONE, FIRST), (REST, "rest")),
    "backup/pre-milkd-2026-01-01/s3.json": go_file((TWIN, EARLIER)),
    "quarantine/global.20260103T000000.000000Z.conflict.json": go_file((GONE, TEXT)),
    "quarantine/global.20260103T000000.000000Z.damaged.json": go_file((TWIN, EARLIER))[:-2],
    "quarantine/s1.20260103T000000.000000Z-1.json": b'[{"content": "mind the d\\u00F6or", "w"',
    "quarantine/s2.20260103T000000.000000Z.json": ("{ " + TEXT).encode("utf-16"),
    "quarantine/journal.00000001-89abcdef": b"\0" * 64 + put(GONE, FIRST),
    "quarantine/.global.json.milkd-1-0123abcd.tmp": image("global", *BOTH),
}
CLEAN: dict[str, bytes] = {
    "backup/s4.20260103T000000.000000Z.json": image("s4", percept(REST, "rest")),
    f"backup/{KEPT}": record({"scrub": [GONE]}),
    "backup/pre-milkd-2026-01-01/s4.json": b'{"percepts": [{"id": "x", "W": 1e0}]}',
    "quarantine/s4.20260103T000000.000000Z.json": b'{"percepts": [{"id":',
    "quarantine/.s4.json.milkd-1-0123abcd.tmp": b"",
    KEPT: record({"scrub": [GONE]}),
    "store.json": b"{}",
}
FEW: dict[str, bytes] = {name: HOLDING[name] for name in sorted(HOLDING) if "journal" in name}
FEW |= {name: data for name, data in HOLDING.items() if name.startswith("quarantine/s1")}
FEW |= {name: data for name, data in HOLDING.items() if "0102T" in name or "p/s2" in name}
"""One of each kind, so that the calls are not too many to fail each of them."""


class Scene:
    """A store after a checkpoint, with traces of a fact in every kind of copy."""

    def __init__(self, directory: Path, copies: dict[str, bytes] | None = None) -> None:
        self.directory = directory
        self.own = directory / ".milkd"
        self.files = FaultyFiles()
        self.copies = HOLDING | CLEAN if copies is None else copies
        for name, data in self.copies.items():
            path = self.own / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (directory / "global.json").write_bytes(image("global", percept(REST, "rest")))

    def scrub(self, *texts: str, live: Callable[[str], bool] = REST.__eq__) -> None:
        scrub(self.files, str(self.directory), ids=[GONE], texts=texts, live=live, keep={KEPT})

    def found(self) -> dict[str, bytes]:
        paths = [path for path in self.own.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.own)): path.read_bytes() for path in paths}

    def check(self) -> None:
        """No copy names the fact or says what it said."""
        found = self.found()
        for name in CLEAN.keys() & self.copies.keys():
            assert found.pop(name) == CLEAN[name], name
        for name, data in found.items():
            assert not Traces(ids=frozenset({GONE})).are_in(data), name
            other = data.replace(json.dumps(f"not {TEXT}", ensure_ascii=False).encode(), b"")
            other = other.replace(dumps(f"not {TEXT}").encode(), b"")
            assert not Traces(texts=TEXTS).are_in(other), name
            if name.startswith(("backup/global", "backup/s")):
                assert image_from_bytes("x", data).sealed is Seal.OURS, name


@pytest.mark.parametrize("texts", [(), (TEXT,), tuple(TEXTS)])
def test_no_copy_keeps_a_trace(tmp_path: Path, texts: tuple[str, ...]) -> None:
    scene = Scene(tmp_path / "memory")
    scene.scrub(*texts)
    scene.check()
    assert sorted(scene.found().keys() - CLEAN.keys()) == [
        "backup/global.20260102T000000.000000Z.json",
        "backup/global.20260103T000000.000000Z.json",
        "backup/pre-milkd-2026-01-01/global.json",
        "backup/pre-milkd-2026-01-01/s3.json",
        "backup/s1.20260103T000000.000000Z.json",
        "backup/s2.20260103T000000.000000Z.json",
        "quarantine/global.20260103T000000.000000Z.conflict.json",
    ]


def test_what_is_left_of_a_backup_is_all_the_rest_of_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "memory")
    scene.scrub()
    found = scene.found()
    newest = image_from_bytes("global", found["backup/global.20260103T000000.000000Z.json"])
    assert newest.image.percepts == (BOTH[1],)
    assert [engram.percept_ids for engram in newest.image.engrams] == [(REST,)]
    assert (newest.image.edges, newest.seq) == ((), 7)
    older = image_from_bytes("global", found["backup/global.20260102T000000.000000Z.json"])
    assert (older.image.percepts, older.image.engrams) == ((), ())
    assert found["backup/pre-milkd-2026-01-01/global.json"] == go_file((REST, "rest"))


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "memory")
    scene.scrub()
    found = scene.found()
    scene.files.arm(0)
    scene.scrub()
    assert scene.found() == found
    assert {"write", "rename", "unlink"}.isdisjoint(scene.files.calls)
    assert scene.files.calls.count("fsync") == 6  # an earlier attempt may have died before it did


def test_another_percept_that_is_still_there_may_say_the_same(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "memory")
    scene.scrub(live={TWIN, REST}.__contains__)
    found = scene.found()
    assert found["backup/s1.20260103T000000.000000Z.json"] == image("s1", percept(TWIN, TEXT))
    # What was but another wording of it is one of the forgotten texts all the same.
    assert found["backup/s2.20260103T000000.000000Z.json"] != image("s2", percept(TWIN, FIRST))
    (twin,) = image_from_bytes("s2", found["backup/s2.20260103T000000.000000Z.json"]).image.percepts
    assert (twin.content, twin.wordings) == (FIRST, ())


def test_texts_are_known_from_copies_journals_and_files(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "memory")
    assert texts_of(scene.files, str(scene.directory), [GONE]) == TEXTS
    assert texts_of(scene.files, str(scene.directory), [TWIN]) == {TEXT, EARLIER, FIRST}
    assert texts_of(scene.files, str(scene.directory), []) == set()
    (scene.directory / "s9.json").write_bytes(go_file((GONE, "in a file")))
    (scene.own / "journal.00000004-0123abcd").write_bytes(put(GONE, "in a journal"))
    (scene.own / "journal.txt").write_bytes(put(GONE, "in no journal"))
    more = texts_of(scene.files, str(scene.directory), [GONE]) - TEXTS
    assert more == {"in a file", "in a journal"}


def test_what_the_journal_writes_is_understood(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "memory", {"backup/s4.json": b"{}"})
    journal = Journal.create(
        scene.files, str(scene.own / "backup"), store="s", number=1, base=0, writer="milkd"
    )
    puts = (PerceptPut("s1", percept(GONE, TEXT, SPOKEN)), PerceptPut("s1", percept(TWIN, FIRST)))
    odd = Annotated("s1", {}, (("percepts", 0, {"id": GONE, "content": EARLIER, "w": "high"}),))
    journal.append([Entry(1, 0.0, "record", puts), Entry(2, 0.0, "merge", (odd,))], 0)
    journal.close()
    assert texts_of(scene.files, str(scene.directory), [GONE]) == {TEXT, SPOKEN, EARLIER}
    scene.scrub()
    assert scene.found().keys() == {"backup/s4.json"}


def test_where_there_is_nothing_there_is_nothing_to_do(tmp_path: Path) -> None:
    files, store = Files(), str(tmp_path / "nowhere")
    scrub(files, store, ids=["a"], texts=["t"], live=bool)
    assert texts_of(files, store, ["a"]) == set()
    scene = Scene(tmp_path / "memory", {"backup/a.json": b"{}"})
    os.symlink("nowhere", scene.own / "backup" / "dangling.json")
    os.mkfifo(scene.own / "backup" / "pipe")
    scene.scrub()


def test_a_session_may_be_named_like_a_journal(tmp_path: Path) -> None:
    name = "backup/journal.00000001-0123abcd.20260101T000000.000000Z.json"
    scene = Scene(tmp_path / "memory", {name: image("s1", percept(REST, "rest"))})
    scene.scrub()
    assert name in scene.found()


# Failures


def attempt(scene: Scene) -> str:
    try:
        scene.scrub()
    except OSError:
        return "failed"
    except Death:
        return "died"
    return "done"


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The file calls that it takes."""
    scene = Scene(tmp_path_factory.mktemp("scene") / "memory", FEW)
    scene.files.arm(0)
    scene.scrub()
    return scene.files.calls


@pytest.mark.parametrize("error", [errno.EIO, Death])
def test_after_any_failure_the_ids_are_enough_to_finish(
    tmp_path: Path, calls: list[str], error: int | type[Death]
) -> None:
    for number, name in enumerate(calls, start=1):
        scene = Scene(tmp_path / str(number), FEW)
        scene.files.arm(number, error)
        outcome = attempt(scene)
        if error is Death:
            assert outcome == "died"
        elif outcome == "done":
            assert name in ("close", "fstat", "stat"), "a failure that matters went unnoticed"
            scene.check()
        scene.files.arm(0)
        scene.scrub()
        scene.check()


def test_a_disk_that_fails_for_good_is_told_of(tmp_path: Path, calls: list[str]) -> None:
    for number, name in enumerate(calls, start=1):
        scene = Scene(tmp_path / str(number), FEW)
        scene.files.arm(number, errno.ENOSPC, for_ever=True)
        assert attempt(scene) == "failed" or (number, name) == (len(calls), "close")


def test_a_short_write_is_continued(tmp_path: Path, calls: list[str]) -> None:
    for number in [n for n, name in enumerate(calls, start=1) if name == "write"]:
        scene = Scene(tmp_path / str(number), FEW)
        scene.files.arm(number)
        scene.scrub()
        scene.check()


class Stubborn(Files):
    """Does not let go of one file."""

    def __init__(self, name: str) -> None:
        self._name = name

    def unlink(self, path: str) -> None:
        if path.endswith(self._name):
            raise OSError(errno.EPERM, "not this one", path)
        super().unlink(path)


def test_what_fails_does_not_spare_the_rest(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "memory")
    with pytest.raises(OSError, match="not this one"):
        scrub(
            Stubborn("journal.00000001-89abcdef"),
            str(scene.directory),
            ids=[GONE],
            texts=[],
            live=REST.__eq__,
            keep={KEPT},
        )
    (scene.own / "quarantine" / "journal.00000001-89abcdef").unlink()
    scene.check()


def test_the_copies_that_tell_the_texts_outlast_those_that_only_they_can_find(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path / "memory")
    stuck = "s1.20260103T000000.000000Z-1.json"  # has a text, and no id
    with pytest.raises(OSError, match="not this one"):
        scrub(Stubborn(stuck), str(scene.directory), ids=[GONE], texts=[], live=REST.__eq__)
    assert texts_of(scene.files, str(scene.directory), [GONE]) == TEXTS
    assert "quarantine/s2.20260103T000000.000000Z.json" not in scene.found()
    scene.scrub()
    scene.check()


def test_a_large_store_with_five_backups_takes_less_than_two_seconds(tmp_path: Path) -> None:
    some = tuple(
        percept(
            f"{n:08x}-0000-4000-8000-000000000000", f"fact {n} says {'&' * (n % 8 == 0)} {n * 7}"
        )
        for n in range(10_000)
    )
    data = image_to_bytes(ScopeImage(name="global", percepts=(*some, percept(GONE, TEXT))), SEALING)
    names = [f"backup/global.2026010{n}T000000.000000Z.json" for n in range(5)]
    scene = Scene(tmp_path / "memory", dict.fromkeys(names, data))
    start = time.process_time()
    scene.scrub(TEXT)
    assert time.process_time() - start < 2.0 or sys.gettrace() is not None
    for name in names:
        loaded = image_from_bytes("global", (scene.own / name).read_bytes())
        assert (loaded.image.percepts, loaded.sealed) == (some, Seal.OURS)


def test_a_rewritten_copy_is_a_file_of_its_own(tmp_path: Path) -> None:
    """A backup may be the same file as the scope's, by another name."""
    name = "backup/global.20260103T000000.000000Z.json"
    scene = Scene(tmp_path / "memory", {name: b"{}"})
    save(scene.files, str(scene.directory / "s1.json"), image("s1", *BOTH))
    os.unlink(scene.own / name)
    os.link(scene.directory / "s1.json", scene.own / name)
    scene.scrub()
    assert (scene.directory / "s1.json").read_bytes() == image("s1", *BOTH)
    assert GONE.encode() not in (scene.own / name).read_bytes()
