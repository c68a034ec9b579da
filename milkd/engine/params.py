"""Every knob of the memory model: default, range, unit and source.

The values live in the `memory` block of milk's config file.  A set of knobs is
taken as a whole or not at all; a value of the wrong type or out of range is
refused by name.  The defaults are the letter of the ADRs (`profile: strict`).
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from milkd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Params:
    """The knobs in force.  Meanings and ranges: `KNOBS`."""

    profile: str = "strict"
    session_half_life_days: float = 3.0
    global_half_life_days: float = 60.0
    reconfirm_boost: float = 0.05
    reconfirm_cap: float = 0.90
    promote_threshold: float = 0.80
    prune_threshold: float = 0.20
    recency_boost: float = 0.10
    recency_half_life_days: float = 30.0
    global_archive_after_days: float = 14.0
    duplicate_threshold: float = 0.60
    promote_corroborated_threshold: float = 0.80
    percept_inject_max: int = 25
    percept_inject_max_bytes: int = 2048
    percept_store_max: int = 0
    percept_relevance_gate: bool = True
    percept_max_bytes: int = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """How one knob may be set.

    `low` and `high` are inclusive; `positive` excludes zero.  With `zero_is_default` a zero
    stands for "not set" (ADR-90, "Knobs"), elsewhere it is a value like any other.
    """

    name: str
    kind: type
    unit: str
    source: str
    doc: str
    low: float = 0.0
    high: float = math.inf
    choices: tuple[str, ...] = ()
    zero_is_default: bool = False


def _days(name: str, doc: str) -> Knob:
    return Knob(
        name=name,
        kind=float,
        unit="running days",
        source="ADR-90",
        doc=doc,
        # Below a second, or beyond the life of the machine, a half-life is a slip of the pen.
        low=1 / DAY_S,
        high=1e6,
        zero_is_default=True,
    )


def _weight(name: str, doc: str, source: str = "ADR-90") -> Knob:
    return Knob(
        name=name,
        kind=float,
        unit="strength",
        source=source,
        doc=doc,
        high=1.0,
        zero_is_default=source == "ADR-90",
    )


def _count(name: str, unit: str, source: str, doc: str, *, low: int = 0, high: int = 2**31) -> Knob:
    return Knob(name=name, kind=int, unit=unit, source=source, doc=doc, low=low, high=high)


KNOBS: tuple[Knob, ...] = (
    Knob(
        name="profile",
        kind=str,
        unit="",
        source="milkd",
        doc="the set of rules that gives the other knobs their defaults",
        choices=("strict",),
    ),
    _days("session_half_life_days", "a session percept loses half its strength in this time"),
    _days("global_half_life_days", "a global percept loses half its distance to the floor"),
    _weight("reconfirm_boost", "what a restatement adds to the strength"),
    _weight("reconfirm_cap", "restatements raise the strength no further than this"),
    _weight("promote_threshold", "strength from which a session percept may become global"),
    _weight("prune_threshold", "session percepts at or below it go; globals decay no further"),
    _weight("recency_boost", "what being new adds to the rank, as a share of the strength"),
    Knob(
        name="recency_half_life_days",
        kind=float,
        unit="days",
        source="ADR-90",
        doc="age at which half of the recency boost is left",
        low=1 / DAY_S,
        high=1e6,
        zero_is_default=True,
    ),
    _days("global_archive_after_days", "a global percept unused for this long is archived"),
    Knob(
        name="duplicate_threshold",
        kind=float,
        unit="Jaccard similarity",
        source="ADR-53",
        doc="texts at least this similar are the same fact",
        low=0.01,
        high=1.0,
    ),
    _weight(
        "promote_corroborated_threshold",
        "strength from which a fact corroborated in two runs may become global",
        source="milkd",
    ),
    _count("percept_inject_max", "facts", "milk", "at most so many facts in an injected block"),
    _count("percept_inject_max_bytes", "bytes", "milk", "at most so long an injected block"),
    _count("percept_store_max", "facts", "milk", "at most so many global facts; 0 sets no limit"),
    Knob(
        name="percept_relevance_gate",
        kind=bool,
        unit="",
        source="milk",
        doc="inject only facts that share a word with the prompt",
    ),
    _count(
        "percept_max_bytes", "bytes", "milkd", "longest content of a percept", low=64, high=65_536
    ),
)
BY_NAME = {knob.name: knob for knob in KNOBS}
ROOT_KEYS = (
    "percept_inject_max",
    "percept_inject_max_bytes",
    "percept_store_max",
    "percept_relevance_gate",
)
"""Keys that milk keeps at the root of its config file; the `memory` block wins."""
ABOVE_PRUNING = ("reconfirm_cap", "promote_threshold", "promote_corroborated_threshold")
"""Strengths at which a fact must not be pruned."""
LONG_INT = 128  # bits; Python refuses to write out one that is much longer
RETIRED = {
    "decay_per_session": "session_half_life_days",
    "global_decay_per_session": "global_half_life_days",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole, valid set of knobs, and where each value came from."""

    params: Params
    origins: Mapping[str, str]
    """`default` or `config`, by knob."""
    warnings: tuple[str, ...] = ()


