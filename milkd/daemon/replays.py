"""Operations that were done, by `op_id`, so that doing one again does nothing.

A client that lost the reply repeats its request under the same id and gets the
first result.  An operation that failed, at once or on its way to the disk, is
not remembered: repeating it tries again.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.daemon.batches import Answer


@dataclass(frozen=True, slots=True)
class Operation:
    """A request that may be repeated."""

    op_id: str
    digest: bytes


def operation(op_id: str, method: str, arguments: Mapping[str, object]) -> Operation:
    """The operation that a request stands for; equal arguments give an equal one."""
    text = json.dumps([method, arguments], sort_keys=True)
    return Operation(op_id, hashlib.blake2b(text.encode("ascii"), digest_size=16).digest())


class Replays:
    """The last operations and their answers."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._done: OrderedDict[str, tuple[bytes, Answer]] = OrderedDict()

    def find(self, wanted: Operation | None) -> Answer | None:
        """The answer that the operation got, or None when it is new.

        Raises:
            Conflict: The id was used for another request.
        """
        found = self._done.get(wanted.op_id) if wanted is not None else None
        if wanted is None or found is None:
            return None
        digest, answer = found
        if answer.failed:
            del self._done[wanted.op_id]
            return None
        if digest != wanted.digest:
            raise Conflict("op_id: was used for a request with another method or arguments")
        return answer

    def remember(self, done: Operation | None, answer: Answer) -> None:
        """Keep an answer; the oldest one is forgotten."""
        if done is None:
            return
        self._done[done.op_id] = (done.digest, answer)
        if len(self._done) > self._capacity:
            self._done.popitem(last=False)
