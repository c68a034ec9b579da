"""The operations that were done, as a file: `.milkd/operations.json`.

One line an operation, oldest first, with its result as far as that is kept: no
texts.  Losing the file costs that a request which is repeated is done twice, so
damage in it is no reason to stop.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.errors import StoreDamaged
from milkd.store.entries import Done
from milkd.store.files import read_file
from milkd.store.gojson import parse, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from milkd.store.files import Files

FILE = "operations.json"
FORMAT = 1
MAX_SIZE = 64 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the last checkpoint left besides the scopes' files.

    Attributes:
        seq: The newest entry as of which it was taken.
        operations: Those that were done, oldest first.
        files: As of which entry each scope's file was left.
        note: What is wrong with the file that tells all of this; empty if nothing is.
    """

    seq: int = 0
    operations: tuple[Done, ...] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    note: str = ""


def operations_to_bytes(
    store: str, seq: int, dones: Iterable[Done], files: Mapping[str, int] | None = None
) -> bytes:
    """The file.

    Args:
        store: Id of the store.
        seq: The newest sequence number whose operation is in it.
        dones: The operations, oldest first.
        files: As of which entry each scope's file is left.
    """
    # Row by row, so that a thread which does this lets others run in between.
    rows = [json.dumps([done.op_id, done.digest, done.method, done.result]) for done in dones]
    about = {"format": FORMAT, "store": store, "seq": seq, "files": dict(files or {})}
    head = json.dumps(about)[:-1]
    listed = "[\n" + ",\n".join(rows) + "\n]" if rows else "[]"
    return f'{head}, "operations": {listed}}}\n'.encode("ascii")


def operations_from_bytes(data: bytes, store: str | None = None) -> tuple[int, list[Done]]:
    """The sequence number and the operations of a file.

    Args:
        data: All of it.
        store: Id of the store that it must be of; None takes any.

    Raises:
        StoreDamaged: It cannot be understood, or is of another store.
    """
    remembered = _remembered(data, store)
    return remembered.seq, list(remembered.operations)


def _remembered(data: bytes, store: str | None) -> Remembered:
    found = parse(FILE, data).value
    if not isinstance(found, dict):
        raise _wrong("the file", found, "an object")
    if found.get("format") != FORMAT:
        raise _wrong("format", found.get("format"), str(FORMAT))
    if store is not None and found.get("store") != store:
        raise _wrong("store", found.get("store"), store)
    operations = tuple(_done(number, row) for number, row in enumerate(_rows(found)))
    return Remembered(_seq(found), operations, _files(found))


def _seq(found: Mapping[str, object]) -> int:
    seq = found.get("seq")
    if type(seq) is not int or seq < 0:
        raise _wrong("seq", seq, "a number, 0 or more")
    return seq


def _rows(found: Mapping[str, object]) -> list[object]:
    rows = found.get("operations")
    if not isinstance(rows, list):
        raise _wrong("operations", rows, "a list")
    return rows


def _done(number: int, row: object) -> Done:
    match row:
        case [str() as op_id, str() as digest, str() as method, dict() as result]:
            return Done(op_id, digest, method, result)
    raise _wrong(f"operations[{number}]", row, "a list of id, digest, method and result")


def _wrong(what: str, found: object, expected: str) -> StoreDamaged:
    return StoreDamaged(f"{FILE}: {what}: found {shown(found)}, expected {expected}")


def read_operations(files: Files, own: str, store: str | None) -> Remembered:
    """What the file in milkd's own directory holds; nothing, with a note, if it is damaged."""
    try:
        data, _ = read_file(files, os.path.join(own, FILE), MAX_SIZE)
        return _remembered(data, store)
    except FileNotFoundError:
        return Remembered()
    except (OSError, StoreDamaged) as error:
        note = f"the results of earlier operations cannot be read ({error}); a client that "
        return Remembered(note=note + "repeats one of them may do it twice")


def _files(found: Mapping[str, object]) -> dict[str, int]:
    listed = found.get("files")
    if not isinstance(listed, dict):
        return {}
    return {scope: seq for scope, seq in listed.items() if type(seq) is int}
