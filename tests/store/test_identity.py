"""Which store it is."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest

from faulty import FaultyFiles
from journalled import STORE
from milkd.store.files import Files
from milkd.store.identity import FILE, about, new_id, store_id
from milkd.store.journalfile import Journal

if TYPE_CHECKING:
    from pathlib import Path


def write_journal(directory: Path) -> None:
    made = Journal.create(Files(), str(directory), store=STORE, number=1, base=0, writer="test")
    made.close()


def test_a_store_that_milkd_never_wrote_to_has_no_id(tmp_path: Path) -> None:
    assert store_id(Files(), str(tmp_path / "own")) is None
    assert store_id(Files(), str(tmp_path)) is None


def test_ids_are_new_each_time() -> None:
    assert new_id() != new_id()
    assert new_id().count("-") == 4


def test_the_file_tells_the_id(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(about("the id", "2026-05-28"))
    assert store_id(Files(), str(tmp_path)) == "the id"
    assert json.loads((tmp_path / FILE).read_bytes()) == {
        "format": 1,
        "store": "the id",
        "created": "2026-05-28",
    }


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"{}", b'{"store": 5}', b'{"store": ""}', b"\x00\x00"]
)
def test_where_the_file_is_damaged_a_journal_tells_it(tmp_path: Path, text: bytes) -> None:
    (tmp_path / FILE).write_bytes(text)
    (tmp_path / "journal.00000000-0badcafe").write_bytes(b"")
    assert store_id(Files(), str(tmp_path)) is None
    write_journal(tmp_path)
    assert store_id(Files(), str(tmp_path)) == STORE


def test_where_the_file_is_gone_a_journal_tells_it(tmp_path: Path) -> None:
    write_journal(tmp_path)
    assert store_id(Files(), str(tmp_path)) == STORE


def test_a_file_that_the_disk_does_not_give_is_not_taken_for_gone(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(about("the id", "2026-05-28"))
    write_journal(tmp_path)
    files = FaultyFiles()
    files.arm(1, errno.EIO)
    with pytest.raises(OSError, match="Input/output error") as caught:
        store_id(files, str(tmp_path))
    assert caught.value.filename == str(tmp_path / FILE)
