"""How much of a block has been taken, and what more may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.engine.rendering import FRAME_BYTES, render

if TYPE_CHECKING:
    from milkd.engine.commands import Inject
    from milkd.engine.memory import Memory

FITS = "fits the budget"
SHORTEST = len("- x\n")
MISFITS = 64
"""So many in a row that did not fit end a block: what comes after the best that do not fit bears
on the prompt less and less, and in a large store there are thousands of them."""


@dataclass(slots=True)
class Budget:
    """The facts of a block as they come, and the room that is left for others.

    Attributes:
        max_facts: At most so many lines.
        max_bytes: Of the whole rendered block, at most.
    """

    max_facts: int
    max_bytes: int
    lines: dict[str, str] = field(default_factory=dict)
    """By id, the results in order, then the neighbours."""
    _beside: dict[str, list[str]] = field(default_factory=dict)
    """By result, the ids of what stands behind it."""
    size: int = FRAME_BYTES
    _misfits: int = 0

    @classmethod
    def of(cls, memory: Memory, command: Inject) -> Budget:
        """The budget that the command sets, or the knobs."""
        params = memory.params
        return cls(
            params.percept_inject_max if command.max_facts is None else command.max_facts,
            params.percept_inject_max_bytes if command.max_bytes is None else command.max_bytes,
        )

    def is_spent(self) -> bool:
        """Whether no further fact can fit, or too many in a row did not."""
        return (
            len(self.lines) >= self.max_facts
            or self.size + SHORTEST > self.max_bytes
            or self._misfits >= MISFITS
        )

    def begin_neighbours(self) -> None:
        """The results have had their turn; what did not fit among them says nothing of others."""
        self._misfits = 0

    def take(self, percept_id: str, line: str, *, of: str | None = None) -> str:
        """Take a line if it fits; gives the reason why it is in or out.

        Args:
            percept_id: Whose line it is.
            line: Without its end.
            of: The result behind which it stands; None: it is one itself.
        """
        cost = len(line.encode()) + 1
        if len(self.lines) >= self.max_facts:
            return f"after the first {self.max_facts} facts"
        if self._misfits >= MISFITS:
            return f"{MISFITS} before it in a row did not fit"
        if self.size + cost > self.max_bytes:
            self._misfits += 1
            return f"{cost} bytes do not fit, {max(0, self.max_bytes - self.size)} are left"
        self.lines[percept_id] = line
        self._beside.setdefault(of or percept_id, []).append(percept_id)
        self.size += cost
        self._misfits = 0
        return FITS

    def rendered(self) -> str:
        """The block: each result, and behind it what was taken as its neighbour."""
        return render([self.lines[each] for group in self._beside.values() for each in group])
