"""What the journal holds: one entry for each thing done, as JSON that loses nothing.

The payload of an entry is one line of ASCII, so that neither a text nor a newline in
it can be taken for the beginning or the end of a record.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.store.changes import change_from_json, change_to_json
from milkd.store.exact import member, real
from milkd.store.fields import filled_string, flag, strings, wrong
from milkd.store.gojson import shown

if TYPE_CHECKING:
    from milkd.engine.changes import Change
    from milkd.store.fields import Fields

MAX_RECORD = 64 << 20  # bytes of a payload; an operation is parted long before


class RecordTooLong(ValueError):
    """An entry is larger than a record may be; nothing was written."""


@dataclass(frozen=True, slots=True)
class Done:
    """An operation that was done, to be answered again.

    Attributes:
        op_id: The name that its client gave it.
        digest: Of method and arguments, in hex.
        method: Which was called.
        result: Ids, numbers, booleans and statuses; never a text.
    """

    op_id: str
    digest: str
    method: str
    result: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing done, whole: after a crash all of its changes are there, or none.

    Attributes:
        seq: One more than that of the entry before.
        at: Wall time.
        kind: A method's name, or `uses`, `merge`, `import`.
        changes: What became of it, in order.
        done: The operation, if it may be repeated.
        scrub: Ids of percepts of which no trace may stay.
        more: The next entry belongs to the same operation, which was too large for one.
    """

    seq: int
    at: float
    kind: str
    changes: tuple[Change, ...]
    done: Done | None = None
    scrub: tuple[str, ...] = ()
    more: bool = False


def entry_to_payload(entry: Entry, durable: int) -> bytes:
    """The payload of an entry.

    Args:
        entry: Changes that are not for the journal are left out of it.
        durable: The newest sequence number known to be durable, for telling a torn batch
            from a lost record later on.

    Raises:
        RecordTooLong: It has more than `MAX_RECORD` bytes.
        ValueError: JSON knows no such number.
    """
    objects = map(change_to_json, entry.changes)
    payload: dict[str, object] = {
        "s": entry.seq,
        "d": durable,
        "t": entry.kind,
        "at": entry.at,
        "ch": [obj for obj in objects if obj is not None],
    }
    if entry.done is not None:
        done = entry.done
        payload |= {"oid": done.op_id, "dig": done.digest, "op": done.method, "res": done.result}
    if entry.scrub:
        payload["scrub"] = entry.scrub
    if entry.more:
        payload["more"] = True
    text = _encode(payload).encode("ascii")
    if not fits(text):
        raise RecordTooLong(f"entry {entry.seq} has {len(text)} bytes, at most {MAX_RECORD} fit")
    return text


def fits(payload: bytes) -> bool:
    """Whether a record can hold the payload."""
    return len(payload) <= MAX_RECORD


def parse_payload(payload: bytes) -> Fields:
    """The object that a payload is.

    Raises:
        ValueError: It is not ASCII JSON, nests too deep, or has a number that no float can hold.
    """
    try:
        obj = _decode(payload.decode("ascii"))
    except RecursionError as error:
        raise ValueError("nests too deep") from error
    return _object(obj)


def entry_from_payload(obj: object) -> Entry:
    """The entry of a payload's value.

    Raises:
        ValueError: Names the key, what was found and what was expected.
    """
    if not isinstance(obj, Mapping):
        raise ValueError(f"found {shown(obj)}, expected an object")
    seq, _ = numbers_of(obj)
    return Entry(
        seq,
        real(obj, "at"),
        filled_string(obj, "t"),
        _changes(obj),
        _done(obj),
        strings(obj, "scrub"),
        flag(obj, "more"),
    )


def numbers_of(obj: Fields) -> tuple[int, int]:
    """The sequence number of an entry, and the one that was durable when it was written.

    Raises:
        ValueError: One is missing, or they cannot belong together.
    """
    seq, durable = obj.get("s"), obj.get("d")
    if type(seq) is not int or seq < 1:
        raise wrong("s", seq, "a whole number, 1 or more")
    if type(durable) is not int or not 0 <= durable < seq:
        raise wrong("d", durable, "a whole number, less than s")
    return seq, durable


def _object(obj: object) -> Fields:
    if not isinstance(obj, dict):
        raise ValueError(f"found {shown(obj)}, expected an object")
    return obj


def _changes(obj: Fields) -> tuple[Change, ...]:
    found = obj.get("ch")
    if not isinstance(found, list):
        raise wrong("ch", found, "a list")
    changes: list[Change] = []
    try:
        # No comprehension: the error says how far it came.
        for each in found:
            changes.append(change_from_json(each))  # noqa: PERF401
    except ValueError as error:
        raise ValueError(f"ch[{len(changes)}]: {error}") from error
    return tuple(changes)


def _done(obj: Fields) -> Done | None:
    if "oid" not in obj:
        return None
    op_id, digest, method = (filled_string(obj, key) for key in ("oid", "dig", "op"))
    return Done(op_id, digest, method, member(obj, "res"))


def _plain(value: object) -> object:
    """What the encoder does not know: mappings that are no dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in the journal")


def _refuse(literal: str) -> object:
    raise ValueError(f"the number {literal} is refused")


def _finite(literal: str) -> float:
    value = float(literal)
    if math.isinf(value):
        raise ValueError(f"the number {literal[:40]} is refused")
    return value


# json.dumps and json.loads would make these anew each time.
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain).encode
_decode = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite).decode
