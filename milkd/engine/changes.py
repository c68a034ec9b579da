"""What happened: the results of a decision, as the journal and the columns take them.

A change says what is so now, not what was asked, so that applying it needs no
rule, no clock and no knob.  The one exception is `Passed`: it stands for the
decay of a whole scope, which the same kernels recompute from two factors.
`scope` is `global`, `archive` or a session id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.engine.audience import Turn
    from milkd.engine.percept import Edge, Engram, Percept


@dataclass(frozen=True, slots=True)
class PerceptPut:
    """The percept is in the scope with these values: new at the end, or in its old place."""

    scope: str
    percept: Percept
    running: float | None = None
    """The scope's running seconds at which `w` is current; None leaves the row's reading."""


@dataclass(frozen=True, slots=True)
class PerceptDropped:
    """The percept is no longer in the scope."""

    scope: str
    id: str


@dataclass(frozen=True, slots=True)
class EdgePut:
    """The edge is in the scope, once."""

    scope: str
    edge: Edge


@dataclass(frozen=True, slots=True)
class EdgeDropped:
    """The edge is no longer in the scope."""

    scope: str
    edge: Edge


@dataclass(frozen=True, slots=True)
class EngramPut:
    """The engram is in the scope with these values."""

    scope: str
    engram: Engram


@dataclass(frozen=True, slots=True)
class EngramDropped:
    """The engram is no longer in the scope."""

    scope: str
    id: str


@dataclass(frozen=True, slots=True)
class Passed:
    """Every non-core weight of the scope decayed, and idle time accrued.

    Attributes:
        running: The scope's total running seconds as of the pass.
        elapsed_s: Running seconds since the previous pass, at most a day.
        half_life_s: Running seconds in which a weight loses half its distance to `floor`.
        floor: Weight that decay approaches; 0 for sessions.
    """

    scope: str
    running: float
    elapsed_s: float
    half_life_s: float
    floor: float


@dataclass(frozen=True, slots=True)
class Used:
    """These percepts of the scope were handed to somebody at a wall time."""

    scope: str
    ids: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class Awarded:
    """The percept has had its evidence of the present run."""

    id: str


@dataclass(frozen=True, slots=True)
class EdgeActed:
    """The edge has acted in the present run."""

    edge: Edge


@dataclass(frozen=True, slots=True)
class Shown:
    """A caller was shown percepts, in a turn that an injection began or outside of any.

    Attributes:
        scope: The caller's session, whose file remembers the ids; None for a connection's.
        caller: The session id, or what stands for a connection without one.
        lines: What was shown of each percept, by id: an injected line, or nothing of note.
        prompt: The prompt of the turn that begins; None if none does, or is not known.
        turn: Number of the turn that it begins or belongs to; None: of none.
    """

    scope: str | None
    caller: str
    lines: Mapping[str, str]
    prompt: str | None = None
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A caller's turn was judged, and need not wait any more."""

    caller: str
    turn: Turn


@dataclass(frozen=True, slots=True)
class Stepped:
    """A percept's importance has taken a step of this kind in the present run."""

    id: str
    kind: str


@dataclass(frozen=True, slots=True)
class AudienceLeft:
    """The session ended; when it begins anew, nothing has been shown to it."""

    scope: str


@dataclass(frozen=True, slots=True)
class ScopeDropped:
    """The session scope is empty, and its file is to go."""

    scope: str


@dataclass(frozen=True, slots=True)
class Annotated:
    """What milkd keeps of the scope's file without using it is now this.

    Attributes:
        extra: Top-level keys that this version does not know.
        unreadable: (list name, position, raw value) of entries that are not valid.
    """

    scope: str
    extra: Mapping[str, object]
    unreadable: tuple[tuple[str, int, object], ...]


Change = (
    PerceptPut
    | PerceptDropped
    | EdgePut
    | EdgeDropped
    | EngramPut
    | EngramDropped
    | Passed
    | Used
    | Awarded
    | EdgeActed
    | Shown
    | TurnEnded
    | Stepped
    | AudienceLeft
    | ScopeDropped
    | Annotated
)


def scope_of(change: Change) -> str | None:
    """The scope whose file the change bears on; None for what only this process remembers."""
    passing = Awarded | EdgeActed | TurnEnded | Stepped
    return None if isinstance(change, passing) else change.scope
