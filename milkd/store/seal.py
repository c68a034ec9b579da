"""The seal on a file: by it milkd tells what it wrote itself from what others wrote since.

The sum is over all bytes of the file with its own 64 digits taken as zeros.  They are
the last thing in it but brackets.  A program that rewrites the file drops the block
that holds them, an editor leaves it and changes the rest; a damaged disk does either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256

PREFIX = "sha256:"
ZEROS = b"0" * 64
OPEN = PREFIX + ZEROS.decode()
"""What stands for the sum while it is not known."""
SUM = re.compile(f"{PREFIX}([0-9a-f]{{64}})", re.ASCII)


class Seal(Enum):
    """Who wrote a file last, as far as its seal tells."""

    OURS = "ours"
    """The sum is right: it is byte for byte what a milkd wrote."""
    EDITED = "edited"
    """There is a block of milkd's, but no sum or a wrong one."""
    BARE = "bare"
    """There is no block of milkd's: milk wrote it, or another program."""
    NONE = "none"
    """There is no file."""


@dataclass(frozen=True, slots=True)
class Sealing:
    """What a file says of its writing besides its scope.

    Attributes:
        store: The id of the store.
        seq: The newest entry of the journal whose changes are in the file.
        written: Wall time.
    """

    store: str
    seq: int
    written: float


def is_sealed(data: bytes, told: object) -> bool:
    """Whether a file's bytes have the sum that its block tells."""
    found = SUM.fullmatch(told) if isinstance(told, str) else None
    place = data.rfind(found[1].encode()) if found else -1
    if not found or place < 0:
        return False
    whole = memoryview(data)
    total = sha256(whole[:place])
    total.update(ZEROS)
    total.update(whole[place + len(ZEROS) :])
    return total.hexdigest() == found[1]


class Sealer:
    """Sums up a file piece by piece; the last piece is given back with the sum in it."""

    def __init__(self) -> None:
        self._total = sha256()

    def add(self, piece: bytes) -> bytes:
        """Count a piece in."""
        self._total.update(piece)
        return piece

    def close(self, piece: bytes) -> bytes:
        """Count the last piece in, whose last 64 zeros become the sum."""
        self._total.update(piece)
        before, _, after = piece.rpartition(ZEROS)
        return before + self._total.hexdigest().encode() + after
