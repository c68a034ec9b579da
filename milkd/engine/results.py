"""What the engine answers: plain values that the daemon renders for the wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from milkd.engine.percept import living

if TYPE_CHECKING:
    from milkd.engine.changes import Change
    from milkd.engine.percept import Edge, Live, Percept


class View(NamedTuple):
    """A percept where it is, with its score."""

    known: Percept
    scope: str
    """`global`, `archive` or the session id."""
    rank_score: float
    live: Live | None = None
    """Its numbers, where they are newer than those of `known`."""

    @property
    def percept(self) -> Percept:
        """The percept as it is."""
        return self.known if self.live is None else living(self.known, self.live)


@dataclass(frozen=True, slots=True)
class Match:
    """A percept beside which a text was held."""

    id: str
    content: str
    w: float
    similarity: float
    reason: str | None = None
    """Why a look-alike is not the same fact."""


@dataclass(frozen=True, slots=True)
class Differs:
    """The words in which a statement and the percept it restates differ, in order."""

    new: tuple[str, ...]
    old: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a stated fact."""

    id: str
    status: str
    """inserted, reinforced, echoed or revived."""
    similarity: float
    """To the percept it restates; 0 for a new one."""
    w: float
    evidence: int
    scope: str
    existing: Match | None = None
    """The percept it restates, as it was before."""
    look_alike: Match | None = None
    """The most similar percept that is another fact all the same."""
    differs: Differs | None = None
    edge: Edge | None = None
    edge_error: str | None = None
    doubted: bool = False
    """Whether a model said it was the user's, and the user's prompt does not say it."""
    masked: tuple[str, ...] = ()
    """Kinds of the secrets that are not in the stored text."""


@dataclass(frozen=True, slots=True)
class Related:
    """An edge, and whether the request changed anything."""

    edge: Edge
    changed: bool


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A deleted percept."""

    id: str
    content: str
    others: int
    """Percepts of the same text elsewhere: deleted too if asked for, else still there."""


class Hit(NamedTuple):
    """A recalled percept."""

    view: View
    hits: int
    score: float
    """order_score, by which hits of equal number are ordered."""
    superseded_by: str | None = None
    """Id of the percept that updates this one; it stands before it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Why a percept is in or out of an answer."""

    id: str
    included: bool
    reason: str
    hits: int
    score: float
    """order_score; like the hits 0 for what was considered as a neighbour."""
    w: float
    importance: float
    bytes: int
    """Of its line in a block."""


class Near(NamedTuple):
    """A percept beside a recalled one."""

    view: View
    of: str
    """Id of the recalled one."""
    via: str
    """The relation that joins them, or overlap."""
    overlap: float | None = None
    """Share of the weight of the other's words that it has; None for a relation."""


class Beside(NamedTuple):
    """A percept beside an injected one, likewise."""

    id: str
    of: str
    via: str
    overlap: float | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer to a query."""

    hits: tuple[Hit, ...]
    neighbours: tuple[Near, ...] = ()
    candidates: tuple[Candidate, ...] | None = None
    turn: int | None = None
    """The turn in which they were shown; None: nothing was, or to nobody in particular."""


@dataclass(frozen=True, slots=True)
class Injection:
    """A rendered block; empty text when nothing bears on the prompt."""

    text: str
    ids: tuple[str, ...]
    """Of the results; the neighbours stand apart."""
    bytes: int
    neighbours: tuple[Beside, ...] = ()
    candidates: tuple[Candidate, ...] | None = None
    turn: int | None = None
    """The turn that the prompt began; None for nobody in particular."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a percept's turn said of its use."""

    id: str
    verdict: str
    """used, confirmed, rejected, unused or unknown."""
    importance: float
    """As it is now."""
    recall_count: int
    step: float
    """By how much the importance changed."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The end of a turn."""

    turn: int | None
    """None: no turn waited to be judged."""
    judged: tuple[Judged, ...] = ()
    report: Report | None = None
    """Of the pass that went with it."""


@dataclass(frozen=True, slots=True)
class Whys:
    """What would become of a percept for a prompt."""

    view: View
    inject: Candidate
    query: Candidate


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list."""

    views: tuple[View, ...]
    total: int
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class Detail:
    """A percept with the edges it is an end of."""

    view: View
    edges: tuple[Edge, ...]


class Likeness(NamedTuple):
    """A percept with its Jaccard similarity to a text."""

    view: View
    similarity: float


@dataclass(frozen=True, slots=True)
class Alike:
    """The percepts most similar to a text, the most similar first."""

    likenesses: tuple[Likeness, ...]
    duplicate: str | None
    """Id of the one that stating the text would reinforce."""
    look_alike: Match | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What holds for a percept, and what comes next, in sentences with the numbers."""

    view: View
    edges: tuple[Edge, ...]
    w_now: float
    """Strength with the decay since the last pass."""
    holds: tuple[str, ...]
    next: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shelf:
    """A scope as it is by now."""

    scope: str
    total: int
    core: int
    """How many of them never fade."""
    weights: tuple[int, ...]
    """How many there are in each tenth of strength."""
    views: tuple[View, ...]
    """Those of the highest ranks."""


@dataclass(frozen=True, slots=True)
class Due:
    """What is about to become of a percept."""

    view: View
    what: str
    """pruned, archived, promoted, or held_back from being promoted."""
    in_seconds: float | None
    """Running time until a pass does it if nothing happens; None: more than time is wanting."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is visible to a caller, and what is ahead of it."""

    shelves: tuple[Shelf, ...]
    due: tuple[Due, ...]
    """The soonest first."""
    total_due: int


@dataclass(slots=True, kw_only=True)
class Report:
    """Counts of one pass (model.md, Pass, step 7)."""

    decayed: int = 0
    pruned: int = 0
    promoted: int = 0
    promotion_deferred: int = 0
    merged: int = 0
    global_decayed: int = 0
    archived: int = 0
    evicted: int = 0
    edges_applied: int = 0
    global_total: int = 0
    running_seconds: float = 0.0
    """Running time of the global clock that this pass accounted for."""
    sessions: dict[str, Report] = field(default_factory=dict)
    """By session: decayed, pruned, promoted, promotion_deferred, merged, edges_applied and its
    running seconds."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many percepts went with a session."""

    percepts: int


Place = tuple[str, str, int]
"""Where an import has an entry: the scope, the list of its image, the position in that."""


@dataclass(frozen=True, slots=True)
class Imported:
    """How an import went.

    Attributes:
        accepted: How many percepts, engrams and edges were taken.
        refused: Those that were not, each with the reason.
    """

    accepted: int
    refused: tuple[tuple[Place, str], ...]


Result = (
    Outcome
    | Related
    | View
    | Forgotten
    | Report
    | Dropped
    | Imported
    | Recalled
    | Injection
    | Judged
    | Judgement
    | Page
    | Detail
    | Explanation
    | Outlook
    | Whys
    | Alike
    | tuple[View, ...]
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a command does to the state, and what to answer."""

    changes: tuple[Change, ...]
    result: Result
