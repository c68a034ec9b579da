"""Operations that were done, in this process or before."""

from __future__ import annotations

from typing import Any

import pytest

from milkd.daemon.batches import Answer, Batch, at_once
from milkd.daemon.replays import Operation, Replays, done_of, operation
from milkd.errors import Conflict, StorageFull
from milkd.store.entries import Done
from milkd.store.operations import operations_from_bytes, operations_to_bytes

EDITED = {"id": "a1", "content": "four spaces", "w": 0.5, "wordings": [{"content": "tabs"}]}


def edit(op_id: str, content: str = "four spaces") -> Operation:
    return operation(op_id, "edit", {"ref": "a1", "content": content})


def restarted(replays: Replays, content: dict[str, str] | None = None) -> Replays:
    """What the next process knows."""
    _, dones = operations_from_bytes(operations_to_bytes("store", 1, replays.dones()))
    later = Replays(4, (content or {}).get)
    later.load(dones)
    return later


def answered(replays: Replays, wanted: Operation) -> dict[str, Any]:
    answer = replays.find(wanted)
    assert answer is not None
    assert not answer.pending
    return answer.body()


def test_an_operation_is_the_same_if_method_and_arguments_are() -> None:
    one = operation("op", "relate", {"from": "a", "to": "b"})
    assert one == operation("op", "relate", {"to": "b", "from": "a"})
    assert one.digest != operation("op", "unrelate", {"from": "a", "to": "b"}).digest
    assert (one.op_id, one.method, len(one.digest)) == ("op", "relate", 32)


def test_what_is_kept_for_good_has_no_text() -> None:
    wanted = edit("op")
    kept = {"id": "a1", "content": "", "w": 0.5}
    assert done_of(wanted, EDITED) == Done("op", wanted.digest, "edit", kept)
    replays = Replays(4)
    replays.remember(wanted, at_once(EDITED))
    assert replays.dones() == [done_of(wanted, EDITED)]
    assert answered(replays, wanted) == EDITED


def test_what_is_known_already_is_not_made_again() -> None:
    def never() -> dict[str, Any]:
        raise AssertionError("nobody asked for the answer")

    wanted, replays = edit("op"), Replays(4)
    replays.remember(wanted, Answer(never), done_of(wanted, EDITED))
    replays.remember(None, Answer(never))
    assert replays.dones() == [done_of(wanted, EDITED)]


def test_an_operation_survives_a_restart_without_its_texts() -> None:
    replays = Replays(4)
    replays.remember(edit("op"), at_once(EDITED))
    later = restarted(replays)
    assert answered(later, edit("op")) == {"id": "a1", "content": "", "w": 0.5, "replayed": True}
    assert later.find(edit("another")) is None
    with pytest.raises(Conflict, match="op_id: was used"):
        later.find(edit("op", "eight spaces"))
    assert restarted(later).dones() == replays.dones()


def test_words_are_put_back_as_they_are_when_the_answer_leaves() -> None:
    replays, words = Replays(4), {"a1": "four spaces"}
    replays.remember(edit("op"), at_once(EDITED))
    later = restarted(replays, words)
    answer = later.find(edit("op"))
    assert answer is not None
    assert answer.body()["content"] == "four spaces"
    del words["a1"]
    assert answer.body()["content"] == ""
    assert later.dones() == replays.dones()


def test_what_was_undone_is_not_kept() -> None:
    batch = Batch()
    replays = Replays(4)
    replays.remember(edit("op1"), Answer(lambda: EDITED, batch))
    replays.remember(edit("op2"), at_once(EDITED))
    assert [done.op_id for done in replays.dones()] == ["op1", "op2"]
    batch.settle(StorageFull("no room"))
    assert [done.op_id for done in replays.dones()] == ["op2"]
    assert replays.find(edit("op1")) is None


def test_the_oldest_are_forgotten_also_of_those_from_before() -> None:
    later = Replays(3)
    later.load([done_of(edit(f"op{n}"), EDITED) for n in range(5)])
    assert [done.op_id for done in later.dones()] == ["op2", "op3", "op4"]
    later.remember(edit("op5"), at_once(EDITED))
    assert [done.op_id for done in later.dones()] == ["op3", "op4", "op5"]
    assert later.find(None) is None


def test_of_equal_ids_the_last_one_counts_and_is_the_newest() -> None:
    later = Replays(2)
    later.load([done_of(edit(op_id, "x"), EDITED) for op_id in ("op1", "op2")])
    later.load([done_of(edit("op1"), EDITED | {"w": 0.25})])
    assert [done.op_id for done in later.dones()] == ["op2", "op1"]
    assert answered(later, edit("op1"))["w"] == 0.25
    later.remember(edit("op3"), at_once(EDITED))
    assert later.find(edit("op2", "x")) is None
