"""Journals one after the other: one sequence of entries, as far as each follows upon the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from milkd.store.journal import Header, Scan, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.store.entries import Entry


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the journals held at start.

    Attributes:
        entries: In order, whole operations only.
        base: The entry before the first one.
        newest: The highest sequence number ever used, as far as journals tell.
        refusal: Why nothing may be written to this store until somebody repaired it.
        notes: Sentences about what was found odd and needs nobody.
    """

    entries: tuple[Entry, ...] = ()
    base: int = 0
    newest: int = 0
    refusal: str | None = None
    notes: tuple[str, ...] = ()


class Chain:
    """Journals one after the other, joined where they follow upon each other."""

    def __init__(self) -> None:
        self.base = self.newest = 0
        self.refusal: str | None = None
        self._entries: list[Entry] = []
        self._notes: list[str] = []
        self._begun = False

    def add(self, name: str, scan: Scan) -> None:
        """Take what the next journal holds, unless one before it cannot be trusted."""
        if self.refusal is not None:
            return
        if scan.verdict in (Verdict.CORRUPT, Verdict.NEWER, Verdict.FOREIGN):
            self.refusal = f"{name}: {scan.problem}; `milkctl repair` tells what can be saved"
        elif scan.verdict is Verdict.TORN:
            self._notes.append(f"{name}: {scan.problem}")
        if scan.header is not None and self._follows(name, scan.header):
            self._entries += whole(scan.entries)
            last = self._entries[-1].seq if self._entries else 0
            self.newest = max(last, scan.header.base)

    def recovered(self) -> Recovered:
        """All that can be relied on."""
        return Recovered(
            tuple(self._entries), self.base, self.newest, self.refusal, tuple(self._notes)
        )

    def _follows(self, name: str, header: Header) -> bool:
        """Whether a journal continues what came before; what its writer did not take goes."""
        after = header.base if header.after is None else header.after
        if self._begun and after > self.newest:
            self.refusal = (
                f"{name} begins after entry {after}, but the journals before it end with "
                f"{self.newest}: one is missing; `milkctl repair` tells what can be saved"
            )
            return False
        if not self._begun:
            self._begun, self.base = True, header.base
        while self._entries and self._entries[-1].seq > after:
            self._entries.pop()
        return True


def whole(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries without the beginning of an operation whose end was not written."""
    end = len(entries)
    while end and entries[end - 1].more:
        end -= 1
    return entries[:end]
