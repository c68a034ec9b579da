"""The shapes of what the daemon answers, for type checkers and readers.

Nothing here is needed when a program runs: results are plain dictionaries.  A
result may hold keys that are not named here; ignore those.  Times are RFC 3339
strings, weights and similarities numbers in [0, 1], sizes bytes of UTF-8.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Scope = Literal["global", "session", "archive"]
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
KnobValue = bool | int | float | str


class Wording(TypedDict):
    """Another way in which a percept was stated."""

    content: str
    at: str


class Percept(TypedDict):
    """A percept as it is seen from one scope."""

    id: str
    content: str
    producer: str
    consumer: NotRequired[str]
    """Absent: for all."""
    w: float
    roles: NotRequired[dict[str, Json]]
    engram_id: NotRequired[str]
    created_at: str
    updated_at: str
    core: NotRequired[bool]
    evidence: NotRequired[int]
    """Runs in which it was corroborated; absent: 0."""
    idle_seconds: NotRequired[float]
    last_used_at: NotRequired[str]
    importance: NotRequired[float]
    """Absent: 0.5."""
    recall_count: NotRequired[int]
    bad_recall_count: NotRequired[int]
    last_confirmed_use_at: NotRequired[str]
    wordings: NotRequired[list[Wording]]
    content_at: NotRequired[str]
    archived_at: NotRequired[str]
    archived_reason: NotRequired[str]
    scope: Scope
    session: NotRequired[str]
    """The session it belongs to, where `scope` is `session`."""
    rank_score: float


class Hit(Percept):
    """A recalled percept."""

    hits: int
    """Distinct words of the query found in it."""
    score: float
    """What orders percepts of equal hits."""
    superseded_by: NotRequired[str]
    """Id of the percept that updates it and stands before it."""


class Likeness(Percept):
    """A percept beside a text."""

    similarity: float


Edge = TypedDict("Edge", {"from": str, "to": str, "relation": str})


class Detail(Percept):
    """A percept with the edges that start or end at it."""

    edges: list[Edge]


class Match(TypedDict):
    """A percept beside which a stated fact was held."""

    id: str
    content: str
    w: float
    similarity: float
    reason: NotRequired[str]
    """Why a look-alike is not the same fact."""


class Differs(TypedDict):
    """The words in which a statement and the percept it restates differ, in order."""

    new: list[str]
    old: list[str]


class Outcome(TypedDict):
    """What became of a stated fact."""

    id: str
    status: Literal["inserted", "reinforced", "echoed", "revived"]
    """`echoed`: an agent repeated what it was shown, which strengthens nothing."""
    similarity: float
    w: float
    evidence: int
    scope: str
    existing: NotRequired[Match]
    """The percept it restates, as it was before."""
    look_alike: NotRequired[Match]
    """The most similar percept that is another fact all the same."""
    differs: NotRequired[Differs]
    """Absent if statement and restated percept have the same words."""
    edge: NotRequired[Edge]
    edge_error: NotRequired[str]
    """Why the edge asked for was not made; the fact is stored all the same."""
    masked: NotRequired[list[str]]
    """Kinds of the secrets that are not in the stored text (setting `secret_guard`)."""


class Learned(Outcome):
    """What became of a fact stated for good."""

    message: str


class Forgotten(TypedDict):
    """A deleted percept."""

    id: str
    content: str
    others: int
    """Percepts of the same text elsewhere: deleted too if asked for, else still there."""


class Related(TypedDict):
    """An edge, and whether the call made it."""

    edge: Edge
    created: bool


class Unrelated(TypedDict):
    """An edge, and whether the call removed it."""

    edge: Edge
    removed: bool


# Why a percept is in or out of an answer.
Candidate = TypedDict(
    "Candidate",
    {
        "id": str,
        "in": bool,
        "reason": str,
        "hits": int,
        "score": float,
        "w": float,
        "importance": float,
        "bytes": int,
    },
)


class Near(Percept):
    """A percept beside a recalled one."""

    of: str
    """Id of the recalled one."""
    via: str
    """The relation that joins them, or `overlap`."""
    overlap: NotRequired[float]
    """Share of the weight of the other's words that it has; absent for a relation."""


class Beside(TypedDict):
    """A percept beside an injected one, likewise."""

    id: str
    of: str
    via: str
    overlap: NotRequired[float]


class Recalled(TypedDict):
    """The answer to a query."""

    percepts: list[Hit]
    neighbours: NotRequired[list[Near]]
    """What belongs to them, but was not asked for; absent if nothing does."""
    turn: NotRequired[int]
    """Names to `turn_end` what was shown here; absent if nothing was."""
    candidates: NotRequired[list[Candidate]]


class Page(TypedDict):
    """Part of a list; `next` is the cursor of the following part."""

    percepts: list[Percept]
    total: int
    next: NotRequired[str]


class Resolved(TypedDict):
    """Every percept that a reference could mean."""

    percepts: list[Percept]


class Alike(TypedDict):
    """The percepts most similar to a text, the most similar first."""

    percepts: list[Likeness]
    duplicate: NotRequired[str]
    """Id of the one that stating the text would reinforce."""
    look_alike: NotRequired[Match]


