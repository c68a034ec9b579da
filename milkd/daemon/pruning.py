"""What is kept of an answer for good: ids, names, numbers and truths, and no text.

The answer to an operation outlives the facts that it tells of.  A text in it would
be a copy that `forget` does not reach, so every text that a client counts on is
blank, and all else that is not named here is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milkd.store.entries import Done

Content = Callable[[str], str | None]
"""The words of a fact that is still there, by its id."""


class Kind(Enum):
    """What the value of a key is."""

    NAME = auto()
    """An id, a time or a word of a fixed set."""
    NUMBER = auto()
    """A number or a truth."""
    TEXT = auto()
    """Words of somebody; blank from now on."""


NAME, NUMBER, TEXT = Kind


@dataclass(frozen=True, slots=True)
class ByName:
    """A map from names to maps of one shape."""

    shape: Shape


Shape = Mapping[str, "Kind | ByName | Shape"]
"""What is kept of a map; also of each map in a list."""


def shape(**kinds: str) -> dict[str, Kind]:
    """The keys of each kind, in a string."""
    return {key: Kind[kind.upper()] for kind, keys in kinds.items() for key in keys.split()}


EDGE: Shape = shape(name="from to relation")
MATCH: Shape = shape(name="id", text="content", number="w similarity")
OUTCOME: Shape = {
    **shape(name="id status scope", number="similarity w evidence", text="edge_error"),
    "existing": MATCH,
    "look_alike": MATCH,
    "edge": EDGE,
}
PERCEPT: Shape = shape(
    name="id producer consumer engram_id created_at updated_at last_used_at "
    "last_confirmed_use_at content_at scope session",
    text="content",
    number="w core evidence idle_seconds importance recall_count bad_recall_count rank_score",
)
PASS: Shape = shape(
    number="decayed pruned promoted promotion_deferred merged global_decayed archived evicted "
    "edges_applied global_total running_seconds"
)
REPORT: Shape = {**PASS, "sessions": ByName(PASS)}
JUDGED: Shape = shape(name="id verdict", number="importance recall_count step")

KEPT: Mapping[str, Shape] = {
    "record": OUTCOME,
    "learn": {**OUTCOME, "message": TEXT},
    "edit": PERCEPT,
    "forget": shape(name="id", text="content", number="others"),
    "restore": PERCEPT,
    "relate": {"edge": EDGE, "created": NUMBER},
    "unrelate": {"edge": EDGE, "removed": NUMBER},
    "consolidate": REPORT,
    "turn_end": {"turn": NUMBER, "judged": JUDGED, "report": REPORT},
    "confirm": JUDGED,
    "tool_call": shape(text="output error"),
    "reject": JUDGED,
    "session_close": REPORT,
    "session_drop": shape(number="dropped"),
    "import": {"accepted": NUMBER, "refused": shape(number="index", text="reason")},
}
"""What is kept of the answer to each method that changes facts."""


def prune(method: str, body: Mapping[str, object]) -> dict[str, object]:
    """The answer to a method that changes facts, without any text."""
    return _map(KEPT[method], body)


def with_texts(done: Done, content: Content) -> dict[str, object]:
    """A pruned answer, with the words of those facts that are still there.

    They may have been edited since.  What was forgotten stays so, even if another fact has
    come under its id.
    """
    return _filled(done.result, (lambda _: None) if done.method == "forget" else content)


def _map(kept: Shape, found: Mapping[str, object]) -> dict[str, object]:
    values = {key: _value(kind, found[key]) for key, kind in kept.items() if key in found}
    return {key: value for key, value in values.items() if value is not None}


def _value(kind: Kind | ByName | Shape, value: object) -> object:
    """The value without its texts; None if it is not of its kind."""
    if isinstance(kind, Kind):
        return _single(kind, value)
    if isinstance(value, list):
        return [_value(kind, item) for item in value]
    if not isinstance(value, Mapping):
        return None
    if isinstance(kind, ByName):
        return {name: _value(kind.shape, item) for name, item in value.items()}
    return _map(kind, value)


def _single(kind: Kind, value: object) -> object:
    if kind is TEXT:
        return ""
    return value if isinstance(value, str if kind is NAME else int | float) else None


def _filled(found: Mapping[str, object], content: Content) -> dict[str, object]:
    filled = {
        key: _filled(value, content) if isinstance(value, Mapping) else value
        for key, value in found.items()
    }
    if filled.get("content") == "":
        filled["content"] = content(str(filled.get("id"))) or ""
    return filled
