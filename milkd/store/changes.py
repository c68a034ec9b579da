"""Each kind of change as a JSON object, and back, without loss.

Percepts, engrams and edges have the form they have in the files; `exact` is what
that form rounds off.  `Awarded`, `EdgeActed`, `TurnEnded` and `Stepped` have no
form here: they end with the process.  Of `Shown` there are the ids alone, never a text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from milkd.engine.changes import (
    Annotated,
    AudienceLeft,
    Awarded,
    Change,
    EdgeActed,
    EdgeDropped,
    EdgePut,
    EngramDropped,
    EngramPut,
    Passed,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
    Shown,
    Stepped,
    TurnEnded,
    Used,
)
from milkd.engine.percept import ARCHIVE, GLOBAL, NOTHING
from milkd.paths import valid_session
from milkd.store.exact import ENGRAM_TIMES, PERCEPT_TIMES, exact_of, member, real, with_exact
from milkd.store.fields import filled_string, number, strings, wrong
from milkd.store.gojson import fold, shown
from milkd.store.records import (
    PERCEPT_KEYS,
    edge_from_json,
    edge_to_json,
    engram_from_json,
    engram_to_json,
    percept_from_json,
    percept_to_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from milkd.engine.percept import Engram, Percept
    from milkd.store.fields import Fields

LISTS = ("percepts", "engrams", "edges")
LONGEST = 1e12  # running seconds: more than any store will ever see


def change_to_json(change: Change) -> dict[str, object] | None:
    """The object of a change; None for one that is not for the journal."""
    match change:
        case Awarded() | EdgeActed() | TurnEnded() | Stepped() | Shown(scope=None):
            return None
        case PerceptPut():
            kind, fields = "put", _percept_put(change.percept, change.running)
        case PerceptDropped():
            kind, fields = "drop", {"id": change.id}
        case EdgePut():
            kind, fields = "link", {"edge": edge_to_json(change.edge)}
        case EdgeDropped():
            kind, fields = "unlink", {"edge": edge_to_json(change.edge)}
        case EngramPut():
            kind, fields = "group", _engram_put(change.engram)
        case EngramDropped():
            kind, fields = "ungroup", {"id": change.id}
        case Passed():
            kind, fields = "pass", _passed(change)
        case Used():
            kind, fields = "used", {"ids": change.ids, "at": change.at}
        case Shown():
            kind, fields = "shown", {"ids": tuple(change.lines)}
        case AudienceLeft():
            kind, fields = "left", {}
        case ScopeDropped():
            kind, fields = "gone", {}
        case _:  # Annotated
            kind, fields = "notes", {"extra": change.extra, "unreadable": change.unreadable}
    return {"c": kind, "in": change.scope, **fields}


def change_from_json(obj: object) -> Change:
    """Read a change.

    Raises:
        ValueError: Names the key, what was found and what was expected.
    """
    if not isinstance(obj, dict):
        raise ValueError(f"found {shown(obj)}, expected an object")
    read = READERS.get(filled_string(obj, "c"))
    if read is None:
        raise wrong("c", obj["c"], f"one of {', '.join(READERS)}")
    scope = filled_string(obj, "in")
    if not _is_scope(scope):
        raise wrong("in", scope, "global, archive or a session")
    return read(obj, scope)


@lru_cache(maxsize=256)
def _is_scope(name: str) -> bool:
    return name in (GLOBAL, ARCHIVE) or valid_session(name)


def _percept_put(percept: Percept, running: float | None) -> dict[str, object]:
    obj = percept_to_json(percept)
    for key in map(fold, percept.extra):
        if key in PERCEPT_KEYS:  # written even if it is nothing, or the other would be read for it
            obj.setdefault(key, None)
    fields: dict[str, object] = {"percept": obj}
    if running is not None:
        fields["running"] = running
    return _with(fields, exact_of(percept, obj))


def _engram_put(engram: Engram) -> dict[str, object]:
    obj = engram_to_json(engram)
    return _with({"engram": obj}, exact_of(engram, obj))


def _with(fields: dict[str, object], exact: dict[str, object]) -> dict[str, object]:
    if exact:
        fields["exact"] = exact
    return fields


def _passed(change: Passed) -> dict[str, object]:
    return {
        "running": change.running,
        "elapsed": change.elapsed_s,
        "half_life": change.half_life_s,
        "floor": change.floor,
    }


def _put(obj: Fields, scope: str) -> Change:
    exact = member(obj, "exact") if "exact" in obj else NOTHING
    percept = with_exact(percept_from_json, PERCEPT_TIMES, member(obj, "percept"), exact)
    running = _amount(obj, "running", LONGEST) if "running" in obj else None
    return PerceptPut(scope, percept, running)


def _drop(obj: Fields, scope: str) -> Change:
    return PerceptDropped(scope, filled_string(obj, "id"))


def _link(obj: Fields, scope: str) -> Change:
    return EdgePut(scope, edge_from_json(member(obj, "edge")))


def _unlink(obj: Fields, scope: str) -> Change:
    return EdgeDropped(scope, edge_from_json(member(obj, "edge")))


def _group(obj: Fields, scope: str) -> Change:
    exact = member(obj, "exact") if "exact" in obj else NOTHING
    engram = with_exact(engram_from_json, ENGRAM_TIMES, member(obj, "engram"), exact)
    return EngramPut(scope, engram)


def _ungroup(obj: Fields, scope: str) -> Change:
    return EngramDropped(scope, filled_string(obj, "id"))


def _pass(obj: Fields, scope: str) -> Change:
    half_life = _amount(obj, "half_life", LONGEST)
    if not half_life:
        raise wrong("half_life", half_life, "more than 0")
    return Passed(
        scope,
        running=_amount(obj, "running", LONGEST),
        elapsed_s=_amount(obj, "elapsed", LONGEST),
        half_life_s=half_life,
        floor=_amount(obj, "floor", 1.0),
    )


def _used(obj: Fields, scope: str) -> Change:
    return Used(scope, _ids(obj), real(obj, "at"))


def _shown(obj: Fields, scope: str) -> Change:
    return Shown(scope, scope, dict.fromkeys(_ids(obj), ""))


def _notes(obj: Fields, scope: str) -> Change:
    unreadable = obj.get("unreadable")
    if not isinstance(unreadable, list):
        raise wrong("unreadable", unreadable, "a list")
    return Annotated(scope, member(obj, "extra"), tuple(map(_unreadable, unreadable)))


def _unreadable(obj: object) -> tuple[str, int, object]:
    match obj:
        case [str() as where, int() as position, raw] if where in LISTS and position >= 0:
            return where, position, raw
    raise wrong("unreadable", obj, "a list name, a position and what is there")


def _amount(obj: Fields, key: str, most: float) -> float:
    real(obj, key)  # absent is not the same as 0 here
    return number(obj, key, 0.0, most)


def _ids(obj: Fields) -> tuple[str, ...]:
    if obj.get("ids") is None:
        raise wrong("ids", None, "a list of strings")
    return strings(obj, "ids")


READERS: Mapping[str, Callable[[Fields, str], Change]] = {
    "put": _put,
    "drop": _drop,
    "link": _link,
    "unlink": _unlink,
    "group": _group,
    "ungroup": _ungroup,
    "pass": _pass,
    "used": _used,
    "shown": _shown,
    "left": lambda _, scope: AudienceLeft(scope),
    "gone": lambda _, scope: ScopeDropped(scope),
    "notes": _notes,
}
