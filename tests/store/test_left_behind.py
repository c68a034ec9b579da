"""What a refused call leaves behind is not taken for something else at the next start."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest

from crashfs import Tree
from milkd.engine.changes import PerceptPut
from milkd.errors import Failure
from sitting import percept
from torture.faulty import FaultyFiles
from torture.keeper import STORE, Keeper
from torture.stories import edit, started

if TYPE_CHECKING:
    import os


class Stubborn(FaultyFiles):
    """Files of which, while `sick` is set, journals can neither be looked at nor deleted."""

    sick = False

    def stat(self, path: str) -> os.stat_result:
        if self.sick and "/journal." in path:
            raise OSError(errno.EIO, "Input/output error")
        return super().stat(path)

    def unlink(self, path: str) -> None:
        if self.sick:
            raise OSError(errno.EIO, "Input/output error")
        super().unlink(path)


def state(keeper: Keeper, number: int) -> None:
    keeper.append([keeper.entry((PerceptPut("global", percept(f"fact {number}", number)),))])


def test_an_empty_journal_that_could_not_be_deleted_is_no_gap() -> None:
    files = Stubborn(Tree.of())
    keeper = Keeper(files)
    files.sick = True
    before = keeper.shelf.copy()
    with pytest.raises(Failure):
        state(keeper, 1)
    keeper.shelf, keeper.seq, files.sick = before, 0, False

    state(keeper, 2)
    keeper.checkpoint()
    state(keeper, 3)

    again = Keeper(FaultyFiles(files.tree))
    assert again.refusal is None
    assert len(again.facts()["global"]) == 2


def test_a_file_that_was_edited_during_a_checkpoint_is_not_told_to_be_written() -> None:
    files = FaultyFiles(started())
    keeper = Keeper(files)
    state(keeper, 150)
    keeper.checkpoint(meanwhile=lambda: edit(files, "global", 201))

    told = json.loads(files.tree.texts()[f"{STORE}/.milkd/operations.json"])["files"]["global"]

    document = json.loads(files.tree.texts()[f"{STORE}/global.json"])
    assert told <= document["_milkd"]["seq"]
    assert not any("older version" in note for note in Keeper(FaultyFiles(files.tree)).notes)
