"""What a check finds, for people and for programs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 5  # findings of one kind about one file that are told in full
BYTE = re.compile(r"\bbyte (\d+)")


class Level(StrEnum):
    """How bad a finding is.

    Attributes:
        OK: It is as it should be.
        NOTE: Worth knowing; milkd deals with it by itself.
        WARNING: Somebody should look at it; nothing is lost.
        ERROR: Something is lost or may be, or milkd cannot go on as it should.
    """

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        level: How bad it is.
        file: Which file, from the directory of the store on; `.` is that directory itself.
        sentence: What was found.
        offset: At which byte of the file, where that can be said.
    """

    level: Level
    file: str
    sentence: str
    offset: int | None = None


@dataclass(slots=True)
class Report:
    """All that was found in a store.

    Attributes:
        store: Its directory.
        holder: The milkd that has it in its hands meanwhile; None if none does.
    """

    store: str
    holder: str | None = None
    findings: list[Finding] = field(default_factory=list)

    def add(self, level: Level, file: str, sentence: str) -> None:
        """Note a finding; the first offset that its sentence tells is the finding's."""
        found = BYTE.search(sentence)
        offset = int(found[1]) if found and level != Level.OK else None
        self.findings.append(Finding(level, file, sentence, offset))

    def add_all(self, level: Level, file: str, sentences: Iterable[str]) -> None:
        """Note findings of one kind about a file: the first few, and how many more there are."""
        found = list(sentences)
        for sentence in found[:MOST]:
            self.add(level, file, sentence)
        if len(found) > MOST:
            self.add(level, file, f"{len(found) - MOST} more of these")

    @property
    def sound(self) -> bool:
        """Whether nothing is lost."""
        return not self.count(Level.ERROR)

    def count(self, level: Level) -> int:
        """How many findings are of a level."""
        return sum(finding.level == level for finding in self.findings)

    def to_json(self) -> dict[str, object]:
        """The report as plain values."""
        return {
            "store": self.store,
            "running": self.holder,
            "sound": self.sound,
            "findings": [
                {"level": each.level.value, "file": each.file, "sentence": each.sentence}
                | ({} if each.offset is None else {"offset": each.offset})
                for each in self.findings
            ],
        }


def counted(number: int, thing: str) -> str:
    """So many things: `1 entry`, `2 entries`."""
    if number == 1:
        return f"1 {thing}"
    return (
        f"{number:,} {thing.removesuffix('y')}ies" if thing[-1] == "y" else f"{number:,} {thing}s"
    )