class Explanation(TypedDict):
    """What holds for a percept and what comes next, in sentences."""

    percept: Percept
    edges: list[Edge]
    w_now: float
    """Strength with the decay since the last pass."""
    holds: list[str]
    next: list[str]


class Shelf(TypedDict):
    """A scope at its strengths of this moment."""

    scope: Literal["global", "session"]
    session: NotRequired[str]
    total: int
    core: int
    weights: list[int]
    """How many percepts each tenth of strength has."""
    percepts: list[Percept]
    """Those of the highest score."""


class Due(Percept):
    """What the next passes do to a percept, if nothing happens."""

    what: Literal["pruned", "archived", "promoted", "held_back"]
    in_seconds: NotRequired[float]
    """Running time."""


class Outlook(TypedDict):
    """What is visible, and what is ahead of it, the soonest first."""

    scopes: list[Shelf]
    due: list[Due]
    total_due: int


class Whys(TypedDict):
    """What would become of a percept for a prompt."""

    percept: Percept
    inject: Candidate
    query: Candidate


class Injection(TypedDict):
    """A block of remembered facts for a prompt; empty text when none bears on it."""

    text: str
    ids: list[str]
    bytes: int
    turn: int
    neighbours: NotRequired[list[Beside]]
    """What is in the block beside those; absent if nothing is."""
    candidates: NotRequired[list[Candidate]]


class Judged(TypedDict):
    """What a turn, or the user, said of a percept's use."""

    id: str
    verdict: Literal["used", "confirmed", "rejected", "unused", "unknown"]
    importance: float
    recall_count: int
    step: float
    """By how much the importance changed."""


class Pass(TypedDict):
    """The counts of one consolidation pass."""

    decayed: int
    pruned: int
    promoted: int
    promotion_deferred: int
    merged: int
    global_decayed: int
    archived: int
    evicted: int
    edges_applied: int
    global_total: int
    running_seconds: float


class Report(Pass):
    """The counts of a pass, in all and by session."""

    sessions: NotRequired[dict[str, Pass]]


class Judgement(TypedDict):
    """The end of a turn."""

    turn: NotRequired[int]
    """Absent if none waited to be judged."""
    judged: list[Judged]
    report: NotRequired[Report]
    """Of the pass that went with it."""


class Tools(TypedDict):
    """The tools for a model, in one of the forms in which hosts take them."""

    tools: list[dict[str, Json]]


class ToolResult(TypedDict):
    """What a tool says to a model: one of the two."""

    output: NotRequired[str]
    error: NotRequired[str]


class SessionOpened(TypedDict):
    """A session that is open now."""

    session: str
    percepts: int
    running_seconds: float


class Dropped(TypedDict):
    """How many percepts went with a session."""

    dropped: int


class Session(TypedDict):
    """A session that the store knows."""

    session: str
    open: bool
    percepts: int
    running_seconds: float
    connections: int


class Sessions(TypedDict):
    """Part of the list of sessions."""

    sessions: list[Session]
    next: NotRequired[str]


class Hello(TypedDict):
    """Who the daemon is and what it accepts."""

    server: str
    version: str
    protocol: int
    run_id: str
    pid: int
    store: str
    socket: str
    core: str
    """`compiled` or `pure`, and the ABI."""
    why_pure: NotRequired[str]
    limits: dict[str, float]


class Health(TypedDict):
    """Whether the daemon can do its work, and if not, why."""

    status: Literal["ok", "degraded", "read_only"]
    reasons: list[str]
    indexed: int
    total: int
    core: str
    why_pure: NotRequired[str]


class OpenSession(TypedDict):
    """An open session in `Stats`."""

    session: str
    percepts: int
    running_seconds: float
    connections: int


Stats = TypedDict(
    "Stats",
    {
        "global": int,
        "archive": int,
        "sessions": list[OpenSession],
        "run_id": str,
        "running_seconds": float,
        "uptime_seconds": float,
        "connections": int,
        "version": str,
        "core": str,
        "why_pure": NotRequired[str],
    },
)


class Knob(TypedDict):
    """A setting in force, and where it came from."""

    value: KnobValue
    origin: str
    """config, default, or the profile that gives the value: `profile strict`."""
    default: KnobValue
    """What the profile gives."""
    unit: str


class Config(TypedDict):
    """All settings, the file they are read from, and what was odd in it."""

    values: dict[str, Knob]
    path: str
    warnings: list[str]


class Reloaded(TypedDict):
    """The settings that a reload changed."""

    changed: list[str]


class Snapshot(TypedDict):
    """The files written."""

    files: list[str]


class Refused(TypedDict):
    """A record that was not imported."""

    index: int
    reason: str


class Imported(TypedDict):
    """How an import went: how many percepts, edges and engrams were taken, and which were not."""

    accepted: int
    refused: list[Refused]


class Event(TypedDict, total=False):
    """Something that happened; or `lost`, the number of events that could not be kept."""

    topic: str
    event: str
    id: str
    session: str
    run_id: str
    lost: int