def read(document: Mapping[str, object]) -> Settings:
    """The knobs that a parsed config file sets.

    Raises:
        ConfigError: A value is of the wrong type or out of range; names the key, what was
            found and what is accepted.  Nothing is taken from the document then.
    """
    block = document.get("memory")
    if block is None:
        block = {}
    if not isinstance(block, dict):
        raise ConfigError(f"memory: found {_shown(block)}, expected an object of knobs")
    given = {key: document[key] for key in ROOT_KEYS if key in document} | block
    values = {
        name: checked
        for name, value in given.items()
        if name in BY_NAME and (checked := _checked(BY_NAME[name], value)) is not None
    }
    params = replace(Params(), **values)
    _check_order(params)
    origins = {f.name: "config" if f.name in values else "default" for f in fields(Params)}
    return Settings(params, origins, tuple(_warnings(given)))


def _checked(knob: Knob, value: object) -> Any:
    """The value in the knob's type; None where it stands for the default."""
    if value is None or (knob.zero_is_default and type(value) in (int, float) and value == 0):
        return None
    if knob.kind is float and type(value) is int:
        value = _as_float(value)
    if type(value) is not knob.kind or not _in_range(knob, value):
        raise ConfigError(f"{knob.name}: found {_shown(value)}, expected {_expected(knob)}")
    return value


def _check_order(params: Params) -> None:
    """Refuse knobs that only together destroy facts.

    What a restatement or a promotion makes of a fact must survive the next pass.
    """
    low = params.prune_threshold
    for name in ABOVE_PRUNING:
        high = getattr(params, name)
        if not low < high:
            raise ConfigError(
                f"prune_threshold: found {low:g}, expected less than {name}, which is {high:g}"
            )


def _as_float(value: int) -> float:
    return float(value) if abs(value) < 2**53 else math.inf


def _in_range(knob: Knob, value: Any) -> bool:
    if isinstance(value, str):
        return value in knob.choices
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, bool) or knob.low <= value <= knob.high


def _expected(knob: Knob) -> str:
    if knob.choices:
        return "one of " + ", ".join(knob.choices)
    if knob.kind is bool:
        return "true or false"
    kind = "a whole number" if knob.kind is int else "a number"
    return f"{kind} of {knob.unit} between {knob.low:g} and {knob.high:g}"


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > LONG_INT:
        return "a number of very many digits"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _warnings(given: Mapping[str, object]) -> list[str]:
    found = []
    for name in given:
        if name in RETIRED:
            found.append(f"{name} is ignored; decay now follows {RETIRED[name]}")
        elif name not in BY_NAME:
            near = difflib.get_close_matches(name, BY_NAME, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            found.append(f"{name} is not a knob of this version{hint}")
    return found
