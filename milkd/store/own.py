"""The block of a file that milkd keeps for itself: `_milkd`, which milk skips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from milkd.engine.percept import NO_TOUCHES, no_touches
from milkd.errors import VersionMismatch
from milkd.store.fields import format_time, string, strings
from milkd.store.gojson import shown
from milkd.store.seal import OPEN

if TYPE_CHECKING:
    from milkd.engine.percept import ScopeImage
    from milkd.store.fields import Fields
    from milkd.store.seal import Sealing

FORMAT = 1
"""The layout written here, and the newest one understood."""
OWN_KEY = "_milkd"
OWN_KEYS = frozenset(
    {
        "format",
        "min_reader",
        "store",
        "seq",
        "written",
        "running_seconds",
        "touched",
        "used",
        "shown",
        "sum",
    }
)
MIN_READER = 1  # the oldest format whose readers may write what is written here
MAX_RUNNING = 2.0**53  # seconds; more is no clock's
MAX_SEQ = 2**53  # more is no journal's
V = TypeVar("V")


@dataclass(slots=True)
class Own:
    """What the block says.

    Attributes:
        store: The id of the store it was written for; None if the file does not say.
        seq: The newest entry of the journal that is in the file; 0 if it does not say.
        running_seconds: Running time that passes over the scope have accounted for.
        touched: Running seconds at which a strength was current, where that is later.
        used: Percepts whose idle time does not accrue at the next pass.
        shown: Percepts that a session was shown since it began.
        sum: The seal, as it stands there.
        extra: Keys that this version does not know.
        losses: Sentences about what could not be taken.
    """

    store: str | None = None
    seq: int = 0
    running_seconds: float = 0.0
    touched: Mapping[str, float] = field(default_factory=no_touches)
    used: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    sum: object = None
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
    losses: list[str] = []

    def taken(read: Callable[[Fields], V], otherwise: V) -> V:
        try:
            return read(value)
        except ValueError as error:
            losses.append(f"{file}: {OWN_KEY}.{error}")
            return otherwise

    return Own(
        store=taken(lambda own: string(own, "store") or None, None),
        seq=taken(_seq, 0),
        running_seconds=taken(_running, 0.0),
        touched=taken(_touched, NO_TOUCHES),
        used=taken(lambda own: _ids(own, "used"), ()),
        shown=taken(lambda own: _ids(own, "shown"), ()),
        sum=value.get("sum"),
        extra={key: item for key, item in value.items() if key not in OWN_KEYS},
        losses=tuple(losses),
    )


def own_to_json(
    image: ScopeImage, sealing: Sealing | None, foreign: Mapping[str, object]
) -> dict[str, object]:
    """The block of an image; the sum stands last, and open.

    Args:
        image: The scope.
        sealing: What else the file says of its writing; without it there is no sum.
        foreign: Keys that an earlier reading did not know.
    """
    own: dict[str, object] = {"format": FORMAT, "min_reader": MIN_READER}
    if sealing is not None:
        written = format_time(sealing.written)
        own |= {"store": sealing.store, "seq": sealing.seq, "written": written}
    own["running_seconds"] = image.running_seconds
    lists = {"touched": image.touched, "used": list(image.used), "shown": list(image.shown)}
    own |= {key: value for key, value in lists.items() if value}
    own |= {key: value for key, value in foreign.items() if key not in OWN_KEYS}
    return own if sealing is None else own | {"sum": OPEN}


def _seq(own: Fields) -> int:
    value = own.get("seq", 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MAX_SEQ:
        raise ValueError(f"seq: found {shown(value)}, expected a whole number")
    return value


def _running(own: Fields) -> float:
    return _seconds("running_seconds", own.get("running_seconds", 0))


def _seconds(key: str, value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value < MAX_RUNNING:
        raise ValueError(f"{key}: found {shown(value)}, expected seconds")
    return float(value)


def _touched(own: Fields) -> Mapping[str, float]:
    value = own.get("touched")
    if value is None:
        return NO_TOUCHES
    if not isinstance(value, Mapping):
        raise ValueError(f"touched: found {shown(value)}, expected an object of seconds")
    return {key: _seconds(f"touched.{key}", item) for key, item in value.items()} or NO_TOUCHES


def _ids(own: Fields, key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(strings(own, key)))
