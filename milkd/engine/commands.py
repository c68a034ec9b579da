"""What may be asked of the engine.

Each command is a plain value whose arguments the wire's schema has checked for
type and size; what only the state can tell (does the reference resolve?) is the
engine's to answer.  `session` is the caller's session id or None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.engine.percept import ScopeImage, nothing

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Now:
    """The time of an operation, handed to the engine, which has no clock.

    Attributes:
        wall: Seconds since the Unix epoch.
        running: Total running seconds by scope name (`global` and open sessions), each
            non-decreasing.  A scope that is missing has not run since its last reading.
    """

    wall: float
    running: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """State a fact: insert it, or reinforce the one it restates."""

    content: str
    new_id: str
    """UUID4 for the percept, should one be inserted."""
    session: str | None = None
    producer: str = "primary"
    consumer: str | None = None
    subject: str | None = None
    roles: Mapping[str, object] = field(default_factory=nothing)
    core: bool = False
    relation: str | None = None
    related_to: str | None = None
    caller: str | None = None
    """What stands for the connection, where there is no session (echo guard)."""
    claimed: bool = False
    """Whether it is a model that says who stated it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learn:
    """State a fact for good: global, core, strength 1."""

    content: str
    new_id: str
    session: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Give a percept other words; id, strength and evidence stay."""

    ref: str
    content: str
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Delete a percept and its edges; with `everywhere`, all loaded percepts of the same text."""

    ref: str
    session: str | None = None
    everywhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Bring a percept back from the archive into global."""

    ref: str
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relate:
    """Add an edge; idempotent.  `source` and `target` are references."""

    source: str
    target: str
    relation: str
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrelate:
    """Remove an edge; idempotent.  `source` and `target` are references."""

    source: str
    target: str
    relation: str
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidate:
    """One pass over global and the named session, or over global and every open session."""

    session: str | None = None
    ending: bool = False
    """Whether the session ends with it, so that it forgets what it was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """Judge what was shown in a turn by what came of it."""

    response: str
    """What the agent answered."""
    session: str | None = None
    turn: int | None = None
    """The one that `Inject` or `Query` gave; None: the oldest that waits."""
    tool_text: str = ""
    """Arguments of tools, diffs and the like: what the agent did."""
    user_reply: str = ""
    """What the user answered to that."""
    consolidate: bool = False
    """Whether a pass goes with it, as `Consolidate` of the session."""
    caller: str | None = None
    """What stands for the connection, where there is no session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """The user says that a percept was right, and of use."""

    ref: str
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """The user says that a percept was wrong, or out of place."""

    ref: str
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSession:
    """Delete an open session with all that is in it."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """Add what the images hold to the loaded scopes of the same names; ids must be new."""

    images: tuple[ScopeImage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Recall by words: most hits first, then score."""

    text: str
    session: str | None = None
    min_confidence: float = 0.4
    max_results: int = 5
    consumer: str | None = None
    explain: bool = False
    caller: str | None = None
    """What stands for the connection, where there is no session (echo guard)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inject:
    """Render the facts that bear on a prompt, within a budget."""

    prompt: str
    session: str | None = None
    consumer: str | None = None
    max_facts: int | None = None
    """At most so many facts; None is the knob percept_inject_max."""
    max_bytes: int | None = None
    """At most so many bytes of rendered block; None is the knob percept_inject_max_bytes."""
    repeat: bool = False
    """Whether to show again what the last turns showed."""
    explain: bool = False
    caller: str | None = None
    """What stands for the connection, where there is no session (echo guard)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """A page of what is visible.  `scope` is None (global and own session), or one of them."""

    session: str | None = None
    scope: str | None = None
    """global, session or archive."""
    producer: str | None = None
    consumer: str | None = None
    min_w: float | None = None
    core: bool | None = None
    pattern: str | None = None
    """Text to be found in the content, whatever its case."""
    sort: str = "score"
    """score, w, updated_at or created_at; the highest or newest first."""
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """One percept with its edges."""

    ref: str
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """Every percept that a reference could mean."""

    ref: str
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """What holds for a percept and what comes next."""

    ref: str
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAhead:
    """The strongest facts as they are by now, and what the next passes do to which."""

    session: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why one percept would come for a prompt, or would not."""

    ref: str
    prompt: str
    session: str | None = None
    consumer: str | None = None
    caller: str | None = None
    """What stands for the connection, where there is no session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """The duplicate search alone, down to any similarity above zero."""

    text: str
    session: str | None = None
    limit: int = 5


ChangingCommand = (
    Record
    | Learn
    | Edit
    | Forget
    | Restore
    | Relate
    | Unrelate
    | Consolidate
    | TurnEnd
    | Confirm
    | Reject
    | DropSession
    | Import
)
ReadingCommand = Query | Inject | List | Show | Resolve | Explain | LookAhead | Why | Similar
Command = ChangingCommand | ReadingCommand
