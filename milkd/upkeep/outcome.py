"""What a repair finds, does and leaves, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.store.salvage import Span


@dataclass(frozen=True, slots=True)
class Way:
    """One way out of a problem that somebody must choose.

    Attributes:
        command: What to type.
        effect: What that does.
    """

    command: str
    effect: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        file: Which file, from the directory of the store on.
        sentence: What is wrong with it.
        ways: The ways out; none if there is nothing to choose.
    """

    file: str
    sentence: str
    ways: tuple[Way, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What became of a repair.

    Attributes:
        store: The directory.
        dry_run: Whether nothing was touched, for that was asked for.
        problems: What was wrong.
        done: What was done about it, or would be.
        saved: How many entries the damaged journals gave; None if none was damaged.
        lost: The numbers of the entries that are nowhere.
        kept: Where what was replaced is now, from the directory of the store on.
        declined: Why something that was asked for was not done.
        running: The milkd that works on the store meanwhile, which only a dry run allows.
    """

    store: str
    dry_run: bool
    problems: list[Problem] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    saved: int | None = None
    lost: tuple[Span, ...] = ()
    kept: list[str] = field(default_factory=list)
    declined: str = ""
    running: str | None = None

    @property
    def waiting(self) -> int:
        """How many problems wait for a choice."""
        return sum(bool(problem.ways) for problem in self.problems)

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be chosen, and all that was asked for is done."""
        return not self.waiting and not self.declined

    def to_json(self) -> dict[str, object]:
        """The outcome as plain values."""
        journal = None
        if self.saved is not None:
            journal = {"saved": self.saved, "lost": [list(span) for span in self.lost]}
        return {
            "store": self.store,
            "dry_run": self.dry_run,
            "settled": self.settled,
            "problems": [
                {"file": each.file, "sentence": each.sentence}
                | {"ways": [{"command": w.command, "effect": w.effect} for w in each.ways]}
                for each in self.problems
            ],
            "journal": journal,
            "done": self.done,
            "kept": self.kept,
            "declined": self.declined or None,
            "running": self.running,
        }


def numbers(spans: Sequence[Span]) -> str:
    """Numbers of entries in words, with a verb: `entry 4 is`, `entries 4, 7 to 9 are`."""
    said = ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in spans)
    one = sum(last - first + 1 for first, last in spans) == 1
    return f"entry {said} is" if one else f"entries {said} are"
