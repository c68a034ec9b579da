"""Operations that were done, by `op_id`, so that doing one again does nothing.

A client that lost the reply repeats its request under the same id and gets the
first result.  An operation that failed, at once or on its way to the disk, is
not remembered: repeating it tries again.  Of what an earlier process did, the
result is known without its texts.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from milkd.daemon.batches import Answer
from milkd.daemon.pruning import prune, with_texts
from milkd.errors import Conflict
from milkd.store.entries import Done

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from milkd.daemon.pruning import Content


@dataclass(frozen=True, slots=True)
class Operation:
    """A request that may be repeated."""

    op_id: str
    digest: str
    method: str


def operation(op_id: str, method: str, arguments: Mapping[str, object]) -> Operation:
    """The operation that a request stands for; equal arguments give an equal one."""
    text = json.dumps([method, arguments], sort_keys=True)
    digest = hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()
    return Operation(op_id, digest, method)


def done_of(operation: Operation, body: Mapping[str, object]) -> Done:
    """What is kept for good of an operation that got this answer."""
    result = prune(operation.method, body)
    return Done(operation.op_id, operation.digest, operation.method, result)


def _unknown(_: str) -> None:
    return None


class Replays:
    """The last operations and their answers."""

    def __init__(self, capacity: int, content: Content = _unknown) -> None:
        """Remember nothing yet.

        Args:
            capacity: How many operations are remembered.
            content: The words of a fact that is still there, by its id.
        """
        self._capacity = capacity
        self._content = content
        self._done: OrderedDict[str, tuple[Done, Answer]] = OrderedDict()

    def find(self, wanted: Operation | None) -> Answer | None:
        """The answer that the operation got, or None when it is new.

        Raises:
            Conflict: The id was used for another request.
        """
        found = self._done.get(wanted.op_id) if wanted is not None else None
        if wanted is None or found is None:
            return None
        done, answer = found
        if answer.failed:
            del self._done[wanted.op_id]
            return None
        if done.digest != wanted.digest:
            raise Conflict("op_id: was used for a request with another method or arguments")
        return answer

    def remember(self, wanted: Operation | None, answer: Answer, done: Done | None = None) -> None:
        """Keep an answer; the oldest one is forgotten.

        Args:
            wanted: The operation; nothing is kept of a request that is none.
            answer: Its answer.
            done: What is kept of it for good, if that is known already.
        """
        if wanted is not None:
            self._keep(done or done_of(wanted, answer.body()), answer)

    def load(self, dones: Iterable[Done]) -> None:
        """Take in what earlier processes did, oldest first; of equal ids the last one counts."""
        for done in dones:
            self._keep(done, Answer(partial(self._replayed, done)))

    def dones(self) -> list[Done]:
        """What to keep for good, oldest first: all that was done and not undone.

        Some of it may be on its way to the disk still: whoever writes this down waits until
        that has arrived, as with everything else in memory.
        """
        return [done for done, answer in self._done.values() if not answer.failed]

    def _keep(self, done: Done, answer: Answer) -> None:
        self._done[done.op_id] = (done, answer)
        self._done.move_to_end(done.op_id)
        if len(self._done) > self._capacity:
            self._done.popitem(last=False)

    def _replayed(self, done: Done) -> dict[str, object]:
        return with_texts(done, self._content) | {"replayed": True}
