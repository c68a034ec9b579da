"""What of the journal is not in the files yet."""

from __future__ import annotations

from journalled import DONE
from milkd.engine.changes import Awarded, Change, PerceptDropped
from milkd.store.entries import Entry
from milkd.store.unsaved import OPERATIONS, Unsaved


def entry(seq: int, *scopes: str, done: bool = False) -> Entry:
    changes: list[Change] = [PerceptDropped(scope, "p") for scope in scopes]
    return Entry(seq, 1.0, "test", (*changes, Awarded("p")), DONE if done else None)


def test_where_nothing_is_unsaved_everything_is_covered() -> None:
    unsaved = Unsaved()
    assert unsaved.covered(7) == 7
    unsaved.add([entry(8)])  # what only the process remembers
    assert unsaved.covered(8) == 8
    assert OPERATIONS not in unsaved


def test_what_is_covered_ends_before_the_oldest_unsaved_entry() -> None:
    unsaved = Unsaved()
    unsaved.add([entry(3, "global"), entry(4, "s1"), entry(5, "global", "archive")])
    assert unsaved.covered(5) == 2
    unsaved.saved("global", 5)
    assert unsaved.covered(5) == 3
    unsaved.saved("s1", 5)
    assert unsaved.covered(5) == 4
    unsaved.saved("archive", 5)
    assert unsaved.covered(5) == 5
    assert "archive" not in unsaved


def test_what_came_after_the_file_was_captured_is_still_unsaved() -> None:
    unsaved = Unsaved()
    unsaved.add([entry(3, "global"), entry(9, "global")])
    unsaved.saved("global", 5)
    assert unsaved.covered(9) == 5
    assert "global" in unsaved
    unsaved.saved("global", 4)
    assert unsaved.covered(9) == 5
    unsaved.saved("global", 9)
    assert unsaved.covered(9) == 9


def test_an_operation_is_unsaved_until_the_file_of_operations_has_it() -> None:
    unsaved = Unsaved()
    unsaved.add([entry(3, "global", done=True)])
    unsaved.saved("global", 3)
    assert unsaved.covered(3) == 2
    assert OPERATIONS in unsaved
    unsaved.saved(OPERATIONS, 3)
    assert unsaved.covered(3) == 3


def test_to_save_what_was_saved_is_nothing() -> None:
    unsaved = Unsaved()
    unsaved.saved("s1", 4)
    assert unsaved.covered(6) == 6
