"""What a caller was shown is remembered, however much it is."""

from __future__ import annotations

from milkd.engine.audience import MANY_LINES, Audience
from milkd.engine.changes import Shown


def shown(*ids: str, prompt: str | None = None) -> Shown:
    return Shown("s1", "s1", dict.fromkeys(ids, "a line"), prompt)


TURNS = 8


def test_what_was_shown_is_added_to_without_a_copy_of_all_before() -> None:
    audience = Audience()
    audience.take(shown("a", prompt="first"), TURNS)
    seen, lines = audience.seen, audience.lines
    audience.take(shown("b", "c", prompt="second"), TURNS)
    # A copy would make each of a long session's turns dearer than the one before.
    assert audience.seen is seen
    assert audience.lines is lines
    assert seen == {"a", "b", "c"}
    assert lines.keys() == seen


def test_lines_are_forgotten_when_they_may_come_again() -> None:
    audience, per_turn = Audience(), 100
    for turn in range(1, 60):
        ids = (f"fact {turn}.{n}" for n in range(per_turn))
        audience.take(Shown("s1", "s1", dict.fromkeys(ids, "a line"), "what?", turn), TURNS)
        assert len(audience.lines) <= MANY_LINES + (TURNS + 1) * per_turn
    assert audience.repeats("fact 59.0", "a line", TURNS)
    assert audience.repeats(f"fact {60 - TURNS}.0", "a line", TURNS)
    assert not audience.repeats(f"fact {59 - TURNS}.0", "a line", TURNS)
