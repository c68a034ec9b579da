"""Cut a stream of records into messages of a size that the daemon takes."""

from __future__ import annotations

import msgpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from milkd.shapes import Json

__all__ = ["chunks"]

CHUNK_BYTES = 256 << 10  # a quarter of the longest message
CHUNK_RECORDS = 1_000


def chunks(
    records: Iterable[Mapping[str, Json]],
) -> Iterator[tuple[list[Mapping[str, Json]], bool]]:
    """Lists of records with whether it is the last one; one empty list if there are none."""
    chunk: list[Mapping[str, Json]] = []
    room = CHUNK_BYTES
    for record in records:
        size = len(msgpack.packb(record))
        if chunk and (size > room or len(chunk) == CHUNK_RECORDS):
            yield chunk, False
            chunk, room = [], CHUNK_BYTES
        chunk.append(record)
        room -= size
    yield chunk, True
