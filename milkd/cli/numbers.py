"""The numbers that options take: read by both parsers, named in the refusal of the full one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BLOCK", "COUNT", "FACTS", "PAGE", "STRENGTH", "TURN", "Real", "Whole", "told"]

NO_LIMIT = 1 << 63


class Whole:
    """A whole number of a closed range; without `high` there is no upper end."""

    def __init__(self, low: int, high: int = NO_LIMIT) -> None:
        self._low = low
        self._high = high

    @property
    def expected(self) -> str:
        """What is accepted, in words."""
        upwards = "upwards" if self._high == NO_LIMIT else f"to {self._high}"
        return f"a whole number from {self._low} {upwards}"

    def __call__(self, text: str) -> int:
        """The number.

        Raises:
            ValueError: The text is none, or it is out of range.
        """
        if not self._low <= (number := int(text)) <= self._high:
            raise ValueError(text)
        return number


class Real:
    """A number of a closed range."""

    def __init__(self, low: float, high: float) -> None:
        self._low = low
        self._high = high

    @property
    def expected(self) -> str:
        """What is accepted, in words."""
        return f"a number from {self._low:g} to {self._high:g}"

    def __call__(self, text: str) -> float:
        """The number.

        Raises:
            ValueError: The text is none, or it is out of range.
        """
        if not self._low <= (number := float(text)) <= self._high:
            raise ValueError(text)
        return number


STRENGTH = Real(0, 1)
COUNT = Whole(1)
PAGE = Whole(1, 500)  # what the daemon gives at once
FACTS = Whole(0, 10_000)  # in an injection
BLOCK = Whole(0, 1 << 20)  # bytes of an injection
TURN = Whole(1)


def told(kind: Whole | Real) -> Callable[[str], float]:
    """The kind as a type for `argparse`, which would name it by its class otherwise."""
    from argparse import ArgumentTypeError

    def read(text: str) -> float:
        try:
            return kind(text)
        except ValueError:
            raise ArgumentTypeError(f"found {text!r}, expected {kind.expected}") from None

    return read
