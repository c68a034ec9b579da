"""What a caller was shown is remembered, however much it is."""

from __future__ import annotations

from milkd.engine.audience import Audience
from milkd.engine.changes import Shown


def shown(*ids: str, prompt: str | None = None) -> Shown:
    return Shown("s1", "s1", dict.fromkeys(ids, "a line"), prompt)


def test_what_was_shown_is_added_to_without_a_copy_of_all_before() -> None:
    audience = Audience()
    audience.take(shown("a", prompt="first"))
    seen, lines = audience.seen, audience.lines
    audience.take(shown("b", "c", prompt="second"))
    # A copy would make each of a long session's turns dearer than the one before.
    assert audience.seen is seen
    assert audience.lines is lines
    assert seen == {"a", "b", "c"}
    assert lines.keys() == seen
