"""What a caller was shown, so that repeating it is no evidence and no news.

A caller is a session, or a connection that names none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from milkd.engine.changes import Shown


class Line(NamedTuple):
    """How a percept was last injected."""

    turn: int
    text: str


@dataclass(slots=True)
class Audience:
    """One caller's memory of what it saw."""

    turn: int = 0
    """Prompts so far."""
    prompt: str | None = None
    """The prompt of the present turn, if it is known."""
    lines: dict[str, Line] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    """Ids shown in any way."""

    def take(self, shown: Shown) -> None:
        """Remember what was shown; a prompt begins a turn."""
        if shown.prompt is not None:
            self.turn += 1
            self.prompt = shown.prompt
            self.lines |= {i: Line(self.turn, text) for i, text in shown.lines.items()}
        self.seen.update(shown.lines)  # |= of keys would copy all that was seen

    def repeats(self, percept_id: str, text: str, turns: int) -> bool:
        """Whether the line would come again within so many turns, counting the one to come."""
        last = self.lines.get(percept_id)
        return last is not None and last.text == text and self.turn + 1 - last.turn <= turns
