"""Moments in the names of files: sortable, and without a character that a shell minds."""

from __future__ import annotations

from datetime import UTC, datetime

PATTERN = r"\d{8}T\d{6}\.\d{6}Z"
FORM = "%Y%m%dT%H%M%S.%fZ"
TICK = 1e-6  # seconds: what two names can tell apart


def moment_text(at: float) -> str:
    """A wall time, to the microsecond."""
    return datetime.fromtimestamp(at, UTC).strftime(FORM)


def moment_of(text: str) -> float:
    """The wall time of a text that fits the pattern.

    Raises:
        ValueError: There is no such time.
    """
    return datetime.strptime(text, FORM).replace(tzinfo=UTC).timestamp()
