"""The block of a file that milkd keeps for itself: `_milkd`, which milk skips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.errors import VersionMismatch
from milkd.store.fields import strings
from milkd.store.gojson import shown

if TYPE_CHECKING:
    from milkd.engine.percept import ScopeImage

FORMAT = 1
"""The layout written here, and the newest one understood."""
OWN_KEY = "_milkd"
OWN_KEYS = frozenset({"format", "min_reader", "running_seconds", "shown"})
MIN_READER = 1  # the oldest format whose readers may write what is written here
MAX_RUNNING = 2.0**53  # seconds; more is no clock's


@dataclass(slots=True)
class Own:
    """What the block says.

    Attributes:
        shown: Ids of the percepts that a session was shown since it began.
        extra: Keys that this version does not know.
        losses: Sentences about what could not be taken.
    """

    running_seconds: float = 0.0
    shown: tuple[str, ...] = ()
    extra: dict[str, object] = field(default_factory=dict)
    losses: tuple[str, ...] = ()


def own_from_json(file: str, value: object) -> Own:
    """Take the block of a file apart; what is not valid in it counts as absent.

    Raises:
        VersionMismatch: A newer milkd wrote it in a form that this one must not touch.
    """
    if value is None:
        return Own()
    if not isinstance(value, Mapping):
        return Own(losses=(f"{file}: {OWN_KEY}: found {shown(value)}, expected an object",))
    needed = value.get("min_reader")
    if isinstance(needed, int | float) and needed > FORMAT:
        raise VersionMismatch(
            f"{file} needs a milkd that reads format {shown(needed)}, this one reads up to "
            f"{FORMAT}; nothing was touched"
        )
    own = Own(extra={key: item for key, item in value.items() if key not in OWN_KEYS})
    try:
        own.running_seconds = _running(value.get("running_seconds", 0))
    except ValueError as error:
        own.losses += (f"{file}: {OWN_KEY}.{error}",)
    try:
        own.shown = tuple(dict.fromkeys(strings(value, "shown")))
    except ValueError as error:
        own.losses += (f"{file}: {OWN_KEY}.{error}",)
    return own


def own_to_json(image: ScopeImage, foreign: Mapping[str, object]) -> dict[str, object]:
    """The block of an image, with keys that an earlier reading did not know."""
    own: dict[str, object] = {
        "format": FORMAT,
        "min_reader": MIN_READER,
        "running_seconds": image.running_seconds,
    }
    if image.shown:
        own["shown"] = list(image.shown)
    return own | {key: item for key, item in foreign.items() if key not in own}


def _running(value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value < MAX_RUNNING:
        raise ValueError(f"running_seconds: found {shown(value)}, expected seconds")
    return float(value)
