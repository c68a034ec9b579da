"""The form of the journal: records, and the header that is the first of them.

A record is one line, `J1 <length> <crc> <payload>`, numbers in hexadecimal.  The CRC
starts from the store's id and the generation, so a record of another file is none
here.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.store.entries import MAX_RECORD, parse_payload
from milkd.store.fields import filled_string, string, wrong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkd.store.fields import Fields

FORMAT = 1
MIN_READER = 1
# Every payload is an object with keys.  Within one, `{"` stands outside of strings only, for in
# a string the quote is escaped: so nothing that a payload quotes looks like a record.
START = re.compile(rb'J1 ([0-9a-f]{8}) ([0-9a-f]{8}) (?=\{")')
START_SIZE = len(b"J1 llllllll cccccccc ")


@dataclass(frozen=True, slots=True)
class Header:
    """What the first record of a journal says.  All formats to come have these keys.

    Attributes:
        store: Id of the store.
        gen: The generation, which is in the file's name too.
        base: The sequence number before the first entry's.
        fmt: The format it is written in.
        min_reader: The oldest format whose readers may touch it.
        writer: The program, for people.
        after: The newest entry that its writer found in the journals before it, where that is
            less than `base`: what was in between is known from the files alone.
    """

    store: str
    gen: str
    base: int
    fmt: int = FORMAT
    min_reader: int = MIN_READER
    writer: str = ""
    after: int | None = None


def seed_of(store: str, gen: str) -> int:
    """What the CRC of a journal's records starts from."""
    return zlib.crc32(f"{store}{gen}".encode("utf-8", "surrogatepass"))


def frame(payload: bytes, seed: int) -> bytes:
    """The record of a payload."""
    return b"J1 %08x %08x %b\n" % (len(payload), zlib.crc32(payload, seed), payload)


def header_frame(header: Header) -> bytes:
    """The first record of a journal."""
    payload = {
        "t": "H",
        "fmt": header.fmt,
        "min_reader": header.min_reader,
        "store": header.store,
        "gen": header.gen,
        "base": header.base,
        "writer": header.writer,
    }
    if header.after is not None:
        payload["after"] = header.after
    text = json.dumps(payload, separators=(",", ":"))
    return frame(text.encode("ascii"), seed_of(header.store, header.gen))


def record_size(payload: bytes) -> int:
    """How many bytes the record of a payload has."""
    return START_SIZE + len(payload) + 1


def records_from(data: bytes, where: int, seed: int | None) -> Iterator[tuple[int, bytes]]:
    """Offset and payload of each record from an offset on, whatever is between them."""
    # Damage costs each of its lines one look.  Only bytes made for it cost more; then, as
    # without a seed, the form of a record counts as one.
    patience = len(data)
    while (match := START.search(data, where)) is not None:
        where = match.end()
        shape = _shape_at(data, match.start())
        if shape is None:
            continue
        payload, crc = shape
        if seed is None or patience < 0 or zlib.crc32(payload, seed) == crc:
            yield match.start(), payload
            where = match.start() + record_size(payload)
        else:
            patience -= len(payload)


def payload_at(data: bytes, start: int, seed: int) -> bytes | None:
    """The payload of the record at an offset, if there is one."""
    shape = _shape_at(data, start)
    if shape is None or zlib.crc32(shape[0], seed) != shape[1]:
        return None
    return shape[0]


def _shape_at(data: bytes, start: int) -> tuple[bytes, int] | None:
    """Payload and CRC of what has the form of a record at an offset."""
    match = START.match(data, start)
    if match is None:
        return None
    begin = match.end()
    end = begin + int(match[1], 16)
    if end - begin > MAX_RECORD or data[end : end + 1] != b"\n":
        return None
    return data[begin:end], int(match[2], 16)


def header_of(data: bytes) -> tuple[Header, int] | None:
    """The header and where it ends, if its CRC confirms the store and generation it names."""
    shape = _shape_at(data, 0)
    if shape is None:
        return None
    try:
        header = _header_from(parse_payload(shape[0]))
    except ValueError:
        return None
    if zlib.crc32(shape[0], seed_of(header.store, header.gen)) != shape[1]:
        return None
    return header, record_size(shape[0])


def _header_from(obj: Fields) -> Header:
    if obj.get("t") != "H":
        raise wrong("t", obj.get("t"), "H")
    return Header(
        store=filled_string(obj, "store"),
        gen=filled_string(obj, "gen"),
        base=_whole(obj, "base", 0),
        fmt=_whole(obj, "fmt", 1),
        min_reader=_whole(obj, "min_reader", 1),
        writer=string(obj, "writer"),
        after=None if obj.get("after") is None else _whole(obj, "after", 0),
    )


def _whole(obj: Fields, key: str, low: int) -> int:
    value = obj.get(key)
    if type(value) is not int or value < low:
        raise wrong(key, value, f"a whole number, {low} or more")
    return value
