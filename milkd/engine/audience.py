"""What a caller was shown, so that repeating it is no evidence and no news.

A caller is a session, or a connection that names none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkd.engine.changes import Shown

MOST_WAITING = 16
"""Turns of a caller that wait to be judged; an older one is let go unjudged."""
MANY_LINES = 512
"""So many are kept before the old ones among them are looked for."""
MOST_SHOWN = 500
"""Percepts of one turn that are judged; a caller that never ends a turn holds no more."""


class Line(NamedTuple):
    """How a percept was last injected."""

    turn: int
    text: str


@dataclass(slots=True, eq=False)
class Turn:
    """A turn that waits to be judged: what was shown in it, and before which prompt."""

    number: int
    prompt: str | None
    """None: a query began it, and what had been asked of the agent is not known."""
    ids: dict[str, None] = field(default_factory=dict)
    """In the order in which they were shown first; of too many the latest."""

    def add(self, ids: Iterable[str]) -> None:
        """More was shown in it."""
        self.ids.update(dict.fromkeys(ids))
        while len(self.ids) > MOST_SHOWN:
            del self.ids[next(iter(self.ids))]


@dataclass(slots=True)
class Audience:
    """One caller's memory of what it saw."""

    turn: int = 0
    """Prompts so far, and queries that none of them preceded."""
    prompt: str | None = None
    """The prompt of the present turn, if it is known."""
    lines: dict[str, Line] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    """Ids shown in any way."""
    waiting: dict[int, Turn] = field(default_factory=dict)
    """The turns that nobody has judged, by number, the oldest first."""

    def take(self, shown: Shown, turns: int) -> None:
        """Remember what was shown; a prompt begins a turn.

        Args:
            shown: What, and in which turn.
            turns: So long a line is remembered, as `repeats` will be asked.
        """
        if shown.turn is not None:
            self._take_turn(shown.turn, shown)
        if shown.prompt is not None:
            self.lines |= {i: Line(self.turn, text) for i, text in shown.lines.items()}
            if len(self.lines) > MANY_LINES:
                latest = self.turn - turns
                self.lines = {i: line for i, line in self.lines.items() if line.turn > latest}
        self.seen.update(shown.lines)  # |= of keys would copy all that was seen

    def _take_turn(self, number: int, shown: Shown) -> None:
        if number != self.turn:
            self.turn, self.prompt = number, shown.prompt
        self.waiting.setdefault(number, Turn(number, self.prompt)).add(shown.lines)
        while len(self.waiting) > MOST_WAITING:
            del self.waiting[next(iter(self.waiting))]

    def put_back(self, turn: Turn) -> None:
        """Let a turn wait again, in its old place."""
        self.waiting = dict(sorted((self.waiting | {turn.number: turn}).items()))

    def repeats(self, percept_id: str, text: str, turns: int) -> bool:
        """Whether the line would come again within so many turns, counting the one to come."""
        last = self.lines.get(percept_id)
        return last is not None and last.text == text and self.turn + 1 - last.turn <= turns
