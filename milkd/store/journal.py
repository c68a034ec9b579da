"""Reading a journal after whatever happened: bytes in, values out, never an exception.

Every entry says which one was durable when it was written.  By that a reader tells
a batch that a crash tore, and that nobody was told of, from a record that was on
disk and is damaged now.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from milkd.store.entries import (
    MAX_RECORD,
    entry_from_payload,
    fits,
    numbers_of,
    parse_payload,
)
from milkd.store.framing import (
    FORMAT,
    Header,
    frame,
    header_frame,
    header_of,
    payload_at,
    record_size,
    records_from,
    seed_of,
)

if TYPE_CHECKING:
    from milkd.store.entries import Entry

__all__ = [
    "FORMAT",
    "MAX_RECORD",
    "Header",
    "Scan",
    "Verdict",
    "fits",
    "frame",
    "header_frame",
    "scan",
    "seed_of",
]

MAX_HEADER = 512  # bytes, with the id of a store; a longer file has had entries


class Verdict(Enum):
    """What became of a journal.

    Attributes:
        CLEAN: It ends where a record ends.
        TORN: A crash cut off what nobody was told of; the rest is good.
        CORRUPT: Something that was on disk is gone or changed.
        FOREIGN: It belongs to another store, or has another file's name.
        NEWER: Only a newer milkd may read it.
    """

    CLEAN = "clean"
    TORN = "torn"
    CORRUPT = "corrupt"
    FOREIGN = "foreign"
    NEWER = "newer"


@dataclass(frozen=True, slots=True)
class Scan:
    """What a journal holds.

    Attributes:
        header: None if it is not valid.
        entries: Those before the first thing that is wrong.
        verdict: What to make of it.
        good_end: The offset up to which it is good.
        size: Of the whole.
        problem: A sentence about what is wrong, with the offset; empty if nothing is.
    """

    header: Header | None
    entries: tuple[Entry, ...]
    verdict: Verdict
    good_end: int
    size: int
    problem: str = ""


def scan(data: bytes, *, store: str | None, gen: str) -> Scan:
    """Read a journal.  Whatever the bytes are, this ends in a verdict, in linear time.

    Args:
        data: The whole file.
        store: The store's id; None believes the header.
        gen: The generation, from the file's name.
    """
    found = header_of(data)
    if found is None:
        return _headless(data, None if store is None else seed_of(store, gen))
    header, end = found
    if header.gen != gen or store not in (None, header.store):
        if header.store == store and _is_left_over(data, header, end):
            told = "the header at byte 0 is what the disk held there before"
            return Scan(None, (), Verdict.TORN, 0, len(data), told)
        whose = f"generation {header.gen} of store {header.store}"
        return Scan(header, (), Verdict.FOREIGN, 0, len(data), f"at byte 0 begins {whose}")
    read = _read_entries(data, header, end)
    if header.min_reader > FORMAT:
        needed = f"the header at byte 0 asks for a reader of format {header.min_reader}"
        return replace(read, verdict=Verdict.NEWER, problem=f"{needed}, this is one of {FORMAT}")
    return read


def _is_left_over(data: bytes, other: Header, end: int) -> bool:
    """Whether a power cut may have left an older journal's header where ours was to be.

    Then nothing was written behind ours, since that waits for the header to be on disk.
    """
    known = other.min_reader <= FORMAT and len(data) <= MAX_HEADER
    return known and not _read_entries(data, other, end).entries


def _headless(data: bytes, seed: int | None) -> Scan:
    """A file that nobody wrote to before its header was on disk, or that lost its header."""
    # Without a seed the form alone counts, and that of the header itself says nothing.
    for where, _ in records_from(data, 1 if seed is None else 0, seed):
        problem = f"the header at byte 0 is damaged, and a record follows at byte {where}"
        return Scan(None, (), Verdict.CORRUPT, 0, len(data), problem)
    if len(data) > MAX_HEADER:
        # Nothing is written behind a header before that is on disk; zeros, say, came later.
        problem = f"the header at byte 0 is gone, and whatever was in the {len(data)} bytes of it"
        return Scan(None, (), Verdict.CORRUPT, 0, len(data), problem)
    return Scan(None, (), Verdict.TORN, 0, len(data), "the header at byte 0 is not complete")


def _read_entries(data: bytes, header: Header, start: int) -> Scan:
    seed = seed_of(header.store, header.gen)
    entries: list[Entry] = []
    position = start
    while (payload := payload_at(data, position, seed)) is not None:
        try:
            entry = entry_from_payload(parse_payload(payload))
        except ValueError as error:
            said = f"the record at byte {position} is no entry: {error}"
            return Scan(header, tuple(entries), Verdict.CORRUPT, position, len(data), said)
        if entry.seq != header.base + len(entries) + 1:
            break
        entries.append(entry)
        position += record_size(payload)
    verdict, said = _judge(data, position, header.base + len(entries) + 1, seed)
    return Scan(header, tuple(entries), verdict, position, len(data), said)


def _judge(data: bytes, position: int, expected: int, seed: int) -> tuple[Verdict, str]:
    """What to make of it that at an offset there is not the entry expected."""
    if position == len(data):
        return Verdict.CLEAN, ""
    missing = f"record {expected} is not whole at byte {position}"
    for where, payload in records_from(data, position, seed):
        if said := _testimony(payload, expected):
            return Verdict.CORRUPT, f"{missing}, but the one at byte {where} {said}"
    return Verdict.TORN, f"{missing}: the last {len(data) - position} bytes were being written"


def _testimony(payload: bytes, expected: int) -> str:
    """What a later record says that no crash explains; empty if it is of the same batch."""
    try:
        seq, durable = numbers_of(parse_payload(payload))
    except ValueError as error:
        return f"is no entry: {error}"
    if seq <= expected:
        return f"is record {seq}"
    return f"says that {durable} was on disk" if durable >= expected else ""
